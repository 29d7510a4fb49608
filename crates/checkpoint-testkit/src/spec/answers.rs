//! Questions and answers.

use superstep_checkpoint::{Answer, At, CallPath, FoundHead, NamespaceKey, Write, WriteKind};

use crate::sample::{
    after, answer, answered, ask, empty, fenced, first, id, invalid, moved, namespace, node, point, question, record,
    result, root, task, token,
};
use crate::test_store::TestStore;

/// A thread whose head, checkpoint 1, holds questions 1 and 2 of tasks 1 and 2.
async fn asked(store: &TestStore) -> NamespaceKey {
    let key = root("t");
    store.apply(first(&key).put(point(1)).writes(1, [ask(1, 1), ask(2, 2)])).await;
    key
}

/// The answers on a checkpoint.
async fn answers(store: &TestStore, key: &NamespaceKey, n: u64) -> Vec<Write> {
    let found = store.found(key, At::Id(id(n))).await;
    found.writes.into_iter().filter(|write| write.kind == WriteKind::Answer).collect()
}

/// Beside the question, by its id.
pub async fn an_answer_is_recorded_on_the_checkpoint_of_its_question(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 7))).await;
    let bytes = [token(7).as_bytes().as_slice(), b"yes"].concat();
    let expected = Write {
        task: task(1),
        node: node("node"),
        kind: WriteKind::Answer,
        path: CallPath::new(question(1).to_string()).unwrap(),
        bytes: bytes.into(),
    };
    assert_eq!(answers(&store, &key, 1).await, [expected]);
}

/// How an answer whose commit was in doubt is recognised.
pub async fn an_answer_carries_the_mark_of_its_attempt(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 7))).await;
    let recorded = answers(&store, &key, 1).await;
    let (mark, bytes) = Answer::split_record(&recorded[0].bytes).unwrap();
    assert_eq!(mark, token(7));
    assert_eq!(bytes, "yes");
}

/// The first answer counts.
pub async fn a_second_answer_is_refused_and_the_first_stays(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 7))).await;
    let mut second = answer(1, 1, 1, 8);
    second.bytes = "no".into();
    assert_eq!(answered(&store.refuse(after(&key, 1).answer(second)).await), question(1));
    // The same attempt again is a second answer as well: its caller reads, and finds its mark.
    assert_eq!(answered(&store.refuse(after(&key, 1).answer(answer(1, 1, 1, 7))).await), question(1));
    assert_eq!(answers(&store, &key, 1).await, [answer(1, 1, 1, 7).write()]);
}

/// Two people click, the thread has gone on with the first answer.
pub async fn a_second_answer_is_told_so_although_the_head_has_moved(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 7))).await;
    store.apply(after(&key, 1).put(point(2))).await;
    assert_eq!(answered(&store.refuse(after(&key, 1).answer(answer(1, 1, 1, 8))).await), question(1));
}

/// Nor does the fence come first.
pub async fn a_second_answer_is_told_so_although_the_thread_is_held(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 7))).await;
    store.apply(after(&key, 1).claim(1)).await;
    assert_eq!(answered(&store.refuse(after(&key, 1).answer(answer(1, 1, 1, 8))).await), question(1));
    assert_eq!(fenced(&store.refuse(after(&key, 1).answer(answer(1, 2, 2, 8))).await), 1);
}

/// The thread went on without this answer.
pub async fn a_first_answer_under_a_stale_head_is_stale(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).put(point(2))).await;
    let error = store.refuse(after(&key, 1).answer(answer(1, 1, 1, 7))).await;
    assert_eq!(moved(&error), FoundHead::Head(id(2)));
    assert!(answers(&store, &key, 1).await.is_empty());
}

/// Nobody asked.
pub async fn an_answer_to_no_question_is_invalid(store: TestStore) {
    let key = asked(&store).await;
    invalid(&store.refuse(after(&key, 1).answer(answer(1, 1, 99, 7))).await);
    assert_eq!(store.head(&key).await.writes.len(), 2);
}

/// Question 2 is task 2's.
pub async fn an_answer_to_a_question_of_another_task_is_invalid(store: TestStore) {
    let key = asked(&store).await;
    invalid(&store.refuse(after(&key, 1).answer(answer(1, 1, 2, 7))).await);
}

/// The question stands elsewhere.
pub async fn an_answer_that_names_another_checkpoint_is_invalid(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).put(point(2))).await;
    invalid(&store.refuse(after(&key, 2).answer(answer(2, 1, 1, 7))).await);
    invalid(&store.refuse(after(&key, 2).answer(answer(99, 1, 1, 7))).await);
}

