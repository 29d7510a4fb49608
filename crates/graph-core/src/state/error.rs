//! Why a thread cannot be read.

use superstep_checkpoint::{CheckpointId, InvalidId, StoreError, ThreadId};
use superstep_pregel::LoadError;

use crate::run_error::RunErrorKind;

/// Why a thread or checkpoint cannot be read. The thread is untouched.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The call names no thread.
    #[error("name a thread")]
    NoThread,
    /// The thread id is not valid.
    #[error(transparent)]
    InvalidName(#[from] InvalidId),
    /// The graph has no store.
    #[error("thread {thread:?} is named, but the graph has no store; give it one with `.checkpointer(..)`")]
    NoStore {
        /// The thread.
        thread: ThreadId,
    },
    /// The thread has never run, or was deleted.
    #[error("there is no thread {thread:?}")]
    UnknownThread {
        /// The thread.
        thread: ThreadId,
    },
    /// There is no such checkpoint.
    #[error("there is no checkpoint {checkpoint} in thread {thread:?}")]
    UnknownCheckpoint {
        /// The thread.
        thread: ThreadId,
        /// The checkpoint.
        checkpoint: CheckpointId,
    },
    /// The thread belongs to another graph.
    #[error("thread {thread:?} belongs to graph {theirs:?}, not to {ours:?}")]
    OtherGraph {
        /// The thread.
        thread: ThreadId,
        /// This graph.
        ours: String,
        /// The thread's.
        theirs: String,
    },
    /// What is stored cannot be read by this graph.
    #[error("thread {thread:?}: {source}")]
    Load {
        /// The thread.
        thread: ThreadId,
        /// Why.
        source: LoadError,
    },
    /// A limit of 0 was asked for.
    #[error("a limit of 0 checkpoints gives nothing; ask for at least 1")]
    ZeroLimit,
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// A broken promise inside the library or a store. Please report it.
    #[error("internal fault: {0}")]
    Internal(String),
}

impl ReadError {
    /// The same fault, found while reading.
    pub(crate) fn from_run(kind: RunErrorKind, thread: &ThreadId) -> Self {
        let thread = thread.clone();
        match kind {
            RunErrorKind::UnknownCheckpoint(checkpoint) => Self::UnknownCheckpoint { thread, checkpoint },
            RunErrorKind::OtherGraph { ours, theirs } => Self::OtherGraph { thread, ours, theirs },
            RunErrorKind::Load(source) => Self::Load { thread, source },
            RunErrorKind::Store(source) => Self::Store(source),
            other => Self::Internal(other.to_string()),
        }
    }
}
