//! Why a run ended with an error.

use std::fmt;

use superstep_checkpoint::{
    ChannelName, CheckpointId, CommitError, InvalidId, NodeName, QuestionId, Retry, SealError, Step, StoreError,
    TaskId, ThreadId,
};
use superstep_pregel::{InvalidUpdate, LoadError, UnknownNode};

use crate::outcome::Interrupt;

type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Why a call failed: [`kind`](RunError::kind) says what, the other methods where. Nothing that was stored is lost.
pub struct RunError {
    inner: Box<Inner>,
}

struct Inner {
    kind: RunErrorKind,
    thread: Option<ThreadId>,
    step: Option<Step>,
    checkpoint: Option<CheckpointId>,
    interrupts: Vec<Interrupt>,
}

impl RunError {
    pub(crate) fn new(kind: RunErrorKind, thread: Option<&ThreadId>) -> Self {
        let inner = Inner { kind, thread: thread.cloned(), step: None, checkpoint: None, interrupts: Vec::new() };
        Self { inner: Box::new(inner) }
    }

    pub(crate) fn at(mut self, step: Step, checkpoint: Option<CheckpointId>) -> Self {
        self.inner.step = Some(step);
        self.inner.checkpoint = checkpoint;
        self
    }

    pub(crate) fn with_interrupts(mut self, interrupts: Vec<Interrupt>) -> Self {
        self.inner.interrupts = interrupts;
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> &RunErrorKind {
        &self.inner.kind
    }

    /// What went wrong, taken out.
    pub fn into_kind(self) -> RunErrorKind {
        self.inner.kind
    }

    /// The thread, where the call had one.
    pub fn thread(&self) -> Option<&ThreadId> {
        self.inner.thread.as_ref()
    }

    /// The step in which it went wrong, if one had begun.
    pub fn step(&self) -> Option<Step> {
        self.inner.step
    }

    /// The last checkpoint known to be stored. To go on from there call `invoke((), thread)`; naming it with
    /// [`RunConfig::at`](crate::RunConfig::at) would run its step anew.
    pub fn checkpoint(&self) -> Option<CheckpointId> {
        self.inner.checkpoint
    }

    /// The first node that failed, in task order.
    pub fn node(&self) -> Option<&NodeName> {
        match &self.inner.kind {
            RunErrorKind::Node { failures } => failures.first().map(|failure| &failure.node),
            _ => None,
        }
    }

    /// Questions that were asked in the step that failed. They are stored and can be answered.
    pub fn interrupts(&self) -> &[Interrupt] {
        &self.inner.interrupts
    }

    /// Whether trying again may help without a change of code or input. Go on with `invoke((), thread)`, or repeat the
    /// call under a [run id](crate::RunConfig::run_id): the same input given again without one begins a new turn, whose
    /// side effects are its own.
    pub fn is_retryable(&self) -> bool {
        match &self.inner.kind {
            RunErrorKind::Store(error) => error.retry() == Retry::MayHelp,
            RunErrorKind::ThreadBusy | RunErrorKind::HeadMoved { .. } => true,
            RunErrorKind::Node { failures } => failures.iter().all(|failure| failure.fault == NodeFault::Own),
            _ => false,
        }
    }
}

impl fmt::Debug for RunError {
    /// As for people, since this is what a `main` that returns it prints.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunError({self})")
    }
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(thread) = &self.inner.thread {
            write!(f, "thread {thread:?}: ")?;
        }
        self.inner.kind.fmt(f)?;
        match self.inner.step {
            Some(step) => write!(f, " (step {step})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for RunError {
    /// What stands behind it and is not in its text yet: of nodes that failed, the cause of the first one's error.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.inner.kind {
            RunErrorKind::Node { failures } => failures.first().and_then(|failure| failure.error.source()),
            RunErrorKind::Clash(_) => None,
            kind => std::error::Error::source(kind),
        }
    }
}

