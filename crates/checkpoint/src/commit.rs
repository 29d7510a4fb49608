//! The one way to change a store.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::checkpoint::Checkpoint;
use crate::id::{AnswerToken, ChannelName, CheckpointId, Epoch, NamespaceKey, NodeName, OwnerId, QuestionId, TaskId};
use crate::thread::Status;
use crate::write::{Write, WriteKind};

/// A change to one namespace of one thread: atomic, one round trip.
#[derive(Clone, Debug, PartialEq)]
pub struct Commit {
    /// Where.
    pub key: NamespaceKey,
    /// What must still be so for it to be applied.
    pub guard: Guard,
    /// What to do, in this order.
    pub ops: Vec<Op>,
}

/// What a commit was computed from.
///
/// A thread that a worker holds takes commits only with that worker's [`Fence`]; without one they are `Fenced`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The expected head of the namespace in the key.
    pub head: Expect,
    /// The expected head of the root graph, where the key names a subgraph's namespace.
    pub root: Option<Expect>,
    /// The holder of the thread, where a worker runs it.
    pub fence: Option<Fence>,
}

impl Guard {
    /// A guard on the head of the namespace alone.
    pub fn head(head: Expect) -> Self {
        Self { head, root: None, fence: None }
    }

    /// The same guard, with a fence.
    #[must_use]
    pub fn fenced(mut self, fence: Fence) -> Self {
        self.fence = Some(fence);
        self
    }

    /// The same guard, with an expectation about the root graph's head.
    #[must_use]
    pub fn root(mut self, root: Expect) -> Self {
        self.root = Some(root);
        self
    }
}

/// What is expected at a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Expect {
    /// No checkpoint yet. The epoch is the thread's if it has a row, one more than its tombstone's if it was deleted,
    /// and 0 if it never was: so a writer that began before a deletion cannot bring the thread back.
    Empty(Epoch),
    /// This checkpoint is the head.
    Head(CheckpointId),
}

/// Who must hold the thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The epoch at which it was claimed.
    pub epoch: Epoch,
    /// The holder. Compared as well, since a failover of the store may repeat epochs.
    pub owner: OwnerId,
}

/// One part of a commit. An op that a store does not know is `Unsupported`, before anything is written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Op {
    /// Adds a checkpoint with its values and makes it the head of the namespace.
    PutCheckpoint(Box<NewCheckpoint>),
    /// Puts records of tasks on a checkpoint.
    PutWrites {
        /// The checkpoint that scheduled the tasks: the expected head, or one put earlier in this commit.
        checkpoint: CheckpointId,
        /// The records. None of kind `Answer`.
        writes: Vec<Write>,
    },
    /// Answers an open question. If it is answered already the whole commit is refused with
    /// [`AlreadyAnswered`](crate::CommitError::AlreadyAnswered), even where the head has moved as well.
    Answer(Answer),
    /// Sets how the thread stands.
    SetStatus {
        /// The new status.
        status: Status,
        /// The nodes that come next, in task order.
        next: Vec<NodeName>,
    },
    /// Makes `owner` the holder of the thread and raises its epoch by one. It may replace a holder only where the
    /// guard's fence names that one.
    Claim {
        /// The new holder.
        owner: OwnerId,
    },
    /// Gives the thread up and raises its epoch by one. Needs the holder's fence.
    Release,
}

impl Op {
    /// Its name, for messages.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::PutCheckpoint(_) => "PutCheckpoint",
            Self::PutWrites { .. } => "PutWrites",
            Self::Answer(_) => "Answer",
            Self::SetStatus { .. } => "SetStatus",
            Self::Claim { .. } => "Claim",
            Self::Release => "Release",
        }
    }
}

/// A checkpoint to be stored.
#[derive(Clone, PartialEq)]
pub struct NewCheckpoint {
    /// The checkpoint. Its `seq` is greater than any in the namespace.
    pub checkpoint: Checkpoint,
    /// What the Sends of its plan carry, sealed as one list; empty without Sends.
    pub args: Bytes,
    /// The channels that changed; on the first checkpoint of a branch, all that have a value.
    pub values: Vec<Change>,
}

/// The new stored form of one channel.
#[derive(Clone, PartialEq, Eq)]
pub struct Change {
    /// The channel.
    pub channel: ChannelName,
    /// How these bytes relate to what is stored.
    pub kind: PartKind,
    /// The sealed bytes; empty for [`PartKind::Cleared`].
    pub bytes: Bytes,
}

/// How a stored part of a channel relates to the parts before it on its branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum PartKind {
    /// The whole value; earlier parts no longer count.
    Base,
    /// What was added to the value of the earlier parts.
    Segment,
    /// The channel has no value any more.
    Cleared,
}

impl PartKind {
    /// The number under which stores keep it. Never changes.
    pub const fn code(self) -> u8 {
        match self {
            Self::Base => 1,
            Self::Segment => 2,
            Self::Cleared => 3,
        }
    }

    /// The kind of this number, if this version knows it.
    pub const fn from_code(code: u8) -> Option<Self> {
        match code {
            1 => Some(Self::Base),
            2 => Some(Self::Segment),
            3 => Some(Self::Cleared),
            _ => None,
        }
    }
}

/// An answer to a question.
#[derive(Clone, PartialEq, Eq)]
pub struct Answer {
    /// The checkpoint on which the question stands.
    pub checkpoint: CheckpointId,
    /// The task that asked.
    pub task: TaskId,
    /// The node of that task.
    pub node: NodeName,
    /// The question.
    pub question: QuestionId,
    /// Marks this attempt, so that it is recognised if the outcome of its commit is in doubt. Stored as the first 16
    /// bytes of the record, before the sealed answer.
    pub token: AnswerToken,
    /// The sealed answer.
    pub bytes: Bytes,
}

impl Answer {
    /// The record that stands for this answer on its checkpoint.
    pub fn write(&self) -> Write {
        Write {
            task: self.task,
            node: self.node.clone(),
            kind: WriteKind::Answer,
            path: self.question.into(),
            bytes: self.record(),
        }
    }

    /// The content of the record that stands for this answer: the token, then the sealed bytes.
    pub fn record(&self) -> Bytes {
        let mut record = Vec::with_capacity(16 + self.bytes.len());
        record.extend_from_slice(self.token.as_bytes());
        record.extend_from_slice(&self.bytes);
        Bytes::from(record)
    }

    /// Takes a record apart again: the token and the sealed answer.
    pub fn split_record(record: &Bytes) -> Option<(AnswerToken, Bytes)> {
        let token = <[u8; 16]>::try_from(record.get(..16)?).ok()?;
        Some((AnswerToken::from_bytes(token), record.slice(16..)))
    }
}

impl fmt::Debug for NewCheckpoint {
    /// Shows the checkpoint and sizes, not the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewCheckpoint")
            .field("checkpoint", &self.checkpoint)
            .field("args_bytes", &self.args.len())
            .field("values", &self.values)
            .finish()
    }
}

impl fmt::Debug for Change {
    /// Shows the channel and the size, not the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Change({:?} of {:?}, {} bytes)", self.kind, self.channel, self.bytes.len())
    }
}

impl fmt::Debug for Answer {
    /// Shows the question and the size, not the answer.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Answer(to {} of {:?}, {} bytes)", self.question, self.node, self.bytes.len())
    }
}
