//! The loop of one call: effects are performed in order; then it waits for a task or a commit; then the machine is told.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use superstep_checkpoint::{AnswerToken, CheckpointId, CommitError, ThreadId};
use superstep_pregel::{
    DraftAnswer, Effect, End, Event as Told, FailedTask, Machine, Put, Refusal, Routing, Side, Signal, Start, State,
    TaskFault, TaskIndex,
};

use super::busy::SharedBusy;
use super::tasks::{Ended, Job, NodeEnd, RunAs, Surroundings, Tasks, fault, may_retry, run_node, run_routers};
use super::writer::Writer;
use crate::answer::check_answer;
use crate::config::Durability;
use crate::error::NodeError;
use crate::outcome::{Company, Interrupt, Outcome, Remains};
use crate::run_error::{NoStore, NodeFailure, NodeFault, RunError, RunErrorKind};
use crate::stream::{Event, Events};

/// What a call is made of.
pub(crate) struct Parts<S: State> {
    pub(crate) machine: Machine<S>,
    pub(crate) writer: Option<Writer<S>>,
    pub(crate) durability: Durability,
    pub(crate) around: Surroundings<S>,
    pub(crate) events: Option<Events<S>>,
    pub(crate) busy: Option<SharedBusy>,
}

/// One call under way.
pub(crate) struct Drive<S: State> {
    machine: Machine<S>,
    writer: Option<Writer<S>>,
    durability: Durability,
    around: Surroundings<S>,
    events: Option<Events<S>>,
    busy: Option<SharedBusy>,
    tasks: Tasks<S>,
    attempts: BTreeMap<TaskIndex, u32>,
    failures: BTreeMap<TaskIndex, NodeError>,
    asked_in_vain: bool,
}

/// What ends the loop.
type Stop = Box<RunErrorKind>;

/// Random ids for checkpoints, so that a commit in doubt can be recognised.
fn mint() -> CheckpointId {
    CheckpointId::from_bytes(rand::random())
}

/// A random mark for an answer.
pub(crate) fn token() -> AnswerToken {
    AnswerToken::from_bytes(rand::random())
}

impl<S: State> Drive<S> {
    pub(crate) fn new(parts: Parts<S>) -> Self {
        let Parts { machine, writer, durability, around, events, busy } = parts;
        Self {
            machine,
            writer,
            durability,
            around,
            events,
            busy,
            tasks: Tasks::new(),
            attempts: BTreeMap::new(),
            failures: BTreeMap::new(),
            asked_in_vain: false,
        }
    }

    /// The machine was refused this start.
    pub(crate) fn begin(&mut self, start: Start<S::Update>) -> Result<(), Refusal> {
        self.machine.handle(Told::Start(start), &mut mint)
    }

    fn thread(&self) -> Option<&ThreadId> {
        self.around.thread.as_ref()
    }

    /// Runs the call to its end.
    pub(crate) async fn run(mut self) -> Result<Outcome<S>, RunError> {
        match self.run_to_end().await {
            Ok(end) => self.outcome(end),
            Err(stop) => Err(self.error(*stop)),
        }
    }

    fn error(&self, kind: RunErrorKind) -> RunError {
        let stored = self.writer.as_ref().and_then(Writer::stored);
        RunError::new(kind, self.thread()).at(self.machine.step().next(), stored)
    }

    async fn run_to_end(&mut self) -> Result<End, Stop> {
        loop {
            while let Some(effect) = self.machine.next_effect() {
                if let Some(end) = self.perform(effect).await? {
                    self.flush().await?;
                    return Ok(end);
                }
            }
            self.enter();
            if self.events.is_some() {
                tokio::task::yield_now().await; // lets whoever reads the stream see what happened before it goes on
            }
            let ended = self.wait().await?;
            self.tell(ended);
        }
    }

    // ---------------------------------------------------------------- effects

