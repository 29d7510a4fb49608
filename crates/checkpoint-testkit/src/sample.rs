//! Keys, ids, checkpoints and commits in few words.
//!
//! Ids are made from small numbers and scattered, so that no order of ids agrees with an order of positions by luck.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use superstep_checkpoint::{
    Answer, AnswerToken, Branch, CallPath, Change, ChannelName, Checkpoint, CheckpointId, Commit, CommitError, Digest,
    Epoch, Expect, Fence, FoundHead, GraphStamp, Guard, LineageId, Metadata, Namespace, NamespaceKey, NewCheckpoint,
    NodeName, Op, OwnerId, PartKind, Plan, QuestionId, RunId, RunStamp, Seq, Source, Status, Step, StoredCheckpoint,
    TaskId, TenantId, ThreadId, ThreadKey, Turn, Write, WriteKind,
};

use crate::splitmix::mix;

/// The root namespace of a thread of the default tenant.
pub fn root(thread: &str) -> NamespaceKey {
    key("", thread, "")
}

/// A namespace of a thread of the default tenant.
pub fn namespace(thread: &str, namespace: &str) -> NamespaceKey {
    key("", thread, namespace)
}

/// A namespace of a thread of a tenant.
pub fn key(tenant: &str, thread: &str, namespace: &str) -> NamespaceKey {
    let thread = ThreadKey { tenant: TenantId::new(tenant).unwrap(), thread: ThreadId::new(thread).unwrap() };
    thread.namespace(Namespace::new(namespace).unwrap())
}

/// A channel's name.
pub fn channel(name: &str) -> ChannelName {
    ChannelName::new(name).unwrap()
}

/// A node's name.
pub fn node(name: &str) -> NodeName {
    NodeName::new(name).unwrap()
}

/// The id of checkpoint number `n`.
pub fn id(n: u64) -> CheckpointId {
    CheckpointId::from_bytes(scattered(1, n))
}

/// The id of task number `n`.
pub fn task(n: u64) -> TaskId {
    TaskId::from_bytes(scattered(2, n))
}

/// The id of question number `n`.
pub fn question(n: u64) -> QuestionId {
    QuestionId::from_bytes(scattered(3, n))
}

/// The id of owner number `n`.
pub fn owner(n: u64) -> OwnerId {
    OwnerId::from_bytes(scattered(4, n))
}

/// The mark of attempt number `n` to answer.
pub fn token(n: u64) -> AnswerToken {
    AnswerToken::from_bytes(scattered(5, n))
}

/// A digest, number `n`.
pub fn digest(n: u64) -> Digest {
    Digest::from_bytes(scattered(6, n))
}

/// A call of this name.
pub fn run(name: &str) -> RunStamp {
    RunStamp { id: RunId::new(name).unwrap(), input: digest(3) }
}

fn scattered(kind: u64, n: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&mix(n.wrapping_mul(8).wrapping_add(kind)).to_be_bytes());
    bytes[8..].copy_from_slice(&n.to_be_bytes());
    bytes
}

/// A fence.
pub fn fence(epoch: u64, holder: u64) -> Fence {
    Fence { epoch: Epoch(epoch), owner: owner(holder) }
}

/// Begins checkpoint number `n`: position `n` on branch 1, without values.
pub fn point(n: u64) -> Point {
    Point { checkpoint: checkpoint(n), args: Bytes::new(), values: Vec::new() }
}

fn checkpoint(n: u64) -> Checkpoint {
    Checkpoint {
        format: Checkpoint::FORMAT,
        id: id(n),
        parent: None,
        seq: Seq(n),
        branch: Branch(1),
        step: Step(0),
        source: Source::Loop,
        plan: Plan::default(),
        turn: Turn { lineage: LineageId::from_bytes([7; 16]), digest: digest(1), run: None },
        graph: GraphStamp { name: "graph".to_owned(), signature: digest(2) },
        metadata: Metadata::new(),
        ancestors: Vec::new(),
        created_at: millis(1_700_000_000_000 + n),
    }
}

