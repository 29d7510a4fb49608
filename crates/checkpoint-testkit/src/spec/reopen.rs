//! What outlives the handle. A store that keeps nothing says so in its guarantees, and that is checked here instead.

use superstep_checkpoint::{FoundHead, NamespaceKey, Status};

use crate::sample::{
    after, answer, answered, ask, empty, fenced, first, id, invalid, moved, namespace, owner, point, result, root,
};
use crate::test_store::TestStore;

/// A thread with two branches, a child, records and an answer.
async fn full(store: &TestStore) -> (NamespaceKey, NamespaceKey) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1).base("x", "a").args("args").meta("k", "v")).writes(1, [ask(1, 1)])).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 1)).put(point(2).segment("x", "b"))).await;
    store.apply(after(&key, 2).put(point(3).branch(3).parent(1).base("x", "c")).writes(3, [result(2, "r")])).await;
    store.apply(empty(&child, 0).put(point(9).base("y", "d")).status(Status::Waiting, &["n", "m"])).await;
    (key, child)
}

/// Rows, heads, values, records, times.
pub async fn everything_outlives_the_handle(store: TestStore) {
    let (key, child) = full(&store).await;
    let before = store.everything(&[&key, &child]).await;
    let Some(store) = store.reopen().await else { return };
    assert_eq!(store.everything(&[&key, &child]).await, before);
    let Some(store) = store.reopen().await else { return };
    assert_eq!(store.everything(&[&key, &child]).await, before);
}

/// Heads and positions.
pub async fn guards_hold_after_reopening(store: TestStore) {
    let (key, child) = full(&store).await;
    let Some(store) = store.reopen().await else { return };
    assert_eq!(moved(&store.refuse(after(&key, 2).put(point(4))).await), FoundHead::Head(id(3)));
    assert_eq!(moved(&store.refuse(first(&child).put(point(4))).await), FoundHead::Head(id(9)));
    invalid(&store.refuse(after(&key, 3).put(point(4).seq(3))).await);
    invalid(&store.refuse(after(&key, 3).put(point(2).seq(4))).await);
    store.apply(after(&key, 3).put(point(4))).await;
}

/// Deletion is durable, and so is the epoch it left.
pub async fn tombstones_outlive_the_handle(store: TestStore) {
    let (key, _) = full(&store).await;
    store.delete(&key).await;
    store.delete(&root("unknown")).await;
    let Some(store) = store.reopen().await else { return };
    assert!(store.row(&key).await.deleted);
    assert_eq!(moved(&store.refuse(after(&key, 3).put(point(4))).await), FoundHead::Deleted);
    assert_eq!(moved(&store.refuse(first(&root("unknown")).put(point(1))).await), FoundHead::Deleted);
    store.apply(empty(&key, 1).put(point(1))).await;
}

/// A restarted worker is another one.
pub async fn claims_outlive_the_handle(store: TestStore) {
    let (key, _) = full(&store).await;
    store.apply(after(&key, 3).claim(1)).await;
    let Some(store) = store.reopen().await else { return };
    assert_eq!(store.row(&key).await.owner, Some(owner(1)));
    assert_eq!(fenced(&store.refuse(after(&key, 3).put(point(4))).await), 1);
    assert_eq!(fenced(&store.refuse(after(&key, 3).fenced(1, 2).put(point(4))).await), 1);
    store.apply(after(&key, 3).fenced(1, 1).put(point(4))).await;
}

/// The first answer counts, also against one from after the restart.
pub async fn answers_outlive_the_handle(store: TestStore) {
    let (key, _) = full(&store).await;
    let Some(store) = store.reopen().await else { return };
    answered(&store.refuse(after(&key, 3).answer(answer(1, 1, 1, 2))).await);
}

/// A repeated call is no error after a restart either.
pub async fn b107_records_put_again_after_reopening_leave_one_copy(store: TestStore) {
    let key = root("t");
    let again = after(&key, 1).writes(1, [result(1, "r"), ask(1, 1)]);
    store.apply(first(&key).put(point(1))).await;
    store.apply(again.clone()).await;
    let Some(store) = store.reopen().await else { return };
    store.apply(again).await;
    assert_eq!(store.head(&key).await.writes, [result(1, "r"), ask(1, 1)]);
}
