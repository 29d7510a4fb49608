//! The running tasks of a step: a lone one is polled in place, several are spawned.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use serde_json::Value;
use superstep_checkpoint::ThreadId;
use superstep_pregel::{Place, Question, State, TaskIndex, TaskOutput, TaskView};
use tokio::task::JoinSet;

use super::busy::SharedBusy;
use super::resolve;
use crate::error::{NodeError, NodeErrorKind};
use crate::node::{Contexts, RouteContext, TaskContext};
use crate::program::{NodeEntry, Program};
use crate::runtime::{MayAsk, Runtime, TaskScope};
use crate::stream::CustomSink;

/// What a task of this call gets, whatever its node.
pub(crate) struct Surroundings<S: State> {
    pub(crate) program: Arc<Program<S>>,
    pub(crate) contexts: Arc<Contexts>,
    pub(crate) thread: Option<ThreadId>,
    pub(crate) custom: Option<CustomSink>,
    /// Held by each task until it is gone: a dropped call may leave one that runs on to its next await.
    pub(crate) busy: Option<SharedBusy>,
}

impl<S: State> Clone for Surroundings<S> {
    fn clone(&self) -> Self {
        Self {
            program: Arc::clone(&self.program),
            contexts: Arc::clone(&self.contexts),
            thread: self.thread.clone(),
            custom: self.custom.clone(),
            busy: self.busy.clone(),
        }
    }
}

/// A task to run.
pub(crate) struct Job<S: State> {
    pub(crate) index: TaskIndex,
    pub(crate) view: TaskView,
    pub(crate) state: Arc<S>,
    pub(crate) answers: Arc<std::collections::BTreeMap<superstep_checkpoint::QuestionId, Arc<Value>>>,
    pub(crate) remaining_steps: u64,
    /// Attempts of this call that failed already.
    pub(crate) failed: u32,
}

/// Something about a task that came to an end.
pub(crate) enum Ended<S: State> {
    Node { index: TaskIndex, attempts: u32, end: NodeEnd<S> },
    Routes { index: TaskIndex, routed: Result<TaskOutput<S::Update>, NodeError> },
}

/// How the attempts of a node ended.
pub(crate) enum NodeEnd<S: State> {
    Returned(TaskOutput<S::Update>),
    Asked(Vec<Question>),
    AskedInVain,
    Failed(NodeError),
}

/// The tasks that run. Dropping it stops them: each at its next await, if it is being polled by another thread.
pub(crate) struct Tasks<S: State> {
    lone: Option<BoxFuture<'static, Ended<S>>>,
    many: JoinSet<Ended<S>>,
}

/// How a future is to be run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RunAs {
    /// It is alone in its step: polled in place, which is cheap.
    Lone,
    /// Others run beside it: spawned, so that they run in parallel.
    OneOfMany,
}

impl<S: State> Tasks<S> {
    pub(crate) fn new() -> Self {
        Self { lone: None, many: JoinSet::new() }
    }

    pub(crate) fn run(&mut self, run_as: RunAs, task: BoxFuture<'static, Ended<S>>) {
        match run_as {
            RunAs::Lone => self.lone = Some(task),
            RunAs::OneOfMany => {
                self.many.spawn(task);
            }
        }
    }

    /// The next end of a task. Pending for ever while none runs.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Ended<S>> {
        if let Some(lone) = &mut self.lone
            && let Poll::Ready(ended) = lone.as_mut().poll(cx)
        {
            self.lone = None; // the future may hold the state
            return Poll::Ready(ended);
        }
        match self.many.poll_join_next(cx) {
            Poll::Ready(Some(Ok(ended))) => Poll::Ready(ended),
            // What a node may panic with is caught inside. Should the engine panic, it is to be heard.
            Poll::Ready(Some(Err(error))) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
            // Nothing aborts a task but dropping this set.
            Poll::Ready(Some(Err(_)) | None) | Poll::Pending => Poll::Pending,
        }
    }
}

/// Runs a node until it succeeds, asks or has used up its attempts.
pub(crate) async fn run_node<S: State>(around: Surroundings<S>, job: Job<S>) -> Ended<S> {
    let Place::Node(node) = job.view.place else { return no_node(&job) };
    let entry = &around.program.nodes[node.get()];
    let mut attempt = job.failed + 1;
    if job.failed > 0 {
        pause_before_retry(entry, job.failed).await;
    }
    loop {
        let end = run_attempt(&around, entry, &job, attempt).await;
        match end {
            NodeEnd::Failed(error) if may_retry(entry, &error, attempt) => pause_before_retry(entry, attempt).await,
            end => return Ended::Node { index: job.index, attempts: attempt, end },
        }
        attempt += 1;
    }
}

