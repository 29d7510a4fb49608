//! Records of tasks.

use superstep_checkpoint::{At, NamespaceKey, Write, WriteKind};

use crate::sample::{after, answer, ask, first, id, node, point, record, result, root};
use crate::test_store::TestStore;

/// A thread with one checkpoint.
async fn thread(store: &TestStore) -> NamespaceKey {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    key
}

fn sorted(mut writes: Vec<Write>) -> Vec<Write> {
    writes.sort_by(|a, b| (a.task, a.kind.code(), a.path.as_str()).cmp(&(b.task, b.kind.code(), b.path.as_str())));
    writes
}

/// Kinds, nodes, paths and contents.
pub async fn records_of_all_kinds_come_back(store: TestStore) {
    let key = thread(&store).await;
    let mut given = vec![
        result(1, "result"),
        record(1, WriteKind::Journal, "0", "journal"),
        ask(2, 1),
        record(3, WriteKind::Error, "", "error"),
        record(4, WriteKind::Patch, "1", "patch"),
    ];
    given[1].node = node("another");
    store.apply(after(&key, 1).writes(1, given.clone())).await;
    assert_eq!(store.head(&key).await.writes, sorted(given));
}

/// Whatever the order in which tasks ended.
pub async fn records_are_ordered_by_task_kind_and_path(store: TestStore) {
    let key = thread(&store).await;
    let mut given = Vec::new();
    for n in [9, 2, 7, 1, 8] {
        for path in ["b", "", "a/10", "a/9", "é", "Z"] {
            given.push(record(n, WriteKind::Journal, path, format!("{n} {path}")));
        }
        given.push(record(n, WriteKind::Patch, "0", "patch"));
        given.push(record(n, WriteKind::Error, "", "error"));
        given.push(result(n, "result"));
    }
    for writes in given.chunks(4).rev() {
        store.apply(after(&key, 1).writes(1, writes.to_vec())).await;
    }
    assert_eq!(store.head(&key).await.writes, sorted(given));
}

/// The later content and node count.
pub async fn a_record_put_again_replaces_the_former(store: TestStore) {
    let key = thread(&store).await;
    store.apply(after(&key, 1).writes(1, [record(1, WriteKind::Error, "", "first, and longer")])).await;
    let mut second = record(1, WriteKind::Error, "", "second");
    second.node = node("renamed");
    store.apply(after(&key, 1).writes(1, [second.clone()])).await;
    assert_eq!(store.head(&key).await.writes, [second]);
}

/// Also inside one commit, in one list or in two.
pub async fn of_two_records_at_one_place_in_one_commit_the_later_counts(store: TestStore) {
    let key = thread(&store).await;
    store.apply(after(&key, 1).writes(1, [result(1, "a"), result(2, "x"), result(1, "b")])).await;
    assert_eq!(store.head(&key).await.writes, sorted(vec![result(1, "b"), result(2, "x")]));
    store.apply(after(&key, 1).writes(1, [result(1, "c")]).writes(1, [result(1, "d")])).await;
    assert_eq!(store.head(&key).await.writes, sorted(vec![result(1, "d"), result(2, "x")]));
}

/// A question, an error and an answer leave the results of the same task alone.
pub async fn b105_special_records_do_not_share_a_place(store: TestStore) {
    let key = thread(&store).await;
    let x = record(1, WriteKind::Journal, "0", "x=1");
    let y = record(1, WriteKind::Journal, "1", "y=2");
    store.apply(after(&key, 1).writes(1, [result(1, "x=1 y=2"), x.clone(), y.clone()])).await;
    store.apply(after(&key, 1).writes(1, [ask(1, 1)])).await;
    store.apply(after(&key, 1).writes(1, [record(1, WriteKind::Error, "", "broke")])).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 1))).await;
    let mut again = ask(1, 1);
    again.bytes = "what now?".into();
    store.apply(after(&key, 1).writes(1, [again.clone()])).await;
    let reply = answer(1, 1, 1, 1).write();
    let expected = vec![result(1, "x=1 y=2"), record(1, WriteKind::Error, "", "broke"), again, reply, x, y];
    assert_eq!(store.head(&key).await.writes, expected);
}

