//! What a commit expects to find.

use superstep_checkpoint::{At, CommitError, Epoch, FoundHead};

use crate::sample::{after, empty, first, id, millis, moved, namespace, point, result, root, seqs};
use crate::test_store::TestStore;

/// The answer says where the thread is now.
pub async fn a_stale_head_is_refused_and_the_present_one_named(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).put(point(2))).await;
    let error = store.refuse(after(&key, 1).put(point(3))).await;
    assert_eq!(moved(&error), FoundHead::Head(id(2)));
    assert!(matches!(error, CommitError::HeadMoved { thread, .. } if thread == key.thread));
}

/// Two callers began the same new thread.
pub async fn an_empty_namespace_expected_where_there_is_a_head_is_refused(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    assert_eq!(moved(&store.refuse(first(&key).put(point(2))).await), FoundHead::Head(id(1)));
}

/// A head that never was.
pub async fn a_head_expected_where_there_is_nothing_is_refused(store: TestStore) {
    let key = root("t");
    assert_eq!(moved(&store.refuse(after(&key, 1).put(point(2))).await), FoundHead::Nothing);
    store.apply(first(&namespace("t", "child")).put(point(1))).await;
    assert_eq!(moved(&store.refuse(after(&key, 1).put(point(2))).await), FoundHead::Nothing);
}

/// How a commit whose outcome was in doubt is recognised.
pub async fn a_commit_repeated_is_refused_and_finds_itself_as_head(store: TestStore) {
    let key = root("t");
    let commit = first(&key).put(point(1).base("x", "a"));
    store.apply(commit.clone()).await;
    assert_eq!(moved(&store.refuse(commit).await), FoundHead::Head(id(1)));
    let commit = after(&key, 1).put(point(2));
    store.apply(commit.clone()).await;
    assert_eq!(moved(&store.refuse(commit).await), FoundHead::Head(id(2)));
    assert_eq!(seqs(&store.all(&key).await), [2, 1]);
}

/// A thread that never was has epoch 0.
pub async fn the_first_commit_of_a_thread_names_epoch_zero(store: TestStore) {
    let key = root("t");
    assert_eq!(moved(&store.refuse(empty(&key, 1).put(point(1))).await), FoundHead::Nothing);
    store.apply(empty(&key, 0).put(point(1))).await;
}

/// Claimed and given up, but without a checkpoint.
pub async fn the_first_commit_of_a_headless_thread_names_its_epoch(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).claim(1)).await;
    store.apply(empty(&key, 1).fenced(1, 1).release()).await;
    assert_eq!(moved(&store.refuse(empty(&key, 0).put(point(1))).await), FoundHead::Nothing);
    assert_eq!(moved(&store.refuse(empty(&key, 1).put(point(1))).await), FoundHead::Nothing);
    assert_eq!(moved(&store.refuse(empty(&key, 3).put(point(1))).await), FoundHead::Nothing);
    store.apply(empty(&key, 2).put(point(1))).await;
    assert_eq!(store.row(&key).await.epoch, Epoch(2));
}

/// A subgraph's namespace has a head of its own.
pub async fn a_second_namespace_begins_empty_in_a_live_thread(store: TestStore) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1))).await;
    store.apply(empty(&child, 0).put(point(1))).await;
    store.apply(after(&child, 1).put(point(2))).await;
    assert_eq!(store.head(&key).await.checkpoint.id, id(1));
    assert_eq!(store.head(&child).await.checkpoint.id, id(2));
    assert_eq!(moved(&store.refuse(after(&key, 2).put(point(3))).await), FoundHead::Head(id(1)));
}

/// A new namespace does not reset the thread.
pub async fn a_new_namespace_names_the_epoch_of_its_thread(store: TestStore) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1)).claim(1)).await;
    store.apply(after(&key, 1).fenced(1, 1).release()).await;
    assert_eq!(moved(&store.refuse(empty(&child, 0).put(point(1))).await), FoundHead::Nothing);
    store.apply(empty(&child, 2).put(point(1))).await;
}

/// A subgraph writes only under the root it was started from.
pub async fn a_stale_root_refuses_a_subgraph(store: TestStore) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1))).await;
    store.apply(empty(&child, 0).under(1).put(point(11))).await;
    store.apply(after(&key, 1).put(point(2))).await;
    assert_eq!(moved(&store.refuse(after(&child, 11).under(1).put(point(12))).await), FoundHead::Head(id(2)));
    store.apply(after(&child, 11).under(2).put(point(12))).await;
    assert_eq!(seqs(&store.all(&child).await), [12, 11]);
}

/// A root without checkpoints can be named as well.
pub async fn a_subgraph_may_write_before_its_root(store: TestStore) {
    let (key, child) = (root("t"), namespace("t", "child"));
    assert_eq!(moved(&store.refuse(first(&child).under_empty(1).put(point(1))).await), FoundHead::Nothing);
    assert_eq!(moved(&store.refuse(first(&child).under(1).put(point(1))).await), FoundHead::Nothing);
    store.apply(first(&child).under_empty(0).put(point(1))).await;
    store.apply(empty(&key, 0).put(point(1))).await;
    assert_eq!(moved(&store.refuse(after(&child, 1).under_empty(0).put(point(2))).await), FoundHead::Head(id(1)));
}

/// The first check that fails is the answer.
pub async fn the_namespace_is_checked_before_the_root(store: TestStore) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1)).put(point(2))).await;
    store.apply(empty(&child, 0).put(point(11)).put(point(12))).await;
    assert_eq!(moved(&store.refuse(after(&child, 11).under(1).put(point(13))).await), FoundHead::Head(id(12)));
}

/// Clocks decide nothing.
pub async fn the_head_is_the_last_one_put_whatever_the_clocks_say(store: TestStore) {
    let key = root("t");
    let at = |n, time| {
        let mut point = point(n);
        point.checkpoint.created_at = millis(time);
        point
    };
    store.apply(first(&key).put(at(1, 9_000_000))).await;
    store.apply(after(&key, 1).put(at(2, 1_000_000))).await;
    store.apply(after(&key, 2).put(at(3, 5_000_000))).await;
    assert_eq!(store.head(&key).await.checkpoint.id, id(3));
    assert_eq!(seqs(&store.all(&key).await), [3, 2, 1]);
}

/// A fork is the latest, although it begins at an older checkpoint.
pub async fn a_fork_becomes_the_head(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).put(point(2)).put(point(3))).await;
    store.apply(after(&key, 3).put(point(4).branch(4).parent(1))).await;
    assert_eq!(store.head(&key).await.checkpoint.id, id(4));
    assert_eq!(moved(&store.refuse(after(&key, 3).put(point(5))).await), FoundHead::Head(id(4)));
}

/// A guard that holds may be used for many commits.
pub async fn a_commit_without_a_checkpoint_leaves_the_guard_good(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    for n in 0..3 {
        store.apply(after(&key, 1).writes(1, [result(n, "r")])).await;
    }
    assert_eq!(store.found(&key, At::Head).await.writes.len(), 3);
}
