//! One call from its arguments to its outcome: everything is checked here before anything is stored or run.

use std::num::NonZeroUsize;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep_checkpoint::{
    At, CheckpointId, Checkpointer, CommitError, Durable, Epoch, Expect, FoundHead, GraphStamp, ListQuery, Metadata,
    NamespaceKey, QuestionId, RunId, RunStamp, Seq, TaskId, TenantId, ThreadId, ThreadKey, View, WriteKind,
};
use superstep_pregel::{
    Answers, Basis, Edit, Ground, Input, Machine, Patch, Pauses, Saving, Settings, Start, State, Target, TaskOutput,
    Watch, digest,
};

use super::busy::{Busy, SharedBusy};
use super::drive::{token, visible};
use super::seal::Desk;
use super::tasks::Surroundings;
use super::{Drive, Opened, Parts, Writer, open, resolve};
use crate::config::{Durability, PauseAt, RunConfig, StreamMode, WhenBusy};
use crate::input::{CallInput, ResumeAnswers};
use crate::node::NodeOutput;
use crate::outcome::{Outcome, Remains};
use crate::program::Program;
use crate::run_error::{NoStore, RunError, RunErrorKind};
use crate::stream::Events;

/// What a call is to do.
pub(crate) enum Purpose<U> {
    Input(CallInput<U>),
    Edit { update: Option<U>, as_node: Option<String> },
    Fork,
    Discard(TaskId),
}

/// The metadata key under which a call's run id can be searched.
const RUN_ID: &str = "run_id";

/// A call whose settings were checked.
struct Call<S: State> {
    program: Arc<Program<S>>,
    config: RunConfig,
    thread: Option<ThreadId>,
    run: Option<RunId>,
    settings: Settings,
    durability: Durability,
    events: Option<Events<S>>,
    /// Only where this is the head: what is done on top of it is somebody else's work.
    only_at: Option<CheckpointId>,
}

/// Makes a call.
pub(crate) async fn call<S: State>(
    program: Arc<Program<S>>,
    config: RunConfig,
    purpose: Purpose<S::Update>,
    events: Option<Events<S>>,
) -> Result<Outcome<S>, RunError> {
    let thread = match config.thread.as_deref().map(ThreadId::new).transpose() {
        Ok(thread) => thread,
        Err(invalid) => return Err(RunError::new(invalid.into(), None)),
    };
    let named = |kind| RunError::new(kind, thread.as_ref());
    let call = Call::new(program, config, thread.clone(), events).map_err(named)?;
    match call.thread.clone() {
        None => call.without_thread(purpose).map_err(named)?.run().await,
        Some(thread_id) => {
            let again = call.again();
            let outcome = call.run(thread_id.clone(), purpose).await?;
            go_on_if_finished(again, thread_id, outcome).await
        }
    }
}

