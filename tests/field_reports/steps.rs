//! What a step is: its writes, joins, limits, and how a call goes on.

use std::sync::Arc;
use std::time::Duration;

use superstep::{
    Command, CompiledGraph, END, HistoryQuery, Jitter, NodeError, NodeOptions, NodeResult, RetryPolicy, RunConfig,
    RunError, RunErrorKind, Runtime, START, StateGraph, Why,
};

use crate::on_each_store;
use crate::support::{Entries, Expected, Store, Trail, TrailUpdate, said, says};

on_each_store!(
    b129_two_writers_of_one_field_are_told_apart,
    b129_a_retried_node_counts_once,
    b131_a_join_that_waits_says_for_whom,
    b133_values_that_a_node_changes_without_an_update_do_not_count,
    b135_each_call_has_the_full_limit,
    b162_a_waiting_edge_waits_and_plain_edges_do_not,
    b165_going_on_and_a_new_turn,
    b166_a_jump_adds_to_the_edges,
    b167_the_limit_keeps_the_work,
);

fn answers(text: &'static str) -> impl Fn() -> std::future::Ready<TrailUpdate> + Send + Sync + 'static {
    move || std::future::ready(TrailUpdate::new().answer(text.to_owned()))
}

fn clash(error: &RunError) -> (&str, Vec<&str>) {
    let RunErrorKind::Clash(invalid) = error.kind() else { panic!("{error}") };
    assert_eq!(invalid.why, Why::Clash);
    (invalid.channel.as_str(), invalid.nodes.iter().map(superstep::NodeName::as_str).collect())
}

async fn b129_two_writers_of_one_field_are_told_apart(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("a", answers("a"))
        .node("b", answers("b"))
        .node("also", says("also"))
        .node("split", async || Command::<TrailUpdate>::send("a", 1).and_send("a", 2))
        .branch(START, |s: &Trail| if s.log.is_empty() { vec!["a", "b", "also"] } else { vec!["split"] })
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let error = graph.invoke(TrailUpdate::new(), "t").await.unwrap_err();
    assert_eq!(clash(&error), ("answer", vec!["a", "b"]));
    let left = graph.state("t").await.unwrap();
    assert_eq!(
        (left.state.answer.as_deref(), left.state.told().as_str()),
        (None, ""),
        "nothing of the step is applied"
    );
    assert_eq!(left.clash.as_ref().map(|clash| clash.channel.as_str()), Some("answer"));
    assert_eq!(clash(&graph.invoke((), "t").await.unwrap_err()).0, "answer", "going on says it again");
    graph.discard("t", left.tasks.iter().find(|task| task.node == "b").unwrap().id).await.unwrap();
    let done = graph.invoke((), "t").await.done();
    assert_eq!((done.answer.as_deref(), done.told().as_str()), (Some("a"), "also"));

    let error = graph.invoke(said("sends"), "sends").await.unwrap_err();
    assert_eq!(clash(&error), ("answer", vec!["a", "a"]), "two Sends to one node are two writers");
}

async fn b129_a_retried_node_counts_once(store: Store) {
    let retry = RetryPolicy::attempts(2).initial_interval(Duration::from_millis(1)).jitter(Jitter::None);
    let graph = StateGraph::<Trail>::new()
        .node_with("a", answers("a"), NodeOptions::new().retry(retry))
        .branch("a", {
            let entries = Entries::default();
            move |_: &Trail| if entries.enter("router") == 1 { Err(NodeError::msg("down")) } else { Ok(END) }
        })
        .edge(START, "a")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    assert_eq!(graph.invoke(TrailUpdate::new(), "t").await.done().answer.as_deref(), Some("a"));
}

async fn b131_a_join_that_waits_says_for_whom(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("s", says("s"))
        .node("a", says("a"))
        .node("b", says("b"))
        .node("c", says("c"))
        .edge(START, "s")
        .branch("s", |s: &Trail| if s.answer.is_some() { vec!["a", "b"] } else { vec!["a"] })
        .waiting_edge(["a", "b"], "c")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let outcome = graph.invoke(TrailUpdate::new(), "t").await.unwrap();
    let waiting = |edges: &[(superstep::NodeName, Vec<superstep::NodeName>)]| -> Vec<String> {
        edges.iter().map(|(to, missing)| format!("{to} waits for {missing:?}")).collect()
    };
    assert_eq!(waiting(outcome.waiting_edges()), [r#"c waits for ["b"]"#]);
    assert_eq!(outcome.into_done().unwrap().state().told(), "s a");
    assert_eq!(waiting(&graph.state("t").await.unwrap().waiting), [r#"c waits for ["b"]"#]);
    // A new turn begins anew: `b` alone does not complete what an earlier turn left half.
    let both = graph.invoke(TrailUpdate::new().answer("both".to_owned()), "t").await.unwrap();
    assert!(both.waiting_edges().is_empty());
    assert_eq!(both.state().told(), "s a s a b c");
}

async fn b133_values_that_a_node_changes_without_an_update_do_not_count(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("copies", async |mut s: Trail| s.log.push("changed".to_owned()))
        .node("shares", async |mut s: Arc<Trail>| Arc::make_mut(&mut s).log.push("changed".to_owned()))
        .node("reads", async |s: &Trail| said(s.told()))
        .edge(START, "copies")
        .edge("copies", "shares")
        .branch("shares", |mut s: Trail| {
            s.log.push("changed".to_owned());
            "reads"
        })
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    assert_eq!(graph.invoke(said("in"), "t").await.done().told(), "in in");
    let mut read = graph.state("t").await.unwrap().state;
    Arc::make_mut(&mut read).log.push("changed".to_owned());
    assert_eq!(graph.state("t").await.unwrap().state.told(), "in in");
    assert_eq!(graph.invoke(TrailUpdate::new(), "t").await.done().told(), "in in in in");
}

async fn b135_each_call_has_the_full_limit(store: Store) {
    let left = |rt: Runtime| std::future::ready(said(rt.remaining_steps().to_string()));
    let graph = StateGraph::<Trail>::new()
        .node("a", left)
        .node("b", left)
        .node("c", left)
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", "c")
        .limit(5)
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    for turn in 1..=10 {
        let done = graph.invoke(TrailUpdate::new(), "t").await.done();
        assert_eq!(done.log.len(), 3 * turn);
        assert_eq!(done.log[3 * turn - 3..].join(" "), "4 3 2");
    }
    // A call that goes on has the full limit as well.
    graph.invoke(TrailUpdate::new(), RunConfig::thread("u").interrupt_after("b")).await.unwrap();
    assert_eq!(graph.invoke((), "u").await.done().told(), "4 3 4");
    // Ending exactly at the limit is success.
    assert_eq!(graph.invoke(TrailUpdate::new(), RunConfig::thread("v").limit(3)).await.done().told(), "2 1 0");
}

async fn b162_a_waiting_edge_waits_and_plain_edges_do_not(store: Store) {
    let handle = store.open().await;
    let graph = |name: &str| {
        let mut graph = StateGraph::<Trail>::new().name(name).edge(START, "a").checkpointer(Arc::clone(&handle));
        for node in ["a", "b", "c1", "c2", "d"] {
            graph = graph.node(node, says(node));
        }
        graph.edge("a", "b").edge("a", "c1").edge("c1", "c2")
    };
    let waiting = graph("waiting").waiting_edge(["b", "c2"], "d").compile().unwrap();
    assert_eq!(waiting.invoke(TrailUpdate::new(), "waiting").await.done().told(), "a b c1 c2 d");
    let plain = graph("plain").edge("b", "d").edge("c2", "d").compile().unwrap();
    assert_eq!(plain.invoke(TrailUpdate::new(), "plain").await.done().told(), "a b c1 c2 d d");
}

/// `a`, `b` (fails the first time), `c`.
async fn flaky(store: &Store) -> CompiledGraph<Trail> {
    let entries = Entries::default();
    let b = move || {
        let first = entries.enter("b") == 1;
        async move { if first { Err(NodeError::msg("down")) } else { Ok(said("b")) } }
    };
    StateGraph::<Trail>::new()
        .node("a", says("a"))
        .node("b", b)
        .node("c", says("c"))
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", "c")
        .checkpointer(store.open().await)
        .compile()
        .unwrap()
}

async fn b165_going_on_and_a_new_turn(store: Store) {
    let graph = flaky(&store).await;
    graph.invoke(said("in"), "none").await.unwrap_err();
    assert_eq!(graph.invoke((), "none").await.done().told(), "in a b c", "no input: on from `b`");
    assert_eq!(graph.invoke((), "none").await.done().told(), "in a b c", "nothing is left to do");
    for (thread, input, told) in [("new", said("new"), "in a new a b c"), ("empty", TrailUpdate::new(), "in a a b c")] {
        let graph = flaky(&store).await;
        graph.invoke(said("in"), thread).await.unwrap_err();
        let outcome = graph.invoke(input, thread).await.unwrap();
        assert_eq!(outcome.state().told(), told, "an input, also an empty one: a new turn");
        let left: Vec<_> = outcome.abandoned().iter().map(|task| task.node.as_str()).collect();
        assert_eq!(left, ["b"], "what it left behind is said");
    }
}

async fn b166_a_jump_adds_to_the_edges(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("n", async || Command::goto("p").update(said("n")))
        .node("p", says("p"))
        .node("c", says("c"))
        .edge(START, "n")
        .edge("n", "p")
        .edge("n", "c")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    // Both edges are followed; the jump to `p` beside the edge to `p` does not run it twice.
    assert_eq!(graph.invoke(TrailUpdate::new(), "t").await.done().told(), "n c p");
    let only_edge = StateGraph::<Trail>::new()
        .name("one edge")
        .node("n", async || Command::goto("p").update(said("n")))
        .node("p", says("p"))
        .node("c", says("c"))
        .edge(START, "n")
        .edge("n", "c")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    assert_eq!(only_edge.invoke(TrailUpdate::new(), "u").await.done().told(), "n c p");
}

async fn b167_the_limit_keeps_the_work(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("n", async |s: &Trail| said((s.log.len() + 1).to_string()))
        .edge(START, "n")
        .edge("n", "n")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let config = |limit| RunConfig::thread("t").limit(limit);
    let error = graph.invoke(TrailUpdate::new(), config(10)).await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::OutOfSteps { limit: 10 }), "{error}");
    let stored = graph.state("t").await.unwrap();
    assert_eq!((stored.state.log.len(), stored.step.0, stored.next[0].as_str()), (10, 10, "n"));
    let error: NodeResult<(), RunError> = graph.invoke((), config(20)).await.map(drop);
    assert!(matches!(error.unwrap_err().kind(), RunErrorKind::OutOfSteps { limit: 20 }));
    let stored = graph.state("t").await.unwrap().state.log.clone();
    assert_eq!(stored, (1..=30).map(|n| n.to_string()).collect::<Vec<_>>());
    assert_eq!(graph.history("t", HistoryQuery::all()).await.unwrap().len(), 32);
}
