//! Nodes that misbehave.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use superstep::{
    Command, CompiledGraph, Dispatch, DynSchema, DynState, DynUpdate, END, Memory, NodeError, NodeFailure, NodeFault,
    NodeResult, RunConfig, RunError, RunErrorKind, Runtime, START, StateGraph, blocking,
};
use superstep_checkpoint_testkit::Recording;
use tokio::sync::{Notify, oneshot};

use crate::on_each_store;
use crate::support::{Entries, Expected, Store, Trail, TrailUpdate, said, says};

fn failures(error: &RunError) -> &[NodeFailure] {
    match error.kind() {
        RunErrorKind::Node { failures } => failures,
        other => panic!("{other}"),
    }
}

/// The only failure: its node, kind and text.
fn failure(error: &RunError) -> (&str, NodeFault, String) {
    let [failure] = failures(error) else { panic!("{error}") };
    (failure.node.as_str(), failure.fault, failure.error.to_string())
}

on_each_store!(
    a_panic_is_an_error_of_its_node,
    jumps_to_nowhere_fail_the_node,
    a_loop_without_end_stops_at_the_limit,
    a_node_that_hangs_is_left_by_dropping_the_call,
    what_a_node_does_after_its_call_was_dropped_does_not_count,
);

async fn a_panic_is_an_error_of_its_node(store: Store) {
    let entries = Entries::default();
    let counted = entries.clone();
    let graph = StateGraph::<Trail>::new()
        .node("good", entries.says("good"))
        .node("bad", move || {
            let first = counted.enter("bad") == 1;
            async move {
                assert!(!first, "out of cheese");
                said("bad")
            }
        })
        .edge(START, "good")
        .edge(START, "bad")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let error = graph.invoke(TrailUpdate::new(), "t").await.unwrap_err();
    let (node, fault, text) = failure(&error);
    assert_eq!((node, fault), ("bad", NodeFault::Panic));
    assert!(text.contains("out of cheese"), "{text}");
    assert_eq!(graph.invoke((), "t").await.done().told(), "bad good");
    assert_eq!(entries.told(), "bad2 good1");
}

#[tokio::test]
async fn a_panic_outside_of_the_future_is_an_error_too() {
    let graph = |graph: StateGraph<Trail>| graph.edge(START, "bad").compile().unwrap();
    let before = StateGraph::<Trail>::new().node("bad", |_: Arc<Trail>| -> std::future::Ready<()> { panic!("early") });
    let pool = StateGraph::<Trail>::new().node("bad", blocking(|_: &Trail| -> TrailUpdate { panic!("on the pool") }));
    let odd = StateGraph::<Trail>::new().node("bad", async || -> () { std::panic::panic_any(7_u8) });
    let router =
        StateGraph::<Trail>::new().node("bad", says("x")).branch("bad", |_: &Trail| -> &str { panic!("lost") });
    for (graph, text) in
        [(graph(before), "early"), (graph(pool), "on the pool"), (graph(odd), "no text"), (graph(router), "lost")]
    {
        let error = graph.invoke(TrailUpdate::new(), ()).await.unwrap_err();
        let (node, fault, said) = failure(&error);
        assert_eq!((node, fault), ("bad", NodeFault::Panic));
        assert!(said.contains(text), "{said}");
    }
}

#[tokio::test]
async fn a_node_may_return_nothing() {
    let graph = StateGraph::<Trail>::new()
        .node("nothing", async || {})
        .node("none", async || None::<TrailUpdate>)
        .node("empty", async || Vec::<TrailUpdate>::new())
        .edge(START, "nothing")
        .edge("nothing", "none")
        .edge("none", "empty")
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    assert_eq!(graph.invoke(said("x"), "t").await.done().told(), "x");
}

async fn jumps_to_nowhere_fail_the_node(store: Store) {
    let store = store.open().await;
    let stored =
        |graph: StateGraph<Trail>| graph.edge(START, "lost").checkpointer(Arc::clone(&store)).compile().unwrap();
    let graphs = [
        stored(StateGraph::new().node("lost", async || Command::<TrailUpdate>::goto("nowhere"))),
        stored(StateGraph::new().node("lost", async || Command::<TrailUpdate>::send("nowhere", 1))),
        stored(StateGraph::new().node("lost", says("x")).branch("lost", |_: &Trail| "nowhere")),
        stored(StateGraph::new().node("lost", says("x")).branch("lost", |_: &Trail| Dispatch::to("nowhere", 1))),
        stored(StateGraph::new().node("lost", says("x")).branch_to("lost", |_: &Trail| "nowhere", [END])),
    ];
    for (thread, graph) in graphs.iter().enumerate() {
        let error = graph.invoke(TrailUpdate::new(), thread.to_string()).await.unwrap_err();
        let (node, fault, text) = failure(&error);
        assert_eq!((node, fault), ("lost", NodeFault::UnknownNode));
        assert!(text.contains("nowhere"), "{text}");
        let left = graph.state(thread.to_string()).await.unwrap();
        assert_eq!((left.state.told().as_str(), left.next[0].as_str()), ("", "lost"), "its update does not count");
    }
}

#[tokio::test]
async fn an_unknown_key_fails_the_node() {
    let schema = DynSchema::new().last("order").append("log").build().unwrap();
    let graph = StateGraph::<DynState>::with_schema(schema)
        .node("typo", async || DynUpdate::new().set("odrer", 1))
        .edge(START, "typo")
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    let error = graph.invoke(DynUpdate::new().set("order", 1), "t").await.unwrap_err();
    let (node, fault, text) = failure(&error);
    assert_eq!((node, fault), ("typo", NodeFault::InvalidUpdate));
    assert!(text.contains("\"odrer\"") && text.contains("\"typo\""), "{text}");
}

