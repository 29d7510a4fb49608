//! Listing checkpoints.

use std::num::NonZeroUsize;

use serde_json::json;
use superstep_checkpoint::{At, ListQuery, NamespaceKey, StoreErrorKind};

use crate::sample::{after, answer, ask, empty, first, id, namespace, point, result, root, seqs};
use crate::test_store::TestStore;

fn at_most(n: usize) -> ListQuery {
    ListQuery::default().limit(NonZeroUsize::new(n).unwrap())
}

/// A thread with checkpoints 1 to `n`; `even` and `n` are in their metadata.
async fn thread(store: &TestStore, n: u64) -> NamespaceKey {
    let key = root("t");
    let meta = |n: u64| point(n).meta("n", n).meta("even", n.is_multiple_of(2));
    store.apply(first(&key).put(meta(1))).await;
    for n in 2..=n {
        store.apply(after(&key, n - 1).put(meta(n))).await;
    }
    key
}

/// By number, not by text: 12 before 9.
pub async fn b122_history_is_newest_first(store: TestStore) {
    let key = thread(&store, 12).await;
    assert_eq!(seqs(&store.all(&key).await), [12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
    assert_eq!(seqs(&store.matching(&key, at_most(3)).await), [12, 11, 10]);
    assert_eq!(store.head(&key).await.checkpoint.id, id(12));
}

/// No error.
pub async fn an_unknown_thread_lists_nothing(store: TestStore) {
    let key = thread(&store, 2).await;
    assert!(store.all(&root("unknown")).await.is_empty());
    assert!(store.all(&namespace("t", "unknown")).await.is_empty());
    assert_eq!(store.all(&key).await.len(), 2);
}

/// A limit is not a demand.
pub async fn a_limit_beyond_the_end_gives_what_there_is(store: TestStore) {
    let key = thread(&store, 3).await;
    assert_eq!(seqs(&store.matching(&key, at_most(1_000)).await), [3, 2, 1]);
    assert_eq!(seqs(&store.matching(&key, at_most(usize::MAX)).await), [3, 2, 1]);
    assert_eq!(seqs(&store.matching(&key, at_most(1)).await), [3]);
}

/// Page by page, each beginning after the last of the page before.
pub async fn pages_leave_nothing_out_and_repeat_nothing(store: TestStore) {
    let key = thread(&store, 10).await;
    let mut seen = seqs(&store.matching(&key, at_most(3)).await);
    for _ in 0..4 {
        let last = seen[seen.len() - 1];
        seen.extend(seqs(&store.matching(&key, at_most(3).before(id(last))).await));
    }
    assert_eq!(seen, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
}

/// Not everything.
pub async fn before_an_unknown_checkpoint_there_is_nothing(store: TestStore) {
    let key = thread(&store, 3).await;
    store.apply(empty(&namespace("t", "child"), 0).put(point(50))).await;
    assert!(store.matching(&key, ListQuery::default().before(id(99))).await.is_empty());
    assert!(store.matching(&key, ListQuery::default().before(id(50))).await.is_empty());
}

/// The one named is not part of the list.
pub async fn before_the_first_checkpoint_there_is_nothing(store: TestStore) {
    let key = thread(&store, 3).await;
    assert!(store.matching(&key, ListQuery::default().before(id(1))).await.is_empty());
    assert_eq!(seqs(&store.matching(&key, ListQuery::default().before(id(2))).await), [1]);
    assert_eq!(seqs(&store.matching(&key, ListQuery::default().before(id(3))).await), [2, 1]);
}

/// The limit counts what matches.
pub async fn limit_before_and_metadata_work_together(store: TestStore) {
    let key = thread(&store, 10).await;
    assert_eq!(seqs(&store.matching(&key, at_most(2).metadata("even", true)).await), [10, 8]);
    assert_eq!(seqs(&store.matching(&key, at_most(2).metadata("even", true).before(id(8))).await), [6, 4]);
    // The one named need not match itself.
    assert_eq!(seqs(&store.matching(&key, at_most(2).metadata("even", true).before(id(7))).await), [6, 4]);
}

/// All entries asked for.
pub async fn every_entry_of_the_filter_must_match(store: TestStore) {
    let key = thread(&store, 6).await;
    let query = ListQuery::default().metadata("even", true);
    assert_eq!(seqs(&store.matching(&key, query.clone().metadata("n", 4)).await), [4]);
    assert!(store.matching(&key, query.clone().metadata("n", 3)).await.is_empty());
    assert!(store.matching(&key, query.metadata("absent", 1)).await.is_empty());
}

/// A number is not its text, and true is not 1.
pub async fn metadata_is_compared_by_value_and_type(store: TestStore) {
    let key = root("t");
    let all = [json!(1), json!("1"), json!(true), json!("true"), json!(null), json!("null"), json!(0), json!(false)];
    let odd = [json!(""), json!([]), json!({}), json!([1]), json!("[1]"), json!(1.5), json!(-1)];
    let given: Vec<_> = all.into_iter().chain(odd).collect();
    let mut draft = first(&key);
    for (n, value) in (1..).zip(&given) {
        draft = draft.put(point(n).meta("k", value.clone()));
    }
    store.apply(draft).await;
    for (n, value) in (1..).zip(&given) {
        assert_eq!(
            seqs(&store.matching(&key, ListQuery::default().metadata("k", value.clone())).await),
            [n],
            "{value}"
        );
    }
}

/// A null was given, an absent key was not.
pub async fn null_in_metadata_is_not_absence(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).meta("k", json!(null))).put(point(2))).await;
    assert_eq!(seqs(&store.matching(&key, ListQuery::default().metadata("k", json!(null))).await), [1]);
}

