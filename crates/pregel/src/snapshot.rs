//! What a stored checkpoint looks like to people.

use std::sync::Arc;

use superstep_checkpoint::{CheckpointId, NodeName, Source, Step};

use crate::effect::InvalidUpdate;
use crate::output::TaskOutput;
use crate::question::Question;
use crate::signal::TaskInfo;

/// How a checkpoint is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SnapshotKind {
    /// As the present: what finished tasks wrote is shown in the state, `next` lists the unfinished.
    Live,
    /// As a record of the step: the state at its start, all its tasks, every question asked.
    Record,
}

/// A checkpoint, its tasks and the state.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Snapshot<S, U> {
    /// The state.
    pub state: Arc<S>,
    /// The checkpoint.
    pub id: Option<CheckpointId>,
    /// The one before it.
    pub parent: Option<CheckpointId>,
    /// What made it.
    pub source: Source,
    /// Its step.
    pub step: Step,
    /// The nodes that come next, in task order.
    pub next: Vec<NodeName>,
    /// The tasks of the step after it, in task order.
    pub tasks: Vec<TaskSnapshot<U>>,
    /// Open questions (of a record: all that were asked), in task order.
    pub questions: Vec<Question>,
    /// Set where the finished tasks contradict each other: going on reports this again.
    pub clash: Option<InvalidUpdate>,
    /// Waiting edges at which only some sources arrived: the target and the sources still missing.
    pub waiting: Vec<(NodeName, Vec<NodeName>)>,
}

/// A task in a [`Snapshot`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TaskSnapshot<U> {
    /// The task.
    pub task: TaskInfo,
    /// Why it failed last, if it did.
    pub error: Option<String>,
    /// The questions it asked last.
    pub questions: Vec<Question>,
    /// What it wrote, if it finished.
    pub result: Option<Arc<TaskOutput<U>>>,
}
