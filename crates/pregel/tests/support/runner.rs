//! Runs the turns of a model to their ends: answers what is asked, goes on after failures, pauses and limits.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep_checkpoint::{AnswerToken, At, CheckpointId, Codec, QuestionId, Step, TaskId, WriteKind};
use superstep_pregel::{
    Answers, DynState, DynUpdate, Edit, End, Ended, Event, Input, Patch, Pauses, Place, Question, Refusal, Saving,
    Settings, Signal, SnapshotKind, Start, State, TaskIndex, TaskOutput, Watch, digest,
};

use super::call::{Call, Done};
use super::model::{Model, Outcome, Route, What, node_name};
use super::rng::Rng;
use super::thread::Thread;

/// The most calls a turn may take; more would mean that it never ends.
const MOST_CALLS: usize = 200;

/// In which order running tasks end.
pub(crate) enum Order {
    /// As they started.
    FirstStarted,
    /// The last started first.
    LastStarted,
    Random(Rng),
}

/// A task that was run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ran {
    pub(crate) task: TaskId,
    pub(crate) name: String,
    pub(crate) key: String,
}

pub(crate) struct Runner<'m> {
    model: &'m Model,
    pub(crate) thread: Thread,
    order: Order,
    /// Whether each commit is sent twice.
    pub(crate) twice: bool,
    /// Whether what is stored is read back at every border and compared with the live state.
    pub(crate) reads_back: bool,
    starts: BTreeMap<String, u32>,
    /// Tasks in the order they were started.
    pub(crate) ran: Vec<Ran>,
    /// Tasks in the order they ended.
    pub(crate) ended: Vec<TaskId>,
    /// The states shown, with the questions shown beside them.
    pub(crate) values: Vec<(Value, Vec<QuestionId>)>,
    /// How many commits there were when each turn began.
    pub(crate) begun: Vec<usize>,
    /// How many records of tasks were looked for while their siblings ran.
    pub(crate) kept: usize,
    /// Tasks of the step in hand that ended, with the kind of record they leave.
    leaves: Vec<(TaskId, WriteKind)>,
    /// How many borders were read back and compared.
    pub(crate) compared: usize,
    /// The ends of calls.
    pub(crate) ends: Vec<&'static str>,
}

impl<'m> Runner<'m> {
    pub(crate) fn new(model: &'m Model, order: Order) -> Self {
        Self::on(Thread::new(&model.graph), model, order)
    }

    pub(crate) fn on(thread: Thread, model: &'m Model, order: Order) -> Self {
        Self {
            model,
            thread,
            order,
            twice: false,
            reads_back: false,
            starts: BTreeMap::new(),
            ran: Vec::new(),
            ended: Vec::new(),
            values: Vec::new(),
            begun: Vec::new(),
            kept: 0,
            leaves: Vec::new(),
            compared: 0,
            ends: Vec::new(),
        }
    }

    /// Runs all turns.
    pub(crate) fn run(&mut self) {
        (0..self.model.turns.len()).for_each(|number| self.run_turn(number));
    }

    pub(crate) fn run_turn(&mut self, number: usize) {
        self.begun.push(self.thread.commits.len());
        let at = self.model.turns[number].at.map(|at| {
            let stored = self.thread.stored();
            stored[at % stored.len()].checkpoint.id
        });
        let start = self.turn(number, at);
        let goes_on = matches!(start, Start::Edit(_) | Start::Fork);
        match self.call(start, at) {
            Ok(end) if goes_on && matches!(end.end, End::Done) => self.recover(),
            Ok(end) => self.settle(end),
            Err(refusal) => assert!(may_be_refused(&refusal), "{refusal}; {}", self.model),
        }
    }

    /// Goes on with the turn in hand.
    pub(crate) fn recover(&mut self) {
        let end = self.call(Start::Continue { patch: None }, None).unwrap();
        self.settle(end);
    }

