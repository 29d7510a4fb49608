//! What tasks give back.

use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;

use crate::question::Question;
use crate::topology::NodeIndex;

/// What a finished task wrote: its node's updates and jumps, and what its routers added.
#[derive(Clone, Debug)]
pub struct TaskOutput<U> {
    /// Updates of the state, in order.
    pub updates: SmallVec<[U; 1]>,
    /// Nodes to start beside those that edges start.
    pub goto: SmallVec<[NodeIndex; 2]>,
    /// Tasks to start with an argument of their own, in order.
    pub sends: Vec<Dispatch>,
}

impl<U> Default for TaskOutput<U> {
    fn default() -> Self {
        Self { updates: SmallVec::new(), goto: SmallVec::new(), sends: Vec::new() }
    }
}

/// A task to be started at a node with an argument.
#[derive(Clone, PartialEq)]
pub struct Dispatch {
    /// The node.
    pub node: NodeIndex,
    /// What it gets.
    pub arg: Arc<Value>,
}

impl std::fmt::Debug for Dispatch {
    /// Shows where it goes, not what it carries.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Dispatch({:?})", self.node)
    }
}

/// How a task ended.
#[derive(Clone, Debug)]
pub enum Ended<U> {
    /// Node and routers succeeded.
    Finished(TaskOutput<U>),
    /// The last attempt failed. The text is what is stored and shown.
    Failed(String),
    /// It asked and waits for answers.
    Asked(Vec<Question>),
}