/// Two processes may answer two questions of one step at once: each stops for the question that the other answers. Results
/// are stored before they are looked for, so at least one of them sees that all tasks have finished, and goes on.
async fn go_on_if_finished<S: State>(
    again: Call<S>,
    thread: ThreadId,
    mut outcome: Outcome<S>,
) -> Result<Outcome<S>, RunError> {
    while again.finished_meanwhile(&thread, &outcome).await {
        let further = Call { only_at: outcome.checkpoint(), ..again.again() };
        match further.run(thread.clone(), Purpose::Input(CallInput::Continue)).await {
            Ok(further) => outcome = further,
            // The other one goes on.
            Err(error) if matches!(error.kind(), RunErrorKind::HeadMoved { .. } | RunErrorKind::ThreadBusy) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(outcome)
}

/// What became of a call once it was opened.
enum Begun<S: State> {
    Drive(Box<Drive<S>>),
    /// It had been made before: its stored outcome.
    Over(Box<Outcome<S>>),
}

/// Whether a call was made before, by its run id.
enum Before<S: State> {
    /// No; or the thread still stands where it left it, to be gone on with.
    No,
    /// Yes, and it ended.
    Over(Box<Outcome<S>>),
    /// The run id was used for something else.
    WithAnotherInput(String),
}

impl<S: State> Call<S> {
    fn new(
        program: Arc<Program<S>>,
        config: RunConfig,
        thread: Option<ThreadId>,
        events: Option<Events<S>>,
    ) -> Result<Self, RunErrorKind> {
        let run = config.run_id.as_deref().map(RunId::new).transpose()?;
        let durability = config.durability.unwrap_or(program.durability);
        if durability == (Durability::Async { lag: 0 }) {
            return Err(RunErrorKind::InvalidConfig("a lag of 0 steps; use `Durability::Sync`".to_owned()));
        }
        if config.metadata.contains_key(RUN_ID) {
            let reason = format!("metadata key {RUN_ID:?} is taken by the run id of a call; use another");
            return Err(RunErrorKind::InvalidConfig(reason));
        }
        let limit = config.limit.unwrap_or(program.limit);
        if limit == 0 {
            return Err(RunErrorKind::InvalidConfig("a limit of 0 steps; give at least 1".to_owned()));
        }
        let settings = Settings {
            saving: saving(thread.as_ref(), durability),
            before: pauses(&program, config.before.as_ref(), &program.before)?,
            after: pauses(&program, config.after.as_ref(), &program.after)?,
            limit,
            codec: program.sealer.codec(),
            watch: watch(&config, events.as_ref()),
        };
        check_contexts(&program, &config)?;
        Ok(Self { program, config, thread, run, settings, durability, events, only_at: None })
    }

    /// A call like this one that goes on with the thread.
    fn again(&self) -> Self {
        let mut config = self.config.clone();
        config.at = None;
        Self {
            program: Arc::clone(&self.program),
            config,
            thread: self.thread.clone(),
            run: None,
            settings: self.settings.clone(),
            durability: self.durability,
            events: self.events.clone(),
            only_at: None,
        }
    }

    async fn run(self, thread: ThreadId, purpose: Purpose<S::Update>) -> Result<Outcome<S>, RunError> {
        let named = |kind| RunError::new(kind, Some(&thread));
        match self.on_thread(thread.clone(), purpose).await.map_err(named)? {
            Begun::Drive(drive) => drive.run().await,
            Begun::Over(outcome) => Ok(*outcome),
        }
    }

    /// Whether all tasks that this call stopped for have finished by now. One that has its answer only is left to whoever
    /// gave it: it may be running.
    async fn finished_meanwhile(&self, thread: &ThreadId, outcome: &Outcome<S>) -> bool {
        let Some(store) = self.program.store.as_ref().filter(|store| store.guarantees().shared) else { return false };
        if !outcome.waits_in_company() {
            return false;
        }
        let key = ThreadKey { tenant: store.tenant_id(), thread: thread.clone() }.root();
        let Ok(View { found: Some(head), .. }) = store.get(&key, At::Head).await else { return false };
        let finished =
            |task: TaskId| head.writes.iter().any(|write| write.kind == WriteKind::Result && write.task == task);
        outcome.interrupts().iter().all(|interrupt| finished(interrupt.task))
    }

    // ---------------------------------------------------------------- without a thread

    fn without_thread(self, purpose: Purpose<S::Update>) -> Result<Drive<S>, RunErrorKind> {
        let Purpose::Input(input) = purpose else { return Err(RunErrorKind::NoStore(NoStore::Thread)) };
        if self.config.at.is_some() || self.run.is_some() {
            return Err(RunErrorKind::NoStore(NoStore::Thread));
        }
        if stops(&self.settings.before) || stops(&self.settings.after) {
            return Err(RunErrorKind::NoStore(NoStore::Pause));
        }
        let start = match input {
            CallInput::Update(_) | CallInput::Command { .. } => self.first(input)?,
            CallInput::Continue | CallInput::Resume { .. } => return Err(RunErrorKind::NoStore(NoStore::Thread)),
        };
        let key = ThreadKey { tenant: TenantId::default(), thread: ThreadId::new("-")? }.root();
        // A chance number as epoch: two such runs have nothing to do with each other, so their keys differ.
        let epoch = Epoch(rand::random());
        let ground = Ground { key, position: None, basis: Basis::Head, last_seq: Seq(0), epoch };
        self.begin(ground, None, None, start)
    }

    // ---------------------------------------------------------------- on a thread

    async fn on_thread(self, thread: ThreadId, purpose: Purpose<S::Update>) -> Result<Begun<S>, RunErrorKind> {
        let store = self.program.store.clone().ok_or(RunErrorKind::NoStore(NoStore::Graph))?;
        self.check_guarantees(&store)?;
        let key = ThreadKey { tenant: store.tenant_id(), thread }.root();
        let busy = self.take_thread(&store, &key, &purpose).await?;
        let opened = open(&self.program, &store, key.clone(), self.config.at).await?;
        self.check_head(&key, &opened)?;
        match self.made_before(&store, &key, &opened, &purpose).await? {
            Before::No => {}
            Before::Over(outcome) => return Ok(Begun::Over(outcome)),
            Before::WithAnotherInput(run) => return Err(RunErrorKind::RunIdReused(run)),
        }
        let named = named_questions(&purpose);
        let start = self.start(&opened, purpose)?;
        let writer = Writer::new(Arc::clone(&store), self.desk(key.clone()), opened.head, Arc::clone(&busy));
        match self.begin(opened.ground, Some(writer), Some(busy), start) {
            Ok(drive) => Ok(Begun::Drive(Box::new(drive))),
            Err(RunErrorKind::UnknownQuestion(question)) if named.contains(&question) => {
                Err(answered_elsewhere(&store, &key, question).await?)
            }
            Err(kind) => Err(kind),
        }
    }

    fn check_head(&self, key: &NamespaceKey, opened: &Opened<S>) -> Result<(), RunErrorKind> {
        let Some(only_at) = self.only_at else { return Ok(()) };
        let found = match opened.head {
            Expect::Head(head) if head == only_at => return Ok(()),
            Expect::Head(head) => FoundHead::Head(head),
            _ => FoundHead::Nothing,
        };
        Err(RunErrorKind::commit(CommitError::HeadMoved { thread: key.thread.clone(), found }))
    }

    fn check_guarantees(&self, store: &Arc<dyn Checkpointer>) -> Result<(), RunErrorKind> {
        let guarantees = store.guarantees();
        if guarantees.durable == Durable::Process && !guarantees.volatile_allowed && self.durability == Durability::Sync
        {
            return Err(RunErrorKind::VolatileStore { store: guarantees.store });
        }
        Ok(())
    }

    fn desk(&self, key: NamespaceKey) -> Desk {
        let topology = &self.program.topology;
        let mut metadata: Metadata = self.config.metadata.clone();
        if let Some(run) = &self.run {
            metadata.insert(RUN_ID.to_owned(), Value::from(run.as_str()));
        }
        Desk {
            key,
            sealer: Arc::clone(&self.program.sealer),
            graph: GraphStamp { name: topology.name().to_owned(), signature: topology.signature() },
            metadata,
        }
    }

    /// Takes the thread for this call, among the calls of this process.
    async fn take_thread(
        &self,
        store: &Arc<dyn Checkpointer>,
        key: &NamespaceKey,
        purpose: &Purpose<S::Update>,
    ) -> Result<SharedBusy, RunErrorKind> {
        loop {
            let taken = match Busy::take(store.instance(), &key.thread) {
                Ok(busy) => return Ok(Arc::new(busy)),
                Err(taken) => taken,
            };
            if self.config.when_busy == WhenBusy::Wait || taken.is_leaving() {
                taken.over().await;
                continue;
            }
            let Some(question) = named_questions(purpose).first().copied() else {
                return Err(RunErrorKind::ThreadBusy);
            };
            // The other call may be answering the same question: first one wins, and this one is told so.
            let runs = taken.runs().await;
            if is_answered(store, key, question).await? {
                return Err(RunErrorKind::AlreadyAnswered(question));
            }
            if runs {
                return Err(RunErrorKind::ThreadBusy);
            }
        }
    }

    /// Whether a call of this run id was made before.
    async fn made_before(
        &self,
        store: &Arc<dyn Checkpointer>,
        key: &NamespaceKey,
        opened: &Opened<S>,
        purpose: &Purpose<S::Update>,
    ) -> Result<Before<S>, RunErrorKind> {
        let Some(run) = &self.run else { return Ok(Before::No) };
        let input = match purpose {
            Purpose::Input(CallInput::Update(update)) => self.digest_of(std::slice::from_ref(update), &[])?,
            Purpose::Input(CallInput::Command { updates, routes }) => self.digest_of(updates, routes)?,
            _ => {
                let reason = "a run id goes with an input; an answer is recognised by its question".to_owned();
                return Err(RunErrorKind::InvalidConfig(reason));
            }
        };
        if let Some(stamp) = head_run(opened, run) {
            let other = stamp.input != input;
            return Ok(if other { Before::WithAnotherInput(run.to_string()) } else { Before::No });
        }
        let query = ListQuery::default().limit(NonZeroUsize::MIN).metadata(RUN_ID, run.as_str());
        let Some(found) = store.list(key, &query).await?.into_iter().next() else {
            return Self::named_command(opened, purpose);
        };
        let position = super::open::read(&self.program, key, &found)?;
        let same = position.turn.run.as_ref().is_some_and(|stamp| stamp.id == *run && stamp.input == input);
        if !same || !position.frontier.is_idle() {
            return Ok(Before::WithAnotherInput(run.to_string()));
        }
        let remains = Remains {
            checkpoint: Some(position.id),
            state: visible::<S>(&self.program.schema, Arc::new(position.state)),
            abandoned: Vec::new(),
            waiting: Vec::new(),
        };
        Ok(Before::Over(Box::new(Outcome::done(remains))))
    }

    /// A command beside the work of a thread that ran begins no turn, so a run id would not tell its repetition.
    fn named_command(opened: &Opened<S>, purpose: &Purpose<S::Update>) -> Result<Before<S>, RunErrorKind> {
        match purpose {
            Purpose::Input(CallInput::Command { .. }) if opened.ground.position.is_some() => {
                let reason =
                    "a run id goes with an input or a thread's first command, not with a command to a thread that ran";
                Err(RunErrorKind::InvalidConfig(reason.to_owned()))
            }
            _ => Ok(Before::No),
        }
    }

    // ---------------------------------------------------------------- what to tell the machine

    fn start(&self, opened: &Opened<S>, purpose: Purpose<S::Update>) -> Result<Start<S::Update>, RunErrorKind> {
        match purpose {
            Purpose::Edit { update, as_node } => {
                let digest = self.digest_edit(update.as_ref(), as_node.as_deref())?;
                Ok(Start::Edit(Edit { update, as_node, digest }))
            }
            Purpose::Fork => Ok(Start::Fork),
            Purpose::Discard(task) => Ok(Start::Discard { task }),
            Purpose::Input(input) => self.start_input(opened, input),
        }
    }

    fn start_input(&self, opened: &Opened<S>, input: CallInput<S::Update>) -> Result<Start<S::Update>, RunErrorKind> {
        let ran = opened.ground.position.is_some();
        match input {
            CallInput::Update(_) | CallInput::Command { .. } if self.goes_on_with_run(opened) => {
                Ok(Start::Continue { patch: None })
            }
            CallInput::Update(_) => self.first(input),
            CallInput::Command { .. } if !ran => self.first(input),
            CallInput::Continue => Ok(Start::Continue { patch: None }),
            CallInput::Command { updates, routes } => Ok(Start::Continue { patch: Some(self.patch(updates, routes)?) }),
            CallInput::Resume { answers, updates, routes } => {
                let patch =
                    if updates.is_empty() && routes.is_empty() { None } else { Some(self.patch(updates, routes)?) };
                Ok(Start::Answer { answers: tokens(answers), patch })
            }
        }
    }

    fn goes_on_with_run(&self, opened: &Opened<S>) -> bool {
        self.run.as_ref().is_some_and(|run| head_run(opened, run).is_some())
    }

    /// The first input of a turn: an update, or a command on a thread that never ran.
    fn first(&self, input: CallInput<S::Update>) -> Result<Start<S::Update>, RunErrorKind> {
        let (updates, routes) = match input {
            CallInput::Update(update) => (vec![update], Vec::new()),
            CallInput::Command { updates, routes } => (updates, routes),
            CallInput::Continue | CallInput::Resume { .. } => (Vec::new(), Vec::new()),
        };
        let digest = self.digest_of(&updates, &routes)?;
        let output = self.output(updates, routes)?;
        let run = self.run.clone().map(|id| RunStamp { id, input: digest });
        Ok(Start::Input(Input { output, digest, run }))
    }

    fn patch(
        &self,
        updates: Vec<S::Update>,
        routes: Vec<crate::node::Route>,
    ) -> Result<Patch<S::Update>, RunErrorKind> {
        let digest = self.digest_of(&updates, &routes)?;
        Ok(Patch { output: self.output(updates, routes)?, digest, mark: token() })
    }

    fn output(
        &self,
        updates: Vec<S::Update>,
        routes: Vec<crate::node::Route>,
    ) -> Result<TaskOutput<S::Update>, RunErrorKind> {
        for route in &routes {
            if let crate::node::Route::Node(name) = route {
                let _: Target = self.program.topology.target(name)?;
            }
            if let crate::node::Route::Send(send) = route {
                self.program.topology.node(send.node())?;
            }
        }
        let output = NodeOutput { updates: updates.into_iter().collect(), routes };
        resolve::output(&self.program.topology, output).map_err(|error| RunErrorKind::InvalidInput(error.to_string()))
    }

    fn digest_of(
        &self,
        updates: &[S::Update],
        routes: &[crate::node::Route],
    ) -> Result<superstep_checkpoint::Digest, RunErrorKind> {
        let mut values = Vec::new();
        for update in updates {
            values.push(S::update_json(&self.program.schema, update).map_err(RunErrorKind::UnstorableUpdate)?);
        }
        let routes: Vec<Value> = routes.iter().map(route_json).collect();
        Ok(digest("input", &json!({ "updates": values, "routes": routes })))
    }

    fn digest_edit(
        &self,
        update: Option<&S::Update>,
        as_node: Option<&str>,
    ) -> Result<superstep_checkpoint::Digest, RunErrorKind> {
        let value = update.map(|update| S::update_json(&self.program.schema, update)).transpose();
        let value = value.map_err(RunErrorKind::UnstorableUpdate)?;
        Ok(digest("edit", &json!({ "update": value, "as_node": as_node })))
    }

    // ---------------------------------------------------------------- off it goes

    fn begin(
        self,
        ground: Ground<S>,
        writer: Option<Writer<S>>,
        busy: Option<SharedBusy>,
        start: Start<S::Update>,
    ) -> Result<Drive<S>, RunErrorKind> {
        let program = self.program;
        let machine = Machine::new(Arc::clone(&program.topology), Arc::clone(&program.schema), self.settings, ground);
        let contexts = if self.config.contexts.is_empty() {
            Arc::clone(&program.contexts)
        } else {
            Arc::new(program.contexts.overlaid(&self.config.contexts))
        };
        let custom = self.events.as_ref().filter(|_| self.config.modes.contains(&StreamMode::Custom));
        let custom = custom.map(Events::custom);
        let around = Surroundings { program, contexts, thread: self.thread, custom, busy: busy.clone() };
        let mut drive =
            Drive::new(Parts { machine, writer, durability: self.durability, around, events: self.events, busy });
        drive.begin(start).map_err(RunErrorKind::refusal)?;
        Ok(drive)
    }
}

fn head_run<'o, S: State>(opened: &'o Opened<S>, run: &RunId) -> Option<&'o RunStamp> {
    let position = opened.ground.position.as_ref()?;
    position.turn.run.as_ref().filter(|stamp| stamp.id == *run)
}