    fn turn(&self, number: usize, at: Option<CheckpointId>) -> Start<DynUpdate> {
        let digest = digest("turn", &number.into());
        let update = DynUpdate::new().set("items", json!([format!("turn {number}")]));
        match &self.model.turns[number].what {
            What::Continue => Start::Continue { patch: None },
            What::Fork => Start::Fork,
            What::Answer => Start::Answer {
                answers: Answers::Plain(Arc::new(json!(number)), AnswerToken::from_bytes([0; 16])),
                patch: None,
            },
            What::Input => {
                let mut output = TaskOutput::default();
                output.updates.push(update.set("once", "in"));
                Start::Input(Input { output, digest, run: None })
            }
            What::Edit(as_node) => Start::Edit(Edit { update: Some(update), as_node: as_node.clone(), digest }),
            What::Command(route) => {
                let mut output = TaskOutput::default();
                output.updates.push(update);
                let state = Call::new(&self.thread, self.settings(), at).machine.into_state();
                route.follow(&self.model.graph.topology, &state, Step(0), &mut output);
                let mark = AnswerToken::from_bytes([0; 16]);
                Start::Continue { patch: Some(Patch { output, digest, mark }) }
            }
        }
    }

    // ---------------------------------------------------------------- a turn

    /// Calls again until the thread is at rest.
    fn settle(&mut self, mut end: Rest) {
        for _ in 0..MOST_CALLS {
            let next = match (end.end, end.asked.first()) {
                (End::Done, _) => return,
                (End::Interrupted, Some(question)) => answer(&self.model.graph, question),
                // A command would come before the failed tasks run again, and their failures are chance.
                (End::Failed { .. }, Some(question)) if !has_command(question) => answer(&self.model.graph, question),
                (End::Clash(_), _) => Start::Discard { task: self.clashing() },
                _ => Start::Continue { patch: None },
            };
            let discarded = matches!(next, Start::Discard { .. });
            end = self.call(next, None).unwrap();
            if discarded {
                end = self.call(Start::Continue { patch: None }, None).unwrap();
            }
        }
        panic!("it never ends: {:?}\n{}", &self.ends[self.ends.len() - 20..], self.model);
    }

    /// The first task whose writes can be dropped.
    fn clashing(&self) -> TaskId {
        let snapshot = Call::new(&self.thread, self.settings(), None).machine.snapshot(SnapshotKind::Live);
        let writes = |result: &TaskOutput<DynUpdate>| !result.updates.is_empty();
        let task = snapshot.tasks.iter().find(|task| task.result.as_ref().is_some_and(|result| writes(result)));
        task.unwrap().task.id
    }

    // ---------------------------------------------------------------- a call

    fn settings(&self) -> Settings {
        let topology = &self.model.graph.topology;
        let nodes = |names: &[String]| Pauses::At(names.iter().map(|name| topology.node(name).unwrap()).collect());
        Settings {
            saving: self.model.saving,
            before: nodes(&self.model.pauses.0),
            after: nodes(&self.model.pauses.1),
            limit: self.model.limit,
            codec: Codec::Json,
            watch: Watch { values: true, updates: false, tasks: false, checkpoints: self.reads_back },
        }
    }

    fn call(&mut self, start: Start<DynUpdate>, at: Option<CheckpointId>) -> Result<Rest, Refusal> {
        let mut call = Call::new(&self.thread, self.settings(), at);
        call.twice = self.twice;
        let mut pending: Vec<Pending> = Vec::new();
        let discards = matches!(start, Start::Discard { .. });
        let mut event = Event::Start(start);
        loop {
            let done = call.tell(&mut self.thread, event)?;
            if let Some(end) = self.take(&call, done, &mut pending) {
                self.ends.push(name_of(&end));
                let asked = call.machine.asked().into_iter().map(|(_, question)| question).collect();
                // A replay with nothing to do leaves the head where it is.
                let on_head = at.is_none() || call.machine.checkpoint() != at;
                if self.reads_back && on_head && !discards {
                    self.compare_end(&call, &end);
                }
                return Ok(Rest { end, asked });
            }
            self.check_kept(&call);
            let next = self.choose(pending.len());
            event = self.perform(&call, pending.remove(next));
        }
    }

