//! Commits that make no sense.

use superstep_checkpoint::{At, Commit, FoundHead, Op, Seq, WriteKind};

use crate::sample::{
    after, answer, ask, empty, first, id, invalid, moved, namespace, point, question, record, result, root, seqs,
};
use crate::test_store::TestStore;

/// Positions are unique in a namespace.
pub async fn a_position_in_use_is_invalid(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).put(point(2))).await;
    invalid(&store.refuse(after(&key, 2).put(point(3).seq(2))).await);
    assert_eq!(store.head(&key).await.checkpoint.id, id(2));
}

/// Positions grow, also where one was left out.
pub async fn a_position_before_the_last_is_invalid(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(5))).await;
    invalid(&store.refuse(after(&key, 5).put(point(3))).await);
    invalid(&store.refuse(after(&key, 5).put(point(8)).put(point(4))).await);
    invalid(&store.refuse(after(&key, 5).put(point(8)).put(point(7))).await);
    assert_eq!(store.view(&key, At::Head).await.namespace.unwrap().last_seq, Seq(5));
}

/// Positions are counted from 1.
pub async fn position_zero_is_invalid(store: TestStore) {
    let key = root("t");
    invalid(&store.refuse(first(&key).put(point(1).seq(0))).await);
    store.apply(first(&key).put(point(1))).await;
}

/// Whoever gives positions may leave some out.
pub async fn positions_may_have_gaps(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(5))).await;
    store.apply(after(&key, 5).put(point(900))).await;
    store.apply(after(&key, 900).put(point(10_000))).await;
    assert_eq!(seqs(&store.all(&key).await), [10_000, 900, 5]);
}

/// An id names one checkpoint.
pub async fn a_checkpoint_id_in_use_is_invalid(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).put(point(2))).await;
    invalid(&store.refuse(after(&key, 2).put(point(1).seq(3))).await);
    invalid(&store.refuse(after(&key, 2).put(point(2).seq(3))).await);
}

/// Also inside one commit.
pub async fn a_checkpoint_put_twice_in_one_commit_is_invalid(store: TestStore) {
    let key = root("t");
    invalid(&store.refuse(first(&key).put(point(1)).put(point(1).seq(2))).await);
    invalid(&store.refuse(first(&key).put(point(1)).put(point(2).seq(1))).await);
    store.apply(first(&key).put(point(1)).put(point(2))).await;
}

/// One form of a channel a checkpoint.
pub async fn a_channel_given_twice_is_invalid(store: TestStore) {
    let key = root("t");
    invalid(&store.refuse(first(&key).put(point(1).base("x", "a").base("y", "b").segment("x", "c"))).await);
    let mut many = point(1);
    for n in 0..40 {
        many = many.base(&format!("c{n}"), "a");
    }
    invalid(&store.refuse(first(&key).put(many.clone().base("c7", "b"))).await);
    store.apply(first(&key).put(many)).await;
}

/// No value has no bytes.
pub async fn a_cleared_channel_with_bytes_is_invalid(store: TestStore) {
    let key = root("t");
    let mut commit = Commit::from(first(&key).put(point(1).cleared("x")));
    if let Op::PutCheckpoint(new) = &mut commit.ops[0] {
        new.values[0].bytes = "left".into();
    }
    invalid(&store.refuse(commit).await);
}

/// Results count only while their checkpoint is the head.
pub async fn records_on_an_older_checkpoint_are_invalid(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).put(point(2))).await;
    invalid(&store.refuse(after(&key, 2).writes(1, [result(1, "late")])).await);
    assert!(store.found(&key, At::Id(id(1))).await.writes.is_empty());
}

/// A checkpoint that never was, and one of another namespace.
pub async fn records_on_an_unknown_checkpoint_are_invalid(store: TestStore) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1))).await;
    store.apply(empty(&child, 0).put(point(2))).await;
    invalid(&store.refuse(after(&key, 1).writes(9, [result(1, "r")])).await);
    invalid(&store.refuse(after(&key, 1).writes(2, [result(1, "r")])).await);
}

/// Records stand on something.
pub async fn records_without_any_checkpoint_are_invalid(store: TestStore) {
    let key = root("t");
    invalid(&store.refuse(first(&key).writes(1, [result(1, "r")])).await);
    assert_eq!(store.view(&key, At::Head).await.thread, None);
}

/// Ops are applied in their order.
pub async fn records_before_their_checkpoint_are_invalid(store: TestStore) {
    let key = root("t");
    invalid(&store.refuse(first(&key).writes(1, [result(1, "r")]).put(point(1))).await);
    store.apply(first(&key).put(point(1)).writes(1, [result(1, "r")])).await;
}

/// A task that ends at once rides in the commit that made its checkpoint.
pub async fn records_may_go_to_any_checkpoint_of_the_same_commit(store: TestStore) {
    let key = root("t");
    let draft = first(&key).put(point(1)).put(point(2)).writes(1, [result(1, "a")]).writes(2, [result(2, "b")]);
    store.apply(draft).await;
    assert_eq!(store.found(&key, At::Id(id(1))).await.writes, [result(1, "a")]);
    assert_eq!(store.head(&key).await.writes, [result(2, "b")]);
}

/// The last results of a step ride in the commit of the next checkpoint, before or after it.
pub async fn records_may_go_to_the_former_head_beside_its_successor(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    let draft = after(&key, 1).writes(1, [result(1, "a")]).put(point(2)).writes(1, [result(2, "b")]);
    store.apply(draft).await;
    assert_eq!(store.found(&key, At::Id(id(1))).await.writes.len(), 2);
    assert!(store.head(&key).await.writes.is_empty());
}

/// Answers have an op of their own, with a check of its own.
pub async fn an_answer_among_the_records_is_invalid(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).writes(1, [ask(1, 1)])).await;
    let path = question(1).to_string();
    let forged = record(1, WriteKind::Answer, &path, "0123456789abcdef-yes");
    invalid(&store.refuse(after(&key, 1).writes(1, [result(2, "r"), forged])).await);
    assert_eq!(store.head(&key).await.writes, [ask(1, 1)]);
}

/// What is wrong in itself is called wrong, stale or not.
pub async fn a_commit_wrong_in_itself_is_invalid_before_it_is_stale_or_fenced(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).put(point(2))).await;
    invalid(&store.refuse(after(&key, 1).writes(7, [result(1, "r")])).await);
    invalid(&store.refuse(after(&key, 1).put(point(3).seq(0))).await);
    invalid(&store.refuse(after(&key, 1).put(point(3)).put(point(3).seq(4))).await);
    store.apply(after(&key, 2).claim(1)).await;
    invalid(&store.refuse(after(&key, 2).writes(7, [result(1, "r")])).await);
}

/// The loser of a race computed the same position as the winner; it is told that it lost.
pub async fn a_stale_commit_is_stale_before_its_position_is_wrong(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    store.apply(after(&key, 1).put(point(2))).await;
    assert_eq!(moved(&store.refuse(after(&key, 1).put(point(3).seq(2))).await), FoundHead::Head(id(2)));
    let with_answer = after(&key, 1).put(point(3)).answer(answer(1, 1, 1, 1));
    assert_eq!(moved(&store.refuse(with_answer).await), FoundHead::Head(id(2)));
}

/// A commit that repeats no mistake is applied after a refused one.
pub async fn a_thread_goes_on_after_an_invalid_commit(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    invalid(&store.refuse(after(&key, 1).put(point(1).seq(2))).await);
    store.apply(after(&key, 1).put(point(2))).await;
    assert_eq!(seqs(&store.all(&key).await), [2, 1]);
}