    async fn perform(&mut self, effect: Effect<S>) -> Result<Option<End>, Stop> {
        match effect {
            Effect::Put(put) => self.put(put).await?,
            Effect::Run(task) => {
                self.settle().await?;
                self.attempts.remove(&task);
                self.run_task(task, 0);
            }
            Effect::Route { task, state } => {
                self.settle().await?;
                self.run_routers(task, state);
            }
            Effect::Emit(signal) => {
                if let (Some(_), Durability::Async { .. }) = (&self.events, self.durability) {
                    self.settle().await?; // what is shown is not further ahead of the store than nodes are
                }
                self.emit(signal);
            }
            Effect::Finish(end) => return Ok(Some(end)),
            other => {
                return Err(Box::new(RunErrorKind::Internal(format!("the driver does not know the effect {other:?}"))));
            }
        }
        Ok(None)
    }

    async fn put(&mut self, put: Put) -> Result<(), Stop> {
        let answers = match &put {
            Put::Answers { answers, .. } => {
                answers.iter().try_for_each(check).map_err(Box::new)?;
                true
            }
            _ => false,
        };
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.put(put).map_err(|error| Box::new(RunErrorKind::UnstorableUpdate(error)))?;
        if answers {
            self.flush().await?;
            self.enter();
        }
        Ok(())
    }

    /// The call's answers are stored, or it has none.
    fn enter(&mut self) {
        if let Some(busy) = self.busy.take() {
            busy.entered();
        }
    }

