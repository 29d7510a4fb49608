//! Deleting a thread, and what comes after.

use superstep_checkpoint::{At, Epoch, FoundHead, NamespaceKey, Status, ThreadRow, WriteKind};

use crate::sample::{
    after, answer, ask, empty, fenced, first, id, key, moved, namespace, point, question, record, result, root, seqs,
    values,
};
use crate::test_store::TestStore;

/// A thread with something in every place: two namespaces, branches, records of all kinds, an answer.
async fn full(store: &TestStore) -> (NamespaceKey, NamespaceKey) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1).base("x", "a").base("y", "b").args("args"))).await;
    let writes =
        [result(1, "r"), record(2, WriteKind::Error, "", "e"), ask(3, 1), record(1, WriteKind::Journal, "0", "j")];
    store.apply(after(&key, 1).writes(1, writes)).await;
    store.apply(after(&key, 1).answer(answer(1, 3, 1, 1)).status(Status::Waiting, &["n"])).await;
    store.apply(after(&key, 1).put(point(2).branch(2).parent(1).base("x", "c"))).await;
    store.apply(empty(&child, 0).put(point(3).base("x", "d")).writes(3, [ask(4, 2)])).await;
    (key, child)
}

async fn nothing_is_left(store: &TestStore, key: &NamespaceKey) {
    for at in
        [At::Head, At::Id(id(1)), At::Id(id(2)), At::Id(id(3)), At::Question(question(1)), At::Question(question(2))]
    {
        let view = store.view(key, at).await;
        assert_eq!((view.namespace, view.found), (None, None), "{at:?}");
    }
    assert!(store.all(key).await.is_empty());
}

/// Namespaces, values, records, answers.
pub async fn b155_deleting_leaves_nothing_in_any_namespace(store: TestStore) {
    let (key, child) = full(&store).await;
    store.delete(&key).await;
    nothing_is_left(&store, &key).await;
    nothing_is_left(&store, &child).await;
}

/// What lay hidden would show under the same ids.
pub async fn b155_a_new_thread_of_the_same_name_finds_nothing_of_the_old_one(store: TestStore) {
    let (key, child) = full(&store).await;
    store.delete(&key).await;
    store.apply(empty(&key, 1).put(point(1)).put(point(2).branch(2)).put(point(3)).writes(3, [ask(3, 1)])).await;
    store.apply(empty(&child, 1).put(point(3))).await;
    for stored in store.all(&key).await.iter().chain(&store.all(&child).await) {
        assert_eq!((values(stored), stored.args.len()), (String::new(), 0));
        assert!(stored.writes.iter().all(|write| *write == ask(3, 1)));
    }
    assert_eq!(store.found(&key, At::Question(question(1))).await.checkpoint.id, id(3));
    assert_eq!(store.view(&child, At::Question(question(2))).await.found, None);
    // Not answered either.
    store.apply(after(&key, 3).answer(answer(3, 3, 1, 9))).await;
}

/// Neither is an error.
pub async fn b155_deleting_twice_and_deleting_the_unknown_is_fine(store: TestStore) {
    let (key, _) = full(&store).await;
    store.delete(&key).await;
    store.delete(&key).await;
    store.delete(&root("unknown")).await;
    nothing_is_left(&store, &key).await;
    nothing_is_left(&store, &root("unknown")).await;
}

fn tombstone(row: &ThreadRow, epoch: u64) {
    assert!(row.deleted);
    assert_eq!((row.epoch, row.owner), (Epoch(epoch), None));
    assert!(row.next.is_empty() && row.graph.is_empty());
}

/// The row outlives the thread, with its epoch.
pub async fn a_deleted_thread_leaves_a_tombstone(store: TestStore) {
    let (key, child) = full(&store).await;
    store.apply(after(&key, 2).claim(1)).await;
    store.delete(&key).await;
    tombstone(&store.row(&key).await, 1);
    tombstone(&store.row(&child).await, 1);
    assert_eq!(store.row(&key).await.next_call_epoch(), Epoch(2));
}

/// A worker that does not know yet.
pub async fn a_late_writer_finds_the_thread_deleted(store: TestStore) {
    let (key, child) = full(&store).await;
    store.delete(&key).await;
    assert_eq!(moved(&store.refuse(after(&key, 2).put(point(4))).await), FoundHead::Deleted);
    assert_eq!(moved(&store.refuse(after(&key, 2).writes(2, [result(1, "r")])).await), FoundHead::Deleted);
    assert_eq!(moved(&store.refuse(after(&child, 3).put(point(4))).await), FoundHead::Deleted);
    assert_eq!(moved(&store.refuse(after(&key, 2).status(Status::Done, &[])).await), FoundHead::Deleted);
    tombstone(&store.row(&key).await, 0);
}

/// A call that began on the empty thread, or on an empty namespace of it.
pub async fn a_late_first_writer_finds_the_thread_deleted(store: TestStore) {
    let (key, _) = full(&store).await;
    store.delete(&key).await;
    assert_eq!(moved(&store.refuse(empty(&key, 0).put(point(4))).await), FoundHead::Deleted);
    assert_eq!(moved(&store.refuse(empty(&namespace("t", "new"), 0).put(point(4))).await), FoundHead::Deleted);
    assert_eq!(moved(&store.refuse(empty(&key, 2).put(point(4))).await), FoundHead::Deleted);
    nothing_is_left(&store, &key).await;
}

/// A person answers too late.
pub async fn a_late_answer_finds_the_thread_deleted(store: TestStore) {
    let (key, child) = full(&store).await;
    store.delete(&key).await;
    assert_eq!(moved(&store.refuse(after(&child, 3).answer(answer(3, 4, 2, 1))).await), FoundHead::Deleted);
    assert_eq!(moved(&store.refuse(after(&key, 2).answer(answer(1, 3, 1, 2))).await), FoundHead::Deleted);
}

