//! What a run shows while it goes on.

use std::sync::Arc;

use serde_json::Value;
use superstep_checkpoint::{CheckpointId, NodeName, Source, Step, TaskId};

use crate::identity::TaskPath;
use crate::output::TaskOutput;
use crate::question::Question;
use crate::state::State;

/// Which signals somebody listens to. Those nobody wants are not made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "a set of five independent wishes")]
pub struct Watch {
    /// [`Signal::Values`].
    pub values: bool,
    /// [`Signal::Update`], [`Signal::Asked`] and [`Signal::Paused`].
    pub updates: bool,
    /// [`Signal::TaskStarted`] and [`Signal::TaskEnded`].
    pub tasks: bool,
    /// [`Signal::Checkpoint`].
    pub checkpoints: bool,
}

/// A task, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskInfo {
    /// Its id.
    pub id: TaskId,
    /// Its node.
    pub node: NodeName,
    /// What started it.
    pub path: TaskPath,
}

/// Where an update comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// The task ran in this call.
    Fresh,
    /// An earlier call ran it; its stored result is used.
    Restored,
}

/// One thing that happened in a run.
#[derive(Clone)]
#[non_exhaustive]
pub enum Signal<S: State> {
    /// The state changed (or a run goes on with it); or a task asked.
    Values {
        /// The state.
        state: Arc<S>,
        /// The questions just asked, if that is why.
        questions: Vec<Question>,
    },
    /// A task finished.
    Update {
        /// The task.
        task: TaskInfo,
        /// What it wrote.
        output: Arc<TaskOutput<S::Update>>,
        /// Whether it ran in this call.
        freshness: Freshness,
    },
    /// A task asked.
    Asked {
        /// The task.
        task: TaskInfo,
        /// Its questions.
        questions: Vec<Question>,
    },
    /// The run stops before or after a node by choice.
    Paused,
    /// A task starts (or counts as started, where its result is restored).
    TaskStarted {
        /// The task.
        task: TaskInfo,
        /// What it gets.
        input: TaskInput<S>,
    },
    /// A task ended in this call.
    TaskEnded {
        /// The task.
        task: TaskInfo,
        /// How.
        end: TaskEnd<S::Update>,
    },
    /// A border was reached.
    Checkpoint {
        /// Its id.
        id: CheckpointId,
        /// The stored checkpoint before it.
        parent: Option<CheckpointId>,
        /// The state.
        state: Arc<S>,
        /// What made it.
        source: Source,
        /// Its step.
        step: Step,
        /// What comes next.
        tasks: Vec<TaskAhead>,
    },
}

impl<S: State> std::fmt::Debug for Signal<S> {
    /// Shows what happened, no values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Values { questions, .. } => write!(f, "Values({} questions)", questions.len()),
            Self::Update { task, freshness, .. } => write!(f, "Update({}, {freshness:?})", task.node),
            Self::Asked { task, questions } => write!(f, "Asked({}, {} questions)", task.node, questions.len()),
            Self::Paused => f.write_str("Paused"),
            Self::TaskStarted { task, .. } => write!(f, "TaskStarted({})", task.node),
            Self::TaskEnded { task, .. } => write!(f, "TaskEnded({})", task.node),
            Self::Checkpoint { id, source, step, .. } => write!(f, "Checkpoint({id}, {source:?}, {step})"),
        }
    }
}

/// What a task gets.
#[derive(Clone)]
pub enum TaskInput<S> {
    /// The state.
    State(Arc<S>),
    /// What a Send carried.
    Arg(Arc<Value>),
}

impl<S> std::fmt::Debug for TaskInput<S> {
    /// Shows which of the two it is, no values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::State(_) => "State",
            Self::Arg(_) => "Arg",
        })
    }
}

/// How a task ended.
#[derive(Clone, Debug)]
pub enum TaskEnd<U> {
    /// It finished.
    Finished(Arc<TaskOutput<U>>),
    /// It failed; the text of the error.
    Failed(String),
    /// It asked.
    Asked(Vec<Question>),
}

/// A task of the next step, with what earlier calls left of it.
#[derive(Clone, Debug)]
pub struct TaskAhead {
    /// The task.
    pub task: TaskInfo,
    /// Why it failed last, if it did.
    pub error: Option<String>,
    /// The questions it asked last.
    pub questions: Vec<Question>,
}
