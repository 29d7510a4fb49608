//! Values, names and numbers that break stores.

use bytes::Bytes;
use serde_json::json;
use superstep_checkpoint::{At, CheckpointId, ListQuery, NamespaceKey, Op, Seq, Status, Step, TaskId, WriteKind};

use crate::sample::{
    after, answer, ask, digest, empty, first, id, key, millis, namespace, node, point, question, record, result, root,
    run,
};
use crate::splitmix::mix;
use crate::test_store::TestStore;

/// Every byte there is, NUL and invalid UTF-8 included.
fn all_bytes() -> Bytes {
    (0..=255).chain([0, 0, 255, 0]).collect()
}

/// Puts these bytes wherever bytes are kept, and reads them back.
async fn round_trip(store: &TestStore, key: &NamespaceKey, bytes: &Bytes) {
    let start = point(1).base("x", bytes.clone()).args(bytes.clone());
    store.apply(first(key).put(start).writes(1, [ask(1, 1), result(1, bytes.clone())])).await;
    let mut reply = answer(1, 1, 1, 1);
    reply.bytes = bytes.clone();
    store.apply(after(key, 1).answer(reply.clone())).await;
    store.apply(after(key, 1).put(point(2).segment("x", bytes.clone()))).await;
    let old = store.found(key, At::Id(id(1))).await;
    assert!(old.args == *bytes, "the arguments changed");
    assert!(old.writes == [result(1, bytes.clone()), ask(1, 1), reply.write()], "a record changed");
    let parts = &store.head(key).await.values[0].parts;
    assert!(parts.len() == 2 && parts.iter().all(|part| part.bytes == *bytes), "a part changed");
}

/// Values are bytes, not text.
pub async fn every_byte_comes_back(store: TestStore) {
    round_trip(&store, &root("t"), &all_bytes()).await;
}

/// No bytes are a value, too.
pub async fn empty_bytes_come_back_and_are_a_value(store: TestStore) {
    round_trip(&store, &root("t"), &Bytes::new()).await;
}

