//! What is remembered of a call: everything but the values, of which the sizes are kept.

use std::fmt;

use superstep_checkpoint::{
    At, Branch, CallPath, ChannelName, CheckpointId, Commit, CommitError, Guard, ListQuery, NamespaceKey,
    NewCheckpoint, NodeName, Op, OwnerId, PartKind, QuestionId, Seq, Source, Status, Step, TaskId, ThreadKey, Write,
    WriteKind,
};

/// One call to a store.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Call {
    /// A commit.
    Commit(CommitCall),
    /// A look at one checkpoint.
    Get {
        /// Where.
        key: NamespaceKey,
        /// Which one.
        at: At,
    },
    /// A listing.
    List {
        /// Where.
        key: NamespaceKey,
        /// Which ones.
        query: ListQuery,
    },
    /// The deletion of a thread.
    Delete {
        /// Which one.
        key: ThreadKey,
    },
}

impl Call {
    /// The commit, if it is one.
    pub fn commit(&self) -> Option<&CommitCall> {
        match self {
            Self::Commit(commit) => Some(commit),
            _ => None,
        }
    }
}

/// One commit.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct CommitCall {
    /// Where.
    pub key: NamespaceKey,
    /// What it expected.
    pub guard: Guard,
    /// What it did, in order.
    pub ops: Vec<OpSummary>,
    /// How it ended; `None` while it is under way, and for good where its caller dropped it.
    pub outcome: Option<CommitOutcome>,
}

impl CommitCall {
    pub(super) fn of(commit: &Commit) -> Self {
        let ops = commit.ops.iter().map(OpSummary::of).collect();
        Self { key: commit.key.clone(), guard: commit.guard.clone(), ops, outcome: None }
    }

    /// The bytes handed over: values, arguments, records and answers.
    pub fn bytes(&self) -> usize {
        self.ops.iter().map(OpSummary::bytes).sum()
    }
}

/// How a commit ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CommitOutcome {
    /// It was applied.
    Applied,
    /// It is not known whether it was.
    InDoubt,
    /// The thread had moved on.
    HeadMoved,
    /// Somebody else held the thread.
    Fenced,
    /// The question had its answer.
    AlreadyAnswered,
    /// It made no sense.
    Invalid,
    /// The store failed, or lacks the ability.
    Failed,
}

impl CommitOutcome {
    pub(super) fn of(result: &Result<(), CommitError>) -> Self {
        match result {
            Ok(()) => Self::Applied,
            Err(CommitError::InDoubt { .. }) => Self::InDoubt,
            Err(CommitError::HeadMoved { .. }) => Self::HeadMoved,
            Err(CommitError::Fenced { .. }) => Self::Fenced,
            Err(CommitError::AlreadyAnswered { .. }) => Self::AlreadyAnswered,
            Err(CommitError::Invalid { .. }) => Self::Invalid,
            Err(_) => Self::Failed,
        }
    }
}

/// One op of a commit, with sizes in place of contents.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum OpSummary {
    /// A checkpoint.
    Checkpoint {
        /// Its id.
        id: CheckpointId,
        /// Its position.
        seq: Seq,
        /// Its branch.
        branch: Branch,
        /// Its step.
        step: Step,
        /// What made it.
        source: Source,
        /// The channels written, their kind and their bytes, in the order given.
        values: Vec<(ChannelName, PartKind, usize)>,
        /// The bytes of its arguments.
        args: usize,
    },
    /// Records of tasks.
    Writes {
        /// The checkpoint on which they stand.
        checkpoint: CheckpointId,
        /// Task, node, kind, path and bytes, in the order given.
        records: Vec<(TaskId, NodeName, WriteKind, CallPath, usize)>,
    },
    /// An answer.
    Answer {
        /// The checkpoint on which the question stands.
        checkpoint: CheckpointId,
        /// The question.
        question: QuestionId,
        /// The bytes of the sealed answer.
        bytes: usize,
    },
    /// A status.
    Status {
        /// The status.
        status: Status,
        /// The next nodes.
        next: Vec<NodeName>,
    },
    /// A claim.
    Claim {
        /// The new holder.
        owner: OwnerId,
    },
    /// A release.
    Release,
    /// An op that this version of the kit does not know, by its name.
    Other(&'static str),
}