/// What went wrong in a call.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunErrorKind {
    /// A setting makes no sense.
    #[error("the call's settings are not valid: {0}")]
    InvalidConfig(String),
    /// A thread, run or tenant name is not valid.
    #[error(transparent)]
    InvalidName(#[from] InvalidId),
    /// The input is of a form that this call does not take.
    #[error("the input is not valid: {0}")]
    InvalidInput(String),
    /// The call needs a store: the graph has none, or the call names no thread.
    #[error("{0}")]
    NoStore(NoStore),
    /// The store does not keep what `sync` promises.
    #[error("{store} cannot keep what this durability promises; allow it by name, or use another store")]
    VolatileStore {
        /// The store and its settings.
        store: String,
    },
    /// A node takes a context that was not given.
    #[error(
        "node {node:?} takes a Context<{context}>, which neither the graph nor the call gives; give it with `.context(..)`"
    )]
    MissingContext {
        /// The node (or the start, for its routers).
        node: NodeName,
        /// The type.
        context: &'static str,
    },
    /// The thread has never run.
    #[error("there is no such thread; give it an input")]
    UnknownThread,
    /// There is no such checkpoint.
    #[error("there is no checkpoint {0} in this thread; take one from its history")]
    UnknownCheckpoint(CheckpointId),
    /// The thread belongs to another graph.
    #[error(
        "the thread belongs to graph {theirs:?}, not to {ours:?}; use another thread id, or name the graph {theirs:?}"
    )]
    OtherGraph {
        /// This graph.
        ours: String,
        /// The thread's.
        theirs: String,
    },
    /// The run id was used with another input.
    #[error("run id {0:?} was used on this thread with another input; give each input a run id of its own")]
    RunIdReused(String),
    /// Another call of this process runs the thread.
    #[error("another call of this process runs the thread; wait for it, or ask to wait")]
    ThreadBusy,
    /// No question is open.
    #[error("no question is open, so there is nothing to resume; give an input, or `()` to go on")]
    NothingToResume,
    /// Several questions are open and the answer names none.
    #[error("{} questions are open; answer them by id", .open.len())]
    AmbiguousAnswer {
        /// The open questions, in task order.
        open: Vec<QuestionId>,
    },
    /// The question has its answer.
    #[error("question {0} is answered already; the first answer counts")]
    AlreadyAnswered(QuestionId),
    /// No such question is open on this thread.
    #[error("question {0} is not open on this thread; take one from the snapshot's or the outcome's interrupts")]
    UnknownQuestion(QuestionId),
    /// An empty set of answers.
    #[error("no answer was given; name at least one question")]
    EmptyAnswers,
    /// The answer does not fit what was asked for. The question is still open.
    #[error("the answer to question {question} does not fit: {reason}; the question is still open, answer it again")]
    WrongAnswer {
        /// The question.
        question: QuestionId,
        /// Where it does not fit.
        reason: String,
    },
    /// The input, edit or command cannot be applied.
    #[error(transparent)]
    InvalidUpdate(#[from] InvalidUpdate),
    /// The input, edit or command cannot be stored.
    #[error("the update cannot be stored")]
    UnstorableUpdate(#[source] SealError),
    /// A name that is no node.
    #[error(transparent)]
    UnknownNode(#[from] UnknownNode),
    /// An edit names no node and several ran last.
    #[error("several nodes ran last ({nodes:?}); say as which one you edit")]
    AmbiguousEdit {
        /// The nodes.
        nodes: Vec<NodeName>,
    },
    /// No finished task of this id is in the step in hand.
    #[error("task {0} is no finished task of the step in hand; take one from the snapshot's tasks")]
    UnknownTask(TaskId),
    /// Nodes failed.
    #[error("{}", failed(.failures))]
    Node {
        /// Which and why, in task order.
        failures: Vec<NodeFailure>,
    },
    /// Tasks of one step contradict each other. Their results are stored; an edit, a new input or `discard` leaves it.
    #[error("the tasks of a step contradict each other: {0}")]
    Clash(#[source] InvalidUpdate),
    /// The limit of steps is reached. The work so far is stored; call again to go on.
    #[error("the limit of {limit} steps is reached and there is more to do; call again to go on, or raise the limit")]
    OutOfSteps {
        /// The limit.
        limit: u64,
    },
    /// The state cannot be stored.
    #[error("the value of channel {channel:?} cannot be stored")]
    Unencodable {
        /// The channel.
        channel: ChannelName,
        /// Why.
        source: SealError,
    },
    /// Somebody else moved the thread on. What this call had in hand is not stored.
    #[error(
        "somebody else moved the thread on; what this call had in hand is not stored: read the thread, then call again"
    )]
    HeadMoved {
        /// What the store found.
        source: CommitError,
    },
    /// A worker holds the thread.
    #[error("a worker holds the thread; wait for it, then call again")]
    Fenced {
        /// What the store found.
        source: CommitError,
    },
    /// What is stored cannot be read by this graph.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// The store failed.
    #[error("the store failed")]
    Store(#[from] StoreError),
    /// A broken promise inside the library or a store. Please report it.
    #[error("internal fault: {0}")]
    Internal(String),
}

/// Why a call needs a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoStore {
    /// The call names a thread and the graph has no store.
    Graph,
    /// The call names no thread, and this needs one.
    Thread,
    /// A node asked a question in a run without a thread: nobody could answer.
    Interrupt,
    /// The run is to stop before or after nodes and has no thread: it could never go on from there.
    Pause,
}

impl fmt::Display for NoStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Graph => "the call names a thread, but the graph has no store; give it one with `.checkpointer(..)`",
            Self::Thread => "this needs a thread; name one in the call",
            Self::Interrupt => {
                "a node asked a question in a run without a thread; give the graph a store and name a thread"
            }
            Self::Pause => {
                "the run is to stop before or after nodes and could not go on without a thread; give the graph a store \
                 and name a thread"
            }
        })
    }
}