    /// Notes what was performed.
    fn take(&mut self, call: &Call, done: Vec<Done>, pending: &mut Vec<Pending>) -> Option<End> {
        let (at_exit, begun_on) = (self.model.saving == Saving::AtExit, call.begun_on);
        let mut end = None;
        for done in done {
            match done {
                Done::Run(task) => {
                    self.note_run(call, task);
                    pending.push(Pending::Node(task));
                }
                Done::Route(task, state) => pending.push(Pending::Routers(task, state)),
                Done::Emit(Signal::Values { state, questions }) => {
                    let asked = questions.iter().map(|question| question.id).collect();
                    self.values.push((Value::Object(state.to_object()), asked));
                }
                // Saved at exit, a command on the checkpoint where the call begins is not stored yet.
                Done::Emit(Signal::Checkpoint { id, .. }) if at_exit && Some(id) == begun_on => {}
                Done::Emit(Signal::Checkpoint { id, state, .. }) => self.compare(id, &state),
                Done::Commit(_) | Done::Emit(_) => {}
                Done::Finish(finish) => end = Some(finish),
            }
        }
        end
    }

    fn note_run(&mut self, call: &Call, task: TaskIndex) {
        let view = call.machine.task(task);
        let name = node_name(&self.model.graph.topology, view.place);
        *self.starts.entry(name.to_owned()).or_default() += 1;
        self.ran.push(Ran {
            task: view.identity.id(),
            name: format!("{name} {:?} at {}", view.path, view.step),
            key: view.identity.idempotency_key("pay"),
        });
    }

    fn choose(&mut self, pending: usize) -> usize {
        match &mut self.order {
            Order::FirstStarted => 0,
            Order::LastStarted => pending - 1,
            Order::Random(rng) => rng.below(pending),
        }
    }

    fn perform(&mut self, call: &Call, pending: Pending) -> Event<DynUpdate> {
        match pending {
            Pending::Node(task) => self.run_node(call, task),
            Pending::Routers(task, state) => {
                let view = call.machine.task(task);
                let topology = &self.model.graph.topology;
                let name = node_name(topology, view.place);
                let route = match view.place {
                    Place::Start => self.model.start.as_ref(),
                    Place::Node(_) => self.model.programs[name].routes.as_ref(),
                };
                let mut output = TaskOutput::default();
                route.unwrap().follow(topology, &state, view.step, &mut output);
                self.ended(view.identity.id(), WriteKind::Result);
                Event::TaskEnded { task, ended: Ended::Finished(output) }
            }
        }
    }

    fn ended(&mut self, task: TaskId, leaves: WriteKind) {
        self.ended.push(task);
        self.leaves.push((task, leaves));
    }

    fn run_node(&mut self, call: &Call, task: TaskIndex) -> Event<DynUpdate> {
        let (view, machine) = (call.machine.task(task), &call.machine);
        let topology = &self.model.graph.topology;
        let name = node_name(topology, view.place);
        let program = &self.model.programs[name];
        let (ended, leaves) = match program.run(topology, &view, machine.state(), machine.answers(), self.starts[name])
        {
            Outcome::Output(output) if program.routes.is_some() => return Event::Returned { task, output },
            Outcome::Output(output) => (Ended::Finished(output), WriteKind::Result),
            Outcome::Fails => (Ended::Failed("as told".to_owned()), WriteKind::Error),
            Outcome::Asks(questions) => (Ended::Asked(questions), WriteKind::Question),
        };
        self.ended(view.identity.id(), leaves);
        Event::TaskEnded { task, ended }
    }

    // ---------------------------------------------------------------- comparing

