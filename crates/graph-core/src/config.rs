//! How one call is run.

use serde_json::Value;
use superstep_checkpoint::{CheckpointId, Metadata};

use crate::node::Contexts;

/// How soon results reach the store.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Durability {
    /// A step is durable before the next one starts. No finished step runs again.
    #[default]
    Sync,
    /// At most `lag` steps are on their way to the store while the next one runs, and what a stream shows is at most
    /// that far ahead of it. A crash may repeat those steps and the one in hand.
    Async {
        /// The most steps that are not acknowledged; at least 1.
        lag: u32,
    },
    /// Only answers and forks are stored on the way; the rest once, when the call ends. A crash repeats the whole call,
    /// and a call that is dropped leaves nothing else.
    Exit,
}

impl Durability {
    /// [`Durability::Async`](variant@Durability::Async) with a lag of one step.
    #[allow(non_upper_case_globals, reason = "it stands beside the variants")]
    pub const Async: Self = Self::Async { lag: 1 };
}

/// Nodes to stop at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PauseAt {
    /// Every node.
    All,
    /// These.
    Nodes(Vec<String>),
}

impl From<&str> for PauseAt {
    fn from(node: &str) -> Self {
        Self::Nodes(vec![node.to_owned()])
    }
}

impl<N: Into<String>, const K: usize> From<[N; K]> for PauseAt {
    fn from(nodes: [N; K]) -> Self {
        Self::Nodes(nodes.into_iter().map(Into::into).collect())
    }
}

impl<N: Into<String>> From<Vec<N>> for PauseAt {
    fn from(nodes: Vec<N>) -> Self {
        Self::Nodes(nodes.into_iter().map(Into::into).collect())
    }
}

/// What to do where another call of this process runs the thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum WhenBusy {
    /// Answer `ThreadBusy` at once.
    #[default]
    Refuse,
    /// Wait until the thread is free.
    Wait,
}

/// What a stream shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StreamMode {
    /// The state after each step that wrote something.
    Values,
    /// What each task wrote, as it finishes, and the questions asked.
    Updates,
    /// The start and end of each task.
    Tasks,
    /// Each checkpoint.
    Checkpoints,
    /// What nodes show with [`Runtime::emit`](crate::Runtime::emit).
    Custom,
}

/// The settings of one call: the second argument of [`invoke`](crate::CompiledGraph::invoke). Made from a thread id
/// (`"refund-17"`) or `()` for a run without a thread; checked when the call begins.
#[derive(Clone, Debug, Default)]
pub struct RunConfig {
    pub(crate) thread: Option<String>,
    pub(crate) durability: Option<Durability>,
    pub(crate) limit: Option<u64>,
    pub(crate) at: Option<CheckpointId>,
    pub(crate) run_id: Option<String>,
    pub(crate) contexts: Contexts,
    pub(crate) metadata: Metadata,
    pub(crate) before: Option<PauseAt>,
    pub(crate) after: Option<PauseAt>,
    pub(crate) when_busy: WhenBusy,
    pub(crate) modes: Vec<StreamMode>,
}

impl RunConfig {
    /// A run without a thread: nothing is stored.
    pub fn new() -> Self {
        Self::default()
    }

    /// A run on this thread. Any text of 1 to 1,024 bytes without NUL.
    pub fn thread(thread: impl Into<String>) -> Self {
        Self { thread: Some(thread.into()), ..Self::default() }
    }

    /// How soon results reach the store; [`Durability::Sync`] unless the graph says otherwise.
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = Some(durability);
        self
    }

    /// The most super-steps of nodes in this call, at least 1; 1,000 unless the graph says otherwise. A call that ends
    /// exactly there succeeds.
    #[must_use]
    pub fn limit(mut self, steps: u64) -> Self {
        self.limit = Some(steps);
        self
    }

    /// Start from this checkpoint. With an answer to the head it means nothing more than the head; in every other case
    /// the call opens a branch of its own, on which the step after the checkpoint runs anew with side effects of its own,
    /// also where it is the head. To go on with unfinished work leave it out.
    #[must_use]
    pub fn at(mut self, checkpoint: CheckpointId) -> Self {
        self.at = Some(checkpoint);
        self
    }

    /// A name for this call, so that it can be repeated safely: the same name with the same input goes on with the call
    /// or returns its outcome, with another input it is `RunIdReused`. It goes with an input or a thread's first command;
    /// with anything else it is `InvalidConfig`. Stored as the metadata entry `run_id`.
    #[must_use]
    pub fn run_id(mut self, run: impl Into<String>) -> Self {
        self.run_id = Some(run.into());
        self
    }

    /// A context for this call, in place of the graph's of that type.
    #[must_use]
    pub fn context<T: Send + Sync + 'static>(mut self, thing: T) -> Self {
        self.contexts.insert(thing);
        self
    }

    /// A searchable fact for the checkpoints of this call. Readable in the store.
    #[must_use]
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.metadata.insert(key.into(), value.into());
        self
    }

    /// Stop before these nodes, in place of what the graph says.
    #[must_use]
    pub fn interrupt_before(mut self, nodes: impl Into<PauseAt>) -> Self {
        self.before = Some(nodes.into());
        self
    }

    /// Stop after these nodes, in place of what the graph says.
    #[must_use]
    pub fn interrupt_after(mut self, nodes: impl Into<PauseAt>) -> Self {
        self.after = Some(nodes.into());
        self
    }

    /// What a stream shows; [`StreamMode::Updates`] unless said otherwise. Without effect on `invoke`.
    #[must_use]
    pub fn stream_modes(mut self, modes: impl IntoIterator<Item = StreamMode>) -> Self {
        self.modes = modes.into_iter().collect();
        self
    }

    /// What to do where another call of this process runs the thread.
    #[must_use]
    pub fn when_busy(mut self, when_busy: WhenBusy) -> Self {
        self.when_busy = when_busy;
        self
    }
}

impl From<&str> for RunConfig {
    fn from(thread: &str) -> Self {
        Self::thread(thread)
    }
}

impl From<String> for RunConfig {
    fn from(thread: String) -> Self {
        Self::thread(thread)
    }
}

impl From<&String> for RunConfig {
    fn from(thread: &String) -> Self {
        Self::thread(thread.as_str())
    }
}

impl From<superstep_checkpoint::ThreadId> for RunConfig {
    fn from(thread: superstep_checkpoint::ThreadId) -> Self {
        Self::thread(thread.as_str())
    }
}

impl From<&superstep_checkpoint::ThreadId> for RunConfig {
    fn from(thread: &superstep_checkpoint::ThreadId) -> Self {
        Self::thread(thread.as_str())
    }
}

impl From<()> for RunConfig {
    fn from((): ()) -> Self {
        Self::default()
    }
}
