//! Calls that name what is not there, or set what makes no sense.

use serde_json::json;
use superstep::{
    CheckpointId, Command, CompiledGraph, Context, Durability, DynSchema, DynState, DynUpdate, HistoryQuery, Memory,
    NoStore, NodeResult, Problem, ReadError, RunConfig, RunErrorKind, Runtime, START, StateEdit, StateGraph, Why,
};
use superstep_checkpoint_testkit::Recording;

use crate::on_each_store;
use crate::support::{Entries, Expected, Store, Trail, TrailUpdate, said, says};

const NOWHERE: CheckpointId = CheckpointId::from_bytes([7; 16]);

async fn two_nodes(store: &Store) -> CompiledGraph<Trail> {
    StateGraph::<Trail>::new()
        .node("a", says("a"))
        .node("b", says("b"))
        .edge(START, "a")
        .edge("a", "b")
        .checkpointer(store.open().await)
        .compile()
        .unwrap()
}

on_each_store!(
    an_unknown_thread_is_not_found,
    an_unknown_checkpoint_is_not_found,
    an_unknown_node_is_refused_before_anything_is_stored,
    a_resume_where_nothing_is_open_is_refused,
);

async fn an_unknown_thread_is_not_found(store: Store) {
    let graph = two_nodes(&store).await;
    let error = graph.invoke((), "ghost").await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::UnknownThread), "{error}");
    assert!(matches!(graph.state("ghost").await.unwrap_err(), ReadError::UnknownThread { .. }));
    assert!(graph.history("ghost", HistoryQuery::all()).await.unwrap().is_empty());
    graph.delete_thread("ghost").await.unwrap();
    assert_eq!(graph.invoke(TrailUpdate::new(), "ghost").await.done().told(), "a b", "asking leaves nothing behind");
}

async fn an_unknown_checkpoint_is_not_found(store: Store) {
    let graph = two_nodes(&store).await;
    graph.invoke(TrailUpdate::new(), "t").await.done();
    let there = || RunConfig::thread("t").at(NOWHERE);
    let unknown = |kind: &RunErrorKind| matches!(kind, RunErrorKind::UnknownCheckpoint(id) if *id == NOWHERE);
    assert!(unknown(graph.invoke((), there()).await.unwrap_err().kind()));
    assert!(unknown(graph.invoke(said("x"), there()).await.unwrap_err().kind()));
    assert!(unknown(graph.fork("t", NOWHERE).await.unwrap_err().kind()));
    assert!(unknown(graph.update_state(there(), said("x")).await.unwrap_err().kind()));
    let error = graph.state(there()).await.unwrap_err();
    assert!(matches!(error, ReadError::UnknownCheckpoint { checkpoint, .. } if checkpoint == NOWHERE));
    assert_eq!(graph.state("t").await.unwrap().state.told(), "a b");
}

async fn an_unknown_node_is_refused_before_anything_is_stored(store: Store) {
    let graph = two_nodes(&store).await;
    graph.invoke(TrailUpdate::new(), "t").await.done();
    let head = graph.state("t").await.unwrap().checkpoint;
    let unknown = |kind: &RunErrorKind| matches!(kind, RunErrorKind::UnknownNode(unknown) if unknown.name == "nowhere");
    assert!(unknown(graph.invoke(Command::goto("nowhere"), "t").await.unwrap_err().kind()));
    assert!(unknown(graph.invoke(Command::send("nowhere", 1), "t").await.unwrap_err().kind()));
    assert!(unknown(graph.invoke(Command::goto("nowhere"), "new").await.unwrap_err().kind()));
    let stop = RunConfig::thread("t").interrupt_before("nowhere");
    assert!(unknown(graph.invoke(said("x"), stop).await.unwrap_err().kind()));
    let edit = StateEdit::new(said("x")).as_node("nowhere");
    assert!(unknown(graph.update_state("t", edit).await.unwrap_err().kind()));
    assert_eq!(graph.state("t").await.unwrap().checkpoint, head);
    assert!(matches!(graph.state("new").await.unwrap_err(), ReadError::UnknownThread { .. }));
}