fn saving(thread: Option<&ThreadId>, durability: Durability) -> Saving {
    match (thread, durability) {
        (None, _) => Saving::Never,
        (Some(_), Durability::Exit) => Saving::AtExit,
        (Some(_), _) => Saving::EveryStep,
    }
}

fn pauses<S: State>(program: &Program<S>, call: Option<&PauseAt>, graph: &Pauses) -> Result<Pauses, RunErrorKind> {
    match call {
        None => Ok(graph.clone()),
        Some(PauseAt::All) => Ok(Pauses::Everywhere),
        Some(PauseAt::Nodes(names)) => {
            let nodes = names.iter().map(|name| program.topology.node(name)).collect::<Result<_, _>>()?;
            Ok(Pauses::At(nodes))
        }
    }
}

fn stops(pauses: &Pauses) -> bool {
    match pauses {
        Pauses::Never => false,
        Pauses::At(nodes) => !nodes.is_empty(),
        _ => true,
    }
}

fn watch<S: State>(config: &RunConfig, events: Option<&Events<S>>) -> Watch {
    let wants = |mode| events.is_some() && config.modes.contains(&mode);
    Watch {
        values: wants(StreamMode::Values),
        updates: wants(StreamMode::Updates),
        tasks: wants(StreamMode::Tasks),
        checkpoints: wants(StreamMode::Checkpoints),
    }
}

