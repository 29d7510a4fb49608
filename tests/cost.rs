//! What a run costs, counted: commits, round trips, bytes, copies of the state. Counts do not depend on the machine.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use superstep::checkpoint::{
    At, Commit, CommitError, ListQuery, NamespaceKey, PartKind, StoreInstance, StoredCheckpoint, ThreadKey, View,
};
use superstep::{
    Arg, Checkpointer, Command, CompiledGraph, Dispatch, Durability, DynSchema, DynSchemaBuilder, DynState, DynUpdate,
    END, Guarantees, HistoryQuery, Memory, NodeResult, RunConfig, Runtime, START, State, StateGraph, StoreError,
};
use superstep_checkpoint_testkit::{CommitCall, Counts, OpSummary, Recording};
use support::{Expected, Trail, TrailUpdate, said, says};

type Recorded = Recording<Memory>;

fn recorded() -> Recorded {
    Recording::new(Memory::new())
}

/// One node that runs until it has counted to `to`.
fn looping(store: impl Checkpointer, to: u64) -> CompiledGraph<Trail> {
    StateGraph::<Trail>::new()
        .node("count", async || TrailUpdate::new().count(1))
        .edge(START, "count")
        .branch("count", move |s: &Trail| if s.count < to { "count" } else { END })
        .limit(to)
        .checkpointer(store)
        .compile()
        .unwrap()
}

async fn loop_with(durability: Durability, steps: u64) -> Counts {
    let store = recorded();
    let graph = looping(store.clone(), steps);
    let config = RunConfig::thread("t").durability(durability);
    assert_eq!(graph.invoke(TrailUpdate::new(), config).await.done().count, steps);
    store.counts()
}

// ---------------------------------------------------------------- commits

#[tokio::test]
async fn sync_takes_one_commit_a_step_and_two_more_a_call() {
    let counts = loop_with(Durability::Sync, 1_000).await;
    // One for the input, one that says how the thread stands at the end rides in the last step's.
    assert!((1_000..=1_002).contains(&counts.commits), "{counts:?}");
    assert_eq!((counts.gets, counts.lists), (1, 0));
}

#[tokio::test]
async fn async_with_lag_1_takes_at_most_one_commit_a_step() {
    let counts = loop_with(Durability::Async, 1_000).await;
    assert!(counts.commits <= 1_002, "{counts:?}");
    assert_eq!(counts.checkpoints, 1_002, "every step has its checkpoint");
}

#[tokio::test]
async fn async_with_lag_32_groups_twenty_steps_and_more_into_a_commit() {
    let counts = loop_with(Durability::Async { lag: 32 }, 1_000).await;
    assert!(counts.commits <= 1_000 / 20, "{counts:?}");
    assert_eq!(counts.checkpoints, 1_002, "every step has its checkpoint");
}

#[tokio::test]
async fn exit_takes_one_commit_a_call() {
    let counts = loop_with(Durability::Exit, 1_000).await;
    assert_eq!((counts.commits, counts.checkpoints), (1, 1));
}

#[tokio::test]
async fn exit_takes_two_commits_where_it_answers_or_forks() {
    let store = recorded();
    let graph = StateGraph::<Trail>::new()
        .node("ask", async |rt: Runtime| -> NodeResult<_> { Ok(said(rt.interrupt::<String>("which?")?)) })
        .node("tell", says("told"))
        .edge(START, "ask")
        .edge("ask", "tell")
        .durability(Durability::Exit)
        .checkpointer(store.clone())
        .compile()
        .unwrap();
    let pause = graph.invoke(TrailUpdate::new(), "t").await.pause();
    assert_eq!(store.counts().commits, 1);
    store.take();
    assert_eq!(graph.invoke(pause.answer("this"), "t").await.done().told(), "this told");
    assert_eq!(store.counts().commits, 2, "the answer first, the rest at the end");
    store.take();
    let old = pause.checkpoint().unwrap();
    graph.invoke((), RunConfig::thread("t").at(old)).await.pause();
    assert_eq!(store.counts().commits, 2, "the new branch first, the question at the end");
}

