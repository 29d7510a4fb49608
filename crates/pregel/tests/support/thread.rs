//! A thread in a store, and what tests ask of it.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use superstep_checkpoint::{
    Answer, At, Change, Checkpoint, CheckpointId, Checkpointer, Commit, CommitError, Expect, GraphStamp, Guard,
    LineageId, ListQuery, Memory, NamespaceKey, NewCheckpoint, Op, PartKind, Place, Sealer, Seq, StoredCheckpoint,
    TaskId, TenantId, ThreadId, ThreadKey, ThreadRow, ValueKind, View, Write, WriteKind,
};
use superstep_pregel::{Basis, DraftCheckpoint, DraftWrite, DynState, Ground, Position, Put, Reader};

use super::graph::Graph;

/// One thread in a store of its own.
pub(crate) struct Thread {
    store: Memory,
    pub(crate) graph: Arc<Graph>,
    key: NamespaceKey,
    sealer: Sealer,
    minted: u64,
    /// All commits so far, in order.
    pub(crate) commits: Vec<Commit>,
}

impl Thread {
    pub(crate) fn new(graph: &Arc<Graph>) -> Self {
        let thread = ThreadKey { tenant: TenantId::default(), thread: ThreadId::new("t").unwrap() };
        Self {
            store: Memory::new(),
            graph: Arc::clone(graph),
            key: thread.root(),
            sealer: Sealer::new(),
            minted: 0,
            commits: Vec::new(),
        }
    }

    /// What a store holds after these commits. Ids of new checkpoints are others than those of the first run.
    pub(crate) fn after(graph: &Arc<Graph>, commits: &[Commit]) -> Self {
        let mut thread = Self { minted: 1 << 32, ..Self::new(graph) };
        for commit in commits {
            thread.commit(commit.clone()).unwrap();
        }
        thread
    }

    pub(crate) fn mint(&mut self) -> CheckpointId {
        self.minted += 1;
        checkpoint_id(self.minted)
    }

    // ---------------------------------------------------------------- reading

    pub(crate) fn view(&self, at: At) -> View {
        now(self.store.get(&self.key, at)).unwrap()
    }

    pub(crate) fn row(&self) -> Option<ThreadRow> {
        self.view(At::Head).thread
    }

    /// Every checkpoint, oldest first.
    pub(crate) fn stored(&self) -> Vec<StoredCheckpoint> {
        let mut all = now(self.store.list(&self.key, &ListQuery::default())).unwrap();
        all.reverse();
        all
    }

    pub(crate) fn read(&self, stored: &StoredCheckpoint) -> Position<DynState> {
        let reader = Reader {
            topology: &self.graph.topology,
            schema: &*self.graph.schema,
            sealer: &self.sealer,
            key: &self.key,
        };
        reader.read(stored).unwrap()
    }

    /// Where a call begins, and the head it expects.
    pub(crate) fn ground(&self, at: Option<CheckpointId>) -> (Ground<DynState>, Expect) {
        let view = self.view(at.map_or(At::Head, At::Id));
        let position = view.found.as_ref().map(|found| self.read(found));
        assert!(at.is_none() || position.is_some(), "no checkpoint {at:?}");
        let epoch = view.thread.as_ref().map_or_else(Default::default, ThreadRow::next_call_epoch);
        let head = view.namespace.map_or(Expect::Empty(epoch), |row| Expect::Head(row.head));
        let last_seq = view.namespace.map_or(Seq(0), |row| row.last_seq);
        let basis = match at {
            None => Basis::Head,
            Some(id) if head == Expect::Head(id) => Basis::NamedHead { lineage: lineage(last_seq) },
            Some(_) => Basis::Old { lineage: lineage(last_seq) },
        };
        (Ground { key: self.key.clone(), position, basis, last_seq, epoch }, head)
    }

    // ---------------------------------------------------------------- writing

    /// Stores adjacent puts as one commit; gives the head to expect next.
    pub(crate) fn put(&mut self, head: Expect, puts: &[Put]) -> Result<Expect, CommitError> {
        let ops: Vec<Op> = puts.iter().flat_map(|put| self.seal(put)).collect();
        let next = ops.iter().rev().find_map(|op| match op {
            Op::PutCheckpoint(new) => Some(Expect::Head(new.checkpoint.id)),
            _ => None,
        });
        self.commit(Commit { key: self.key.clone(), guard: Guard::head(head), ops })?;
        Ok(next.unwrap_or(head))
    }