    /// While tasks run, what the others of their step left is stored.
    fn check_kept(&mut self, call: &Call) {
        if self.model.saving != Saving::EveryStep || !self.reads_back {
            return;
        }
        let head = self.thread.view(At::Head).found.unwrap();
        let in_step = |task: TaskId| {
            let count = u32::try_from(call.machine.task_count()).unwrap();
            (0..count).any(|index| call.machine.task(TaskIndex(index)).identity.id() == task)
        };
        self.leaves.retain(|(task, _)| in_step(*task));
        for (task, kind) in &self.leaves {
            let stored = head.writes.iter().any(|write| write.task == *task && write.kind == *kind);
            assert!(stored, "{kind:?} of {task} is not stored though its siblings run; {}", self.model);
            self.kept += 1;
        }
    }

    /// What is stored of a border reads as the state that was live there.
    fn compare(&mut self, id: CheckpointId, live: &DynState) {
        if self.thread.view(At::Id(id)).found.is_none() {
            return;
        }
        let read = Call::new(&self.thread, self.settings(), Some(id)).machine.into_state();
        assert_eq!(tracked(&read), tracked(live), "{}", self.model);
        self.compared += 1;
    }

    /// What a call gives back is what the thread shows.
    fn compare_end(&self, call: &Call, end: &End) {
        if matches!(end, End::Failed { .. } | End::Clash(_)) {
            return;
        }
        let shown = Call::new(&self.thread, self.settings(), None).machine.snapshot(SnapshotKind::Live);
        assert_eq!(tracked(&shown.state), tracked(call.machine.state()), "{end:?}\n{}", self.model);
    }
}

/// Whether a random turn may be refused: several nodes ran last; not one question stands at the checkpoint.
fn may_be_refused(refusal: &Refusal) -> bool {
    use Refusal::{AlreadyAnswered, AmbiguousAnswer, AmbiguousEdit, NothingToResume};
    matches!(refusal, AmbiguousEdit { .. } | AmbiguousAnswer { .. } | AlreadyAnswered { .. } | NothingToResume)
}

/// How a call ended.
struct Rest {
    end: End,
    asked: Vec<Question>,
}

enum Pending {
    Node(TaskIndex),
    Routers(TaskIndex, Arc<DynState>),
}

/// Whether the answer to a question comes with a command beside it: every third does.
fn has_command(question: &Question) -> bool {
    question.id.as_bytes()[0].is_multiple_of(3)
}

/// Answers a question, each in its own way.
fn answer(graph: &super::graph::Graph, question: &Question) -> Start<DynUpdate> {
    let token = AnswerToken::from_bytes(*question.id.as_bytes());
    let kind = question.id.as_bytes()[0];
    let value = Arc::new(json!(kind));
    let patch = has_command(question).then(|| {
        let mut output = TaskOutput::default();
        output.updates.push(DynUpdate::new().set("items", json!(["beside", kind])));
        if kind.is_multiple_of(2) {
            let last = format!("n{}", graph.topology.len() - 1);
            let route = if kind.is_multiple_of(4) { Route::To(vec![last]) } else { Route::Send(last, 2) };
            route.follow(&graph.topology, &<DynState as State>::initial(&graph.schema), Step(0), &mut output);
        }
        Patch { output, digest: digest("patch", &kind.into()), mark: token }
    });
    Start::Answer { answers: Answers::Named(vec![(question.id, value, token)]), patch }
}

/// The state without what reaches no store.
pub(crate) fn tracked(state: &DynState) -> Value {
    let mut object = state.to_object();
    object.remove("mine");
    Value::Object(object)
}

fn name_of(end: &End) -> &'static str {
    match end {
        End::Done => "done",
        End::Interrupted => "interrupted",
        End::Paused { .. } => "paused",
        End::Failed { .. } => "failed",
        End::Clash(_) => "clash",
        End::OutOfSteps { .. } => "out of steps",
        _ => "other",
    }
}
