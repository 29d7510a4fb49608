//! A checkpoint of a thread, for people.

use std::sync::Arc;
use std::time::SystemTime;

use superstep_checkpoint::{CheckpointId, Codec, Metadata, NamespaceKey, NodeName, Source, Step, TaskId};
use superstep_pregel::{
    Ground, InvalidUpdate, Machine, Pauses, Position, Saving, Settings, Snapshot, SnapshotKind, State, TaskOutput,
    TaskPath, TaskSnapshot, Watch,
};

use crate::outcome::Interrupt;
use crate::program::Program;

/// A checkpoint: values, what comes next, and what its tasks left.
#[derive(Clone)]
#[non_exhaustive]
pub struct StateSnapshot<S: State> {
    /// The state. At the head, what finished tasks of an unfinished step wrote is in it.
    pub state: Arc<S>,
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// The one before it.
    pub parent: Option<CheckpointId>,
    /// What made it.
    pub source: Source,
    /// Its step.
    pub step: Step,
    /// The nodes that come next, in task order. At the head without those that finished.
    pub next: Vec<NodeName>,
    /// The tasks of the next step, in task order.
    pub tasks: Vec<TaskState<S::Update>>,
    /// Open questions, in task order. At an older checkpoint all that were asked there.
    pub interrupts: Vec<Interrupt>,
    /// Set where the finished tasks contradict each other. Going on reports it again; see
    /// [`CompiledGraph::discard`](crate::CompiledGraph::discard).
    pub clash: Option<InvalidUpdate>,
    /// Waiting edges at which only some sources arrived: where they lead, and who is missing.
    pub waiting: Vec<(NodeName, Vec<NodeName>)>,
    /// The caller's facts.
    pub metadata: Metadata,
    /// When it was made, by the clock of the process that made it.
    pub created_at: SystemTime,
}

/// A task in a [`StateSnapshot`].
#[derive(Clone)]
#[non_exhaustive]
pub struct TaskState<U> {
    /// Its id.
    pub id: TaskId,
    /// Its node.
    pub node: NodeName,
    /// What started it.
    pub path: TaskPath,
    /// Why it failed last, if it did.
    pub error: Option<String>,
    /// The questions it asked last.
    pub interrupts: Vec<Interrupt>,
    /// What it wrote, if it finished.
    pub result: Option<Arc<TaskOutput<U>>>,
}

impl<S: State> std::fmt::Debug for StateSnapshot<S> {
    /// Shows where the thread stands, no values of the state.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateSnapshot")
            .field("checkpoint", &self.checkpoint)
            .field("source", &self.source)
            .field("step", &self.step)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl<U> std::fmt::Debug for TaskState<U> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskState").field("node", &self.node).field("error", &self.error).finish_non_exhaustive()
    }
}

impl<S: State> StateSnapshot<S> {
    pub(crate) fn new(program: &Program<S>, key: &NamespaceKey, position: Position<S>, kind: SnapshotKind) -> Self {
        let (metadata, created_at, checkpoint) = (position.metadata.clone(), position.created_at, position.id);
        let ground = Ground {
            key: key.clone(),
            last_seq: position.seq,
            position: Some(position),
            basis: superstep_pregel::Basis::Head,
            epoch: superstep_checkpoint::Epoch(0),
        };
        let machine = Machine::new(Arc::clone(&program.topology), Arc::clone(&program.schema), looking(), ground);
        let Snapshot { state, parent, source, step, next, tasks, questions, clash, waiting, .. } =
            machine.snapshot(kind);
        let asked: Vec<Interrupt> = tasks.iter().flat_map(interrupts).collect();
        let interrupts =
            asked.into_iter().filter(|asked| questions.iter().any(|question| question.id == asked.id)).collect();
        let tasks = tasks.into_iter().map(TaskState::new).collect();
        Self { state, checkpoint, parent, source, step, next, tasks, interrupts, clash, waiting, metadata, created_at }
    }
}

impl<U> TaskState<U> {
    fn new(task: TaskSnapshot<U>) -> Self {
        let interrupts = interrupts(&task);
        let TaskSnapshot { task, error, result, .. } = task;
        Self { id: task.id, node: task.node, path: task.path, error, interrupts, result }
    }
}

fn interrupts<U>(task: &TaskSnapshot<U>) -> Vec<Interrupt> {
    task.questions.iter().map(|question| Interrupt::new(&task.task, question.clone())).collect()
}

/// The settings of a machine that is only looked at.
fn looking() -> Settings {
    Settings {
        saving: Saving::Never,
        before: Pauses::Never,
        after: Pauses::Never,
        limit: 1,
        codec: Codec::default(),
        watch: Watch::default(),
    }
}
