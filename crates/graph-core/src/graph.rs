//! A compiled graph: run it, look at its threads, edit them.

use std::sync::Arc;

use superstep_checkpoint::{CheckpointId, TaskId, ThreadId, ThreadKey};
use superstep_pregel::{Face, State};

use crate::config::{RunConfig, StreamMode};
use crate::driver::call::{Purpose, call};
use crate::input::IntoInput;
use crate::outcome::Outcome;
use crate::program::Program;
use crate::run_error::{NoStore, RunError, RunErrorKind};
use crate::state::{HistoryQuery, ReadError, StateEdit, StateSnapshot, read_history, read_state};
use crate::stream::{Events, RunStream};

/// A graph ready to run, made by [`StateGraph::compile`](crate::StateGraph::compile). Cheap to clone and to share; runs
/// of different threads do not know of each other.
pub struct CompiledGraph<S: State> {
    pub(crate) program: Arc<Program<S>>,
}

impl<S: State> Clone for CompiledGraph<S> {
    fn clone(&self) -> Self {
        Self { program: Arc::clone(&self.program) }
    }
}

impl<S: State> std::fmt::Debug for CompiledGraph<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompiledGraph")
            .field("name", &self.program.topology.name())
            .field("nodes", &self.program.topology.len())
            .finish_non_exhaustive()
    }
}

impl<S: State> CompiledGraph<S> {
    pub(crate) fn from_program(program: Program<S>) -> Self {
        Self { program: Arc::new(program) }
    }

    /// Runs the graph until nothing is left to do, a question waits, or it is to stop.
    ///
    /// The input says what kind of call it is:
    ///
    /// | input | on a new thread | on a thread that ran |
    /// | --- | --- | --- |
    /// | an update | starts | a new turn from the start, with the old state under the reducers; unfinished work is left behind and listed in the outcome |
    /// | `()` | `UnknownThread` | goes on with what is unfinished: after a crash, a failure, a stop; runs nothing on a finished thread |
    /// | `Command::resume(v)`, `pause.answer(v)` | `NothingToResume` | answers a question and goes on |
    /// | `Command` with update, goto, send | starts, with both | applies the update and starts the nodes beside what is unfinished |
    ///
    /// # Errors
    /// [`RunError`]; see [`RunErrorKind`] for each case. What finished before is stored as the durability promises.
    ///
    /// # Cancel safety
    /// Dropping the future cancels the run: the commit on its way is finished, no further node is entered, and nodes that
    /// run are stopped at their next await (a [`blocking`](crate::blocking) one runs on to its end). The thread goes on
    /// from what is stored with the next call, which waits until that commit is made and those nodes are gone.
    pub async fn invoke(&self, input: impl IntoInput<S>, config: impl Into<RunConfig>) -> Result<Outcome<S>, RunError> {
        let config = config.into();
        let input = taken_apart(input, &config)?;
        call(Arc::clone(&self.program), config, Purpose::Input(input), None).await
    }

    /// Runs the graph as [`invoke`](Self::invoke) does, and shows what happens as it happens.
    ///
    /// Nothing runs until the stream is polled. What it shows is chosen with [`RunConfig::stream_modes`].
    pub fn stream(&self, input: impl IntoInput<S>, config: impl Into<RunConfig>) -> RunStream<S> {
        let mut config = config.into();
        if config.modes.is_empty() {
            config.modes.push(StreamMode::Updates);
        }
        let events = Events::new();
        let input = taken_apart(input, &config);
        let program = Arc::clone(&self.program);
        let to = events.clone();
        let run = async move { call(program, config, Purpose::Input(input?), Some(to)).await };
        RunStream::new(events, Box::pin(run))
    }

    /// The state of a thread at its head, or at [`RunConfig::at`]: values, what comes next, tasks, open questions.
    ///
    /// Reading never fails because of what a step left: if its tasks contradict each other, the snapshot says so.
    ///
    /// # Errors
    /// [`ReadError`] if there is no such thread or checkpoint, or it cannot be read.
    pub async fn state(&self, config: impl Into<RunConfig>) -> Result<StateSnapshot<S>, ReadError> {
        read_state(&self.program, &config.into()).await
    }

