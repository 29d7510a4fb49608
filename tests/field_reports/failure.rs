//! Nodes that fail, and calls that go on after it.

use std::sync::Arc;

use superstep::checkpoint::{At, Status, ThreadKey};
use superstep::{
    Checkpointer, CompiledGraph, Context, Durability, END, Event, HistoryQuery, NodeError, NodeResult, Outcome,
    RunConfig, Runtime, START, StreamMode, ThreadId,
};

use crate::scene::{
    DURABILITIES, Notes, NotesUpdate, Place, Visits, done, failed_nodes, fails_once, held, input, list, named, over,
    process,
};

on_every_store!(
    b16_a_failed_node_and_what_follows_it_is_still_to_do,
    b23_a_failure_that_was_mended_is_seen_in_the_history_alone,
    b67_a_finished_sibling_does_not_run_again,
    b143_a_failure_waits_for_siblings_and_keeps_what_they_finished,
);

/// `a → b → c` and `d` beside them; `b` fails once.
fn b16_a_failed_node_and_what_follows_it_is_still_to_do(place: &Place) {
    let visits = Visits::default();
    let graph = |store: Arc<dyn Checkpointer>| {
        let graph = over(store, &visits).node("a", named).node("b", fails_once).node("c", named).node("d", named);
        let graph = graph.edge(START, "a").edge("a", "b").edge("b", "c").edge("c", END);
        graph.edge(START, "d").edge("d", END).compile().unwrap()
    };
    process(async {
        let graph = graph(place.open().await);
        assert_eq!(failed_nodes(graph.invoke(input(), "t").await), ["b"]);
        assert_eq!(graph.state("t").await.unwrap().next, ["b"]);
    });
    process(async { assert_eq!(done(graph(place.open().await).invoke((), "t").await), ["a", "d", "b", "c"]) });
    assert_eq!(["a", "b", "c", "d"].map(|node| visits.of(node)), [1, 2, 1, 1]);
}

fn b23_a_failure_that_was_mended_is_seen_in_the_history_alone(place: &Place) {
    let visits = Visits::default();
    let graph = |store: Arc<dyn Checkpointer>| {
        let graph = over(store, &visits).node("a", named).node("b", fails_once);
        graph.edge(START, "a").edge("a", "b").edge("b", END).compile().unwrap()
    };
    process(async {
        let store = place.open().await;
        let graph = graph(store.clone());
        graph.invoke(input(), "t").await.unwrap_err();
        assert_eq!(status(&store).await, Status::Failed);
        let seen = graph.state("t").await.unwrap();
        assert_eq!(seen.tasks[0].error.as_deref(), Some("not yet"));
    });
    process(async {
        let store = place.open().await;
        let graph = graph(store.clone());
        let mut stream = graph.stream((), RunConfig::thread("t").stream_modes([StreamMode::Updates]));
        let mut last = None;
        while let Some(event) = stream.next().await {
            last = Some(event.unwrap());
        }
        assert!(matches!(last, Some(Event::Ended(outcome)) if matches!(*outcome, Outcome::Done(_))));
        assert_eq!(status(&store).await, Status::Done);
        let seen = graph.state("t").await.unwrap();
        assert!(seen.tasks.is_empty() && seen.next.is_empty());
        let history = graph.history("t", HistoryQuery::all()).await.unwrap();
        let errors: Vec<_> = history.iter().flat_map(|snapshot| &snapshot.tasks).map(|task| &task.error).collect();
        assert_eq!(errors.iter().filter(|error| error.is_some()).count(), 1);
    });
}

async fn status(store: &Arc<dyn Checkpointer>) -> Status {
    let key = ThreadKey { tenant: store.tenant_id(), thread: ThreadId::new("t").unwrap() };
    store.get(&key.root(), At::Head).await.unwrap().thread.unwrap().status
}

/// `(fast, flaky) => join`; `flaky` fails after `fast` has returned.
fn b67_a_finished_sibling_does_not_run_again(place: &Place) {
    /// The first time it fails when it is let go, later it succeeds.
    async fn flaky(rt: Runtime, visits: Context<Visits>) -> NodeResult<NotesUpdate> {
        let first = visits.of("flaky") == 0;
        let update = held(rt, visits).await;
        if first { Err(NodeError::msg("not yet")) } else { Ok(update) }
    }

    async fn fast(rt: Runtime, visits: Context<Visits>) -> NotesUpdate {
        visits.note(&rt);
        visits.let_go();
        list("fast")
    }

    for durability in DURABILITIES {
        let visits = Visits::default();
        place.clear();
        let graph = |store: Arc<dyn Checkpointer>| {
            let graph = over(store, &visits).node("fast", fast).node("flaky", flaky).node("join", named);
            let graph = graph.edge(START, "fast").edge(START, "flaky").waiting_edge(["fast", "flaky"], "join");
            graph.edge("join", END).compile().unwrap()
        };
        let config = || RunConfig::thread("t").durability(durability);
        process(async {
            assert_eq!(failed_nodes(graph(place.open().await).invoke(input(), config()).await), ["flaky"]);
        });
        visits.let_go();
        process(async {
            let end = done(graph(place.open().await).invoke((), config()).await);
            assert_eq!(end, ["fast", "flaky", "join"]);
        });
        assert_eq!(["fast", "flaky", "join"].map(|node| visits.of(node)), [1, 2, 1], "{durability:?}");
    }
}

/// The rule, unless another is chosen: siblings of a failed node run to their end, and what they finished is stored
/// before the error is returned.
fn b143_a_failure_waits_for_siblings_and_keeps_what_they_finished(place: &Place) {
    let visits = Visits::default();
    let graph = |store: Arc<dyn Checkpointer>| -> CompiledGraph<Notes> {
        let graph = over(store, &visits).node("a", fails_once).node("b", held);
        graph.edge(START, "a").edge(START, "b").edge("a", END).edge("b", END).compile().unwrap()
    };
    process(async {
        let graph = graph(place.open().await);
        let run = graph.invoke(input(), RunConfig::thread("t").durability(Durability::Sync));
        let (end, ()) = tokio::join!(run, async {
            visits.entered().await;
            visits.let_go();
        });
        assert_eq!(failed_nodes(end), ["a"]);
        assert_eq!(graph.state("t").await.unwrap().state.list, ["b"]);
    });
    process(async { assert_eq!(done(graph(place.open().await).invoke((), "t").await), ["a", "b"]) });
    assert_eq!((visits.of("a"), visits.of("b")), (2, 1));
}
