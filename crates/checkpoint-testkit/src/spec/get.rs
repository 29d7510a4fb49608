//! Reading one checkpoint.

use superstep_checkpoint::{At, NamespaceRow, Seq, Status, View, WriteKind};

use crate::sample::{after, answer, ask, empty, first, id, namespace, point, question, record, result, root, values};
use crate::test_store::TestStore;

/// No row, no head, no checkpoint, no error.
pub async fn an_unknown_thread_gives_nothing(store: TestStore) {
    store.apply(first(&root("other")).put(point(1))).await;
    for at in [At::Head, At::Id(id(1)), At::Question(question(1))] {
        assert_eq!(store.view(&root("t"), at).await, View::default());
    }
}

/// The thread is there, the namespace is not.
pub async fn an_unknown_namespace_gives_the_row_alone(store: TestStore) {
    store.apply(first(&root("t")).put(point(1))).await;
    for at in [At::Head, At::Id(id(1))] {
        let view = store.view(&namespace("t", "child"), at).await;
        assert!(view.thread.is_some());
        assert_eq!((view.namespace, view.found), (None, None));
    }
}

/// The head is told also where the checkpoint asked for is not there.
pub async fn an_unknown_checkpoint_gives_row_and_head(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    let view = store.view(&key, At::Id(id(9))).await;
    assert!(view.thread.is_some());
    assert_eq!(view.namespace, Some(NamespaceRow { head: id(1), last_seq: Seq(1) }));
    assert_eq!(view.found, None);
}

/// Every checkpoint stays readable.
pub async fn a_checkpoint_is_found_by_its_id(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a").args("one"))).await;
    store.apply(after(&key, 1).put(point(2).base("x", "b").args("two"))).await;
    store.apply(after(&key, 2).put(point(3).base("x", "c"))).await;
    for (n, expected, args) in [(1, "x=a", "one"), (2, "x=b", "two"), (3, "x=c", "")] {
        let found = store.found(&key, At::Id(id(n))).await;
        assert_eq!((found.checkpoint.id, values(&found)), (id(n), expected.to_owned()));
        assert_eq!(found.args, args);
    }
}

/// What is there now, beside what was there then.
pub async fn an_old_checkpoint_comes_with_the_present_row_and_head(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).status(Status::Ready, &[])).await;
    store.apply(after(&key, 1).put(point(2)).status(Status::Done, &[])).await;
    let view = store.view(&key, At::Id(id(1))).await;
    assert_eq!(view.namespace, Some(NamespaceRow { head: id(2), last_seq: Seq(2) }));
    assert_eq!(view.thread.unwrap().status, Status::Done);
    assert_eq!(view.found.unwrap().checkpoint.id, id(1));
}

/// A person clicks on a question of which only the id is known.
pub async fn a_question_leads_to_its_checkpoint(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).writes(1, [ask(1, 1)])).await;
    store.apply(after(&key, 1).put(point(2)).writes(2, [ask(2, 2)])).await;
    store.apply(after(&key, 2).put(point(3))).await;
    let view = store.view(&key, At::Question(question(1))).await;
    assert_eq!(view.namespace.unwrap().head, id(3));
    let found = view.found.unwrap();
    assert_eq!((found.checkpoint.id, found.writes), (id(1), vec![ask(1, 1)]));
    assert_eq!(store.found(&key, At::Question(question(2))).await.checkpoint.id, id(2));
}

/// A question that was carried on.
pub async fn a_question_on_several_checkpoints_leads_to_the_newest(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).writes(1, [ask(1, 1)])).await;
    store.apply(after(&key, 1).put(point(2)).writes(2, [ask(1, 1)])).await;
    let both = after(&key, 2).put(point(3)).put(point(4)).writes(4, [ask(1, 1)]).writes(3, [ask(1, 1)]);
    store.apply(both).await;
    store.apply(after(&key, 4).put(point(5))).await;
    assert_eq!(store.found(&key, At::Question(question(1))).await.checkpoint.id, id(4));
}

/// Only questions are questions.
pub async fn another_record_at_the_same_path_is_no_question(store: TestStore) {
    let key = root("t");
    let path = question(1).to_string();
    store.apply(first(&key).put(point(1)).writes(1, [record(1, WriteKind::Journal, &path, "j"), ask(1, 2)])).await;
    assert_eq!(store.view(&key, At::Question(question(1))).await.found, None);
}

/// Its answer does not hide it.
pub async fn an_answered_question_is_still_found(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).writes(1, [ask(1, 1)])).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 1))).await;
    let found = store.found(&key, At::Question(question(1))).await;
    assert_eq!(found.writes, [ask(1, 1), answer(1, 1, 1, 1).write()]);
}

/// A key reads its own namespace only.
pub async fn checkpoints_and_questions_of_another_namespace_are_not_found(store: TestStore) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1)).writes(1, [ask(1, 1)])).await;
    store.apply(empty(&child, 0).put(point(2)).writes(2, [ask(2, 2)])).await;
    assert_eq!(store.view(&key, At::Id(id(2))).await.found, None);
    assert_eq!(store.view(&child, At::Id(id(1))).await.found, None);
    assert_eq!(store.view(&key, At::Question(question(2))).await.found, None);
    assert_eq!(store.view(&child, At::Question(question(1))).await.found, None);
}

/// Two looks at the same thing are equal.
pub async fn reading_changes_nothing(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a")).writes(1, [result(1, "r")])).await;
    let before = store.view(&key, At::Head).await;
    store.view(&key, At::Id(id(9))).await;
    store.view(&root("unknown"), At::Head).await;
    store.all(&key).await;
    assert_eq!(store.view(&key, At::Head).await, before);
    assert_eq!(store.view(&root("unknown"), At::Head).await, View::default());
}

/// What was read does not change under the reader's hands.
pub async fn what_was_read_stays_as_it_was(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a"))).await;
    let then = store.view(&key, At::Head).await;
    let copy = then.clone();
    store.apply(after(&key, 1).writes(1, [result(1, "r")]).put(point(2).segment("x", "b"))).await;
    assert_eq!(then, copy);
    assert_eq!(values(&then.found.unwrap()), "x=a");
}
