//! What must hold before anything else does.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier, Mutex};
use std::thread::ThreadId;

use superstep::{
    Command, DynSchema, DynState, DynUpdate, END, HistoryQuery, NodeError, NodeResult, Outcome, RunConfig,
    RunErrorKind, Runtime, START, StateGraph, StoreErrorKind, blocking,
};
use superstep_checkpoint_testkit::{Fault, Faulty};

use serde_json::json;
use support::{Entries, Expected, Store, Trail, TrailUpdate, said, says};

on_each_store!(
    tasks_of_a_step_come_in_the_same_order_every_time,
    a_join_runs_once,
    a_clash_names_the_field_and_both_nodes,
    a_sibling_runs_once_over_a_question_and_a_restart,
    a_sibling_runs_once_over_a_failure_and_a_restart,
    two_questions_get_two_answers,
    a_stop_is_passed_once_for_each_arrival,
    the_input_is_stored_before_the_first_step,
    the_limit_is_an_error,
    a_second_edge_adds,
    a_send_to_a_missing_node_is_an_error,
    the_end_of_one_branch_does_not_stop_another,
    a_finished_thread_takes_another_turn,
    errors_of_the_store_reach_the_caller,
    a_panic_is_an_error,
    integers_stay_integers,
);

/// A graph whose nodes start together.
fn side_by_side(names: &[&'static str]) -> StateGraph<Trail> {
    names.iter().fold(StateGraph::new(), |graph, name| graph.node(*name, says(name)).edge(START, *name))
}

// ---------------------------------------------------------------- parallel

#[tokio::test]
async fn three_nodes_that_wait_for_each_other_end() {
    let barrier = Arc::new(tokio::sync::Barrier::new(3));
    let waits = |name: &'static str| {
        let barrier = Arc::clone(&barrier);
        move || {
            let barrier = Arc::clone(&barrier);
            async move {
                barrier.wait().await;
                said(name)
            }
        }
    };
    let graph = StateGraph::<Trail>::new().node("a", waits("a")).node("b", waits("b")).node("c", waits("c"));
    let graph = graph.edge(START, "a").edge(START, "b").edge(START, "c").compile().unwrap();
    // Run one after another, the first would wait for ever.
    assert_eq!(graph.invoke(TrailUpdate::new(), ()).await.done().told(), "a b c");
}

/// A graph of two nodes that hold their threads until both have started, and the threads on which they ran.
fn computing(
    node: impl Fn(Arc<dyn Fn() + Send + Sync>) -> Arc<dyn superstep::Node<Trail>>,
) -> (StateGraph<Trail>, Arc<Mutex<BTreeSet<String>>>) {
    let (barrier, threads) = (Arc::new(Barrier::new(2)), Arc::new(Mutex::new(BTreeSet::new())));
    let seen = Arc::clone(&threads);
    let work: Arc<dyn Fn() + Send + Sync> = Arc::new(move || {
        let id: ThreadId = std::thread::current().id();
        seen.lock().unwrap().insert(format!("{id:?}"));
        barrier.wait();
    });
    let graph = StateGraph::new().node("a", node(Arc::clone(&work))).node("b", node(work));
    (graph.edge(START, "a").edge(START, "b"), threads)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn nodes_that_compute_use_two_threads() {
    let (graph, threads) = computing(|work| {
        superstep::IntoNode::into_node(move || {
            let work = Arc::clone(&work);
            async move { work() }
        })
    });
    // The graph runs as a task of its own, so that the thread of the test does not count.
    let graph = graph.compile().unwrap();
    tokio::spawn(async move { graph.invoke(TrailUpdate::new(), ()).await.done() }).await.unwrap();
    assert_eq!(threads.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn blocking_nodes_use_two_threads_on_a_runtime_of_one() {
    let (graph, threads) = computing(|work| superstep::IntoNode::into_node(blocking(move |_: &Trail| work())));
    graph.compile().unwrap().invoke(TrailUpdate::new(), ()).await.done();
    assert_eq!(threads.lock().unwrap().len(), 2);
}

#[test]
fn a_runtime_of_one_thread_is_enough() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let store = Store::sqlite();
        let graph = side_by_side(&["a", "b"]).checkpointer(store.open().await).compile().unwrap();
        assert_eq!(graph.invoke(TrailUpdate::new(), "t").await.done().told(), "a b");
    });
}

// ---------------------------------------------------------------- steps

async fn tasks_of_a_step_come_in_the_same_order_every_time(store: Store) {
    let mut graph = StateGraph::<Trail>::new();
    for name in ["d", "b", "e", "a", "c"] {
        let node = move |rt: Runtime| async move {
            let turns = rt.task_id().as_bytes()[0] % 7; // they end in another order each time
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            said(name)
        };
        graph = graph.node(name, node).edge(START, name);
    }
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    for run in 0..100 {
        assert_eq!(graph.invoke(TrailUpdate::new(), format!("{run}")).await.done().told(), "a b c d e");
    }
}