/// A retry brings a new error and the same results.
pub async fn b106_a_new_error_replaces_the_old_one_beside_results(store: TestStore) {
    let key = thread(&store).await;
    let batch =
        |error: &'static str| [record(1, WriteKind::Error, "", error), record(1, WriteKind::Journal, "0", "x=1")];
    store.apply(after(&key, 1).writes(1, batch("old"))).await;
    store.apply(after(&key, 1).writes(1, batch("new"))).await;
    assert_eq!(store.head(&key).await.writes, batch("new"));
}

/// A repeated call is no error and leaves no second copy.
pub async fn b107_records_put_three_times_leave_one_copy(store: TestStore) {
    let key = thread(&store).await;
    let commit = after(&key, 1).writes(1, [result(1, "r"), ask(1, 1), record(1, WriteKind::Journal, "0", "j")]);
    for _ in 0..3 {
        store.apply(commit.clone()).await;
    }
    if let Some(second) = store.second().await {
        second.apply(commit).await;
    }
    assert_eq!(store.head(&key).await.writes.len(), 3);
}

/// The next step begins without records.
pub async fn records_stay_on_their_checkpoint(store: TestStore) {
    let key = thread(&store).await;
    store.apply(after(&key, 1).writes(1, [result(1, "r")])).await;
    store.apply(after(&key, 1).put(point(2))).await;
    assert!(store.head(&key).await.writes.is_empty());
    assert_eq!(store.found(&key, At::Id(id(1))).await.writes, [result(1, "r")]);
}

/// The same task on two checkpoints, as after a fork.
pub async fn a_task_may_have_records_on_two_checkpoints(store: TestStore) {
    let key = thread(&store).await;
    store.apply(after(&key, 1).writes(1, [result(1, "a")]).put(point(2)).writes(2, [result(1, "b")])).await;
    assert_eq!(store.found(&key, At::Id(id(1))).await.writes, [result(1, "a")]);
    assert_eq!(store.head(&key).await.writes, [result(1, "b")]);
}

/// Results of siblings are committed as they come.
pub async fn records_of_siblings_add_up(store: TestStore) {
    let key = thread(&store).await;
    for n in 0..10 {
        store.apply(after(&key, 1).writes(1, [result(n, format!("{n}"))])).await;
        assert_eq!(store.head(&key).await.writes.len() as u64, n + 1);
    }
}

/// A step of very many tasks.
pub async fn five_thousand_records_fit_in_one_commit(store: TestStore) {
    let key = thread(&store).await;
    let given: Vec<_> = (0..5_000).map(|n| result(n, format!("result {n}"))).collect();
    store.apply(after(&key, 1).writes(1, given.clone())).await;
    assert_eq!(store.head(&key).await.writes, sorted(given));
}

/// Paths are compared whole.
pub async fn paths_are_told_apart_to_the_last_character(store: TestStore) {
    let key = thread(&store).await;
    let paths = ["", "0", "00", "0/1", "0/1/", "0:1", "a", "A", "a ", "é", "e\u{301}", "'", "\"", "%", "_", "\\", "{}"];
    let given: Vec<_> = paths.iter().map(|path| record(1, WriteKind::Journal, path, format!("<{path}>"))).collect();
    for write in &given {
        store.apply(after(&key, 1).writes(1, [write.clone()])).await;
    }
    assert_eq!(store.head(&key).await.writes, sorted(given));
}

/// Nothing to put is nothing wrong.
pub async fn an_empty_list_of_records_is_applied(store: TestStore) {
    let key = thread(&store).await;
    store.apply(after(&key, 1).writes(1, [])).await;
    assert!(store.head(&key).await.writes.is_empty());
}