async fn a_resume_where_nothing_is_open_is_refused(store: Store) {
    let graph = two_nodes(&store).await;
    let nothing = |kind: &RunErrorKind| matches!(kind, RunErrorKind::NothingToResume);
    assert!(nothing(graph.invoke(Command::resume(1), "new").await.unwrap_err().kind()));
    graph.invoke(TrailUpdate::new(), "t").await.done();
    assert!(nothing(graph.invoke(Command::resume(1), "t").await.unwrap_err().kind()));
    let with_command = Command::resume(1).update(said("x")).goto("b");
    assert!(nothing(graph.invoke(with_command, "t").await.unwrap_err().kind()));
    assert_eq!(graph.state("t").await.unwrap().state.told(), "a b");
}

// ---------------------------------------------------------------- inputs of a dynamic state

fn dynamic() -> CompiledGraph<DynState> {
    let schema =
        DynSchema::new().last("order").append("log").add("cents").last("inner").input(["order", "log", "cents"]);
    StateGraph::<DynState>::with_schema(schema.build().unwrap())
        .name("dynamic")
        .node("a", async || DynUpdate::new().set("log", json!(["a"])))
        .edge(START, "a")
        .checkpointer(Memory::new())
        .compile()
        .unwrap()
}

#[tokio::test]
async fn an_input_of_the_wrong_shape_is_refused() {
    let graph = dynamic();
    for shape in [json!([1]), json!("text"), json!(7), json!(null)] {
        let error = graph.invoke(shape, "t").await.unwrap_err();
        assert!(matches!(error.kind(), RunErrorKind::InvalidInput(_)), "{error}");
    }
    let cases = [
        (json!({ "odrer": 1 }), "odrer", Why::UnknownChannel),
        (json!({ "inner": 1 }), "inner", Why::NotInput),
        (json!({ "log": "a" }), "log", Why::WrongType { expected: "a list", found: "a text" }),
        (json!({ "cents": [] }), "cents", Why::WrongType { expected: "a number", found: "a list" }),
    ];
    for (input, channel, expected) in cases {
        let error = graph.invoke(input, "t").await.unwrap_err();
        let RunErrorKind::InvalidUpdate(invalid) = error.kind() else { panic!("{error}") };
        assert_eq!((invalid.channel.as_str(), &invalid.why), (channel, &expected));
    }
    assert!(matches!(graph.state("t").await.unwrap_err(), ReadError::UnknownThread { .. }), "nothing was stored");
}

#[tokio::test]
async fn an_edit_of_the_wrong_shape_leaves_the_thread_as_it_was() {
    let graph = dynamic();
    graph.invoke(json!({ "order": "A-17" }), "t").await.done();
    let head = graph.state("t").await.unwrap().checkpoint;
    for wrong in [DynUpdate::new().set("nothing", 1), DynUpdate::new().set("log", 1)] {
        let error = graph.update_state("t", wrong.clone()).await.unwrap_err();
        assert!(matches!(error.kind(), RunErrorKind::InvalidUpdate(_)), "{error}");
        let error = graph.invoke(Command::new().update(wrong), "t").await.unwrap_err();
        assert!(matches!(error.kind(), RunErrorKind::InvalidUpdate(_)), "{error}");
    }
    assert_eq!(graph.state("t").await.unwrap().checkpoint, head);
}

#[test]
fn channels_of_one_name_are_refused() {
    let error = DynSchema::new().last("a").append("a").build().unwrap_err();
    assert!(error.to_string().contains("\"a\""), "{error}");
    let error = DynSchema::new().last("a").input(["b"]).build().unwrap_err();
    assert!(error.to_string().contains("\"b\""), "{error}");
}

// ---------------------------------------------------------------- settings

#[tokio::test]
async fn limits_and_lags_of_zero_are_refused() {
    let store = Recording::new(Memory::new());
    let graph = || StateGraph::<Trail>::new().node("a", says("a")).edge(START, "a");
    let problems = graph().limit(0).durability(Durability::Async { lag: 0 }).compile().unwrap_err().problems;
    assert_eq!(problems, [Problem::ZeroLimit, Problem::ZeroLag]);
    let graph = graph().checkpointer(store.clone()).compile().unwrap();
    let settings = [
        RunConfig::thread("t").limit(0),
        RunConfig::thread("t").durability(Durability::Async { lag: 0 }),
        RunConfig::new().limit(0),
    ];
    for config in settings {
        let error = graph.invoke(TrailUpdate::new(), config).await.unwrap_err();
        assert!(matches!(error.kind(), RunErrorKind::InvalidConfig(_)), "{error}");
    }
    let error = graph.history("t", HistoryQuery::all().limit(0)).await.unwrap_err();
    assert!(matches!(error, ReadError::ZeroLimit));
    assert_eq!(store.counts().round_trips(), 0);
}