/// So many milliseconds after 1970 began.
pub fn millis(n: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(n)
}

/// A checkpoint in the making.
#[derive(Clone, Debug)]
pub struct Point {
    /// The checkpoint.
    pub checkpoint: Checkpoint,
    args: Bytes,
    values: Vec<Change>,
}

impl Point {
    /// At this position.
    #[must_use]
    pub fn seq(mut self, seq: u64) -> Self {
        self.checkpoint.seq = Seq(seq);
        self
    }

    /// On this branch.
    #[must_use]
    pub fn branch(mut self, branch: u64) -> Self {
        self.checkpoint.branch = Branch(branch);
        self
    }

    /// After checkpoint number `n`.
    #[must_use]
    pub fn parent(mut self, n: u64) -> Self {
        self.checkpoint.parent = Some(id(n));
        self
    }

    /// Made by this graph.
    #[must_use]
    pub fn graph(mut self, name: &str) -> Self {
        name.clone_into(&mut self.checkpoint.graph.name);
        self
    }

    /// With an entry in its metadata.
    #[must_use]
    pub fn meta(mut self, key: &str, value: impl Into<serde_json::Value>) -> Self {
        self.checkpoint.metadata.insert(key.to_owned(), value.into());
        self
    }

    /// With a whole value of a channel.
    #[must_use]
    pub fn base(self, name: &str, bytes: impl Into<Bytes>) -> Self {
        self.part(name, PartKind::Base, bytes)
    }

    /// With an addition to a channel.
    #[must_use]
    pub fn segment(self, name: &str, bytes: impl Into<Bytes>) -> Self {
        self.part(name, PartKind::Segment, bytes)
    }

    /// With a channel that has no value any more.
    #[must_use]
    pub fn cleared(self, name: &str) -> Self {
        self.part(name, PartKind::Cleared, Bytes::new())
    }

    fn part(mut self, name: &str, kind: PartKind, bytes: impl Into<Bytes>) -> Self {
        self.values.push(Change { channel: channel(name), kind, bytes: bytes.into() });
        self
    }

    /// With what its Sends carry.
    #[must_use]
    pub fn args(mut self, args: impl Into<Bytes>) -> Self {
        self.args = args.into();
        self
    }
}

impl From<Point> for Op {
    fn from(point: Point) -> Self {
        let Point { checkpoint, args, values } = point;
        Self::PutCheckpoint(Box::new(NewCheckpoint { checkpoint, args, values }))
    }
}

/// A record of task number `n`, of node `"node"`.
pub fn record(n: u64, kind: WriteKind, path: &str, bytes: impl Into<Bytes>) -> Write {
    Write { task: task(n), node: node("node"), kind, path: CallPath::new(path).unwrap(), bytes: bytes.into() }
}

/// A task's result.
pub fn result(n: u64, bytes: impl Into<Bytes>) -> Write {
    record(n, WriteKind::Result, "", bytes)
}

/// A question of a task.
pub fn ask(n: u64, asked: u64) -> Write {
    record(n, WriteKind::Question, &question(asked).to_string(), "what?")
}

/// The answer `"yes"` to question `asked` of task `n` on checkpoint `on`, by attempt `attempt`.
pub fn answer(on: u64, n: u64, asked: u64, attempt: u64) -> Answer {
    Answer {
        checkpoint: id(on),
        task: task(n),
        node: node("node"),
        question: question(asked),
        token: token(attempt),
        bytes: Bytes::from_static(b"yes"),
    }
}

/// Begins a commit to a thread that never was.
pub fn first(key: &NamespaceKey) -> Draft {
    empty(key, 0)
}

/// Begins a commit to a namespace without checkpoints, in this epoch of its thread.
pub fn empty(key: &NamespaceKey, epoch: u64) -> Draft {
    draft(key, Expect::Empty(Epoch(epoch)))
}

/// Begins a commit to a namespace whose head is checkpoint number `n`.
pub fn after(key: &NamespaceKey, n: u64) -> Draft {
    draft(key, Expect::Head(id(n)))
}

