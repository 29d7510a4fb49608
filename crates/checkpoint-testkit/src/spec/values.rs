//! Which parts of a channel's value are read at a checkpoint.

use superstep_checkpoint::{At, NamespaceKey, Part, PartKind};

use crate::sample::{after, first, id, point, root, values};
use crate::test_store::TestStore;

/// The values at checkpoint number `n`, as text.
async fn at(store: &TestStore, key: &NamespaceKey, n: u64) -> String {
    values(&store.found(key, At::Id(id(n))).await)
}

/// Only changed channels are written.
pub async fn an_unchanged_value_is_read_from_before(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a").base("y", "b"))).await;
    store.apply(after(&key, 1).put(point(2).base("y", "c"))).await;
    store.apply(after(&key, 2).put(point(3))).await;
    assert_eq!(at(&store, &key, 1).await, "x=a y=b");
    assert_eq!(at(&store, &key, 2).await, "x=a y=c");
    assert_eq!(at(&store, &key, 3).await, "x=a y=c");
}

/// Oldest first.
pub async fn segments_follow_their_base(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a"))).await;
    for (n, text) in [(2, "b"), (3, "c"), (4, "d")] {
        store.apply(after(&key, n - 1).put(point(n).segment("x", text))).await;
    }
    assert_eq!(at(&store, &key, 4).await, "x=a+b+c+d");
}

/// A checkpoint shows what was there when it was made.
pub async fn an_old_checkpoint_reads_nothing_newer_than_itself(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a"))).await;
    store.apply(after(&key, 1).put(point(2).segment("x", "b"))).await;
    store.apply(after(&key, 2).put(point(3).base("x", "c").base("y", "d"))).await;
    store.apply(after(&key, 3).put(point(4).segment("x", "e").cleared("y"))).await;
    let mut seen = Vec::new();
    for n in 1..=4 {
        seen.push(at(&store, &key, n).await);
    }
    assert_eq!(seen, ["x=a", "x=a+b", "x=c y=d", "x=c+e"]);
}

/// What it replaces no longer counts.
pub async fn a_new_base_hides_the_parts_before_it(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a")).put(point(2).segment("x", "b"))).await;
    store.apply(after(&key, 2).put(point(3).base("x", "ab!")).put(point(4).segment("x", "c"))).await;
    assert_eq!(at(&store, &key, 4).await, "x=ab!+c");
    assert_eq!(at(&store, &key, 2).await, "x=a+b");
}

/// And is there where it was not yet cleared.
pub async fn a_cleared_channel_is_absent_from_then_on(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a").base("y", "b"))).await;
    store.apply(after(&key, 1).put(point(2).segment("x", "c"))).await;
    store.apply(after(&key, 2).put(point(3).cleared("x"))).await;
    store.apply(after(&key, 3).put(point(4))).await;
    assert_eq!(at(&store, &key, 2).await, "x=a+c y=b");
    assert_eq!(at(&store, &key, 3).await, "y=b");
    assert_eq!(at(&store, &key, 4).await, "y=b");
}

/// A value given again.
pub async fn a_base_after_a_clear_is_a_value_again(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a"))).await;
    store.apply(after(&key, 1).put(point(2).cleared("x"))).await;
    store.apply(after(&key, 2).put(point(3).base("x", "b"))).await;
    store.apply(after(&key, 3).put(point(4).segment("x", "c"))).await;
    assert_eq!(at(&store, &key, 2).await, "");
    assert_eq!(at(&store, &key, 4).await, "x=b+c");
}

/// No part from before the clear comes back.
pub async fn segments_after_a_clear_stand_alone(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a")).put(point(2).segment("x", "b"))).await;
    store.apply(after(&key, 2).put(point(3).cleared("x")).put(point(4).segment("x", "c"))).await;
    store.apply(after(&key, 4).put(point(5).segment("x", "d"))).await;
    let found = store.head(&key).await;
    assert_eq!(values(&found), "x=c+d");
    assert!(found.values[0].parts.iter().all(|part| part.kind == PartKind::Segment));
}

/// A channel may begin with a segment.
pub async fn segments_without_a_base_stand_alone(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).segment("x", "a")).put(point(2).segment("x", "b"))).await;
    assert_eq!(at(&store, &key, 1).await, "x=a");
    assert_eq!(at(&store, &key, 2).await, "x=a+b");
}

/// Where a part stands is part of what encryption authenticates.
pub async fn a_part_names_its_kind_and_its_checkpoint(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a"))).await;
    store.apply(after(&key, 1).put(point(2))).await;
    store.apply(after(&key, 2).put(point(3).segment("x", "b"))).await;
    let parts = &store.head(&key).await.values[0].parts;
    let part = |n, kind, bytes: &'static str| Part { checkpoint: id(n), kind, bytes: bytes.into() };
    assert_eq!(parts, &[part(1, PartKind::Base, "a"), part(3, PartKind::Segment, "b")]);
}

