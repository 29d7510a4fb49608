//! What the machine is told, and what it wants done.

use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;
use superstep_checkpoint::{
    AnswerToken, Branch, CallPath, ChannelName, CheckpointId, Digest, LineageId, NodeName, PartKind, Plan, QuestionId,
    RunStamp, SealError, Seq, Source, Status, Step, TaskId, Turn, WriteKind,
};

use crate::output::{Ended, TaskOutput};
use crate::position::Patch;
use crate::question::Question;
use crate::signal::Signal;
use crate::state::{State, Why};

/// The position of a task in its step, in task order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskIndex(pub u32);

/// What the machine is told.
#[derive(Debug)]
#[non_exhaustive]
pub enum Event<U> {
    /// A call begins. The first event, and only once.
    Start(Start<U>),
    /// The node of a routed task succeeded; its routers have not run yet.
    Returned {
        /// The task.
        task: TaskIndex,
        /// What the node wrote.
        output: TaskOutput<U>,
    },
    /// The routers of a task failed, and its node is about to run again.
    Retried {
        /// The task.
        task: TaskIndex,
    },
    /// A task ended. Of a routed task whose node [returned](Event::Returned), a finished output holds what the routers
    /// added.
    TaskEnded {
        /// The task.
        task: TaskIndex,
        /// How.
        ended: Ended<U>,
    },
}

/// Why a call is made.
#[derive(Debug)]
#[non_exhaustive]
pub enum Start<U> {
    /// A new turn.
    Input(Input<U>),
    /// Go on with what is unfinished, perhaps with a command beside it.
    Continue {
        /// The command.
        patch: Option<Patch<U>>,
    },
    /// Answer questions and go on.
    Answer {
        /// The answers.
        answers: Answers,
        /// A command beside them.
        patch: Option<Patch<U>>,
    },
    /// Change the state by hand, and stop.
    Edit(Edit<U>),
    /// Make a checkpoint the head again, and stop.
    Fork,
    /// Drop what a finished task of the step in hand wrote to the state, and stop.
    Discard {
        /// The task.
        task: TaskId,
    },
}

/// What a new turn begins with.
#[derive(Debug)]
pub struct Input<U> {
    /// The update, and for a command its jumps and Sends.
    pub output: TaskOutput<U>,
    /// A digest of it.
    pub digest: Digest,
    /// The call, where the caller gave it a name.
    pub run: Option<RunStamp>,
}

/// An edit.
#[derive(Debug)]
pub struct Edit<U> {
    /// What to write, if anything.
    pub update: Option<U>,
    /// As which node: its edges and routers decide what comes next. The one that ran last unless named.
    pub as_node: Option<String>,
    /// A digest of the edit.
    pub digest: Digest,
}

/// Answers, and what they answer.
#[derive(Debug)]
pub enum Answers {
    /// The one open question.
    Plain(Arc<Value>, AnswerToken),
    /// Each names its question.
    Named(Vec<(QuestionId, Arc<Value>, AnswerToken)>),
}

/// What the machine wants done, in this order.
#[non_exhaustive]
pub enum Effect<S: State> {
    /// Store something. Adjacent ones belong into one commit.
    Put(Put),
    /// Run the node of a task.
    Run(TaskIndex),
    /// Run the routers of a task on this state.
    Route {
        /// The task.
        task: TaskIndex,
        /// The state with the task's own update, not its siblings'.
        state: Arc<S>,
    },
    /// Show something. What was put before is to be durable first, where the call promises that.
    Emit(Signal<S>),
    /// The call is over. Everything put is to be durable first.
    Finish(End),
}

impl<S: State> std::fmt::Debug for Effect<S> {
    /// Shows what is to be done, no values.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Put(put) => f.debug_tuple("Put").field(put).finish(),
            Self::Run(task) => f.debug_tuple("Run").field(task).finish(),
            Self::Route { task, .. } => f.debug_tuple("Route").field(task).finish(),
            Self::Emit(signal) => f.debug_tuple("Emit").field(signal).finish(),
            Self::Finish(end) => f.debug_tuple("Finish").field(end).finish(),
        }
    }
}

/// Something to store.
#[derive(Debug)]
#[non_exhaustive]
pub enum Put {
    /// A checkpoint, which becomes the head.
    Checkpoint(Box<DraftCheckpoint>),
    /// Records on a checkpoint.
    Writes {
        /// The checkpoint.
        on: CheckpointId,
        /// The records.
        writes: Vec<DraftWrite>,
    },
    /// Answers, first one wins. Must be durable before anything else happens.
    Answers {
        /// The checkpoint on which the questions stand.
        on: CheckpointId,
        /// The answers.
        answers: Vec<DraftAnswer>,
    },
    /// How the thread stands.
    Status {
        /// The status.
        status: Status,
        /// What comes next, in task order.
        next: Vec<NodeName>,
    },
}

/// A checkpoint to be sealed and stored.
#[derive(Debug)]
pub struct DraftCheckpoint {
    /// Its id.
    pub id: CheckpointId,
    /// The stored checkpoint before it.
    pub parent: Option<CheckpointId>,
    /// Its place in the namespace.
    pub seq: Seq,
    /// Whose values it reads.
    pub branch: Branch,
    /// Its step.
    pub step: Step,
    /// What made it.
    pub source: Source,
    /// What comes next.
    pub plan: Plan,
    /// The encoded arguments of the plan's Sends, an envelope without layers; empty without Sends.
    pub args: Vec<u8>,
    /// The turn.
    pub turn: Turn,
    /// The channels that changed, as envelopes without layers.
    pub values: SmallVec<[DraftValue; 4]>,
}

