//! Makes the calls of a scenario and writes down what came of them, as the recorder does.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use superstep::{
    CheckpointId, Command, CompiledGraph, Durability, DynState, DynUpdate, HistoryQuery, Outcome, PauseAt, QuestionId,
    ReadError, Resume, RunConfig, RunError, Source, StateEdit, StreamMode,
};

use crate::expr::{Env, eval, routes, update};
use crate::fault;
use crate::ids::Ids;
use crate::node::World;
use crate::scenario::{CallSpec, GraphSpec};
use crate::settle::settle;
use crate::show::{event, interrupts, snapshot};
use crate::term::{NoValue, Term};

/// A scenario's graph, on which its calls are made.
pub(crate) struct Bench<'a> {
    pub(crate) spec: &'a GraphSpec,
    pub(crate) graph: CompiledGraph<DynState>,
    pub(crate) world: Arc<World>,
}

/// What came of a call.
pub(crate) struct Answer {
    /// As the recorder writes it.
    pub(crate) shown: Value,
    /// The typed error, if it failed.
    pub(crate) error: Option<Named>,
}

/// A typed error.
pub(crate) struct Named {
    /// The name of its kind.
    pub(crate) name: String,
    pub(crate) text: String,
}

/// Why a call gave nothing to show.
enum Refused {
    Run(RunError),
    Read(ReadError),
    /// The scenario itself asks for something that makes no sense.
    Nonsense(NoValue),
}

impl From<RunError> for Refused {
    fn from(error: RunError) -> Self {
        Self::Run(error)
    }
}

impl From<ReadError> for Refused {
    fn from(error: ReadError) -> Self {
        Self::Read(error)
    }
}

impl From<NoValue> for Refused {
    fn from(error: NoValue) -> Self {
        Self::Nonsense(error)
    }
}

/// What is given to a run.
enum Given {
    Nothing,
    Input(DynUpdate),
    Command(Command<DynUpdate>),
    Resume(Resume),
    ResumeWith(Resume<DynUpdate>),
}

/// Does the same with whatever is given.
macro_rules! with_given {
    ($given:expr, $input:ident => $run:expr) => {
        match $given {
            Given::Nothing => {
                let $input = ();
                $run
            }
            Given::Input($input) => $run,
            Given::Command($input) => $run,
            Given::Resume($input) => $run,
            Given::ResumeWith($input) => $run,
        }
    };
}

