//! What nodes of scenarios do.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value};
use superstep::{Command, DynState, DynUpdate, FromTask, NodeError, Runtime, TaskContext};

use crate::expr::{Env, eval, routes, update};
use crate::term::{NoValue, Term};

type Op = Map<String, Value>;

/// What all nodes of a scenario share: which of them started, and how often.
#[derive(Debug, Default)]
pub(crate) struct World(Mutex<Log>);

#[derive(Debug, Default)]
struct Log {
    ran: Vec<String>,
    starts: HashMap<String, u64>,
}

impl World {
    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The names of the nodes that started since this was asked last, with their effects, sorted.
    pub(crate) fn take_ran(&self) -> Vec<String> {
        let mut ran = std::mem::take(&mut self.log().ran);
        ran.sort();
        ran
    }

    /// A node starts; how often it has by now.
    fn start(&self, node: &str) -> u64 {
        let mut log = self.log();
        log.ran.push(node.to_owned());
        let starts = log.starts.entry(node.to_owned()).or_default();
        *starts += 1;
        *starts
    }

    fn starts(&self, node: &str) -> u64 {
        self.log().starts.get(node).copied().unwrap_or_default()
    }

    fn effect(&self, node: &str, effect: &str) {
        self.log().ran.push(format!("{node}!{effect}"));
    }
}

/// What a `fail` raises.
#[derive(Debug, thiserror::Error)]
#[error("{MARK}{0}")]
pub(crate) struct Fault(pub(crate) String);

/// Tells the text of a stored [`Fault`] from that of other errors.
pub(crate) const MARK: &str = "fault: ";

/// What a node gets: what was sent to it, or else the state.
#[derive(Debug)]
pub(crate) struct Given {
    term: Term,
    runtime: Runtime,
}

impl FromTask<DynState> for Given {
    fn from_task(task: &TaskContext<DynState>) -> Result<Self, NodeError> {
        let sent = task.arg().cloned().map(Term::from);
        let term = sent.unwrap_or_else(|| task.state().to_object().into());
        Ok(Self { term, runtime: task.runtime().clone() })
    }
}

/// Does all the ops of a node.
pub(crate) async fn run(
    key: Arc<str>,
    ops: Arc<Vec<Op>>,
    world: Arc<World>,
    given: Given,
) -> Result<Vec<Command<DynUpdate>>, NodeError> {
    world.start(&key);
    let mut node = Run { key, world, runtime: given.runtime, env: Env::of(given.term), out: Vec::new() };
    for op in ops.iter() {
        node.step(op).await?;
    }
    Ok(node.out)
}

/// A node under way.
struct Run {
    key: Arc<str>,
    world: Arc<World>,
    runtime: Runtime,
    env: Env,
    out: Vec<Command<DynUpdate>>,
}

impl Run {
    async fn step(&mut self, op: &Op) -> Result<(), NodeError> {
        if let Some(ms) = op.get("sleep").and_then(Value::as_u64) {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            return Ok(());
        }
        self.step_now(op)
    }

    fn step_now(&mut self, op: &Op) -> Result<(), NodeError> {
        let word = |key: &str| op.get(key).and_then(Value::as_str);
        let value = |key: &str| op.get(key).map(|expr| eval(expr, &self.env)).transpose();
        if let Some(variable) = word("set") {
            self.set(variable, value("to")?.unwrap_or(Term::NULL));
        } else if let Some(payload) = value("interrupt")? {
            let answer: Value = self.runtime.interrupt(payload.to_json())?;
            self.set(word("into").unwrap_or("_"), answer.into());
        } else if let Some(shown) = value("custom")? {
            self.runtime.emit(shown.to_json())?;
        } else if let Some(effect) = word("effect") {
            self.world.effect(&self.key, effect);
        } else if let Some(message) = word("fail") {
            self.fail(message, op.get("times").and_then(Value::as_u64))?;
        } else if let Some(term) = value("update")? {
            self.out = vec![Command::new().update(update(term)?)];
        } else if let Some(spec) = op.get("command") {
            self.out = vec![self.command(spec)?];
        } else if let Some(list) = value("commands")? {
            let updates = list.items()?.into_iter().map(|term| Ok(Command::new().update(update(term)?)));
            self.out = updates.collect::<Result<_, NoValue>>()?;
        } else {
            return Err(NoValue(format!("there is no op {op:?}")).into());
        }
        Ok(())
    }

    fn set(&mut self, variable: &str, value: Term) {
        self.env.vars.insert(variable.to_owned(), value);
    }

    fn fail(&self, message: &str, times: Option<u64>) -> Result<(), Fault> {
        let fails = times.is_none_or(|times| self.world.starts(&self.key) <= times);
        if fails { Err(Fault(message.to_owned())) } else { Ok(()) }
    }

    fn command(&self, spec: &Value) -> Result<Command<DynUpdate>, NoValue> {
        let mut command = Command::new();
        if let Some(expr) = spec.get("update") {
            command = command.update(update(eval(expr, &self.env)?)?);
        }
        if let Some(expr) = spec.get("goto") {
            command = command.and_goto(routes(eval(expr, &self.env)?)?);
        }
        Ok(if spec["parent"] == true { command.to_parent() } else { command })
    }
}