/// A channel to be sealed and stored.
pub struct DraftValue {
    /// The channel.
    pub channel: ChannelName,
    /// How it relates to what is stored.
    pub kind: PartKind,
    /// The envelope without layers; empty for a cleared channel.
    pub bytes: Vec<u8>,
}

/// A record to be sealed and stored.
pub struct DraftWrite {
    /// The task.
    pub task: TaskId,
    /// Its node.
    pub node: NodeName,
    /// What it is.
    pub kind: WriteKind,
    /// Where inside the task.
    pub path: CallPath,
    /// The envelope without layers.
    pub bytes: Vec<u8>,
}

/// An answer to be checked against its question's schema, sealed and stored.
#[derive(Clone)]
pub struct DraftAnswer {
    /// The task that asked.
    pub task: TaskId,
    /// Its node.
    pub node: NodeName,
    /// The question.
    pub question: Question,
    /// The answer.
    pub value: Arc<Value>,
    /// Marks this attempt.
    pub token: AnswerToken,
}

impl std::fmt::Debug for DraftValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DraftValue({:?} of {:?}, {} bytes)", self.kind, self.channel, self.bytes.len())
    }
}

impl std::fmt::Debug for DraftWrite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DraftWrite({:?} of {:?}, {} bytes)", self.kind, self.node, self.bytes.len())
    }
}

impl std::fmt::Debug for DraftAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "DraftAnswer(to {} of {:?})", self.question.id, self.node)
    }
}

/// How a call ended.
#[derive(Debug)]
#[non_exhaustive]
pub enum End {
    /// Nothing is left to do; or the edit, fork or discard is made.
    Done,
    /// Tasks wait for answers.
    Interrupted,
    /// Stopped before or after these nodes by choice.
    Paused {
        /// The nodes, in order.
        nodes: Vec<NodeName>,
    },
    /// Tasks failed.
    Failed {
        /// Which, in task order.
        tasks: Vec<FailedTask>,
    },
    /// The tasks of a step contradict each other.
    Clash(InvalidUpdate),
    /// The limit of steps is reached and there is more to do.
    OutOfSteps {
        /// The limit.
        limit: u64,
    },
    /// The state cannot be encoded.
    Unencodable {
        /// The channel.
        channel: ChannelName,
        /// Why.
        error: SealError,
    },
}

/// A task that failed.
#[derive(Debug)]
pub struct FailedTask {
    /// Which.
    pub task: TaskIndex,
    /// Its id.
    pub id: TaskId,
    /// Its node.
    pub node: NodeName,
    /// Why, where the machine found the fault; else the driver has the error.
    pub fault: Option<TaskFault>,
}

/// A fault in what a task wrote.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TaskFault {
    /// Its own update cannot be applied.
    #[error(transparent)]
    InvalidUpdate(#[from] InvalidUpdate),
    /// Its update cannot be encoded.
    #[error("its update cannot be stored")]
    Unencodable(#[source] SealError),
}

/// An update that cannot be applied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the update of channel {channel:?} by {} cannot be applied: {why}", names(.nodes))]
pub struct InvalidUpdate {
    /// The channel.
    pub channel: ChannelName,
    /// What is wrong.
    pub why: Why,
    /// Whose updates they are, in task order; empty for a caller's.
    pub nodes: Vec<NodeName>,
}

fn names(nodes: &[NodeName]) -> String {
    if nodes.is_empty() {
        return "the caller".to_owned();
    }
    nodes.iter().map(|node| format!("node {node:?}")).collect::<Vec<_>>().join(" and ")
}

/// Why a call was refused. Nothing was stored and nothing ran.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// There is nothing to go on with.
    #[error("the thread has never run; give it an input")]
    NothingToContinue,
    /// No question is open, nor was one asked here.
    #[error("no question is open")]
    NothingToResume,
    /// Several questions are open and the answer names none.
    #[error("{} questions are open; name the one you answer", .open.len())]
    AmbiguousAnswer {
        /// The open questions, in task order.
        open: Vec<QuestionId>,
    },
    /// The question has its answer.
    #[error("question {question} is answered already; the first answer counts")]
    AlreadyAnswered {
        /// The question.
        question: QuestionId,
    },
    /// No such question stands here.
    #[error("there is no question {question} at this checkpoint")]
    UnknownQuestion {
        /// The question.
        question: QuestionId,
    },
    /// An empty set of answers.
    #[error("no answer was given")]
    EmptyAnswers,
    /// The input, edit or command cannot be applied.
    #[error(transparent)]
    InvalidUpdate(#[from] InvalidUpdate),
    /// The input, edit or command cannot be encoded.
    #[error("the update cannot be stored")]
    Unencodable(#[source] SealError),
    /// An edit names no node and several ran last.
    #[error("several nodes ran last ({}); say as which one you edit", list(.nodes))]
    AmbiguousEdit {
        /// The nodes that ran last.
        nodes: Vec<NodeName>,
    },
    /// A name that is no node.
    #[error(transparent)]
    UnknownNode(#[from] crate::topology::UnknownNode),
    /// No finished task of this id is in the step in hand.
    #[error("task {task} is no finished task of the step in hand")]
    UnknownTask {
        /// The task.
        task: TaskId,
    },
}

fn list(nodes: &[NodeName]) -> String {
    if nodes.is_empty() {
        return "none that edges started".to_owned();
    }
    nodes.iter().map(NodeName::as_str).collect::<Vec<_>>().join(", ")
}

/// What the caller wants of a position that may not be the head.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// The position is the head and was not asked for by name.
    Head,
    /// The head was asked for by its id.
    NamedHead {
        /// The lineage to open if the call turns out to replay it.
        lineage: LineageId,
    },
    /// An older checkpoint was asked for by its id: the call opens this lineage on a branch of its own.
    Old {
        /// The lineage.
        lineage: LineageId,
    },
}