/// One node that failed.
#[derive(Debug)]
#[non_exhaustive]
pub struct NodeFailure {
    /// The task.
    pub task: TaskId,
    /// The node.
    pub node: NodeName,
    /// What kind of fault.
    pub fault: NodeFault,
    /// How often it was tried in this call.
    pub attempts: u32,
    /// The error.
    pub error: BoxError,
}

/// Whose fault a failure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeFault {
    /// The node or a router returned an error.
    Own,
    /// It panicked.
    Panic,
    /// It jumped or sent to a node that is not there.
    UnknownNode,
    /// What it wrote cannot be applied or stored.
    InvalidUpdate,
    /// It did not have or give what was wanted.
    WrongForm,
}

fn failed(failures: &[NodeFailure]) -> String {
    let texts = failures.iter().map(|failure| format!("node {:?} failed: {}", failure.node, failure.error));
    texts.collect::<Vec<_>>().join("; ")
}

impl RunErrorKind {
    /// The kind that stands for a refused commit.
    pub(crate) fn commit(error: CommitError) -> Self {
        match error {
            CommitError::HeadMoved { .. } => Self::HeadMoved { source: error },
            CommitError::Fenced { .. } => Self::Fenced { source: error },
            CommitError::AlreadyAnswered { question, .. } => Self::AlreadyAnswered(question),
            CommitError::Store(source) | CommitError::InDoubt { source, .. } => Self::Store(source),
            other => Self::Internal(other.to_string()),
        }
    }

    /// The kind that stands for a refused start.
    pub(crate) fn refusal(refusal: superstep_pregel::Refusal) -> Self {
        use superstep_pregel::Refusal;
        match refusal {
            Refusal::NothingToContinue => Self::UnknownThread,
            Refusal::NothingToResume => Self::NothingToResume,
            Refusal::AmbiguousAnswer { open } => Self::AmbiguousAnswer { open },
            Refusal::AlreadyAnswered { question } => Self::AlreadyAnswered(question),
            Refusal::UnknownQuestion { question } => Self::UnknownQuestion(question),
            Refusal::EmptyAnswers => Self::EmptyAnswers,
            Refusal::InvalidUpdate(invalid) => Self::InvalidUpdate(invalid),
            Refusal::Unencodable(error) => Self::UnstorableUpdate(error),
            Refusal::AmbiguousEdit { nodes } => Self::AmbiguousEdit { nodes },
            Refusal::UnknownNode(unknown) => Self::UnknownNode(unknown),
            Refusal::UnknownTask { task } => Self::UnknownTask(task),
            other => Self::Internal(other.to_string()),
        }
    }
}