/// Equal, not contained; the order of an object's keys does not matter, that of a list does.
pub async fn nested_metadata_is_compared_whole(store: TestStore) {
    let key = root("t");
    let value = json!({"b": [1, 2], "a": {"x": null}});
    store.apply(first(&key).put(point(1).meta("k", value))).await;
    let finds = |value: serde_json::Value| {
        let (store, key) = (store.clone(), key.clone());
        async move { !store.matching(&key, ListQuery::default().metadata("k", value)).await.is_empty() }
    };
    assert!(finds(json!({"a": {"x": null}, "b": [1, 2]})).await);
    assert!(!finds(json!({"a": {"x": null}, "b": [2, 1]})).await);
    assert!(!finds(json!({"a": {"x": null}})).await);
    assert!(!finds(json!({"b": [1, 2]})).await);
    assert!(!finds(json!({"a": {}, "b": [1, 2]})).await);
}

/// Over all branches by position.
pub async fn history_lists_every_branch(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).put(point(2)).put(point(3))).await;
    store.apply(after(&key, 3).put(point(4).branch(4).parent(1))).await;
    store.apply(after(&key, 4).put(point(5).parent(3))).await;
    store.apply(after(&key, 5).put(point(6).branch(4).parent(4))).await;
    assert_eq!(seqs(&store.all(&key).await), [6, 5, 4, 3, 2, 1]);
    assert_eq!(seqs(&store.matching(&key, ListQuery::default().before(id(5))).await), [4, 3, 2, 1]);
}

/// Values, arguments, records and answers, as by id.
pub async fn a_listed_checkpoint_is_the_same_as_one_read_by_id(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a").base("y", "b").args("args")).writes(1, [ask(1, 1)])).await;
    store.apply(after(&key, 1).answer(answer(1, 1, 1, 1)).writes(1, [result(1, "r")])).await;
    store.apply(after(&key, 1).put(point(2).segment("x", "c").cleared("y"))).await;
    store.apply(after(&key, 2).put(point(3).branch(3).base("x", "d")).writes(3, [result(2, "s")])).await;
    let listed = store.all(&key).await;
    assert_eq!(listed.len(), 3);
    for stored in listed {
        assert_eq!(stored, store.found(&key, At::Id(stored.checkpoint.id)).await);
    }
}

/// Keys of the filter are data, never part of a query's text.
pub async fn b149_filter_keys_are_plain_keys(store: TestStore) {
    let key = thread(&store, 2).await;
    store.apply(first(&root("secret")).put(point(1).meta("n", 1))).await;
    let long = "k".repeat(10_000);
    let hostile = [
        "a') OR 1=1 --",
        "' OR '1'='1",
        "n') = 1 OR ('1",
        "n\" OR 1=1 --",
        "$.n",
        "$",
        "n'",
        "'",
        "\"",
        "[0]",
        "a.b",
        "#-1",
        "%",
        "*",
        "{n}",
        "\\",
        "",
        ";DROP TABLE checkpoint;--",
        long.as_str(),
    ];
    for name in hostile {
        let query = ListQuery::default().metadata(name, 1);
        match store.list(&key, &query).await {
            Ok(found) => assert!(found.is_empty(), "the key {name:?} matched"),
            Err(error) => assert_eq!(error.kind(), StoreErrorKind::Invalid, "{name:?}: {error}"),
        }
    }
    assert_eq!(store.all(&key).await.len(), 2);
}

/// A key that looks like a path is one key.
pub async fn b149_odd_keys_match_themselves_only(store: TestStore) {
    let key = root("t");
    let names = ["a.b", "a", "$.a", "a'b", "a\"b", "a\\b", "é", "e\u{301}", " a", "A", "[0]", "a') OR 1=1 --"];
    let mut draft = first(&key);
    for (n, name) in (1..).zip(names) {
        draft = draft.put(point(n).meta(name, json!({"b": 1})));
    }
    store.apply(draft).await;
    for (n, name) in (1..).zip(names) {
        let query = ListQuery::default().metadata(name, json!({"b": 1}));
        assert_eq!(seqs(&store.matching(&key, query).await), [n], "{name:?}");
    }
}

/// Filter values are data as well.
pub async fn b149_filter_values_are_plain_values(store: TestStore) {
    let key = thread(&store, 2).await;
    for value in ["1' OR '1'='1", "') OR 1=1 --", "\"", "\\", "$1", "?", "%", "{\"n\":1}"] {
        assert!(store.matching(&key, ListQuery::default().metadata("n", value)).await.is_empty(), "{value:?}");
    }
}