    /// The checkpoints of a thread, newest first, over all branches.
    ///
    /// # Errors
    /// [`ReadError`] if a checkpoint cannot be read. An unknown thread gives an empty list.
    pub async fn history(
        &self,
        thread: impl Into<RunConfig>,
        query: HistoryQuery,
    ) -> Result<Vec<StateSnapshot<S>>, ReadError> {
        read_history(&self.program, &thread.into(), &query).await
    }

    /// Changes the state of a thread by hand, as if a node had written it: a new checkpoint, at which that node's edges
    /// and routers decide what comes next. At an older checkpoint ([`RunConfig::at`]) it opens a branch.
    ///
    /// Gives the new checkpoint.
    ///
    /// # Errors
    /// [`RunError`] if the edit cannot be applied, a router fails, or the thread is busy or was moved on.
    pub async fn update_state(
        &self,
        config: impl Into<RunConfig>,
        edit: impl Into<StateEdit<S::Update>>,
    ) -> Result<CheckpointId, RunError> {
        let StateEdit { update, as_node } = edit.into();
        self.change(config.into(), Purpose::Edit { update, as_node }).await
    }

    /// Makes an older checkpoint the head again, as a new checkpoint on a branch of its own, whose side effects are its
    /// own. Nothing runs; go on with `invoke((), thread)`.
    ///
    /// # Errors
    /// [`RunError`] if there is no such checkpoint, or the thread is busy or was moved on.
    pub async fn fork(&self, thread: impl Into<RunConfig>, checkpoint: CheckpointId) -> Result<CheckpointId, RunError> {
        self.change(thread.into().at(checkpoint), Purpose::Fork).await
    }

    /// Drops what a finished task of the step in hand wrote to the state: a way out where the tasks of a step
    /// contradict each other. Where it leads stays as it is.
    ///
    /// # Errors
    /// [`RunError`] if the task is not a finished one of the step in hand.
    pub async fn discard(&self, thread: impl Into<RunConfig>, task: TaskId) -> Result<(), RunError> {
        self.change(thread.into(), Purpose::Discard(task)).await.map(drop)
    }

    async fn change(&self, config: RunConfig, purpose: Purpose<S::Update>) -> Result<CheckpointId, RunError> {
        let thread = config.thread.as_deref().and_then(|thread| ThreadId::new(thread).ok());
        let outcome = call(Arc::clone(&self.program), config, purpose, None).await?;
        outcome.checkpoint().ok_or_else(|| RunError::new(RunErrorKind::NoStore(NoStore::Thread), thread.as_ref()))
    }

    /// Removes everything of a thread. A call that still runs it fails at its next commit. An unknown thread is no
    /// error; the id may be used again.
    ///
    /// # Errors
    /// [`ReadError`] if the id is not valid, the graph has no store, or the store fails.
    pub async fn delete_thread(&self, thread: impl Into<RunConfig>) -> Result<(), ReadError> {
        let (store, thread) = crate::state::place(&self.program, &thread.into())?;
        let key = ThreadKey { tenant: store.tenant_id(), thread };
        Ok(store.delete_thread(&key).await?)
    }

    /// The graph's name.
    pub fn name(&self) -> &str {
        self.program.topology.name()
    }

    /// The graph as Mermaid text.
    pub fn mermaid(&self) -> &str {
        &self.program.mermaid
    }

    /// The JSON Schema of the state, or of what callers may give or see of it.
    pub fn json_schema(&self, face: Face) -> schemars::Schema {
        S::json_schema(&self.program.schema, face)
    }
}

/// What a caller gave, taken apart.
fn taken_apart<S: State>(
    input: impl IntoInput<S>,
    config: &RunConfig,
) -> Result<crate::input::CallInput<S::Update>, RunError> {
    input.into_input().map_err(|error| {
        let thread = config.thread.as_deref().and_then(|thread| ThreadId::new(thread).ok());
        RunError::new(RunErrorKind::InvalidInput(error.to_string()), thread.as_ref())
    })
}
