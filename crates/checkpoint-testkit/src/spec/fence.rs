//! Who holds a thread.

use superstep_checkpoint::{At, Epoch, FoundHead, NamespaceKey, Status};

use crate::sample::{after, answer, ask, empty, fenced, first, id, moved, namespace, owner, point, result, root, seqs};
use crate::test_store::TestStore;

/// A thread with checkpoint 1, held by owner 1 in epoch 1.
async fn held(store: &TestStore) -> NamespaceKey {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    store.apply(after(&key, 1).claim(1)).await;
    key
}

/// Nothing else changes.
pub async fn a_claim_sets_the_holder_and_raises_the_epoch(store: TestStore) {
    let key = held(&store).await;
    let view = store.view(&key, At::Head).await;
    let row = view.thread.unwrap();
    assert_eq!((row.epoch, row.owner, row.deleted), (Epoch(1), Some(owner(1)), false));
    assert_eq!(view.namespace.unwrap().head, id(1));
}

/// A worker takes a thread before its first checkpoint.
pub async fn a_claim_makes_a_thread_that_never_was(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).claim(1)).await;
    let view = store.view(&key, At::Head).await;
    let row = view.thread.unwrap();
    assert_eq!((row.epoch, row.owner, row.deleted, row.graph.as_str()), (Epoch(1), Some(owner(1)), false, ""));
    assert_eq!((view.namespace, view.found), (None, None));
    assert!(store.all(&key).await.is_empty());
    store.apply(empty(&key, 1).fenced(1, 1).put(point(1))).await;
    assert_eq!(store.row(&key).await.epoch, Epoch(1));
}

/// A call that knows of no worker.
pub async fn a_commit_without_a_fence_to_a_held_thread_is_fenced(store: TestStore) {
    let key = held(&store).await;
    assert_eq!(fenced(&store.refuse(after(&key, 1).put(point(2))).await), 1);
    assert_eq!(fenced(&store.refuse(after(&key, 1).writes(1, [result(1, "r")])).await), 1);
    assert_eq!(fenced(&store.refuse(after(&key, 1).status(Status::Done, &[])).await), 1);
}

/// The holder goes on.
pub async fn the_holder_commits_with_its_fence(store: TestStore) {
    let key = held(&store).await;
    store.apply(after(&key, 1).fenced(1, 1).writes(1, [result(1, "r")])).await;
    store.apply(after(&key, 1).fenced(1, 1).put(point(2)).status(Status::Ready, &[])).await;
    assert_eq!(seqs(&store.all(&key).await), [2, 1]);
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.owner), (Epoch(1), Some(owner(1))));
}

/// Epochs may repeat after a failover; owners never do.
pub async fn the_right_epoch_with_another_owner_is_fenced(store: TestStore) {
    let key = held(&store).await;
    assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(1, 2).put(point(2))).await), 1);
}

/// A worker that lost the thread and took it again has a new epoch.
pub async fn the_right_owner_with_another_epoch_is_fenced(store: TestStore) {
    let key = held(&store).await;
    for epoch in [0, 2, u64::from(u32::MAX)] {
        assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(epoch, 1).put(point(2))).await), 1);
    }
}

/// A fence names a holder, so there must be one.
pub async fn a_fence_on_a_thread_that_nobody_holds_is_fenced(store: TestStore) {
    let key = root("t");
    assert_eq!(fenced(&store.refuse(first(&key).fenced(0, 1).put(point(1))).await), 0);
    store.apply(first(&key).put(point(1))).await;
    assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(0, 1).put(point(2))).await), 0);
}

/// Nobody takes a thread away without knowing whose it is.
pub async fn a_claim_over_a_holder_needs_its_fence(store: TestStore) {
    let key = held(&store).await;
    assert_eq!(fenced(&store.refuse(after(&key, 1).claim(2)).await), 1);
    assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(1, 2).claim(2)).await), 1);
    assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(2, 1).claim(2)).await), 1);
    assert_eq!(store.row(&key).await.owner, Some(owner(1)));
    store.apply(after(&key, 1).fenced(1, 1).claim(2)).await;
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.owner), (Epoch(2), Some(owner(2))));
}

/// What fencing is for.
pub async fn a_replaced_holder_writes_nothing_more(store: TestStore) {
    let key = held(&store).await;
    store.apply(after(&key, 1).fenced(1, 1).claim(2)).await;
    assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(1, 1).put(point(2))).await), 2);
    assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(1, 1).release()).await), 2);
    store.apply(after(&key, 1).fenced(2, 2).put(point(2))).await;
    assert_eq!(fenced(&store.refuse(after(&key, 2).fenced(1, 1).claim(1)).await), 2);
}

/// Then everybody may write again, the former holder only without its fence.
pub async fn a_release_clears_the_holder_and_raises_the_epoch(store: TestStore) {
    let key = held(&store).await;
    store.apply(after(&key, 1).fenced(1, 1).release()).await;
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.owner), (Epoch(2), None));
    assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(1, 1).put(point(2))).await), 2);
    store.apply(after(&key, 1).put(point(2))).await;
}