fn no_node<S: State>(job: &Job<S>) -> Ended<S> {
    let error = NodeError::msg("the start has no node to run");
    Ended::Node { index: job.index, attempts: 0, end: NodeEnd::Failed(error) }
}

/// Whether a node that failed so often is tried again. Its rule is the user's code: one that panics says no.
pub(crate) fn may_retry<S: State>(entry: &NodeEntry<S>, error: &NodeError, failed: u32) -> bool {
    std::panic::catch_unwind(AssertUnwindSafe(|| entry.retry.allows(error, failed))).unwrap_or(false)
}

async fn pause_before_retry<S: State>(entry: &NodeEntry<S>, failed: u32) {
    let delay = entry.retry.delay(failed, rand::random::<f64>());
    tracing::debug!(node = %entry.name, failed, ?delay, "a node failed and is tried again");
    tokio::time::sleep(delay).await;
}

async fn run_attempt<S: State>(
    around: &Surroundings<S>,
    entry: &NodeEntry<S>,
    job: &Job<S>,
    attempt: u32,
) -> NodeEnd<S> {
    let runtime = Runtime::new(scope(around, entry, job, attempt));
    let task = TaskContext {
        state: Arc::clone(&job.state),
        arg: job.view.arg.clone(),
        runtime: runtime.clone(),
        contexts: Arc::clone(&around.contexts),
        busy: around.busy.clone(),
    };
    let result = AssertUnwindSafe(async { entry.node.call(task).await }).catch_unwind().await;
    let asked = runtime.take_asked();
    if asked.in_vain {
        return NodeEnd::AskedInVain;
    }
    if !asked.questions.is_empty() {
        return NodeEnd::Asked(asked.questions);
    }
    let returned = match result {
        Ok(Ok(output)) => resolve::output(&around.program.topology, output),
        Ok(Err(error)) => Err(error),
        Err(panic) => Err(NodeError::panicked(&*panic)),
    };
    returned.map_or_else(NodeEnd::Failed, NodeEnd::Returned)
}

fn scope<S: State>(around: &Surroundings<S>, entry: &NodeEntry<S>, job: &Job<S>, attempt: u32) -> TaskScope {
    TaskScope {
        identity: job.view.identity,
        node: entry.name.clone(),
        thread: around.thread.clone(),
        step: job.view.step,
        attempt,
        remaining_steps: job.remaining_steps,
        may_ask: if around.thread.is_some() { MayAsk::Yes } else { MayAsk::NoThread },
        answers: Arc::clone(&job.answers),
        custom: around.custom.clone(),
        unnamed: AtomicU32::new(0),
        asked: std::sync::Mutex::default(),
    }
}

/// Runs the routers of a place, one after another, in the order declared.
pub(crate) async fn run_routers<S: State>(
    around: Surroundings<S>,
    index: TaskIndex,
    view: TaskView,
    state: Arc<S>,
) -> Ended<S> {
    let routing = async {
        let mut answers = Vec::new();
        for entry in around.program.routers(view.place) {
            let route = RouteContext {
                state: Arc::clone(&state),
                arg: view.arg.clone(),
                contexts: Arc::clone(&around.contexts),
            };
            answers.push((entry, entry.router.call(route).await?));
        }
        resolve::routes(&around.program.topology, answers)
    };
    let routed = match AssertUnwindSafe(routing).catch_unwind().await {
        Ok(routed) => routed,
        Err(panic) => Err(NodeError::panicked(&*panic)),
    };
    Ended::Routes { index, routed }
}

/// Whose fault a node error is, for the error of the run.
pub(crate) fn fault(error: &NodeError) -> crate::run_error::NodeFault {
    use crate::run_error::NodeFault;
    match error.kind() {
        NodeErrorKind::Panicked => NodeFault::Panic,
        NodeErrorKind::UnknownNode | NodeErrorKind::UnknownRoute => NodeFault::UnknownNode,
        NodeErrorKind::WrongForm => NodeFault::WrongForm,
        NodeErrorKind::Fault | NodeErrorKind::Interrupted => NodeFault::Own,
    }
}
