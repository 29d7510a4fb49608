//! What is run.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::{
    Arg, Checkpointer, CompiledGraph, Dispatch, DynSchema, DynState, DynUpdate, END, IntoInput, NodeResult, RunConfig,
    START, State, StateGraph,
};

use crate::Fallible;

/// A workload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    /// One node in a loop, 1,000 steps, 5 channels.
    Loop,
    /// A chain of 1,000 different nodes, 5 channels.
    Chain,
    /// 1,000 Sends and a join.
    FanOut,
    /// A list that grows to 1,000 messages of 500 bytes, one a step.
    Messages,
    /// 50 steps on 1,000 channels and 300 KB, one channel a step.
    Wide,
}

impl Workload {
    pub(crate) const ALL: [Self; 5] = [Self::Loop, Self::Chain, Self::FanOut, Self::Messages, Self::Wide];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Loop => "loop_1000",
            Self::Chain => "chain_1000",
            Self::FanOut => "fanout_1000",
            Self::Messages => "messages_1000",
            Self::Wide => "wide_50",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|workload| workload.name() == name)
    }

    /// Super-steps of one run.
    pub(crate) fn steps(self) -> u32 {
        match self {
            Self::Loop | Self::Chain | Self::Messages => 1_000,
            Self::FanOut => 3,
            Self::Wide => 50,
        }
    }

    pub(crate) fn graph(self, store: Option<Arc<dyn Checkpointer>>) -> Fallible<Runner> {
        Ok(match self {
            Self::Loop => Runner::Five(compile(loop_graph(), store)?),
            Self::Chain => Runner::Five(compile(chain_graph(), store)?),
            Self::FanOut => Runner::Fan(compile(fan_graph(), store)?),
            Self::Messages => Runner::Chat(compile(chat_graph(), store)?),
            Self::Wide => Runner::Wide(compile(wide_graph()?, store)?),
        })
    }
}

fn compile<S: State>(graph: StateGraph<S>, store: Option<Arc<dyn Checkpointer>>) -> Fallible<CompiledGraph<S>> {
    Ok(match store {
        Some(store) => graph.checkpointer(store).compile()?,
        None => graph.compile()?,
    })
}

/// A compiled workload.
pub(crate) enum Runner {
    Five(CompiledGraph<Five>),
    Fan(CompiledGraph<Fan>),
    Chat(CompiledGraph<Chat>),
    Wide(CompiledGraph<DynState>),
}

impl Runner {
    pub(crate) async fn run(&self, config: RunConfig) -> Fallible {
        match self {
            Self::Five(graph) => go(graph, FiveUpdate::new().name("bench"), config).await,
            Self::Fan(graph) => go(graph, FanUpdate::new(), config).await,
            Self::Chat(graph) => go(graph, ChatUpdate::new(), config).await,
            Self::Wide(graph) => go(graph, wide_input(), config).await,
        }
    }
}

async fn go<S: State>(graph: &CompiledGraph<S>, input: impl IntoInput<S>, config: RunConfig) -> Fallible {
    graph.invoke(input, config).await?.into_done().map_err(|stopped| stopped.to_string())?;
    Ok(())
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Five {
    count: u64,
    name: String,
    note: Option<String>,
    score: f64,
    #[reducer(append)]
    tags: Vec<u32>,
}

async fn step(s: Arc<Five>) -> NodeResult<FiveUpdate> {
    Ok(FiveUpdate::new().count(s.count + 1))
}

fn loop_graph() -> StateGraph<Five> {
    StateGraph::new()
        .node("step", step)
        .edge(START, "step")
        .branch("step", |s: Arc<Five>| if s.count < 1_000 { "step" } else { END })
}

fn chain_graph() -> StateGraph<Five> {
    let name = |n: usize| format!("node{n:04}");
    let mut graph = StateGraph::new().edge(START, name(0));
    for n in 0..1_000 {
        graph = graph.node(name(n), step).edge(name(n), if n == 999 { END.to_owned() } else { name(n + 1) });
    }
    graph
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Fan {
    #[reducer(add)]
    sum: u64,
    joined: bool,
}

fn fan_graph() -> StateGraph<Fan> {
    StateGraph::new()
        .node("spread", async |_: &Fan| FanUpdate::new())
        .node("work", async |n: Arg<u64>| FanUpdate::new().sum(*n))
        .node("join", async |_: &Fan| FanUpdate::new().joined(true))
        .edge(START, "spread")
        .branch("spread", |_: Arc<Fan>| (0..1_000_u64).map(|n| Dispatch::to("work", n)).collect::<Vec<_>>())
        .edge("work", "join")
        .edge("join", END)
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Chat {
    #[reducer(append)]
    messages: Vec<String>,
}

fn chat_graph() -> StateGraph<Chat> {
    StateGraph::new()
        .node("say", async |_: &Chat| ChatUpdate::new().messages(["m".repeat(500)]))
        .edge(START, "say")
        .branch("say", |s: Arc<Chat>| if s.messages.len() < 1_000 { "say" } else { END })
}

/// 1,000 channels of 300 bytes, of which each of 50 nodes changes one.
fn wide_graph() -> Fallible<StateGraph<DynState>> {
    let schema = (0..1_000).fold(DynSchema::new(), |schema, n| schema.last(key(n)));
    let mut graph = StateGraph::with_schema(schema.build()?);
    for n in 0..50 {
        let next = if n == 49 { END.to_owned() } else { format!("n{:02}", n + 1) };
        graph = graph
            .node(
                format!("n{n:02}"),
                move |_: Arc<DynState>| async move { DynUpdate::new().set(key(n), "y".repeat(300)) },
            )
            .edge(format!("n{n:02}"), next);
    }
    Ok(graph.edge(START, "n00"))
}

fn key(n: usize) -> String {
    format!("key{n:03}")
}

fn wide_input() -> DynUpdate {
    (0..1_000).fold(DynUpdate::new(), |update, n| update.set(key(n), json!("x".repeat(300))))
}
