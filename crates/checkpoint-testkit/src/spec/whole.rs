//! A refused commit leaves no trace, whatever it was refused for and whatever it held.

use superstep_checkpoint::{At, FoundHead, NamespaceKey, Status, View};

use crate::sample::{
    Draft, after, answer, answered, ask, empty, fenced, first, id, invalid, moved, namespace, point, result, root,
};
use crate::test_store::TestStore;

/// A thread with a head, a question, a child, and a holder.
async fn thread(store: &TestStore) -> (NamespaceKey, NamespaceKey) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1).base("x", "a")).put(point(2).segment("x", "b"))).await;
    store.apply(after(&key, 2).writes(2, [ask(1, 1), ask(1, 2)]).status(Status::Waiting, &["n"])).await;
    store.apply(empty(&child, 0).put(point(1).base("x", "c"))).await;
    (key, child)
}

/// All that a commit can change.
fn laden(draft: Draft) -> Draft {
    draft
        .writes(2, [result(1, "r"), ask(2, 3)])
        .put(point(3).segment("x", "c").base("y", "d").args("args").graph("other"))
        .writes(3, [result(9, "r")])
        .answer(answer(2, 1, 1, 1))
        .status(Status::Done, &["m"])
        .claim(5)
}

/// An op at the end that cannot be applied takes the others with it.
pub async fn an_invalid_commit_changes_nothing(store: TestStore) {
    let (key, child) = thread(&store).await;
    let before = store.everything(&[&key, &child]).await;
    invalid(&store.refuse(laden(after(&key, 2)).answer(answer(2, 1, 99, 1))).await);
    assert_eq!(store.everything(&[&key, &child]).await, before);
    // The same without that op is applied: it was refused for nothing else.
    store.apply(laden(after(&key, 2))).await;
}

/// The head has moved on.
pub async fn a_stale_commit_changes_nothing(store: TestStore) {
    let (key, child) = thread(&store).await;
    store.apply(after(&key, 2).put(point(3))).await;
    let before = store.everything(&[&key, &child]).await;
    let stale = after(&key, 2).put(point(4).base("x", "z")).status(Status::Done, &["m"]).claim(5);
    assert_eq!(moved(&store.refuse(stale).await), FoundHead::Head(id(3)));
    assert_eq!(store.everything(&[&key, &child]).await, before);
}

/// The root has moved on under a subgraph.
pub async fn a_commit_under_a_stale_root_changes_nothing(store: TestStore) {
    let (key, child) = thread(&store).await;
    let before = store.everything(&[&key, &child]).await;
    let stale = after(&child, 1).under(1).put(point(2).base("x", "z")).status(Status::Done, &["m"]).claim(5);
    assert_eq!(moved(&store.refuse(stale).await), FoundHead::Head(id(2)));
    assert_eq!(store.everything(&[&key, &child]).await, before);
}

/// Somebody else holds the thread.
pub async fn a_fenced_commit_changes_nothing(store: TestStore) {
    let (key, child) = thread(&store).await;
    store.apply(after(&key, 2).claim(1)).await;
    let before = store.everything(&[&key, &child]).await;
    assert_eq!(fenced(&store.refuse(laden(after(&key, 2))).await), 1);
    assert_eq!(fenced(&store.refuse(laden(after(&key, 2).fenced(1, 2))).await), 1);
    assert_eq!(store.everything(&[&key, &child]).await, before);
}

/// The first answer counts.
pub async fn a_commit_with_a_second_answer_changes_nothing(store: TestStore) {
    let (key, child) = thread(&store).await;
    store.apply(after(&key, 2).answer(answer(2, 1, 1, 7))).await;
    let before = store.everything(&[&key, &child]).await;
    answered(&store.refuse(laden(after(&key, 2))).await);
    assert_eq!(store.everything(&[&key, &child]).await, before);
}

/// A thread that never was does not come to be by a refused commit.
pub async fn a_refused_first_commit_makes_no_thread(store: TestStore) {
    let key = root("t");
    assert_eq!(moved(&store.refuse(empty(&key, 1).put(point(1))).await), FoundHead::Nothing);
    invalid(&store.refuse(first(&key).put(point(1)).answer(answer(1, 1, 1, 1))).await);
    fenced(&store.refuse(first(&key).fenced(0, 1).put(point(1))).await);
    assert_eq!(store.view(&key, At::Head).await, View::default());
    assert!(store.all(&key).await.is_empty());
}