impl OpSummary {
    pub(super) fn of(op: &Op) -> Self {
        match op {
            Op::PutCheckpoint(new) => Self::checkpoint(new),
            Op::PutWrites { checkpoint, writes } => {
                Self::Writes { checkpoint: *checkpoint, records: writes.iter().map(record).collect() }
            }
            Op::Answer(answer) => {
                Self::Answer { checkpoint: answer.checkpoint, question: answer.question, bytes: answer.bytes.len() }
            }
            Op::SetStatus { status, next } => Self::Status { status: *status, next: next.clone() },
            Op::Claim { owner } => Self::Claim { owner: *owner },
            Op::Release => Self::Release,
            other => Self::Other(other.name()),
        }
    }

    fn checkpoint(new: &NewCheckpoint) -> Self {
        let NewCheckpoint { checkpoint, args, values } = new;
        Self::Checkpoint {
            id: checkpoint.id,
            seq: checkpoint.seq,
            branch: checkpoint.branch,
            step: checkpoint.step,
            source: checkpoint.source,
            values: values.iter().map(|change| (change.channel.clone(), change.kind, change.bytes.len())).collect(),
            args: args.len(),
        }
    }

    /// The bytes handed over with it.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Checkpoint { values, args, .. } => args + values.iter().map(|(_, _, bytes)| bytes).sum::<usize>(),
            Self::Writes { records, .. } => records.iter().map(|(.., bytes)| bytes).sum(),
            Self::Answer { bytes, .. } => *bytes,
            _ => 0,
        }
    }
}

fn record(write: &Write) -> (TaskId, NodeName, WriteKind, CallPath, usize) {
    (write.task, write.node.clone(), write.kind, write.path.clone(), write.bytes.len())
}

/// One line without ids, for tests that compare calls as text.
impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Commit(commit) => commit.fmt(f),
            Self::Get { at: At::Head, .. } => f.write_str("get head"),
            Self::Get { at: At::Id(_), .. } => f.write_str("get checkpoint"),
            Self::Get { .. } => f.write_str("get question"),
            Self::List { .. } => f.write_str("list"),
            Self::Delete { .. } => f.write_str("delete"),
        }
    }
}

/// `commit: 1 record (a result), checkpoint 3 at step 1 [log segment], ready [pay]`, and ` -> HeadMoved` where it was
/// not applied.
impl fmt::Display for CommitCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "commit: {}", joined(&self.ops))?;
        match self.outcome {
            Some(CommitOutcome::Applied) => Ok(()),
            Some(outcome) => write!(f, " -> {outcome:?}"),
            None => f.write_str(" -> no answer"),
        }
    }
}

impl fmt::Display for OpSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checkpoint { seq, step, values, .. } => {
                let part = |(channel, kind, _): &(ChannelName, PartKind, usize)| format!("{channel} {kind:?}");
                let values: Vec<_> = values.iter().map(part).collect();
                write!(f, "checkpoint {seq} at step {step} [{}]", values.join(", ").to_lowercase())
            }
            Self::Writes { records, .. } => {
                let record = |(_, node, kind, ..): &(_, NodeName, WriteKind, _, _)| format!("{node} {kind:?}");
                let records: Vec<_> = records.iter().map(record).collect();
                write!(f, "records [{}]", records.join(", ").to_lowercase())
            }
            Self::Answer { .. } => f.write_str("answer"),
            Self::Status { status, next } => write!(f, "{} [{}]", status.as_str(), joined(next)),
            Self::Claim { .. } => f.write_str("claim"),
            Self::Release => f.write_str("release"),
            Self::Other(name) => f.write_str(name),
        }
    }
}

fn joined<T: fmt::Display>(list: &[T]) -> String {
    list.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
