//! What the nodes of a random graph do: pure functions of what they see, so that a node that runs again does the same.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep_checkpoint::{QuestionId, Step};
use superstep_pregel::{
    Dispatch, DynState, DynUpdate, Place, Question, QuestionKey, Saving, Target, TaskOutput, TaskView, Topology,
};

use super::graph::Graph;

/// From here on nothing leads back, so that every run ends, also one whose counts were dropped.
const LATE: Step = Step(12);

/// A graph and how it is called.
pub(crate) struct Model {
    pub(crate) seed: u64,
    pub(crate) graph: Arc<Graph>,
    pub(crate) programs: BTreeMap<String, Program>,
    pub(crate) start: Option<Route>,
    pub(crate) turns: Vec<Turn>,
    pub(crate) saving: Saving,
    pub(crate) limit: u64,
    /// Nodes to stop before and after.
    pub(crate) pauses: (Vec<String>, Vec<String>),
    /// The graph as text.
    pub(crate) text: String,
}

/// For failing tests.
impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, text, start, turns, saving, limit, pauses, .. } = self;
        writeln!(
            f,
            "seed {seed}\n{text}start {start:?}, turns {turns:?}, {saving:?}, limit {limit}, pauses {pauses:?}"
        )?;
        self.programs.iter().try_for_each(|(name, program)| writeln!(f, "{name}: {program:?}"))
    }
}

/// What a node does.
#[derive(Clone, Debug, Default)]
pub(crate) struct Program {
    /// How often it fails before it works.
    pub(crate) fails: u32,
    pub(crate) asks: Vec<QuestionKey>,
    pub(crate) asks_at_once: bool,
    pub(crate) writes: Vec<Channel>,
    pub(crate) jumps: Option<Route>,
    pub(crate) routes: Option<Route>,
}

/// A channel that a node writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Channel {
    Items,
    TwiceItems,
    Overwrite,
    Count,
    Max,
    Last,
    Map,
    Text,
    Any,
    Once,
    Mine,
}

/// Where a node leads by itself or by its router.
#[derive(Clone, Debug)]
pub(crate) enum Route {
    To(Vec<String>),
    /// One of two, as the state says.
    Either(String, String),
    /// Back, until enough was counted.
    Back(String, i64),
    Send(String, usize),
}

/// What a caller does once the thread is at rest, and where: at the head, or at one of the checkpoints there are.
#[derive(Clone, Debug)]
pub(crate) struct Turn {
    pub(crate) what: What,
    pub(crate) at: Option<usize>,
}

#[derive(Clone, Debug)]
pub(crate) enum What {
    Input,
    Edit(Option<String>),
    Command(Route),
    Continue,
    Fork,
    Answer,
}

/// How a node ended.
pub(crate) enum Outcome {
    Asks(Vec<Question>),
    Fails,
    Output(TaskOutput<DynUpdate>),
}

impl Program {
    pub(crate) fn run(
        &self,
        topology: &Topology,
        view: &TaskView,
        state: &DynState,
        answers: &BTreeMap<QuestionId, Arc<Value>>,
        starts: u32,
    ) -> Outcome {
        let open = self.open_questions(view, answers);
        if !open.is_empty() {
            return Outcome::Asks(open);
        }
        if starts <= self.fails {
            return Outcome::Fails;
        }
        let given: Vec<&Value> = self.asks.iter().map(|key| &*answers[&view.identity.question(key)]).collect();
        let arg = view.arg.as_deref().map_or(&Value::Null, |arg| &arg["k"]);
        let label = format!("{}/{arg}/{}", node_name(topology, view.place), json!(given));
        let mut output = TaskOutput::default();
        output.updates.push(self.update(&label, state));
        if self.writes.contains(&Channel::TwiceItems) {
            output.updates.push(DynUpdate::new().set("items", json!([format!("{label} again")])));
        }
        if let Some(route) = &self.jumps {
            route.follow(topology, state, view.step, &mut output);
        }
        Outcome::Output(output)
    }

    /// The questions that have no answer yet: the first, or all.
    fn open_questions(&self, view: &TaskView, answers: &BTreeMap<QuestionId, Arc<Value>>) -> Vec<Question> {
        let ask = |key: &QuestionKey| {
            let id = view.identity.question(key);
            Question { id, key: key.clone(), payload: Arc::new(json!({ "about": key })), schema: None }
        };
        let open = self.asks.iter().map(ask).filter(|question| !answers.contains_key(&question.id));
        open.take(if self.asks_at_once { usize::MAX } else { 1 }).collect()
    }

    fn update(&self, label: &str, state: &DynState) -> DynUpdate {
        self.writes.iter().fold(DynUpdate::new(), |update, channel| match channel {
            Channel::Items | Channel::TwiceItems => update.set("items", json!([label])),
            Channel::Overwrite => update.overwrite("items", json!(["only", label])),
            Channel::Count => update.set("n", 1),
            Channel::Max => update.set("m", state["n"].as_i64().unwrap_or_default() * 2),
            Channel::Last => update.set("x", label),
            Channel::Map => update.set("d", json!({ label: count(state) })),
            Channel::Text => update.set("text", label),
            Channel::Any => update.set("any", label),
            Channel::Once => update.set("once", label),
            Channel::Mine => update.set("mine", label),
        })
    }
}

impl Route {
    pub(crate) fn follow(&self, topology: &Topology, state: &DynState, step: Step, output: &mut TaskOutput<DynUpdate>) {
        let mut go = |name: &String| {
            if let Target::Node(node) = topology.target(name).unwrap() {
                output.goto.push(node);
            }
        };
        match self {
            Self::To(names) => names.iter().for_each(go),
            Self::Either(even, odd) => go(if count(state).is_multiple_of(2) { even } else { odd }),
            Self::Back(name, until) if step < LATE && state["n"].as_i64().unwrap_or_default() < *until => go(name),
            Self::Back(..) => {}
            Self::Send(name, times) => {
                let node = topology.node(name).unwrap();
                let arg = |i| Arc::new(json!({ "k": i, "mine": "untracked", "step": step }));
                output.sends.extend((0..*times).map(|i| Dispatch { node, arg: arg(i) }));
            }
        }
    }
}

fn count(state: &DynState) -> usize {
    state["items"].as_array().map_or(0, Vec::len)
}

pub(crate) fn node_name(topology: &Topology, place: Place) -> &str {
    topology.name_of(place).as_str()
}