#[tokio::test]
async fn reading_is_one_round_trip_whatever_is_asked() {
    let store = recorded();
    let graph = looping(store.clone(), 50);
    graph.invoke(TrailUpdate::new(), "t").await.done();
    store.take();
    graph.state("t").await.unwrap();
    assert_eq!(store.counts().round_trips(), 1);
    for limit in [1, 10, 50] {
        store.take();
        assert_eq!(graph.history("t", HistoryQuery::all().limit(limit)).await.unwrap().len(), limit);
        assert_eq!(store.counts().round_trips(), 1);
    }
}

#[tokio::test]
async fn going_on_takes_one_read_and_one_commit_a_step() {
    let store = recorded();
    let graph = looping(store.clone(), 20);
    graph.invoke(TrailUpdate::new(), RunConfig::thread("t").limit(10)).await.unwrap_err();
    store.take();
    assert_eq!(graph.invoke((), "t").await.done().count, 20);
    let counts = store.counts();
    assert_eq!(counts.gets, 1);
    assert!(counts.commits <= 11, "{counts:?}");
}

// ---------------------------------------------------------------- fan-out

/// A store whose commits take a while.
#[derive(Clone, Debug)]
struct Slow<C>(C, Duration);

#[async_trait]
impl<C: Checkpointer> Checkpointer for Slow<C> {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        tokio::time::sleep(self.1).await;
        self.0.commit(commit).await
    }
    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        self.0.get(key, at).await
    }
    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.0.list(key, query).await
    }
    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        self.0.delete_thread(key).await
    }
    fn guarantees(&self) -> Guarantees {
        self.0.guarantees()
    }
    fn instance(&self) -> StoreInstance {
        self.0.instance()
    }
}

fn fan_out(store: impl Checkpointer, width: u64) -> CompiledGraph<Trail> {
    StateGraph::<Trail>::new()
        .node("work", async |Arg(n): Arg<u64>| TrailUpdate::new().count(n))
        .node("join", says("joined"))
        .branch(START, move |_: &Trail| (0..width).map(|n| Dispatch::to("work", n)).collect::<Vec<_>>())
        .edge("work", "join")
        .checkpointer(store)
        .compile()
        .unwrap()
}

#[tokio::test]
async fn a_thousand_tasks_on_a_slow_store_share_their_commits() {
    let store = recorded();
    let graph = fan_out(Slow(store.clone(), Duration::from_millis(5)), 1_000);
    let done = graph.invoke(TrailUpdate::new(), "t").await.done();
    assert_eq!((done.count, done.told().as_str()), (499_500, "joined"));
    let counts = store.counts();
    assert!(counts.commits <= 20, "{counts:?}");
    assert!(counts.records >= 1_000, "each task has its result: {counts:?}");
}

#[tokio::test]
async fn a_fan_out_that_ends_at_once_takes_a_few_commits() {
    let store = recorded();
    fan_out(store.clone(), 8).invoke(TrailUpdate::new(), "t").await.done();
    let counts = store.counts();
    // The input; the eight, whose results go as they end and gather while one commit is on its way; the join.
    assert!(counts.commits <= 3 + 8, "{counts:?}");
    assert_eq!(counts.checkpoints, 4);
}

// ---------------------------------------------------------------- bytes

/// Of each commit that put a checkpoint: its bytes, and whether a whole value of an append channel was among them.
fn steps(store: &Recorded) -> Vec<(usize, bool)> {
    let is_base = |op: &OpSummary| match op {
        OpSummary::Checkpoint { values, .. } => values.iter().any(|(.., kind, _)| *kind == PartKind::Base),
        _ => false,
    };
    let step = |commit: CommitCall| (commit.bytes(), commit.ops.iter().any(is_base));
    store.commits().into_iter().map(step).collect()
}