    /// Waits for the store as far as the durability of the call says before nodes run.
    async fn settle(&mut self) -> Result<(), Stop> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        let done = match self.durability {
            Durability::Async { lag } => writer.drain_to(lag, self.events.as_ref()).await,
            // Under `exit` only what must be stored first is put before the end.
            Durability::Sync | Durability::Exit => writer.flush(self.events.as_ref()).await,
        };
        done.map_err(commit)
    }

    async fn flush(&mut self) -> Result<(), Stop> {
        match &mut self.writer {
            Some(writer) => writer.flush(self.events.as_ref()).await.map_err(commit),
            None => Ok(()),
        }
    }

    fn run_task(&mut self, task: TaskIndex, failed: u32) {
        let job = Job {
            index: task,
            view: self.machine.task(task),
            state: Arc::clone(self.machine.state()),
            answers: Arc::clone(self.machine.answers()),
            remaining_steps: self.machine.remaining_steps(),
            failed,
        };
        self.tasks.run(self.run_as(), Box::pin(run_node(self.around.clone(), job)));
    }

    fn run_routers(&mut self, task: TaskIndex, state: Arc<S>) {
        let view = self.machine.task(task);
        self.tasks.run(self.run_as(), Box::pin(run_routers(self.around.clone(), task, view, state)));
    }

    fn run_as(&self) -> RunAs {
        if self.machine.running() > 1 { RunAs::OneOfMany } else { RunAs::Lone }
    }

    // ---------------------------------------------------------------- waiting

    /// Waits for the end of a task. Meanwhile what is put is stored.
    async fn wait(&mut self) -> Result<Ended<S>, Stop> {
        let Self { tasks, writer, events, durability, .. } = self;
        poll_fn(|cx| {
            if let Poll::Ready(ended) = tasks.poll(cx) {
                if let Some(writer) = writer.as_mut().filter(|writer| is_due(writer, *durability)) {
                    writer.start();
                    // Under a lag it goes on its way now, while the run goes on.
                    if matches!(durability, Durability::Async { .. })
                        && let Poll::Ready(Err(error)) = writer.poll(cx, events.as_ref())
                    {
                        return Poll::Ready(Err(commit(error)));
                    }
                }
                return Poll::Ready(Ok(ended));
            }
            let Some(writer) = writer.as_mut() else { return Poll::Pending };
            while !writer.is_idle() {
                match writer.poll(cx, events.as_ref()) {
                    Poll::Ready(Ok(())) => {}
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(commit(error))),
                    Poll::Pending => break,
                }
            }
            Poll::Pending
        })
        .await
    }

    // ---------------------------------------------------------------- telling

    fn tell(&mut self, ended: Ended<S>) {
        let told = match ended {
            Ended::Node { index, attempts, end } => {
                self.attempts.insert(index, attempts);
                self.node_ended(index, end)
            }
            Ended::Routes { index, routed } => match self.routes_ended(index, routed) {
                Some(told) => told,
                None => return,
            },
        };
        // Only a start can be refused.
        let _ = self.machine.handle(told, &mut mint);
    }

    fn node_ended(&mut self, task: TaskIndex, end: NodeEnd<S>) -> Told<S::Update> {
        use superstep_pregel::Ended as TaskEnded;
        match end {
            NodeEnd::Returned(output) => {
                let place = self.machine.task(task).place;
                if self.machine.topology().routing(place) == Routing::Routed {
                    return Told::Returned { task, output };
                }
                Told::TaskEnded { task, ended: TaskEnded::Finished(output) }
            }
            NodeEnd::Asked(questions) => Told::TaskEnded { task, ended: TaskEnded::Asked(questions) },
            NodeEnd::AskedInVain => {
                self.asked_in_vain = true;
                self.failed(task, NodeError::msg(NoStore::Interrupt.to_string()))
            }
            NodeEnd::Failed(error) => self.failed(task, error),
        }
    }

    fn failed(&mut self, task: TaskIndex, error: NodeError) -> Told<S::Update> {
        let text = error.to_string();
        self.failures.insert(task, error);
        Told::TaskEnded { task, ended: superstep_pregel::Ended::Failed(text) }
    }

    /// The routers of a task ended; `None` if its node is to run again.
    fn routes_ended(
        &mut self,
        task: TaskIndex,
        routed: Result<superstep_pregel::TaskOutput<S::Update>, NodeError>,
    ) -> Option<Told<S::Update>> {
        let error = match routed {
            Ok(output) => {
                return Some(Told::TaskEnded { task, ended: superstep_pregel::Ended::Finished(output) });
            }
            Err(error) => error,
        };
        let failed = self.attempts.get(&task).copied().unwrap_or_default();
        let view = self.machine.task(task);
        if let superstep_pregel::Place::Node(node) = view.place
            && failed > 0
            && may_retry(&self.around.program.nodes[node.get()], &error, failed)
        {
            let _ = self.machine.handle(Told::Retried { task }, &mut mint);
            self.run_task(task, failed);
            return None;
        }
        Some(self.failed(task, error))
    }

    // ---------------------------------------------------------------- showing

    fn emit(&mut self, signal: Signal<S>) {
        let Some(events) = &self.events else { return };
        let asks = matches!(&signal, Signal::Asked { .. })
            || matches!(&signal, Signal::Values { questions, .. } if !questions.is_empty());
        let Some(event) = event(&self.machine, signal) else { return };
        match &mut self.writer {
            // What is shown under `sync` is stored; a question is shown only when it is stored, in every mode.
            // Under `exit` a question is put when the call ends.
            Some(writer) if asks && self.durability == Durability::Exit && writer.is_idle() => writer.show_later(event),
            Some(writer) if asks || self.durability == Durability::Sync => writer.show_after(event, events),
            Some(writer) => writer.show(event, events),
            None => events.push(event),
        }
    }

    // ---------------------------------------------------------------- the end

    fn outcome(mut self, end: End) -> Result<Outcome<S>, RunError> {
        let interrupts = self.interrupts();
        match end {
            End::Done => Ok(Outcome::done(self.remains())),
            End::Interrupted => {
                let company = if self.machine.task_count() > 1 { Company::Others } else { Company::Alone };
                Ok(Outcome::interrupted(self.remains(), interrupts, company))
            }
            End::Paused { nodes } => Ok(Outcome::paused(self.remains(), nodes)),
            End::Failed { .. } if self.asked_in_vain => Err(self.error(RunErrorKind::NoStore(NoStore::Interrupt))),
            End::Failed { tasks } => {
                let failures = tasks.into_iter().map(|task| self.failure(task)).collect();
                Err(self.error(RunErrorKind::Node { failures }).with_interrupts(interrupts))
            }
            End::Clash(clash) => Err(self.error(RunErrorKind::Clash(clash))),
            End::OutOfSteps { limit } => Err(self.error(RunErrorKind::OutOfSteps { limit })),
            End::Unencodable { channel, error } => {
                Err(self.error(RunErrorKind::Unencodable { channel, source: error }))
            }
            other => Err(self.error(RunErrorKind::Internal(format!("the driver does not know the end {other:?}")))),
        }
    }

    fn interrupts(&self) -> Vec<Interrupt> {
        self.machine.asked().into_iter().map(|(task, question)| Interrupt::new(&task, question)).collect()
    }

    fn remains(self) -> Remains<S> {
        let checkpoint = self.writer.as_ref().and_then(|_| self.machine.checkpoint());
        let abandoned = self.machine.abandoned().to_vec();
        let waiting = self.machine.waiting_edges();
        let schema = Arc::clone(self.machine.schema());
        let state = visible::<S>(&schema, self.machine.into_state());
        Remains { state, checkpoint, abandoned, waiting }
    }

    fn failure(&mut self, failed: FailedTask) -> NodeFailure {
        let attempts = self.attempts.get(&failed.task).copied().unwrap_or(1);
        let (fault, error) = match (failed.fault, self.failures.remove(&failed.task)) {
            (Some(fault), _) => (NodeFault::InvalidUpdate, boxed(fault)),
            (None, Some(error)) => (fault(&error), error.into_error()),
            (None, None) => (NodeFault::Own, NodeError::msg("unknown").into_error()),
        };
        NodeFailure { task: failed.id, node: failed.node, fault, attempts, error }
    }
}