    pub(crate) fn commit(&mut self, commit: Commit) -> Result<(), CommitError> {
        now(self.store.commit(commit.clone()))?;
        self.commits.push(commit);
        Ok(())
    }

    fn seal(&self, put: &Put) -> Vec<Op> {
        match put {
            Put::Checkpoint(draft) => vec![Op::PutCheckpoint(Box::new(self.checkpoint(draft)))],
            Put::Writes { on, writes } => {
                let writes = writes.iter().map(|write| self.write(*on, write)).collect();
                vec![Op::PutWrites { checkpoint: *on, writes }]
            }
            Put::Answers { on, answers } => answers
                .iter()
                .map(|answer| {
                    let slot = answer.question.id.to_string();
                    let place = self.place(*on, Some(answer.task), &slot, ValueKind::Answer);
                    let bytes = self.sealer.seal_value(place, &*answer.value).unwrap();
                    let (task, node, question) = (answer.task, answer.node.clone(), answer.question.id);
                    Op::Answer(Answer { checkpoint: *on, task, node, question, token: answer.token, bytes })
                })
                .collect(),
            Put::Status { status, next } => vec![Op::SetStatus { status: *status, next: next.clone() }],
            other => panic!("what is {other:?}?"),
        }
    }

    fn checkpoint(&self, draft: &DraftCheckpoint) -> NewCheckpoint {
        let seal = |slot: &str, kind, bytes: &Vec<u8>| {
            self.sealer.seal(self.place(draft.id, None, slot, kind), bytes.clone()).unwrap()
        };
        let value = |value: &superstep_pregel::DraftValue| {
            let bytes = match value.kind {
                PartKind::Cleared => Bytes::new(),
                _ => seal(value.channel.as_str(), ValueKind::Channel, &value.bytes),
            };
            Change { channel: value.channel.clone(), kind: value.kind, bytes }
        };
        let args = if draft.args.is_empty() { Bytes::new() } else { seal("", ValueKind::Args, &draft.args) };
        NewCheckpoint { checkpoint: self.border(draft), args, values: draft.values.iter().map(value).collect() }
    }

    fn border(&self, draft: &DraftCheckpoint) -> Checkpoint {
        let topology = &self.graph.topology;
        Checkpoint {
            format: Checkpoint::FORMAT,
            id: draft.id,
            parent: draft.parent,
            seq: draft.seq,
            branch: draft.branch,
            step: draft.step,
            source: draft.source,
            plan: draft.plan.clone(),
            turn: draft.turn.clone(),
            graph: GraphStamp { name: topology.name().to_owned(), signature: topology.signature() },
            metadata: superstep_checkpoint::Metadata::default(),
            ancestors: Vec::new(),
            created_at: UNIX_EPOCH,
        }
    }

    fn write(&self, on: CheckpointId, draft: &DraftWrite) -> Write {
        let kind = match draft.kind {
            WriteKind::Error => ValueKind::Error,
            WriteKind::Question => ValueKind::Question,
            WriteKind::Patch => ValueKind::Patch,
            _ => ValueKind::Result,
        };
        let place = self.place(on, Some(draft.task), draft.path.as_str(), kind);
        let bytes = self.sealer.seal(place, draft.bytes.clone()).unwrap();
        Write { task: draft.task, node: draft.node.clone(), kind: draft.kind, path: draft.path.clone(), bytes }
    }

    fn place<'p>(
        &'p self,
        checkpoint: CheckpointId,
        task: Option<TaskId>,
        slot: &'p str,
        kind: ValueKind,
    ) -> Place<'p> {
        Place { key: &self.key, checkpoint, task, slot, kind }
    }
}

/// The id of the checkpoint minted at this number.
pub(crate) fn checkpoint_id(number: u64) -> CheckpointId {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    CheckpointId::from_bytes(bytes)
}

/// A lineage that is opened after this position.
fn lineage(after: Seq) -> LineageId {
    let mut bytes = [0xee; 16];
    bytes[8..].copy_from_slice(&after.0.to_be_bytes());
    LineageId::from_bytes(bytes)
}

/// What a future gives that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => unreachable!("memory never waits"),
    }
}