#[tokio::test]
async fn a_list_that_grows_is_stored_in_proportion_to_what_was_added() {
    const MESSAGES: usize = 1_000;
    let store = recorded();
    let text = "x".repeat(500);
    let graph = StateGraph::<Trail>::new()
        .node("talk", move || std::future::ready(said(text.clone())))
        .edge(START, "talk")
        .branch("talk", |s: &Trail| if s.log.len() < MESSAGES { "talk" } else { END })
        .checkpointer(store.clone())
        .compile()
        .unwrap();
    assert_eq!(graph.invoke(TrailUpdate::new(), "t").await.done().log.len(), MESSAGES);
    let total = store.counts().bytes();
    assert!(total <= 2_200_000, "{total} bytes for 0.5 MB of messages");
    let steps = steps(&store);
    let whole = steps.iter().filter(|(_, is_base)| *is_base).count();
    assert!(whole <= 12, "the whole list was written {whole} times in {MESSAGES} steps");
    let largest = steps.iter().filter(|(_, is_base)| !is_base).map(|(bytes, _)| *bytes).max();
    assert!(largest <= Some(1_300), "a step that adds 500 bytes wrote {largest:?}");
}

/// A state of this many keys, and one node that changes one of them each step.
fn wide(store: impl Checkpointer, keys: usize, steps: usize) -> CompiledGraph<DynState> {
    let names = (0..keys).map(|n| format!("key{n:04}"));
    let schema = names.fold(DynSchema::new().add("step"), DynSchemaBuilder::last).build().unwrap();
    StateGraph::<DynState>::with_schema(schema)
        .name("wide")
        .node("change", async |s: &DynState| {
            let step = s["step"].as_u64().unwrap_or_default();
            DynUpdate::new().set("step", 1).set(format!("key{step:04}"), "y".repeat(300))
        })
        .edge(START, "change")
        .branch("change", move |s: &DynState| if s["step"] == json!(steps) { END } else { "change" })
        .checkpointer(store)
        .compile()
        .unwrap()
}

#[tokio::test]
async fn of_a_wide_state_only_what_changes_is_stored() {
    let store = recorded();
    let input = (0..1_000).fold(DynUpdate::new(), |input, n| input.set(format!("key{n:04}"), "x".repeat(300)));
    wide(store.clone(), 1_000, 50).invoke(input, "t").await.done();
    let total = store.counts().bytes();
    // 300 KB stand once as input and once as state.
    assert!(total <= 700_000, "{total} bytes");
    let largest = steps(&store).iter().skip(1).map(|(bytes, _)| *bytes).max();
    assert!(largest <= Some(1_000), "a step that changes 300 bytes wrote {largest:?}");
}

/// The bytes of each step of a chain of so many nodes.
async fn chain(nodes: usize) -> Vec<usize> {
    let store = recorded();
    let names: Vec<String> = (0..nodes).map(|n| format!("n{n:04}")).collect();
    let mut graph = StateGraph::<Trail>::new().edge(START, "n0000");
    for name in &names {
        graph = graph.node(name, async || TrailUpdate::new().count(1));
    }
    for pair in names.windows(2) {
        graph = graph.edge(&pair[0], &pair[1]);
    }
    let graph = graph.checkpointer(store.clone()).compile().unwrap();
    graph.invoke(TrailUpdate::new(), "t").await.done();
    steps(&store).into_iter().map(|(bytes, _)| bytes).collect()
}

#[tokio::test]
async fn bytes_of_a_step_do_not_grow_with_the_graph_or_the_thread() {
    let (short, long) = (chain(10).await, chain(1_000).await);
    let (ten, thousand) = (short.iter().max().unwrap(), long.iter().max().unwrap());
    // The counter itself has up to three digits more, in the state and in the step's number.
    assert!(*thousand <= ten + 8, "a step of 10 nodes writes {ten} bytes, one of 1,000 nodes {thousand}");
    let (early, late) = (long[100..200].iter().sum::<usize>(), long[900..].iter().sum::<usize>());
    assert!(late <= early + 100 * 2, "100 steps wrote {early} bytes early in the thread, {late} late");
}