async fn a_loop_without_end_stops_at_the_limit(store: Store) {
    let graph = StateGraph::<Trail>::new().node("again", async || TrailUpdate::new().count(1)).edge(START, "again");
    let graph = graph.edge("again", "again").checkpointer(store.open().await).compile().unwrap();
    let error = graph.invoke(TrailUpdate::new(), RunConfig::thread("t").limit(7)).await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::OutOfSteps { limit: 7 }), "{error}");
    assert_eq!(graph.state("t").await.unwrap().state.count, 7);
}

/// `a`, then a node that says when it was entered and hangs the first time.
async fn hanging(store: &Store) -> (CompiledGraph<Trail>, Entries, Arc<Notify>) {
    let (entries, entered) = (Entries::default(), Arc::new(Notify::new()));
    let (counted, notify) = (entries.clone(), Arc::clone(&entered));
    let graph = StateGraph::<Trail>::new()
        .node("a", entries.says("a"))
        .node("slow", move || {
            let (first, notify) = (counted.enter("slow") == 1, Arc::clone(&notify));
            async move {
                if first {
                    notify.notify_one();
                    std::future::pending::<()>().await;
                }
                said("slow")
            }
        })
        .edge(START, "a")
        .edge("a", "slow")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    (graph, entries, entered)
}

async fn a_node_that_hangs_is_left_by_dropping_the_call(store: Store) {
    let (graph, entries, entered) = hanging(&store).await;
    let meanwhile = async {
        entered.notified().await;
        graph.invoke((), "t").await.unwrap_err()
    };
    tokio::select! {
        ended = graph.invoke(TrailUpdate::new(), "t") => panic!("{ended:?}"),
        error = meanwhile => assert!(matches!(error.kind(), RunErrorKind::ThreadBusy), "{error}"),
    }
    let left = graph.state("t").await.unwrap();
    assert_eq!((left.state.told().as_str(), left.next[0].as_str()), ("a", "slow"));
    assert_eq!(graph.invoke((), "t").await.done().told(), "a slow");
    assert_eq!(entries.told(), "a1 slow2");
}

#[tokio::test]
async fn a_blocking_node_does_not_hold_its_siblings_up() {
    let (send, receive) = mpsc::channel();
    let receive = std::sync::Mutex::new(receive);
    let graph = StateGraph::<Trail>::new()
        .node(
            "waits",
            blocking(move || -> NodeResult<_> {
                let word: String = receive.lock().unwrap().recv_timeout(Duration::from_secs(20))?;
                Ok(said(word))
            }),
        )
        .node("wakes", move || {
            let send = send.clone();
            async move { Ok::<_, NodeError>(send.send("woken".to_owned())?) }
        })
        .edge(START, "waits")
        .edge(START, "wakes")
        .compile()
        .unwrap();
    // On one thread: were `waits` not on the pool, `wakes` would never run.
    assert_eq!(graph.invoke(TrailUpdate::new(), ()).await.done().told(), "woken");
}

async fn what_a_node_does_after_its_call_was_dropped_does_not_count(store: Store) {
    let store = Recording::new(store.open().await);
    let (entered, go) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (late_end, late_ended) = oneshot::channel();
    let late_end = Arc::new(std::sync::Mutex::new(Some(late_end)));
    let (notify, gate) = (Arc::clone(&entered), Arc::clone(&go));
    let graph = StateGraph::<Trail>::new()
        .node("stubborn", move |rt: Runtime| {
            let (notify, gate, end) = (Arc::clone(&notify), Arc::clone(&gate), Arc::clone(&late_end));
            let Some(end) = end.lock().unwrap().take() else { return work(None) };
            // A task of its own is not cancelled with the call.
            work(Some(tokio::spawn(async move {
                notify.notify_one();
                gate.notified().await;
                let _ = rt.emit("late");
                let asked = rt.interrupt::<bool>("late?").is_err();
                let _ = end.send(asked);
                said("late")
            })))
        })
        .edge(START, "stubborn")
        .checkpointer(store.clone())
        .compile()
        .unwrap();
    tokio::select! {
        ended = graph.invoke(TrailUpdate::new(), "t") => panic!("{ended:?}"),
        () = entered.notified() => {}
    }
    let before = store.counts().commits;
    go.notify_one();
    assert!(late_ended.await.unwrap());
    assert_eq!(store.counts().commits, before, "it writes nothing");
    let left = graph.state("t").await.unwrap();
    assert_eq!((left.state.told().as_str(), left.interrupts.len(), left.next.len()), ("", 0, 1));
    assert_eq!(graph.invoke((), "t").await.done().told(), "in time");
}

async fn work(spawned: Option<tokio::task::JoinHandle<TrailUpdate>>) -> NodeResult<TrailUpdate> {
    match spawned {
        Some(spawned) => Ok(spawned.await?),
        None => Ok(said("in time")),
    }
}

#[tokio::test]
async fn a_node_that_swallows_its_question_is_parked_all_the_same() {
    let graph = StateGraph::<Trail>::new()
        .node("deaf", async |rt: Runtime| said(rt.interrupt::<String>("name?").unwrap_or_else(|_| "nobody".to_owned())))
        .edge(START, "deaf")
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    let pause = graph.invoke(TrailUpdate::new(), "t").await.pause();
    assert_eq!(pause.state().told(), "");
    assert_eq!(graph.invoke(pause.answer("Ann"), "t").await.done().told(), "Ann");
}