async fn a_join_runs_once(store: Store) {
    let graph = side_by_side(&["a", "b", "c"]).node("join", says("join"));
    let plain = graph.edge("a", "join").edge("b", "join").edge("c", "join").checkpointer(store.open().await);
    assert_eq!(plain.compile().unwrap().invoke(TrailUpdate::new(), "t").await.done().told(), "a b c join");
    let graph = side_by_side(&["a", "b", "c"]).node("join", says("join"));
    let waiting = graph.waiting_edge(["a", "b", "c"], "join").checkpointer(store.open().await);
    assert_eq!(waiting.compile().unwrap().invoke(TrailUpdate::new(), "u").await.done().told(), "a b c join");
}

async fn a_clash_names_the_field_and_both_nodes(store: Store) {
    let sets = |text: &'static str| move || std::future::ready(TrailUpdate::new().answer(text.to_owned()));
    let graph = StateGraph::<Trail>::new().node("x", sets("x")).node("y", sets("y")).edge(START, "x").edge(START, "y");
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    let text = graph.invoke(TrailUpdate::new(), "t").await.unwrap_err().to_string();
    for name in ["\"answer\"", "\"x\"", "\"y\""] {
        assert!(text.contains(name), "{text}");
    }
}

async fn a_second_edge_adds(store: Store) {
    let graph = StateGraph::<Trail>::new().node("a", says("a")).node("b", says("b")).node("c", says("c"));
    let graph = graph.edge(START, "a").edge("a", "b").edge("a", "c").checkpointer(store.open().await);
    assert_eq!(graph.compile().unwrap().invoke(TrailUpdate::new(), "t").await.done().told(), "a b c");
}

async fn the_end_of_one_branch_does_not_stop_another(store: Store) {
    let graph = side_by_side(&["short", "long"]).node("more", says("more")).node("last", says("last"));
    let graph = graph.edge("short", END).edge("long", "more").edge("more", "last");
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    assert_eq!(graph.invoke(TrailUpdate::new(), "t").await.done().told(), "long short more last");
}

async fn a_send_to_a_missing_node_is_an_error(store: Store) {
    let graph = StateGraph::<Trail>::new().node("a", async || Command::<TrailUpdate>::send("gone", 1)).edge(START, "a");
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    let error = graph.invoke(TrailUpdate::new(), "t").await.unwrap_err();
    assert!(error.node().is_some_and(|node| *node == "a") && error.to_string().contains("\"gone\""), "{error}");
}

async fn the_limit_is_an_error(store: Store) {
    let graph = StateGraph::<Trail>::new().node("a", async || ()).edge(START, "a").edge("a", "a");
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    let error = graph.invoke(TrailUpdate::new(), RunConfig::thread("t").limit(25)).await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::OutOfSteps { limit: 25 }), "{error}");
}

// ---------------------------------------------------------------- questions, failures, restarts

async fn a_sibling_runs_once_over_a_question_and_a_restart(store: Store) {
    let entries = Entries::default();
    let graph = async || {
        StateGraph::<Trail>::new()
            .node("ask", async |rt: Runtime| -> NodeResult<_> { Ok(said(rt.interrupt::<String>("?")?)) })
            .node("paid", entries.says("paid"))
            .node("join", entries.says("join"))
            .edge(START, "ask")
            .edge(START, "paid")
            .waiting_edge(["ask", "paid"], "join")
            .checkpointer(store.open().await)
            .compile()
            .unwrap()
    };
    let pause = graph().await.invoke(TrailUpdate::new(), "t").await.pause();
    assert_eq!(pause.state().told(), "paid");
    assert_eq!(graph().await.invoke(pause.answer("yes"), "t").await.done().told(), "yes paid join");
    assert_eq!(entries.told(), "join1 paid1");
}

async fn a_sibling_runs_once_over_a_failure_and_a_restart(store: Store) {
    let entries = Entries::default();
    let graph = async || {
        let counted = entries.clone();
        StateGraph::<Trail>::new()
            .node("flaky", move || {
                let first = counted.enter("flaky") == 1;
                async move { if first { Err(NodeError::msg("down")) } else { Ok(said("up")) } }
            })
            .node("paid", entries.says("paid"))
            .edge(START, "flaky")
            .edge(START, "paid")
            .checkpointer(store.open().await)
            .compile()
            .unwrap()
    };
    graph().await.invoke(TrailUpdate::new(), "t").await.unwrap_err();
    assert_eq!(graph().await.invoke((), "t").await.done().told(), "up paid");
    assert_eq!(entries.told(), "flaky2 paid1");
}