#[tokio::test]
async fn a_checkpoint_itself_does_not_grow_with_the_graph() {
    async fn plan_bytes(nodes: usize) -> usize {
        let memory = Memory::new();
        let mut graph = StateGraph::<Trail>::new().edge(START, "n0");
        for n in 0..nodes {
            graph = graph.node(format!("n{n}"), says("n"));
        }
        graph.checkpointer(memory.clone()).compile().unwrap().invoke(TrailUpdate::new(), "t").await.done();
        let key = key_of(&memory, "t");
        let view = memory.get(&key, At::Head).await.unwrap();
        let checkpoint = view.found.unwrap().checkpoint;
        serde_json::to_vec(&(&checkpoint.plan, &checkpoint.graph, &checkpoint.turn)).unwrap().len()
    }
    assert_eq!(plan_bytes(1).await, plan_bytes(1_000).await);
}

fn key_of(store: &impl Checkpointer, thread: &str) -> NamespaceKey {
    ThreadKey { tenant: store.tenant_id(), thread: thread.try_into().unwrap() }.root()
}

// ---------------------------------------------------------------- copies of the state

/// A value that counts how often it is cloned.
#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Counted {
    weight: u64,
}

static CLONES: AtomicUsize = AtomicUsize::new(0);

impl Clone for Counted {
    fn clone(&self) -> Self {
        CLONES.fetch_add(1, Ordering::Relaxed);
        Self { weight: self.weight }
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Heavy {
    load: Counted,
    #[reducer(add)]
    steps: u64,
    #[reducer(append)]
    seen: Vec<u64>,
}

/// Both halves in one test: the counter is one for the process.
#[tokio::test]
async fn a_run_makes_no_copy_of_the_state() {
    let looping = StateGraph::<Heavy>::new()
        .node("step", async |s: Arc<Heavy>| HeavyUpdate::new().steps(1).seen([s.load.weight]))
        .edge(START, "step")
        .branch("step", |s: &Heavy| if s.steps < 1_000 { "step" } else { END })
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    let outcome = looping.invoke(HeavyUpdate::new(), "t").await.unwrap();
    assert_eq!(outcome.state().steps, 1_000);
    assert_eq!(CLONES.load(Ordering::Relaxed), 0, "a loop of a thousand steps with a router");

    let fan_out = StateGraph::<Heavy>::new()
        .node("split", async || (0..100_u64).fold(Command::new(), |all, n| all.and_send("work", n)))
        .node("work", async |s: &Heavy, Arg(n): Arg<u64>| HeavyUpdate::new().seen([s.load.weight + n]))
        .node("join", async |s: &Heavy| HeavyUpdate::new().steps(s.seen.len() as u64))
        .edge(START, "split")
        .edge("work", "join")
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    let outcome = fan_out.invoke(HeavyUpdate::new(), "t").await.unwrap();
    assert_eq!(outcome.state().steps, 100);
    assert_eq!(CLONES.load(Ordering::Relaxed), 0, "a fan-out without routers");
}

/// The names of channels are in every step; what was not written is in none.
#[tokio::test]
async fn a_step_names_only_the_channels_it_wrote() {
    let store = recorded();
    wide(store.clone(), 100, 5).invoke(DynUpdate::new().set("key0000", Value::Null), "t").await.done();
    for commit in store.commits().iter().skip(1) {
        let names: BTreeSet<_> = commit.ops.iter().flat_map(written).collect();
        assert!(names.len() <= 2, "{names:?}");
    }
}

fn written(op: &OpSummary) -> Vec<String> {
    match op {
        OpSummary::Checkpoint { values, .. } => values.iter().map(|(channel, ..)| channel.to_string()).collect(),
        _ => Vec::new(),
    }
}