fn check_contexts<S: State>(program: &Program<S>, config: &RunConfig) -> Result<(), RunErrorKind> {
    let missing = program.needs.iter().find(|(_, need)| !program.contexts.has(*need) && !config.contexts.has(*need));
    match missing {
        None => Ok(()),
        Some((node, need)) => Err(RunErrorKind::MissingContext { node: node.clone(), context: need.type_name() }),
    }
}

fn tokens(answers: ResumeAnswers) -> Answers {
    match answers {
        ResumeAnswers::Plain(value) => Answers::Plain(Arc::new(value), token()),
        ResumeAnswers::Named(answers) => {
            Answers::Named(answers.into_iter().map(|(id, value)| (id, Arc::new(value), token())).collect())
        }
    }
}

fn named_questions<U>(purpose: &Purpose<U>) -> Vec<QuestionId> {
    match purpose {
        Purpose::Input(CallInput::Resume { answers: ResumeAnswers::Named(answers), .. }) => {
            answers.iter().map(|(id, _)| *id).collect()
        }
        _ => Vec::new(),
    }
}

fn route_json(route: &crate::node::Route) -> Value {
    match route {
        crate::node::Route::Node(name) => json!({ "node": name }),
        crate::node::Route::Send(send) => json!({ "send": send.node(), "arg": send.arg_json() }),
    }
}

/// Whether a question of the thread has its answer, wherever it stands.
async fn is_answered(
    store: &Arc<dyn Checkpointer>,
    key: &NamespaceKey,
    question: QuestionId,
) -> Result<bool, RunErrorKind> {
    let path = question.to_string();
    let found = store.get(key, At::Question(question)).await?.found;
    let is_answer =
        |write: &superstep_checkpoint::Write| write.kind == WriteKind::Answer && write.path == path.as_str();
    Ok(found.is_some_and(|found| found.writes.iter().any(is_answer)))
}

/// What to say of an answer to a question that is not open at the checkpoint in hand.
async fn answered_elsewhere(
    store: &Arc<dyn Checkpointer>,
    key: &NamespaceKey,
    question: QuestionId,
) -> Result<RunErrorKind, RunErrorKind> {
    let answered = is_answered(store, key, question).await?;
    Ok(if answered { RunErrorKind::AlreadyAnswered(question) } else { RunErrorKind::UnknownQuestion(question) })
}
