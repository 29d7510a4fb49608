//! What tasks leave between two checkpoints.

use std::fmt;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use crate::id::{CallPath, NodeName, TaskId};

/// What kind of record a [`Write`] is. Kinds never share a place, so a question cannot overwrite a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum WriteKind {
    /// What a finished task returned: updates, jumps, Sends. At most one a task.
    Result,
    /// Why the last attempt failed. At most one a task; a later failure replaces it.
    Error,
    /// A question the task asked. Its path is the question's id.
    Question,
    /// The answer to a question. Its path is the question's id. Written only by [`Op::Answer`](crate::Op::Answer).
    Answer,
    /// A caller's command beside the tasks: its path is its number on this checkpoint.
    Patch,
    /// The journalled result of a call inside a task; its path is the call's.
    Journal,
}

impl WriteKind {
    /// All kinds that this version knows.
    pub const ALL: [Self; 6] = [Self::Result, Self::Error, Self::Question, Self::Answer, Self::Patch, Self::Journal];

    /// The number under which stores keep it. Never changes.
    pub const fn code(self) -> u8 {
        match self {
            Self::Result => 1,
            Self::Error => 2,
            Self::Question => 3,
            Self::Answer => 4,
            Self::Patch => 5,
            Self::Journal => 6,
        }
    }

    /// The kind of this number, if this version knows it.
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.code() == code)
    }
}

/// A record of a task on the checkpoint that scheduled it.
///
/// Its place is (checkpoint, task, kind, path): putting it again replaces what is there, so a repeated call leaves one copy.
#[derive(Clone, PartialEq, Eq)]
pub struct Write {
    /// The task.
    pub task: TaskId,
    /// The node the task runs; for a patch, the pseudo node that stands for the caller.
    pub node: NodeName,
    /// What is recorded.
    pub kind: WriteKind,
    /// Where inside the task.
    pub path: CallPath,
    /// The sealed content.
    pub bytes: Bytes,
}

impl fmt::Debug for Write {
    /// Shows the place and the size, not the content.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { task, node, kind, path, bytes } = self;
        write!(f, "Write({kind:?} of {node:?}, task {task}, path {path:?}, {} bytes)", bytes.len())
    }
}