fn draft(key: &NamespaceKey, head: Expect) -> Draft {
    Draft(Commit { key: key.clone(), guard: Guard::head(head), ops: Vec::new() })
}

/// A commit in the making.
#[derive(Clone, Debug)]
pub struct Draft(Commit);

impl Draft {
    /// By this holder of the thread.
    #[must_use]
    pub fn fenced(mut self, epoch: u64, holder: u64) -> Self {
        self.0.guard = self.0.guard.fenced(fence(epoch, holder));
        self
    }

    /// While the root's head is checkpoint number `n`.
    #[must_use]
    pub fn under(mut self, n: u64) -> Self {
        self.0.guard = self.0.guard.root(Expect::Head(id(n)));
        self
    }

    /// While the root has no checkpoint, in this epoch.
    #[must_use]
    pub fn under_empty(mut self, epoch: u64) -> Self {
        self.0.guard = self.0.guard.root(Expect::Empty(Epoch(epoch)));
        self
    }

    /// With one more op.
    #[must_use]
    pub fn op(mut self, op: impl Into<Op>) -> Self {
        self.0.ops.push(op.into());
        self
    }

    /// Puts a checkpoint.
    #[must_use]
    pub fn put(self, point: Point) -> Self {
        self.op(point)
    }

    /// Puts records on checkpoint number `n`.
    #[must_use]
    pub fn writes(self, n: u64, writes: impl IntoIterator<Item = Write>) -> Self {
        self.op(Op::PutWrites { checkpoint: id(n), writes: writes.into_iter().collect() })
    }

    /// Answers a question.
    #[must_use]
    pub fn answer(self, answer: Answer) -> Self {
        self.op(Op::Answer(answer))
    }

    /// Sets the status and the next nodes.
    #[must_use]
    pub fn status(self, status: Status, next: &[&str]) -> Self {
        self.op(Op::SetStatus { status, next: next.iter().map(|name| node(name)).collect() })
    }

    /// Takes the thread for owner number `n`.
    #[must_use]
    pub fn claim(self, n: u64) -> Self {
        self.op(Op::Claim { owner: owner(n) })
    }

    /// Gives the thread up.
    #[must_use]
    pub fn release(self) -> Self {
        self.op(Op::Release)
    }
}

impl From<Draft> for Commit {
    fn from(draft: Draft) -> Self {
        draft.0
    }
}

/// The values of a checkpoint as text: `x=a+b y=c`, the parts of a value joined by `+`.
pub fn values(stored: &StoredCheckpoint) -> String {
    let shown = stored.values.iter().map(|value| {
        let parts: Vec<_> = value.parts.iter().map(|part| String::from_utf8_lossy(&part.bytes)).collect();
        format!("{}={}", value.channel, parts.join("+"))
    });
    shown.collect::<Vec<_>>().join(" ")
}

/// The positions of checkpoints.
pub fn seqs(stored: &[StoredCheckpoint]) -> Vec<u64> {
    stored.iter().map(|stored| stored.checkpoint.seq.0).collect()
}

/// What a stale commit found.
pub fn moved(error: &CommitError) -> FoundHead {
    match error {
        CommitError::HeadMoved { found, .. } => *found,
        other => panic!("HeadMoved was expected, not {other:?}"),
    }
}

/// The epoch of the thread that a commit may not write to.
pub fn fenced(error: &CommitError) -> u64 {
    match error {
        CommitError::Fenced { epoch, .. } => epoch.0,
        other => panic!("Fenced was expected, not {other:?}"),
    }
}

/// The question that has its answer already.
pub fn answered(error: &CommitError) -> QuestionId {
    match error {
        CommitError::AlreadyAnswered { question, .. } => *question,
        other => panic!("AlreadyAnswered was expected, not {other:?}"),
    }
}

/// Expects a commit that makes no sense.
pub fn invalid(error: &CommitError) {
    assert!(matches!(error, CommitError::Invalid { .. }), "Invalid was expected, not {error:?}");
}