/// The deleted thread has no holder.
pub async fn a_late_holder_is_fenced(store: TestStore) {
    let (key, _) = full(&store).await;
    store.apply(after(&key, 2).claim(1)).await;
    store.delete(&key).await;
    assert_eq!(fenced(&store.refuse(after(&key, 2).fenced(1, 1).put(point(4))).await), 1);
    assert_eq!(fenced(&store.refuse(empty(&key, 2).fenced(1, 1).put(point(4))).await), 1);
    tombstone(&store.row(&key).await, 1);
}

/// The deletion won against a call that had read "never was".
pub async fn deleting_an_unknown_thread_stops_a_call_on_its_way(store: TestStore) {
    let key = root("t");
    store.delete(&key).await;
    tombstone(&store.row(&key).await, 0);
    assert_eq!(moved(&store.refuse(first(&key).put(point(1))).await), FoundHead::Deleted);
    store.apply(empty(&key, 1).put(point(1))).await;
    assert_eq!(store.row(&key).await.epoch, Epoch(1));
}

/// A call that began between the two.
pub async fn deleting_again_stops_a_call_that_began_after_the_first_deletion(store: TestStore) {
    let (key, _) = full(&store).await;
    store.delete(&key).await;
    store.delete(&key).await;
    tombstone(&store.row(&key).await, 1);
    assert_eq!(moved(&store.refuse(empty(&key, 1).put(point(1))).await), FoundHead::Deleted);
    store.apply(empty(&key, 2).put(point(1))).await;
}

/// It begins anew, positions and ids included.
pub async fn a_new_call_on_a_tombstone_makes_a_new_thread(store: TestStore) {
    let (key, _) = full(&store).await;
    store.delete(&key).await;
    store.apply(empty(&key, 1).put(point(1).base("x", "new").graph("another"))).await;
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.owner, row.deleted), (Epoch(1), None, false));
    assert_eq!((row.status, row.next.len(), row.graph.as_str()), (Status::Ready, 0, "another"));
    let head = store.head(&key).await;
    assert_eq!((seqs(&store.all(&key).await), values(&head)), (vec![1], "x=new".to_owned()));
    store.apply(after(&key, 1).put(point(2))).await;
}

/// Its epoch tells old calls on a namespace that is empty again.
pub async fn an_old_subgraph_cannot_write_into_the_new_thread(store: TestStore) {
    let (key, child) = full(&store).await;
    store.delete(&key).await;
    store.apply(empty(&key, 1).put(point(1))).await;
    assert_eq!(moved(&store.refuse(after(&child, 3).put(point(4))).await), FoundHead::Nothing);
    assert_eq!(moved(&store.refuse(empty(&namespace("t", "new"), 0).put(point(4))).await), FoundHead::Nothing);
    assert_eq!(moved(&store.refuse(empty(&child, 0).under(2).put(point(4))).await), FoundHead::Nothing);
    store.apply(empty(&child, 1).under(1).put(point(4))).await;
}

/// The first commit on a tombstone may be a subgraph's.
pub async fn a_subgraph_may_open_the_new_thread(store: TestStore) {
    let (key, child) = full(&store).await;
    store.delete(&key).await;
    assert_eq!(moved(&store.refuse(empty(&child, 1).under_empty(0).put(point(1))).await), FoundHead::Deleted);
    store.apply(empty(&child, 1).under_empty(1).put(point(1))).await;
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.deleted, row.graph.as_str()), (Epoch(1), false, ""));
    store.apply(empty(&key, 1).put(point(1))).await;
}

/// First the new thread's epoch, then the claim's.
pub async fn a_tombstone_can_be_claimed(store: TestStore) {
    let (key, _) = full(&store).await;
    store.delete(&key).await;
    store.apply(empty(&key, 1).claim(5)).await;
    let row = store.row(&key).await;
    assert_eq!((row.epoch, row.deleted), (Epoch(2), false));
    store.apply(empty(&key, 2).fenced(2, 5).put(point(1))).await;
}

/// However often.
pub async fn epochs_rise_with_every_life_of_a_thread(store: TestStore) {
    let key = root("t");
    for life in 0..4 {
        store.apply(empty(&key, life).put(point(1).base("x", "a"))).await;
        assert_eq!(store.row(&key).await.epoch, Epoch(life));
        store.delete(&key).await;
        tombstone(&store.row(&key).await, life);
    }
}

/// A claimed thread without a checkpoint is a thread.
pub async fn a_headless_thread_can_be_deleted(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).claim(1)).await;
    store.delete(&key).await;
    tombstone(&store.row(&key).await, 1);
    assert_eq!(moved(&store.refuse(empty(&key, 1).put(point(1))).await), FoundHead::Deleted);
    store.apply(empty(&key, 2).put(point(1))).await;
}

/// Its neighbours stay.
pub async fn deleting_one_thread_leaves_the_others(store: TestStore) {
    let others = [root("u"), root("t2"), key("acme", "t", "")];
    let (key, _) = full(&store).await;
    for other in &others {
        store.apply(first(other).put(point(1).base("x", "kept")).writes(1, [result(1, "r")])).await;
    }
    store.delete(&key).await;
    for other in &others {
        let head = store.head(other).await;
        assert_eq!((values(&head), head.writes.len()), ("x=kept".to_owned(), 1));
        assert!(!store.row(other).await.deleted);
        store.apply(after(other, 1).put(point(2))).await;
    }
}

/// Deleting through any namespace's key deletes the thread.
pub async fn deleting_goes_by_thread(store: TestStore) {
    let (key, child) = full(&store).await;
    store.delete(&child).await;
    nothing_is_left(&store, &key).await;
}
