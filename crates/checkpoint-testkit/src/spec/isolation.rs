//! What belongs to different threads and namespaces stays apart, whatever they are called.

use superstep_checkpoint::{At, ListQuery, NamespaceKey, Status};

use crate::sample::{
    after, answer, ask, empty, first, id, key, namespace, point, question, result, root, seqs, values,
};
use crate::test_store::TestStore;

/// Puts the same ids everywhere, with the key itself as content.
async fn fill(store: &TestStore, keys: &[NamespaceKey]) {
    for key in keys {
        // The thread may have come to be through another of its namespaces; its epoch stays 0.
        store
            .apply(empty(key, 0).put(point(1).base("x", shown(key))).writes(1, [result(1, shown(key)), ask(1, 1)]))
            .await;
    }
}

fn shown(key: &NamespaceKey) -> String {
    format!("{:?} {:?}", key.thread, key.namespace)
}

async fn holds_its_own(store: &TestStore, key: &NamespaceKey) {
    for at in [At::Head, At::Id(id(1)), At::Question(question(1))] {
        let found = store.found(key, at).await;
        assert_eq!(values(&found), format!("x={}", shown(key)));
        assert_eq!(found.writes, [result(1, shown(key)), ask(1, 1)]);
    }
    assert_eq!(seqs(&store.all(key).await), [1]);
}

async fn all_hold_their_own(store: &TestStore, keys: &[NamespaceKey]) {
    for key in keys {
        holds_its_own(store, key).await;
    }
}

/// Two conversations.
pub async fn threads_share_nothing(store: TestStore) {
    let keys = [root("a"), root("b"), root("c")];
    fill(&store, &keys).await;
    all_hold_their_own(&store, &keys).await;
    store.apply(after(&keys[1], 1).put(point(2)).status(Status::Done, &[])).await;
    holds_its_own(&store, &keys[0]).await;
    assert_eq!(store.row(&keys[0]).await.status, Status::Ready);
}

/// A graph and its subgraphs.
pub async fn namespaces_share_nothing_but_the_row(store: TestStore) {
    let keys = [root("t"), namespace("t", "a"), namespace("t", "a/b"), namespace("t", "b")];
    fill(&store, &keys).await;
    all_hold_their_own(&store, &keys).await;
    store.apply(after(&keys[1], 1).answer(answer(1, 1, 1, 1))).await;
    holds_its_own(&store, &keys[0]).await;
    holds_its_own(&store, &keys[2]).await;
}

/// Where one name ends and the next begins is never a matter of text.
pub async fn names_joined_differently_stay_apart(store: TestStore) {
    let mut keys = Vec::new();
    for separator in [":", "/", "|", ",", "-", "_", ".", " ", "\u{1}", "\u{1f}", "\\", "}{"] {
        let joined = format!("b{separator}c");
        let long = format!("a{separator}b");
        keys.push(key("a", &joined, ""));
        keys.push(key(&long, "c", ""));
        keys.push(key("a", "b", &format!("c{separator}")));
        keys.push(key("", &format!("a{separator}b{separator}c"), ""));
        keys.push(key("", &long, "c"));
    }
    fill(&store, &keys).await;
    all_hold_their_own(&store, &keys).await;
}

/// No folding of case, space or accents.
pub async fn names_that_look_alike_stay_apart(store: TestStore) {
    let names =
        ["a", "A", "a ", " a", "á", "a\u{301}", "а", "ａ", "0", "00", "1", "01", "1.0", "ss", "ß", "SS", "i", "İ", "ı"];
    let threads: Vec<_> = names.iter().map(|name| root(name)).collect();
    let spaces: Vec<_> = names.iter().map(|name| namespace("t", name)).collect();
    let tenants: Vec<_> = names.iter().map(|name| key(name, "t", "")).collect();
    let keys = [threads, spaces, tenants].concat();
    fill(&store, &keys).await;
    all_hold_their_own(&store, &keys).await;
}

/// Nothing in a name is a pattern.
pub async fn deleting_a_name_that_looks_like_a_pattern_deletes_one_thread(store: TestStore) {
    let patterns = ["a%", "a_", "a*", "a?", "[ab]", "a", "%", "*", "a:*", "{a,b}", ".*", "a' OR '1'='1"];
    let others: Vec<_> = ["ab", "abc", "b", "a:b", "t"].map(root).into_iter().chain([key("a", "b", "")]).collect();
    let keys: Vec<_> = patterns.map(root).into_iter().collect();
    fill(&store, &others).await;
    fill(&store, &keys).await;
    for (n, key) in keys.iter().enumerate() {
        store.delete(key).await;
        assert!(store.all(key).await.is_empty());
        all_hold_their_own(&store, &others).await;
        all_hold_their_own(&store, &keys[n + 1..]).await;
    }
}

/// The same id in many threads is many checkpoints.
pub async fn a_checkpoint_of_another_thread_is_not_found(store: TestStore) {
    store.apply(first(&root("a")).put(point(1)).writes(1, [ask(1, 1)])).await;
    store.apply(first(&root("b")).put(point(2))).await;
    let b = root("b");
    assert_eq!(store.view(&b, At::Id(id(1))).await.found, None);
    assert_eq!(store.view(&b, At::Question(question(1))).await.found, None);
    let query = ListQuery::default().before(id(1));
    assert!(store.matching(&b, query).await.is_empty());
}
