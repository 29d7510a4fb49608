//! What a consumer sees of a run while it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use superstep::{
    Event, Jitter, Memory, NodeError, NodeOptions, NodeResult, RetryPolicy, RunConfig, RunErrorKind, RunStream,
    Runtime, START, StateGraph, StreamMode,
};

use crate::on_each_store;
use crate::support::{Entries, Expected, Store, Trail, TrailUpdate, said, says};

const MODES: [StreamMode; 5] =
    [StreamMode::Values, StreamMode::Updates, StreamMode::Tasks, StreamMode::Checkpoints, StreamMode::Custom];

on_each_store!(
    b30_several_failures_are_one_end,
    b32_each_mode_runs_each_node_once,
    b76_steps_that_write_nothing,
    b80_a_dropped_stream_leaves_nothing_behind,
);

/// All events; the last may be an error.
async fn collect(mut stream: RunStream<Trail>) -> (Vec<Event<Trail>>, Option<superstep::RunError>) {
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(event) => events.push(event),
            Err(error) => {
                assert!(stream.next().await.is_none(), "an error is the end");
                return (events, Some(error));
            }
        }
    }
    (events, None)
}

#[tokio::test]
async fn b28_events_of_failed_attempts_can_be_told_apart() {
    let retry = RetryPolicy::attempts(3).initial_interval(Duration::from_millis(1)).jitter(Jitter::None);
    let graph = StateGraph::<Trail>::new()
        .node_with(
            "flaky",
            async |rt: Runtime| -> NodeResult<_> {
                rt.emit("x")?;
                if rt.attempt() < 3 { Err(NodeError::msg("down")) } else { Ok(said("up")) }
            },
            NodeOptions::new().retry(retry),
        )
        .edge(START, "flaky")
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    let config = RunConfig::thread("t").stream_modes([StreamMode::Custom]);
    let (events, error) = collect(graph.stream(TrailUpdate::new(), config)).await;
    assert!(error.is_none());
    let custom = events.iter().filter_map(|event| match event {
        Event::Custom(custom) => Some(custom),
        _ => None,
    });
    let seen: Vec<_> = custom.map(|event| (event.attempt, event.value.as_str().unwrap(), event.task)).collect();
    assert_eq!(seen.iter().map(|(attempt, ..)| *attempt).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(seen.iter().all(|(_, value, task)| *value == "x" && *task == seen[0].2));
}

async fn b30_several_failures_are_one_end(store: Store) {
    let mut graph = StateGraph::<Trail>::new();
    for name in ["b", "c", "a"] {
        graph = graph.node(name, move || async move { Err::<(), _>(NodeError::msg(format!("no {name}"))) });
        graph = graph.edge(START, name);
    }
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    let (events, error) = collect(graph.stream(TrailUpdate::new(), RunConfig::thread("t").stream_modes(MODES))).await;
    assert!(!events.iter().any(|event| matches!(event, Event::Ended(_))));
    let error = error.unwrap();
    let RunErrorKind::Node { failures } = error.kind() else { panic!("{error}") };
    let told: Vec<_> = failures.iter().map(|failure| format!("{}: {}", failure.node, failure.error)).collect();
    assert_eq!(told, ["a: no a", "b: no b", "c: no c"]);
    let snapshot = graph.state("t").await.unwrap();
    assert_eq!(snapshot.tasks.iter().filter(|task| task.error.is_some()).count(), 3);
}

async fn b32_each_mode_runs_each_node_once(store: Store) {
    let handle = store.open().await;
    for (number, modes) in MODES.map(|mode| vec![mode]).into_iter().chain([MODES.to_vec()]).enumerate() {
        let entries = Entries::default();
        let counted = entries.clone();
        let graph = StateGraph::<Trail>::new()
            .node("talk", move |rt: Runtime| {
                let count = counted.enter("talk");
                async move {
                    let tokens = ["to", "ke", "ns"].map(|token| format!("{token}{count}"));
                    tokens.iter().try_for_each(|token| rt.emit(token))?;
                    Ok::<_, NodeError>(said(tokens.concat()))
                }
            })
            .edge(START, "talk")
            .checkpointer(Arc::clone(&handle))
            .compile()
            .unwrap();
        let config = || RunConfig::thread(number.to_string()).stream_modes(modes.clone());
        let (events, error) = collect(graph.stream(TrailUpdate::new(), config())).await;
        assert!(error.is_none());
        assert_eq!(entries.of("talk"), 1, "{modes:?}");
        let stored = graph.state(config()).await.unwrap().state.told();
        assert_eq!(stored, "to1ke1ns1");
        let tokens = events.iter().filter_map(|event| match event {
            Event::Custom(custom) => custom.value.as_str(),
            _ => None,
        });
        let heard: String = tokens.collect();
        assert_eq!(heard, if modes.contains(&StreamMode::Custom) { stored } else { String::new() });
    }
}

/// `Updates` shows every task that finished, `Values` the state after each step that wrote something: so a node that
/// returns no update is in the one and not in the other, as both say.
async fn b76_steps_that_write_nothing(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("a", says("a"))
        .node("mid", async || {})
        .node("b", says("b"))
        .edge(START, "a")
        .edge("a", "mid")
        .edge("mid", "b")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let seen = async |mode| {
        let config = RunConfig::thread(format!("{mode:?}")).stream_modes([mode]);
        let (events, _) = collect(graph.stream(said("in"), config)).await;
        let told = events.iter().map(|event| match event {
            Event::Values { state, .. } | Event::Checkpoint { state, .. } => state.told(),
            Event::Update { task, .. } => task.node.to_string(),
            _ => "end".to_owned(),
        });
        told.collect::<Vec<_>>().join(", ")
    };
    assert_eq!(seen(StreamMode::Updates).await, "a, mid, b, end");
    assert_eq!(seen(StreamMode::Values).await, "in, in a, in a b, end");
    assert_eq!(seen(StreamMode::Checkpoints).await, ", in, in a, in a, in a b, end");
}

/// Counts the futures of nodes that are alive.
struct Alive(Arc<AtomicUsize>);

impl Alive {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(count))
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn b80_a_dropped_stream_leaves_nothing_behind(store: Store) {
    let alive = Arc::new(AtomicUsize::new(0));
    let living = Arc::clone(&alive);
    let graph = StateGraph::<Trail>::new()
        .node("a", says("a"))
        .node("ask", async |rt: Runtime| -> NodeResult<_> { Ok(said(rt.interrupt::<String>("?")?)) })
        .node("slow", move |s: Arc<Trail>| {
            let alive = Alive::new(&living);
            async move {
                if s.answer.is_none() {
                    std::future::pending::<()>().await;
                }
                drop(alive);
                said("slow")
            }
        })
        .node("slow too", says("slow too"))
        .edge(START, "a")
        .edge("a", "ask")
        .edge("ask", "slow")
        .edge("ask", "slow too")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();

    // At the first event.
    let config = || RunConfig::thread("t").stream_modes(MODES);
    let mut stream = graph.stream(TrailUpdate::new(), config());
    stream.next().await.unwrap().unwrap();
    drop(stream);
    assert_eq!(graph.invoke((), "t").await.pause().state().told(), "a", "it goes on from where it was");

    // At the question: whoever reads does not wait for the end.
    let mut stream = graph.stream((), config());
    while !matches!(stream.next().await.unwrap().unwrap(), Event::Interrupted { .. }) {}
    drop(stream);
    let question = graph.state("t").await.unwrap().interrupts[0].clone();

    // While one node hangs and its sibling has finished.
    let mut stream = graph.stream(question.answer("x"), config());
    while !matches!(stream.next().await.unwrap().unwrap(), Event::Update { task, .. } if task.node == "slow too") {}
    assert_eq!(alive.load(Ordering::SeqCst), 1);
    drop(stream);
    while alive.load(Ordering::SeqCst) > 0 {
        tokio::task::yield_now().await; // an aborted task is dropped at its next turn
    }
    assert_eq!(graph.state("t").await.unwrap().next, ["slow"]);
    let told = superstep::Command::new().update(TrailUpdate::new().answer("go".to_owned()));
    assert_eq!(graph.invoke(told, "t").await.done().told(), "a x slow slow too");
}