async fn two_questions_get_two_answers(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("ask", async |rt: Runtime| -> NodeResult<_> {
            let first: String = rt.interrupt("first")?;
            let second: String = rt.interrupt("second")?;
            Ok(said(format!("{first} then {second}")))
        })
        .edge(START, "ask")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let first = graph.invoke(TrailUpdate::new(), "t").await.pause();
    assert_eq!(*first.interrupts()[0].payload, "first");
    let second = graph.invoke(first.answer("one"), "t").await.pause();
    assert_eq!(*second.interrupts()[0].payload, "second");
    assert_eq!(graph.invoke(second.answer("two"), "t").await.done().told(), "one then two");
}

async fn a_stop_is_passed_once_for_each_arrival(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("gate", says("gate"))
        .edge(START, "gate")
        .branch("gate", |s: &Trail| if s.log.len() < 3 { "gate" } else { END })
        .interrupt_before("gate")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let mut outcome = graph.invoke(TrailUpdate::new(), "t").await.unwrap();
    for passed in 0..3 {
        assert!(matches!(outcome, Outcome::Paused(_)));
        assert_eq!(outcome.state().log.len(), passed);
        outcome = graph.invoke((), "t").await.unwrap();
    }
    assert_eq!(outcome.into_done().unwrap().state().told(), "gate gate gate");
}

async fn the_input_is_stored_before_the_first_step(store: Store) {
    let handle = store.open().await;
    let seen = Arc::new(Mutex::new(None));
    let (inner, noted) = (handle.clone(), Arc::clone(&seen));
    let graph = StateGraph::<Trail>::new()
        .node("look", move || {
            let (inner, noted) = (inner.clone(), Arc::clone(&noted));
            async move {
                let reader = StateGraph::<Trail>::new().node("look", async || ()).edge(START, "look");
                let snapshot = reader.checkpointer(inner).compile()?.state("t").await?;
                *noted.lock().unwrap() = Some((snapshot.state.told(), snapshot.next));
                Ok::<_, NodeError>(())
            }
        })
        .edge(START, "look")
        .checkpointer(handle)
        .compile()
        .unwrap();
    graph.invoke(said("in"), "t").await.done();
    assert_eq!(*seen.lock().unwrap(), Some(("in".to_owned(), vec!["look".try_into().unwrap()])));
}

async fn a_finished_thread_takes_another_turn(store: Store) {
    let graph = side_by_side(&["a"]).checkpointer(store.open().await).compile().unwrap();
    graph.invoke(said("one"), "t").await.done();
    assert_eq!(graph.invoke(said("two"), "t").await.done().told(), "one a two a");
}

async fn errors_of_the_store_reach_the_caller(store: Store) {
    let handle = store.open().await;
    for commit in 1..=3 {
        let faulty = Faulty::new(handle.clone()).on_commit(commit, Fault::Before(StoreErrorKind::Full));
        let graph =
            StateGraph::<Trail>::new().node("a", says("a")).node("b", says("b")).edge(START, "a").edge("a", "b");
        let graph = graph.checkpointer(faulty).compile().unwrap();
        let error = graph.invoke(TrailUpdate::new(), commit.to_string()).await.unwrap_err();
        assert!(matches!(error.kind(), RunErrorKind::Store(fault) if fault.kind() == StoreErrorKind::Full), "{error}");
    }
    let faulty = Faulty::new(handle).on_call(1, Fault::Before(StoreErrorKind::Connection));
    let graph = side_by_side(&["a"]).checkpointer(faulty).compile().unwrap();
    graph.history("t", HistoryQuery::all()).await.unwrap_err();
}

async fn a_panic_is_an_error(store: Store) {
    let graph = StateGraph::<Trail>::new().node("a", async || -> () { panic!("oh no") }).edge(START, "a");
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    let error = graph.invoke(TrailUpdate::new(), "t").await.unwrap_err();
    assert!(error.to_string().contains("oh no"), "{error}");
}

async fn integers_stay_integers(store: Store) {
    let schema = DynSchema::new().last("big").add("sum").build().unwrap();
    let graph = StateGraph::<DynState>::with_schema(schema)
        .name("numbers")
        .node("count", async |s: &DynState| DynUpdate::new().set("sum", 1).set("big", s["big"].clone()))
        .edge(START, "count")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let input = DynUpdate::new().set("big", u64::MAX).set("sum", (1_u64 << 53) + 1);
    graph.invoke(input, "t").await.unwrap();
    let state = graph.state("t").await.unwrap().state;
    assert_eq!((&state["big"], &state["sum"]), (&json!(u64::MAX), &json!((1_u64 << 53) + 2)));
}
