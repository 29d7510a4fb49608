//! Settings of one node.

use superstep_pregel::Timing;

use crate::retry::RetryPolicy;

/// The settings of one node, for [`StateGraph::node_with`](crate::StateGraph::node_with).
#[derive(Clone, Debug, Default)]
#[must_use = "options do nothing until they are given to a node"]
pub struct NodeOptions {
    pub(crate) retry: RetryPolicy,
    pub(crate) timing: Timing,
}

impl NodeOptions {
    /// The default: it is not tried again, and runs in the step after it was reached.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tries it again when it fails.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// Once reached, it waits until nothing else is left to run: the place to gather what many branches found.
    pub fn deferred(mut self) -> Self {
        self.timing = Timing::Deferred;
        self
    }
}
