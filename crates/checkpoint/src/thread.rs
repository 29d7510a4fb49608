//! The row of a thread: who holds it and how it stands.

use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use crate::id::{Epoch, NodeName, OwnerId};

/// How a thread stands, as its last commit said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Status {
    /// There is work to do. A thread that nobody runs and that stays ready was left by a dead process.
    Ready,
    /// A task waits for an answer.
    Waiting,
    /// Stopped before or after a node by choice.
    Paused,
    /// A task failed.
    Failed,
    /// Nothing is left to do.
    Done,
}

impl Status {
    /// All values, for stores that keep it as text.
    pub const ALL: [Self; 5] = [Self::Ready, Self::Waiting, Self::Paused, Self::Failed, Self::Done];

    /// The word under which it is stored.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Failed => "failed",
            Self::Done => "done",
        }
    }

    /// The status of this word, if this version knows it.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }
}

/// What is known of a thread apart from its checkpoints. It outlives deletion as a tombstone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRow {
    /// How often the thread changed hands or was deleted.
    pub epoch: Epoch,
    /// Who holds it, if a worker does.
    pub owner: Option<OwnerId>,
    /// How it stands.
    pub status: Status,
    /// The nodes that come next in the root graph, in task order.
    pub next: Vec<NodeName>,
    /// The graph it belongs to; empty until the first checkpoint.
    pub graph: String,
    /// Whether the thread was deleted and this row is its tombstone.
    pub deleted: bool,
    /// When the thread was first written, by the store's clock.
    pub created_at: SystemTime,
    /// When it was last written, by the store's clock.
    pub updated_at: SystemTime,
}

impl ThreadRow {
    /// The epoch that the first commit of a new call must name: this one for a live thread, the next for a tombstone.
    pub fn next_call_epoch(&self) -> Epoch {
        if self.deleted { self.epoch.next() } else { self.epoch }
    }
}
