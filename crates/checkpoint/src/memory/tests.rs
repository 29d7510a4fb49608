//! First tests; the contract is tested in full by the conformance suite.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use super::*;
use crate::{
    Branch, Change, ChannelName, Checkpoint, CheckpointId, Digest, Epoch, Expect, FoundHead, GraphStamp, Guard,
    LineageId, Namespace, NewCheckpoint, Op, PartKind, Plan, Seq, Source, Step, TenantId, ThreadId, Turn,
};

fn key() -> NamespaceKey {
    ThreadKey { tenant: TenantId::default(), thread: ThreadId::new("t").unwrap() }.namespace(Namespace::root())
}

fn id(n: u8) -> CheckpointId {
    CheckpointId::from_bytes([n; 16])
}

fn checkpoint(n: u8) -> Checkpoint {
    Checkpoint {
        format: Checkpoint::FORMAT,
        id: id(n),
        parent: None,
        seq: Seq(n.into()),
        branch: Branch(1),
        step: Step(0),
        source: Source::Loop,
        plan: Plan::default(),
        turn: Turn { lineage: LineageId::from_bytes([0; 16]), digest: Digest::from_bytes([0; 16]), run: None },
        graph: GraphStamp { name: "g".into(), signature: Digest::from_bytes([0; 16]) },
        metadata: BTreeMap::new(),
        ancestors: Vec::new(),
        created_at: UNIX_EPOCH,
    }
}

fn put(n: u8, head: Expect, kind: PartKind, bytes: &'static str) -> Commit {
    let change = Change { channel: ChannelName::new("x").unwrap(), kind, bytes: bytes.into() };
    let new = NewCheckpoint { checkpoint: checkpoint(n), args: Vec::new().into(), values: vec![change] };
    Commit { key: key(), guard: Guard::head(head), ops: vec![Op::PutCheckpoint(Box::new(new))] }
}

async fn value(store: &Memory, at: At) -> String {
    let found = store.get(&key(), at).await.unwrap().found.unwrap();
    found.values.iter().flat_map(|value| &value.parts).map(|part| std::str::from_utf8(&part.bytes).unwrap()).collect()
}

#[tokio::test]
async fn a_value_is_its_base_and_its_segments() {
    let store = Memory::new();
    store.commit(put(1, Expect::Empty(Epoch(0)), PartKind::Base, "a")).await.unwrap();
    store.commit(put(2, Expect::Head(id(1)), PartKind::Segment, "b")).await.unwrap();
    store.commit(put(3, Expect::Head(id(2)), PartKind::Base, "AB")).await.unwrap();
    store.commit(put(4, Expect::Head(id(3)), PartKind::Segment, "c")).await.unwrap();
    assert_eq!(value(&store, At::Head).await, "ABc");
    assert_eq!(value(&store, At::Id(id(2))).await, "ab");
}

#[tokio::test]
async fn a_stale_commit_changes_nothing() {
    let store = Memory::new();
    store.commit(put(1, Expect::Empty(Epoch(0)), PartKind::Base, "a")).await.unwrap();
    let refused = store.commit(put(2, Expect::Empty(Epoch(0)), PartKind::Base, "b")).await.unwrap_err();
    assert!(matches!(refused, CommitError::HeadMoved { found: FoundHead::Head(head), .. } if head == id(1)));
    assert_eq!(value(&store, At::Head).await, "a");
}

#[tokio::test]
async fn a_refused_first_commit_leaves_no_entry() {
    let store = Memory::new();
    assert!(store.commit(put(1, Expect::Empty(Epoch(7)), PartKind::Base, "a")).await.is_err());
    assert_eq!(format!("{store:?}"), "Memory { threads: 0, .. }");
}
