//! What a store gives back.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::Arc;

use bytes::Bytes;

use crate::checkpoint::{Checkpoint, Metadata};
use crate::commit::PartKind;
use crate::id::{ChannelName, CheckpointId, QuestionId, Seq};
use crate::thread::ThreadRow;
use crate::write::Write;

/// Which checkpoint of a namespace to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum At {
    /// The head.
    Head,
    /// This one.
    Id(CheckpointId),
    /// The one on which this question stands; the newest where several do.
    Question(QuestionId),
}

/// One consistent look at a namespace: a reader never sees a part of a commit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct View {
    /// The thread's row, if there ever was one.
    pub thread: Option<ThreadRow>,
    /// The namespace's head, if it has one.
    pub namespace: Option<NamespaceRow>,
    /// The checkpoint asked for, if it exists.
    pub found: Option<StoredCheckpoint>,
}

/// The state of one namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamespaceRow {
    /// The latest checkpoint.
    pub head: CheckpointId,
    /// The greatest position used, over all branches.
    pub last_seq: Seq,
}

/// A checkpoint as stored.
#[derive(Clone, PartialEq)]
pub struct StoredCheckpoint {
    /// The checkpoint.
    pub checkpoint: Arc<Checkpoint>,
    /// What the Sends of its plan carry, sealed.
    pub args: Bytes,
    /// The values readable at it, by channel name. Channels without a value are absent.
    pub values: Vec<StoredValue>,
    /// The records on it, by (task, kind, path).
    pub writes: Vec<Write>,
}

/// The stored value of one channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredValue {
    /// The channel.
    pub channel: ChannelName,
    /// A base, then the segments after it, oldest first. Segments alone, where no base came before them on the branch
    /// or the channel was cleared.
    pub parts: Vec<Part>,
}

/// One stored part of a channel's value.
#[derive(Clone, PartialEq, Eq)]
pub struct Part {
    /// The checkpoint it was written with.
    pub checkpoint: CheckpointId,
    /// Base or segment.
    pub kind: PartKind,
    /// The sealed bytes.
    pub bytes: Bytes,
}

/// Which checkpoints of a namespace to list; newest first (by `seq`), over all branches.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ListQuery {
    /// At most so many; `None` for all.
    pub limit: Option<NonZeroUsize>,
    /// Only those older than this one (with a smaller `seq`). One that does not exist gives an empty list.
    pub before: Option<CheckpointId>,
    /// Only those whose metadata has these entries, compared by value. Keys are data, never part of a query's text.
    pub metadata: Metadata,
}

impl ListQuery {
    /// At most `limit` checkpoints.
    #[must_use]
    pub fn limit(mut self, limit: NonZeroUsize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Only checkpoints older than `before`.
    #[must_use]
    pub fn before(mut self, before: CheckpointId) -> Self {
        self.before = Some(before);
        self
    }

    /// Only checkpoints whose metadata has this entry.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<serde_json::Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}

impl fmt::Debug for StoredCheckpoint {
    /// Shows what is there and how large it is, not the values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredCheckpoint")
            .field("checkpoint", &self.checkpoint)
            .field("args_bytes", &self.args.len())
            .field("values", &self.values)
            .field("writes", &self.writes)
            .finish()
    }
}

impl fmt::Debug for Part {
    /// Shows where it was written and the size, not the value.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Part({:?} of {}, {} bytes)", self.kind, self.checkpoint, self.bytes.len())
    }
}