/// By bytes, not by the rules of a language.
pub async fn values_are_ordered_by_the_bytes_of_the_channel(store: TestStore) {
    let key = root("t");
    let mut point = point(1);
    for name in ["b", "a_", "Z", "é", "a", "A", "10", "9", " ", "a-b", "ab", "~"] {
        point = point.base(name, "v");
    }
    store.apply(first(&key).put(point)).await;
    let names: Vec<_> = store.head(&key).await.values.iter().map(|value| value.channel.to_string()).collect();
    assert_eq!(names, [" ", "10", "9", "A", "Z", "a", "a-b", "a_", "ab", "b", "~", "é"]);
}

/// A fork writes a full base of its own.
pub async fn a_branch_reads_its_own_values_only(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a").base("y", "b")).put(point(2).segment("x", "c"))).await;
    store.apply(after(&key, 2).put(point(3).branch(3).parent(1).base("x", "A"))).await;
    store.apply(after(&key, 3).put(point(4).branch(3).segment("x", "B"))).await;
    assert_eq!(at(&store, &key, 4).await, "x=A+B");
    assert_eq!(at(&store, &key, 2).await, "x=a+c y=b");
}

/// Going on at an old branch, after another one was opened.
pub async fn branches_may_take_turns(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a"))).await;
    store.apply(after(&key, 1).put(point(2).branch(2).base("x", "A"))).await;
    store.apply(after(&key, 2).put(point(3).parent(1).segment("x", "b"))).await;
    store.apply(after(&key, 3).put(point(4).branch(2).parent(2).segment("x", "B"))).await;
    store.apply(after(&key, 4).put(point(5).parent(3).segment("x", "c"))).await;
    assert_eq!(at(&store, &key, 5).await, "x=a+b+c");
    assert_eq!(at(&store, &key, 4).await, "x=A+B");
    assert_eq!(at(&store, &key, 3).await, "x=a+b");
}

/// A clear on one branch is none on another.
pub async fn a_clear_counts_on_its_branch_only(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a"))).await;
    store.apply(after(&key, 1).put(point(2).branch(2).base("x", "b"))).await;
    store.apply(after(&key, 2).put(point(3).branch(2).cleared("x"))).await;
    store.apply(after(&key, 3).put(point(4).parent(1))).await;
    assert_eq!(at(&store, &key, 3).await, "");
    assert_eq!(at(&store, &key, 4).await, "x=a");
}

/// Each channel has bases of its own.
pub async fn channels_do_not_disturb_each_other(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "x1").base("y", "y1"))).await;
    store.apply(after(&key, 1).put(point(2).segment("y", "y2"))).await;
    store.apply(after(&key, 2).put(point(3).base("x", "x3").base("z", "z3"))).await;
    store.apply(after(&key, 3).put(point(4).segment("y", "y4").segment("z", "z4"))).await;
    store.apply(after(&key, 4).put(point(5).base("y", "y5").cleared("x"))).await;
    assert_eq!(at(&store, &key, 4).await, "x=x3 y=y1+y2+y4 z=z3+z4");
    assert_eq!(at(&store, &key, 5).await, "y=y5 z=z3+z4");
}

/// A checkpoint may change nothing, and a state may be empty.
pub async fn a_state_without_values_is_empty(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).put(point(2))).await;
    assert!(store.head(&key).await.values.is_empty());
}

/// More channels than a statement has parameters.
pub async fn three_thousand_channels_fit_in_one_checkpoint(store: TestStore) {
    let key = root("t");
    let mut wide = point(1);
    for n in 0..3_000 {
        wide = wide.base(&format!("channel {n:04}"), format!("value {n}"));
    }
    store.apply(first(&key).put(wide)).await;
    let found = store.head(&key).await;
    assert_eq!(found.values.len(), 3_000);
    for (n, value) in found.values.iter().enumerate() {
        assert_eq!(value.channel, format!("channel {n:04}").as_str());
        assert_eq!(value.parts[0].bytes, format!("value {n}"));
    }
}

/// By number: segment 100 comes after segment 99.
pub async fn three_hundred_segments_come_in_order(store: TestStore) {
    let key = root("t");
    let mut expected = vec!["0".to_owned()];
    store.apply(first(&key).put(point(1).base("x", "0"))).await;
    for group in 0_u64..30 {
        let mut draft = after(&key, 1 + group * 10);
        for n in group * 10 + 1..=group * 10 + 10 {
            draft = draft.put(point(n + 1).segment("x", format!("{n}")));
            expected.push(n.to_string());
        }
        store.apply(draft).await;
    }
    assert_eq!(values(&store.head(&key).await), format!("x={}", expected.join("+")));
    assert_eq!(at(&store, &key, 101).await, format!("x={}", expected[..101].join("+")));
}