/// Larger than a page, a packet or a bind limit.
pub async fn a_megabyte_comes_back(store: TestStore) {
    let megabyte: Bytes = (0..1_048_576_u32).map(|n| n.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    round_trip(&store, &root("t"), &megabyte).await;
}

/// Bytes that look like a store's own notation.
pub async fn bytes_that_look_like_something_come_back(store: TestStore) {
    for (n, text) in ["null", "", "\\x00", "''", "{}", "[]", "NaN", "\u{feff}", "\r\n", "0", "true"].iter().enumerate()
    {
        round_trip(&store, &root(&format!("t{n}")), &Bytes::from_static(text.as_bytes())).await;
    }
}

/// Every kind of name.
async fn names(store: &TestStore, name: &str) {
    let key = key(name, name, name);
    let mut start = point(1).base(name, "v").graph(name);
    start.checkpoint.plan.sends = vec![node(name)];
    start.checkpoint.turn.run = Some(run(name));
    let mut write = record(1, WriteKind::Journal, name, "j");
    write.node = node(name);
    store.apply(first(&key).put(start.clone()).writes(1, [write.clone()]).status(Status::Ready, &[name])).await;
    let view = store.view(&key, At::Head).await;
    assert_eq!(view.thread.unwrap().next, [node(name)]);
    let found = view.found.unwrap();
    assert_eq!(*found.checkpoint, start.checkpoint);
    assert_eq!(found.values[0].channel, name);
    assert_eq!(found.writes, [write]);
    assert_eq!(store.all(&key).await.len(), 1);
    // The root of the same thread, for the name of its graph.
    let key = key.thread.root();
    store.apply(empty(&key, 0).put(start)).await;
    assert_eq!(store.row(&key).await.graph, name);
    store.delete(&key).await;
    assert!(store.all(&key).await.is_empty());
}

/// Other alphabets, emoji, direction marks, characters beyond 16 bits.
pub async fn names_outside_ascii_work(store: TestStore) {
    for name in ["naïve", "日本語", "🦀👩‍👩‍👧", "\u{202e}abc", "עברית", "𝔘𝔫𝔦", "\u{feff}x", "\u{10ffff}", "\u{1}\u{7f}"]
    {
        names(&store, name).await;
    }
}

/// Quotes, braces, separators, and what has been used for attacks.
pub async fn names_with_quotes_braces_and_commands_work(store: TestStore) {
    let odd = [
        "'",
        "\"",
        "`",
        "''",
        "\\",
        "\\'",
        "{",
        "}",
        "{}",
        "{a}",
        "[",
        "]",
        "(",
        ")",
        ";",
        "--",
        "/*",
        "%",
        "%s",
        "_",
        "$1",
        "?",
        ":name",
        "@x",
        "#",
        "*",
        "~",
        "!",
        "&",
        "|",
        "<x>",
        "a') OR 1=1 --",
        "'; DROP TABLE thread; --",
        "../..",
        "a\nb",
        "a\r\nb",
        "\t",
        " ",
        "null",
        "NULL",
        "true",
        "0",
        "-1",
        "1e9",
        "{\"a\":1}",
        "$(x)",
        "${x}",
    ];
    for name in odd {
        names(&store, name).await;
    }
}

/// All at once, so that keys made of several are longest.
pub async fn names_of_the_greatest_length_work(store: TestStore) {
    names(&store, &"x".repeat(1_024)).await;
    names(&store, &"🦀".repeat(256)).await;
    // Bytes that do not compress, for stores that compress their index.
    let noise: String = (0..1_024_u64).map(|n| char::from(b'!' + (mix(n) % 90) as u8)).collect();
    names(&store, &noise).await;
}

/// Names that differ only at the end of their length.
pub async fn long_names_are_compared_to_their_end(store: TestStore) {
    let start = "x".repeat(1_023);
    let keys = [root(&format!("{start}a")), root(&format!("{start}b")), root(&start)];
    for (n, key) in (1..).zip(&keys) {
        store.apply(first(key).put(point(n))).await;
    }
    for (n, key) in (1..).zip(&keys) {
        assert_eq!(store.head(key).await.checkpoint.id, id(n));
    }
}

/// Texts, nesting and numbers, with nothing lost.
pub async fn odd_metadata_comes_back(store: TestStore) {
    let key = root("t");
    let odd = json!({
        "quotes": "it's \"so\" \\ `", "nul": "a\u{0}b", "line": "a\r\n\tb\u{2028}", "emoji": "🦀", "empty": "",
        "max": u64::MAX, "min": i64::MIN, "big": 9_007_199_254_740_993_u64, "half": 0.5, "tiny": 5e-324, "minus": -0.5,
        "nothing": null, "yes": true, "list": [1, [2, [3]], {}], "object": {"a": {"b": {"c": []}}},
        "": "empty key", "a.b": 1, "$.x": 2, "a') OR 1=1 --": 3, "'": 4, "\"": 5, "é": 6, "日本": 7, "\u{0}": 8,
    });
    let mut start = point(1);
    for (name, value) in odd.as_object().unwrap() {
        start = start.meta(name, value.clone());
    }
    let expected = start.checkpoint.metadata.clone();
    store.apply(first(&key).put(start)).await;
    assert_eq!(store.head(&key).await.checkpoint.metadata, expected);
    for name in ["quotes", "emoji", "max", "min", "big", "half", "list", "object", "", "a') OR 1=1 --", "日本"] {
        let query = ListQuery::default().metadata(name, expected[name].clone());
        assert_eq!(store.matching(&key, query).await.len(), 1, "{name:?}");
    }
}

/// Numbers at the ends of their range.
pub async fn great_numbers_come_back(store: TestStore) {
    let key = root("t");
    let great = 1 << 62;
    let mut start = point(1).seq(great).branch(great);
    start.checkpoint.step = Step(i64::MAX);
    start.checkpoint.created_at = millis(253_402_300_799_999);
    store.apply(first(&key).put(start.clone())).await;
    let mut next = point(2).seq(great + 1).branch(great);
    next.checkpoint.step = Step(i64::MIN);
    next.checkpoint.created_at = millis(0);
    store.apply(after(&key, 1).put(next.clone())).await;
    assert_eq!(*store.found(&key, At::Id(id(1))).await.checkpoint, start.checkpoint);
    assert_eq!(*store.head(&key).await.checkpoint, next.checkpoint);
    assert_eq!(store.view(&key, At::Head).await.namespace.unwrap().last_seq, Seq(great + 1));
}

/// Ids are 128 bits: none is special, and all count.
pub async fn ids_of_all_zeros_and_ones_work(store: TestStore) {
    let key = root("t");
    let mut start = point(1);
    start.checkpoint.id = CheckpointId::from_bytes([0; 16]);
    let mut next = point(2);
    next.checkpoint.id = CheckpointId::from_bytes([255; 16]);
    next.checkpoint.parent = Some(CheckpointId::from_bytes([0; 16]));
    next.checkpoint.turn.digest = digest(0);
    let mut low = result(1, "low");
    low.task = TaskId::from_bytes([0; 16]);
    let mut high = result(1, "high");
    high.task = TaskId::from_bytes([255; 16]);
    let put = Op::PutWrites { checkpoint: next.checkpoint.id, writes: vec![high.clone(), low.clone()] };
    store.apply(first(&key).put(start.clone()).put(next.clone()).op(put)).await;
    assert_eq!(*store.found(&key, At::Id(start.checkpoint.id)).await.checkpoint, start.checkpoint);
    let head = store.head(&key).await;
    assert_eq!((&*head.checkpoint, head.writes), (&next.checkpoint, vec![low, high]));
}

/// A namespace as deep as its length allows.
pub async fn a_deep_namespace_works(store: TestStore) {
    let deep = namespace("t", &"child/".repeat(170));
    store.apply(first(&deep).put(point(1)).writes(1, [ask(1, 1)])).await;
    store.apply(after(&deep, 1).answer(answer(1, 1, 1, 1))).await;
    assert_eq!(store.found(&deep, At::Question(question(1))).await.writes.len(), 2);
}