// ---------------------------------------------------------------- contexts

struct Bank;

#[tokio::test]
async fn a_missing_context_is_found_before_anything_is_written() {
    let (store, entries) = (Recording::new(Memory::new()), Entries::default());
    let graph = StateGraph::<Trail>::new()
        .node("a", entries.says("a"))
        .node("pay", async |_: Context<Bank>| said("paid"))
        .edge(START, "a")
        .edge("a", "pay")
        .checkpointer(store.clone())
        .compile()
        .unwrap();
    for config in [RunConfig::thread("t"), RunConfig::new()] {
        let error = graph.invoke(TrailUpdate::new(), config).await.unwrap_err();
        let RunErrorKind::MissingContext { node, context } = error.kind() else { panic!("{error}") };
        assert_eq!((node.as_str(), context.contains("Bank")), ("pay", true));
    }
    assert_eq!((store.counts().round_trips(), entries.of("a")), (0, 0));
    let done = graph.invoke(TrailUpdate::new(), RunConfig::thread("t").context(Bank)).await.done();
    assert_eq!(done.told(), "a paid");
}

#[tokio::test]
async fn a_missing_context_of_a_router_is_found_as_well() {
    let graph = StateGraph::<Trail>::new()
        .node("a", says("a"))
        .branch(START, |_: &Trail, _: Context<Bank>| "a")
        .compile()
        .unwrap();
    let error = graph.invoke(TrailUpdate::new(), ()).await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::MissingContext { .. }), "{error}");
}

// ---------------------------------------------------------------- no store

#[tokio::test]
async fn a_thread_without_a_store_is_refused() {
    let graph = StateGraph::<Trail>::new().node("a", says("a")).edge(START, "a").compile().unwrap();
    let no_store = |kind: &RunErrorKind| matches!(kind, RunErrorKind::NoStore(NoStore::Graph));
    assert!(no_store(graph.invoke(TrailUpdate::new(), "t").await.unwrap_err().kind()));
    assert!(no_store(graph.update_state("t", said("x")).await.unwrap_err().kind()));
    assert!(matches!(graph.state("t").await.unwrap_err(), ReadError::NoStore { .. }));
    assert!(matches!(graph.delete_thread("t").await.unwrap_err(), ReadError::NoStore { .. }));
    assert_eq!(graph.invoke(TrailUpdate::new(), ()).await.done().told(), "a", "without a thread it needs none");
}

#[tokio::test]
async fn what_needs_a_thread_is_refused_without_one() {
    let graph = StateGraph::<Trail>::new()
        .node("ask", async |rt: Runtime| -> NodeResult<_> { Ok(said(rt.interrupt::<String>("name?")?)) })
        .edge(START, "ask")
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    let error = graph.invoke(TrailUpdate::new(), ()).await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::NoStore(NoStore::Interrupt)), "{error}");
    let no_thread = |kind: &RunErrorKind| matches!(kind, RunErrorKind::NoStore(NoStore::Thread));
    assert!(no_thread(graph.invoke((), ()).await.unwrap_err().kind()));
    assert!(no_thread(graph.invoke(Command::resume("Ann"), ()).await.unwrap_err().kind()));
    assert!(no_thread(graph.invoke(said("x"), RunConfig::new().at(NOWHERE)).await.unwrap_err().kind()));
    assert!(no_thread(graph.invoke(said("x"), RunConfig::new().run_id("r")).await.unwrap_err().kind()));
    assert!(no_thread(graph.update_state((), said("x")).await.unwrap_err().kind()));
    assert!(matches!(graph.state(()).await.unwrap_err(), ReadError::NoThread));
}

#[tokio::test]
async fn a_command_for_the_graph_around_is_refused() {
    let graph = two_nodes(&Store::memory()).await;
    let error = graph.invoke(Command::<TrailUpdate>::goto("a").to_parent(), "t").await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::InvalidInput(_)), "{error}");
    assert!(matches!(graph.state("t").await.unwrap_err(), ReadError::UnknownThread { .. }));
}