/// Whether somebody holds the thread or not.
pub async fn a_release_without_a_fence_is_fenced(store: TestStore) {
    let key = held(&store).await;
    assert_eq!(fenced(&store.refuse(after(&key, 1).release()).await), 1);
    store.apply(after(&key, 1).fenced(1, 1).release()).await;
    assert_eq!(fenced(&store.refuse(after(&key, 1).release()).await), 2);
    assert_eq!(fenced(&store.refuse(first(&root("u")).release()).await), 0);
    assert_eq!(store.view(&root("u"), At::Head).await.thread, None);
}

/// Epochs never repeat.
pub async fn epochs_rise_with_every_change_of_hands(store: TestStore) {
    let key = held(&store).await;
    let mut epoch = 1;
    for n in 2..6 {
        store.apply(after(&key, 1).fenced(epoch, n - 1).release()).await;
        store.apply(after(&key, 1).claim(n)).await;
        epoch += 2;
        let row = store.row(&key).await;
        assert_eq!((row.epoch, row.owner), (Epoch(epoch), Some(owner(n))));
    }
}

/// The guard is checked against what was before the commit.
pub async fn a_claim_and_a_checkpoint_fit_in_one_commit(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).claim(1).put(point(1).base("x", "a"))).await;
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.owner), (Epoch(1), Some(owner(1))));
    store.apply(after(&key, 1).fenced(1, 1).put(point(2)).release()).await;
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.owner), (Epoch(2), None));
    assert_eq!(store.head(&key).await.checkpoint.id, id(2));
}

/// A worker hands its thread to another.
pub async fn a_thread_is_handed_over_in_one_commit(store: TestStore) {
    let key = held(&store).await;
    store.apply(after(&key, 1).fenced(1, 1).release().claim(2)).await;
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.owner), (Epoch(3), Some(owner(2))));
}

/// A worker that lost its thread stops; it does not read and try again.
pub async fn the_fence_is_checked_before_the_head(store: TestStore) {
    let key = held(&store).await;
    assert_eq!(fenced(&store.refuse(after(&key, 99).put(point(2))).await), 1);
    assert_eq!(fenced(&store.refuse(after(&key, 99).fenced(1, 2).put(point(2))).await), 1);
    assert_eq!(moved(&store.refuse(after(&key, 99).fenced(1, 1).put(point(2))).await), FoundHead::Head(id(1)));
}

/// A thread is held with all its subgraphs.
pub async fn a_fence_holds_in_every_namespace(store: TestStore) {
    let (key, child, other) = (held(&store).await, namespace("t", "child"), namespace("t", "child/deeper"));
    assert_eq!(fenced(&store.refuse(empty(&child, 1).put(point(1))).await), 1);
    store.apply(empty(&child, 1).fenced(1, 1).under(1).put(point(1)).writes(1, [ask(1, 1)])).await;
    assert_eq!(fenced(&store.refuse(after(&child, 1).answer(answer(1, 1, 1, 1))).await), 1);
    store.apply(after(&child, 1).fenced(1, 1).answer(answer(1, 1, 1, 1))).await;
    // Claimed again through a subgraph's namespace, it is claimed for the root as well.
    store.apply(empty(&other, 1).fenced(1, 1).claim(2)).await;
    assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(1, 1).put(point(2))).await), 2);
    store.apply(after(&key, 1).fenced(2, 2).put(point(2))).await;
}

/// One holder is none of another thread's.
pub async fn a_fence_holds_for_its_thread_only(store: TestStore) {
    let (key, other) = (held(&store).await, root("other"));
    store.apply(first(&other).put(point(1))).await;
    assert_eq!(fenced(&store.refuse(after(&other, 1).fenced(1, 1).put(point(2))).await), 0);
    store.apply(after(&other, 1).put(point(2))).await;
    assert_eq!(store.row(&key).await.owner, Some(owner(1)));
}

/// Anybody may look.
pub async fn a_held_thread_is_read_without_a_fence(store: TestStore) {
    let key = held(&store).await;
    assert_eq!(store.head(&key).await.checkpoint.id, id(1));
    assert_eq!(seqs(&store.all(&key).await), [1]);
}

/// A claim rides on the guard as everything does.
pub async fn a_claim_under_a_stale_head_is_stale(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).put(point(2))).await;
    assert_eq!(moved(&store.refuse(after(&key, 1).claim(1)).await), FoundHead::Head(id(2)));
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.owner), (Epoch(0), None));
}

/// The holder may raise its own epoch.
pub async fn a_holder_may_claim_again(store: TestStore) {
    let key = held(&store).await;
    store.apply(after(&key, 1).fenced(1, 1).claim(1)).await;
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.owner), (Epoch(2), Some(owner(1))));
    assert_eq!(fenced(&store.refuse(after(&key, 1).fenced(1, 1).put(point(2))).await), 2);
}