/// A result at the place of a question is none.
pub async fn an_answer_to_a_record_that_is_no_question_is_invalid(store: TestStore) {
    let key = root("t");
    let path = question(1).to_string();
    let journal = record(1, WriteKind::Journal, &path, "j");
    store.apply(first(&key).put(point(1)).writes(1, [journal, result(1, "r")])).await;
    invalid(&store.refuse(after(&key, 1).answer(answer(1, 1, 1, 7))).await);
}

/// Each question has its own answer.
pub async fn two_questions_are_answered_one_by_one(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 2, 2, 7))).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 8))).await;
    assert_eq!(answers(&store, &key, 1).await.len(), 2);
    answered(&store.refuse(after(&key, 1).answer(answer(1, 2, 2, 9))).await);
}

/// A map of answers is one commit.
pub async fn two_questions_are_answered_together(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 7)).answer(answer(1, 2, 2, 7))).await;
    assert_eq!(answers(&store, &key, 1).await.len(), 2);
}

/// Whole or not at all, and it is told which one.
pub async fn one_answered_question_refuses_the_answer_to_another(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 2, 2, 7))).await;
    let both = after(&key, 1).answer(answer(1, 1, 1, 8)).answer(answer(1, 2, 2, 8));
    assert_eq!(answered(&store.refuse(both).await), question(2));
    assert_eq!(answers(&store, &key, 1).await, [answer(1, 2, 2, 7).write()]);
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 9))).await;
}

/// A commit that contradicts itself.
pub async fn two_answers_to_one_question_in_one_commit_are_invalid(store: TestStore) {
    let key = asked(&store).await;
    invalid(&store.refuse(after(&key, 1).answer(answer(1, 1, 1, 7)).answer(answer(1, 1, 1, 8))).await);
    assert!(answers(&store, &key, 1).await.is_empty());
}

/// A fork takes its questions along, and one of them is answered.
pub async fn a_question_may_be_put_and_answered_in_one_commit(store: TestStore) {
    let key = asked(&store).await;
    let fork = after(&key, 1).put(point(2).branch(2).parent(1)).writes(2, [ask(1, 1)]).answer(answer(2, 1, 1, 7));
    store.apply(fork).await;
    assert_eq!(answers(&store, &key, 2).await, [answer(2, 1, 1, 7).write()]);
    assert!(answers(&store, &key, 1).await.is_empty());
    answered(&store.refuse(after(&key, 2).answer(answer(2, 1, 1, 8))).await);
}

/// The order of ops counts: nobody has asked yet.
pub async fn an_answer_before_its_question_in_one_commit_is_invalid(store: TestStore) {
    let key = root("t");
    invalid(&store.refuse(first(&key).put(point(1)).answer(answer(1, 1, 1, 7)).writes(1, [ask(1, 1)])).await);
}

/// An answer rides with what goes on from it.
pub async fn an_answer_rides_with_other_ops(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 7)).writes(1, [result(1, "r")]).put(point(2))).await;
    assert_eq!(answers(&store, &key, 1).await.len(), 1);
    assert_eq!(store.head(&key).await.checkpoint.id, id(2));
}

/// A task that runs again asks again; its answer is there.
pub async fn a_question_put_again_keeps_its_answer(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 7))).await;
    store.apply(after(&key, 1).writes(1, [ask(1, 1)])).await;
    assert_eq!(answers(&store, &key, 1).await, [answer(1, 1, 1, 7).write()]);
    answered(&store.refuse(after(&key, 1).answer(answer(1, 1, 1, 8))).await);
}

/// Answers belong to a place, as all records do.
pub async fn a_question_carried_on_is_open_on_its_new_checkpoint(store: TestStore) {
    let key = asked(&store).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 7))).await;
    store.apply(after(&key, 1).put(point(2)).writes(2, [ask(1, 1)])).await;
    store.apply(after(&key, 2).answer(answer(2, 1, 1, 8))).await;
    assert_eq!(answers(&store, &key, 1).await, [answer(1, 1, 1, 7).write()]);
    assert_eq!(answers(&store, &key, 2).await, [answer(2, 1, 1, 8).write()]);
}

/// The same ids in two namespaces are two questions.
pub async fn an_answer_in_one_namespace_is_none_in_another(store: TestStore) {
    let (key, child) = (asked(&store).await, namespace("t", "child"));
    store.apply(empty(&child, 0).put(point(1)).writes(1, [ask(1, 1)])).await;
    store.apply(after(&child, 1).answer(answer(1, 1, 1, 7))).await;
    assert!(answers(&store, &key, 1).await.is_empty());
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 8))).await;
}
