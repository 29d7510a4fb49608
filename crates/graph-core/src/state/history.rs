//! Which checkpoints of a thread to look at.

use serde_json::Value;
use superstep_checkpoint::{CheckpointId, Metadata};

/// Which checkpoints of a thread; all, unless narrowed.
#[derive(Clone, Debug, Default, PartialEq)]
#[must_use]
pub struct HistoryQuery {
    pub(crate) limit: Option<usize>,
    pub(crate) before: Option<CheckpointId>,
    pub(crate) metadata: Metadata,
}

impl HistoryQuery {
    /// All checkpoints.
    pub fn all() -> Self {
        Self::default()
    }

    /// The newest `limit`, at least 1.
    pub fn limit(mut self, limit: usize) -> Self {
        self.limit = Some(limit);
        self
    }

    /// Only those made before this one.
    pub fn before(mut self, checkpoint: CheckpointId) -> Self {
        self.before = Some(checkpoint);
        self
    }

    /// Only those whose metadata has this entry.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }
}