fn boxed(fault: TaskFault) -> Box<dyn std::error::Error + Send + Sync> {
    Box::new(fault)
}

/// The state without the channels that callers do not see.
pub(super) fn visible<S: State>(schema: &S::Schema, mut state: Arc<S>) -> Arc<S> {
    let hidden = (0_u16..).zip(S::channels(schema)).filter(|(_, spec)| spec.output == Side::Closed);
    for (index, _) in hidden {
        Arc::make_mut(&mut state).clear(schema, superstep_pregel::ChannelIndex(index));
    }
    state
}

/// Whether the next commit is due although the run could go on: so that under a lag of many steps they go in groups.
fn is_due<S: State>(writer: &Writer<S>, durability: Durability) -> bool {
    match durability {
        Durability::Async { lag } => !writer.is_writing() && writer.unacknowledged() >= (lag / 4 * 3).max(1),
        Durability::Sync => true,
        Durability::Exit => false,
    }
}

fn check(answer: &DraftAnswer) -> Result<(), RunErrorKind> {
    check_answer(&answer.question, &answer.value)
        .map_err(|reason| RunErrorKind::WrongAnswer { question: answer.question.id, reason })
}

#[allow(clippy::unnecessary_box_returns, reason = "what every step of the loop returns as its error")]
fn commit(error: CommitError) -> Stop {
    Box::new(RunErrorKind::commit(error))
}

/// A signal of the machine as an event of the stream.
fn event<S: State>(machine: &Machine<S>, signal: Signal<S>) -> Option<Event<S>> {
    Some(match signal {
        Signal::Values { state, questions } => {
            let asked = machine.asked();
            let interrupt = |question: &superstep_pregel::Question| {
                let (task, question) = asked.iter().find(|(_, asked)| asked.id == question.id)?;
                Some(Interrupt::new(task, question.clone()))
            };
            Event::Values { state, interrupts: questions.iter().filter_map(interrupt).collect() }
        }
        Signal::Update { task, output, freshness } => Event::Update { task, output, freshness },
        Signal::Asked { task, questions } => Event::Interrupted {
            interrupts: questions.into_iter().map(|question| Interrupt::new(&task, question)).collect(),
        },
        Signal::Paused => Event::Paused,
        Signal::TaskStarted { task, input } => Event::TaskStarted { task, input },
        Signal::TaskEnded { task, end } => Event::TaskEnded { task, end },
        Signal::Checkpoint { id, parent, state, source, step, tasks } => {
            Event::Checkpoint { id, parent, state, source, step, tasks }
        }
        _ => return None,
    })
}