impl Bench<'_> {
    /// Makes a call. `ids` knows which of our ids the recorded ones are.
    pub(crate) async fn call(&self, call: &CallSpec, ids: &mut Ids) -> Answer {
        let mut shown = Map::new();
        let error = match self.make(call, ids, &mut shown).await {
            Ok(()) => None,
            Err(refused) => Some(refused.show(call, &mut shown)),
        };
        shown.insert("ran".to_owned(), json!(self.world.take_ran()));
        Answer { shown: Value::Object(shown), error }
    }

    async fn make(&self, call: &CallSpec, ids: &mut Ids, shown: &mut Map<String, Value>) -> Result<(), Refused> {
        let mut put = |key: &str, value| drop(shown.insert(key.to_owned(), value));
        match call.verb.as_str() {
            "invoke" => put("output", self.invoke(call, ids).await?),
            "stream" => {
                let mut events = Vec::new();
                let end = self.stream(call, ids, &mut events).await;
                put("events", arranged(call, events));
                end?;
            }
            "state" => put("state", self.state(call, ids).await?),
            "history" => put("history", self.history(call, ids).await?),
            "update_state" => put("checkpoint", self.update_state(call, ids).await?),
            "delete_thread" => self.graph.delete_thread(thread(call)).await?,
            "saved" => put("saved", json!(self.graph.history(thread(call), HistoryQuery::all()).await?.len())),
            other => return Err(NoValue(format!("there is no call {other:?}")).into()),
        }
        Ok(())
    }

    // ---------------------------------------------------------------- runs

    async fn invoke(&self, call: &CallSpec, ids: &mut Ids) -> Result<Value, Refused> {
        let config = self.config(call, ids).await?;
        let outcome = with_given!(self.given(call, ids)?, input => self.graph.invoke(input, config).await?);
        Ok(self.output(&outcome))
    }

    /// What the reference's `invoke` gives: the channels that callers see.
    fn output(&self, outcome: &Outcome<DynState>) -> Value {
        let mut values = outcome.state().to_object();
        values.retain(|channel, _| self.spec.output.as_ref().is_none_or(|output| output.contains(channel)));
        if !outcome.interrupts().is_empty() {
            values.insert("__interrupt__".to_owned(), interrupts(outcome.interrupts()));
        }
        Value::Object(values)
    }

    async fn stream(&self, call: &CallSpec, ids: &mut Ids, events: &mut Vec<Value>) -> Result<(), Refused> {
        let config = self.config(call, ids).await?.stream_modes(modes(call));
        let mut stream = with_given!(self.given(call, ids)?, input => self.graph.stream(input, config));
        while let Some(next) = stream.next().await {
            events.extend(event(&next?));
        }
        Ok(())
    }

    async fn config(&self, call: &CallSpec, ids: &mut Ids) -> Result<RunConfig, Refused> {
        let mut config = if self.spec.is_without_store() { RunConfig::new() } else { thread(call) };
        config = config.durability(match call.text("durability") {
            Some("sync") => Durability::Sync,
            Some("exit") => Durability::Exit,
            _ => Durability::Async,
        });
        let at = call.checkpoint("checkpoint", ids)?;
        if let Some(limit) = call.with.get("recursion_limit").and_then(Value::as_u64) {
            config = config.limit(limit + self.extra_steps(call, at).await);
        }
        if let Some(at) = at {
            config = config.at(at);
        }
        if let Some(names) = call.pauses("interrupt_before") {
            config = config.interrupt_before(names);
        }
        if let Some(names) = call.pauses("interrupt_after") {
            config = config.interrupt_after(names);
        }
        Ok(config)
    }

    /// How many steps of nodes the reference runs beyond its limit.
    async fn extra_steps(&self, call: &CallSpec, at: Option<CheckpointId>) -> u64 {
        match at {
            _ if !call.goes_on() => 0,
            Some(at) if self.forks(call, at).await => 1,
            _ => 2,
        }
    }

    /// Whether the reference makes a new checkpoint to go on from this one: not from a head made by an edit or a fork.
    async fn forks(&self, call: &CallSpec, at: CheckpointId) -> bool {
        let head = self.graph.state(thread(call)).await;
        let made = |source| matches!(source, Source::Update | Source::Fork);
        !head.is_ok_and(|head| head.checkpoint == at && made(head.source))
    }

    fn given(&self, call: &CallSpec, ids: &mut Ids) -> Result<Given, NoValue> {
        let env = Env::default();
        if !call.is_command() {
            let input = call.with.get("input").map_or(Ok(Term::NULL), |input| eval(input, &env))?;
            return Ok(if input.is_null() { Given::Nothing } else { Given::Input(update(self.open(input))?) });
        }
        let resume = call.answers(ids)?;
        let update = call.with.get("update").map(|expr| update(eval(expr, &env)?)).transpose()?;
        let goto = call.with.get("goto").map_or(Ok(Vec::new()), |expr| routes(eval(expr, &env)?))?;
        Ok(match (resume, update) {
            (Some(resume), Some(update)) => Given::ResumeWith(resume.update(update).goto(goto)),
            (Some(resume), None) => Given::Resume(resume.goto(goto)),
            (None, update) => Given::Command(update.into_iter().fold(Command::new(), Command::update).and_goto(goto)),
        })
    }

    /// An input without the keys of the state that are none of the input: the recorder leaves them out too.
    fn open(&self, input: Term) -> Term {
        let (Some(open), Term::Map(mut entries)) = (&self.spec.input, input.clone()) else { return input };
        entries.retain(|key, _| open.contains(key) || !self.spec.state.contains_key(key));
        Term::Map(entries)
    }

    // ---------------------------------------------------------------- looking and editing

    async fn state(&self, call: &CallSpec, ids: &mut Ids) -> Result<Value, Refused> {
        let mut config = thread(call);
        if let Some(at) = call.checkpoint("checkpoint", ids)? {
            config = config.at(at);
        }
        match self.graph.state(config).await {
            Ok(found) => Ok(snapshot(&found)),
            Err(ReadError::UnknownThread { .. }) => Ok(nothing()),
            Err(other) => Err(other.into()),
        }
    }

    async fn history(&self, call: &CallSpec, ids: &mut Ids) -> Result<Value, Refused> {
        let filter = call.with.get("filter").and_then(Value::as_object);
        let limit = call.with.get("limit").and_then(Value::as_u64).and_then(|limit| usize::try_from(limit).ok());
        let mut query = HistoryQuery::all();
        if let Some(before) = call.checkpoint("before", ids)? {
            query = query.before(before);
        }
        if let (Some(limit), None) = (limit, filter) {
            query = query.limit(limit);
        }
        let found = self.graph.history(thread(call), query).await?;
        let fits = |shown: &Value| filter.is_none_or(|filter| filter.iter().all(|(key, value)| shown[key] == *value));
        Ok(found.iter().map(snapshot).filter(fits).take(limit.unwrap_or(usize::MAX)).collect())
    }

    async fn update_state(&self, call: &CallSpec, ids: &mut Ids) -> Result<Value, Refused> {
        let values = call.with.get("values").map_or(Ok(Term::NULL), |values| eval(values, &Env::default()))?;
        let mut edit = if values.is_null() { StateEdit::nothing() } else { StateEdit::new(update(values)?) };
        if let Some(node) = call.text("as_node") {
            edit = edit.as_node(node);
        }
        let mut config = thread(call);
        if let Some(at) = call.checkpoint("checkpoint", ids)? {
            config = config.at(at);
        }
        Ok(json!(self.graph.update_state(config, edit).await?.to_string()))
    }
}

