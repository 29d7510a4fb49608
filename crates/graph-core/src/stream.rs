//! Events of a run, and the stream of them.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context as TaskCx, Poll, Waker};

use futures_core::Stream;
use futures_util::future::BoxFuture;
use serde_json::Value;
use superstep_checkpoint::{CheckpointId, NodeName, Source, Step, TaskId};
use superstep_pregel::{Freshness, State, TaskAhead, TaskEnd, TaskInfo, TaskInput, TaskOutput};

use crate::outcome::{Interrupt, Outcome};
use crate::run_error::RunError;

/// Something that happened in a run.
#[derive(Clone)]
#[non_exhaustive]
pub enum Event<S: State> {
    /// The state after a step that wrote something; or at the begin of a call that goes on; or when a task asked, then
    /// with its questions.
    Values {
        /// The state.
        state: Arc<S>,
        /// The questions just asked.
        interrupts: Vec<Interrupt>,
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
    /// A task asked; the questions are stored.
    Interrupted {
        /// The questions.
        interrupts: Vec<Interrupt>,
    },
    /// The run stops before or after a node by choice.
    Paused,
    /// A task starts, or counts as started since its result is stored.
    TaskStarted {
        /// The task.
        task: TaskInfo,
        /// What it gets.
        input: TaskInput<S>,
    },
    /// A task ended.
    TaskEnded {
        /// The task.
        task: TaskInfo,
        /// How.
        end: TaskEnd<S::Update>,
    },
    /// A checkpoint was reached.
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
        /// The tasks that come next.
        tasks: Vec<TaskAhead>,
    },
    /// A node showed something with [`Runtime::emit`](crate::Runtime::emit).
    Custom(CustomEvent),
    /// The run ended without an error: the last event. An error is the last item instead.
    Ended(Arc<Outcome<S>>),
}

impl<S: State> std::fmt::Debug for Event<S> {
    /// Shows what happened, no values of the state.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Values { interrupts, .. } => write!(f, "Values({} interrupts)", interrupts.len()),
            Self::Update { task, freshness, .. } => write!(f, "Update({}, {freshness:?})", task.node),
            Self::Interrupted { interrupts } => write!(f, "Interrupted({})", interrupts.len()),
            Self::Paused => f.write_str("Paused"),
            Self::TaskStarted { task, .. } => write!(f, "TaskStarted({})", task.node),
            Self::TaskEnded { task, .. } => write!(f, "TaskEnded({})", task.node),
            Self::Checkpoint { id, step, .. } => write!(f, "Checkpoint({id}, step {step})"),
            Self::Custom(event) => write!(f, "Custom({})", event.node),
            Self::Ended(_) => f.write_str("Ended"),
        }
    }
}

/// What a node showed.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct CustomEvent {
    /// The task.
    pub task: TaskId,
    /// Its node.
    pub node: NodeName,
    /// The attempt in which it was shown, counted from 1: what an attempt showed that then failed is shown again by
    /// the next, so keep the greatest.
    pub attempt: u32,
    /// What.
    pub value: Value,
}

impl std::fmt::Debug for CustomEvent {
    /// Shows who showed something, not what.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CustomEvent({} of {:?}, attempt {})", self.task, self.node, self.attempt)
    }
}

/// Where a run puts its events.
pub(crate) struct Events<S: State>(Arc<Mutex<Queue<S>>>);

struct Queue<S: State> {
    events: VecDeque<Event<S>>,
    /// Whoever waits for the next event.
    reader: Option<Waker>,
}

impl<S: State> Clone for Events<S> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<S: State> Events<S> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new(Queue { events: VecDeque::new(), reader: None })))
    }

    fn queue(&self) -> MutexGuard<'_, Queue<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn push(&self, event: Event<S>) {
        self.queue().events.push_back(event);
    }

    fn pop(&self) -> Option<Event<S>> {
        self.queue().events.pop_front()
    }

    /// Says who is to be woken by what nodes show while the run itself waits.
    fn watch(&self, reader: &Waker) {
        let mut queue = self.queue();
        if !queue.reader.as_ref().is_some_and(|known| known.will_wake(reader)) {
            queue.reader = Some(reader.clone());
        }
    }

    /// Where nodes put what they show: they run beside the stream, so it is woken.
    pub(crate) fn custom(&self) -> CustomSink {
        let events = self.clone();
        CustomSink(Arc::new(move |event| {
            let mut queue = events.queue();
            queue.events.push_back(Event::Custom(event));
            if let Some(reader) = queue.reader.take() {
                drop(queue);
                reader.wake();
            }
        }))
    }
}

/// Where nodes put what they show.
#[derive(Clone)]
pub(crate) struct CustomSink(Arc<dyn Fn(CustomEvent) + Send + Sync>);

impl CustomSink {
    pub(crate) fn send(&self, task: TaskId, node: &NodeName, attempt: u32, value: Value) {
        (self.0)(CustomEvent { task, node: node.clone(), attempt, value });
    }
}

/// The events of one run, made by [`CompiledGraph::stream`](crate::CompiledGraph::stream).
///
/// The run goes on only while the stream is polled; dropping it cancels the run: what is on its way to the store gets
/// there, no further node is entered, and the thread stays usable. After an error the stream is at its end.
pub struct RunStream<S: State> {
    events: Events<S>,
    run: Option<BoxFuture<'static, Result<Outcome<S>, RunError>>>,
    last: Option<Result<Event<S>, RunError>>,
}

impl<S: State> std::fmt::Debug for RunStream<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunStream").field("running", &self.run.is_some()).finish_non_exhaustive()
    }
}

impl<S: State> RunStream<S> {
    pub(crate) fn new(events: Events<S>, run: BoxFuture<'static, Result<Outcome<S>, RunError>>) -> Self {
        Self { events, run: Some(run), last: None }
    }

    /// The next event; `None` at the end.
    pub async fn next(&mut self) -> Option<Result<Event<S>, RunError>> {
        std::future::poll_fn(|cx| Pin::new(&mut *self).poll_next(cx)).await
    }
}

impl<S: State> Stream for RunStream<S> {
    type Item = Result<Event<S>, RunError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut TaskCx<'_>) -> Poll<Option<Self::Item>> {
        if let Some(event) = self.events.pop() {
            return Poll::Ready(Some(Ok(event)));
        }
        self.events.watch(cx.waker());
        if let Some(run) = &mut self.run
            && let Poll::Ready(end) = run.as_mut().poll(cx)
        {
            self.run = None;
            self.last = Some(end.map(|outcome| Event::Ended(Arc::new(outcome))));
        }
        if let Some(event) = self.events.pop() {
            return Poll::Ready(Some(Ok(event)));
        }
        match self.last.take() {
            Some(last) => Poll::Ready(Some(last)),
            None if self.run.is_none() => Poll::Ready(None),
            None => Poll::Pending,
        }
    }
}