impl CallSpec {
    fn is_command(&self) -> bool {
        ["resume", "resume_by_id", "goto", "update"].iter().any(|key| self.with.contains_key(*key))
    }

    fn goes_on(&self) -> bool {
        self.is_command() || self.with.get("input").is_none_or(Value::is_null)
    }

    fn checkpoint(&self, key: &str, ids: &mut Ids) -> Result<Option<CheckpointId>, NoValue> {
        let Some(symbol) = self.text(key) else { return Ok(None) };
        let id = CheckpointId::parse(&ids.actual(symbol)?);
        id.map(Some).map_err(|_| NoValue(format!("{symbol} is no checkpoint")))
    }

    fn answers(&self, ids: &mut Ids) -> Result<Option<Resume>, NoValue> {
        if let Some(named) = self.with.get("resume_by_id").and_then(Value::as_object) {
            let answer = |(symbol, value): (&String, &Value)| {
                let id = QuestionId::parse(&ids.actual(symbol)?);
                Ok((id.map_err(|_| NoValue(format!("{symbol} is no question")))?, value.clone()))
            };
            let answers = named.iter().map(answer).collect::<Result<Vec<_>, NoValue>>()?;
            return Ok(Some(Command::answers(answers)));
        }
        Ok(self.with.get("resume").map(Command::resume))
    }

    fn pauses(&self, key: &str) -> Option<PauseAt> {
        let value = self.with.get(key)?;
        if value == "*" { Some(PauseAt::All) } else { self.names(key).map(PauseAt::from) }
    }
}

fn thread(call: &CallSpec) -> RunConfig {
    RunConfig::thread(call.text("thread").unwrap_or("t"))
}

/// The modes asked for; `tasks` always, to find the steps.
fn modes(call: &CallSpec) -> Vec<StreamMode> {
    let mode = |name: &str| match name {
        "values" => Some(StreamMode::Values),
        "updates" => Some(StreamMode::Updates),
        "checkpoints" => Some(StreamMode::Checkpoints),
        "custom" => Some(StreamMode::Custom),
        _ => None,
    };
    let mut modes = vec![StreamMode::Tasks];
    modes.extend(wanted(call).iter().filter_map(|name| mode(name)));
    modes
}

fn wanted(call: &CallSpec) -> Vec<String> {
    call.names("modes").unwrap_or_else(|| vec!["updates".to_owned()])
}

/// Settled events, of the modes that the call names.
fn arranged(call: &CallSpec, events: Vec<Value>) -> Value {
    let wanted = wanted(call);
    let asked = |event: &Value| wanted.iter().any(|mode| event[0] == mode.as_str());
    settle(events, 0).into_iter().filter(asked).collect()
}

/// What the reference shows of a thread that never ran.
fn nothing() -> Value {
    json!({
        "values": {}, "next": [], "checkpoint": null, "parent": null, "source": null, "step": null, "tasks": [],
        "interrupts": [],
    })
}

impl Refused {
    /// Writes down the error; gives its own name.
    fn show(self, call: &CallSpec, shown: &mut Map<String, Value>) -> Named {
        let other = json!({ "kind": "Other" });
        let (error, name, text) = match self {
            Self::Run(error) => {
                let continued = call.goes_on() && !call.is_command();
                (fault::shown(&error, continued), fault::name(&error), error.to_string())
            }
            Self::Read(error) => (other, fault::word(&error), error.to_string()),
            Self::Nonsense(error) => (other, "Nonsense".to_owned(), error.to_string()),
        };
        shown.insert("error".to_owned(), error);
        Named { name, text }
    }
}
