//! Calls by name, graphs that share a store, stores that keep too little.

use superstep::checkpoint::{
    At, Commit, CommitError, ListQuery, NamespaceKey, StoreInstance, StoredCheckpoint, ThreadKey, View,
};
use superstep::{
    Checkpointer, Command, CompiledGraph, Durability, Durable, Guarantees, HistoryQuery, Memory, NodeResult, ReadError,
    RunConfig, RunErrorKind, Runtime, START, StateGraph, StoreError,
};
use superstep_checkpoint_testkit::Recording;

use crate::on_each_store;
use crate::support::{Entries, Expected, Store, Trail, TrailUpdate, said};

on_each_store!(
    a_run_id_with_the_same_input_returns_the_stored_outcome,
    a_run_id_with_the_same_input_goes_on,
    a_run_id_with_another_input_is_refused,
    a_thread_of_another_graph_is_refused,
);

/// `a`, then `b`, which fails the first time.
fn flaky(store: impl Checkpointer, entries: &Entries) -> CompiledGraph<Trail> {
    let counted = entries.clone();
    StateGraph::<Trail>::new()
        .node("a", entries.says("a"))
        .node("b", move || {
            let first = counted.enter("b") == 1;
            async move { if first { Err(std::io::Error::other("down")) } else { Ok(said("b")) } }
        })
        .edge(START, "a")
        .edge("a", "b")
        .checkpointer(store)
        .compile()
        .unwrap()
}

fn named(run: &str) -> RunConfig {
    RunConfig::thread("t").run_id(run)
}

async fn a_run_id_with_the_same_input_goes_on(store: Store) {
    let entries = Entries::default();
    let graph = flaky(store.open().await, &entries);
    graph.invoke(said("in"), named("r")).await.unwrap_err();
    let graph = flaky(store.open().await, &entries);
    assert_eq!(graph.invoke(said("in"), named("r")).await.done().told(), "in a b");
    assert_eq!(entries.told(), "a1 b2");
}

async fn a_run_id_with_the_same_input_returns_the_stored_outcome(store: Store) {
    let entries = Entries::default();
    entries.enter("b"); // so that it does not fail
    let recorded = Recording::new(store.open().await);
    let graph = flaky(recorded.clone(), &entries);
    let first = graph.invoke(said("one"), named("r")).await.unwrap();
    recorded.take();
    let again = graph.invoke(said("one"), named("r")).await.unwrap();
    assert_eq!((again.state(), again.checkpoint()), (first.state(), first.checkpoint()));
    assert_eq!((recorded.counts().commits, entries.told().as_str()), (0, "a1 b2"));
    // A later turn does not change what the first one came to.
    assert_eq!(graph.invoke(said("two"), named("s")).await.done().told(), "one a b two a b");
    let again = graph.invoke(said("one"), named("r")).await.unwrap();
    assert_eq!((again.state().told().as_str(), again.checkpoint()), ("one a b", first.checkpoint()));
    assert_eq!(entries.told(), "a2 b3");
}

async fn a_run_id_with_another_input_is_refused(store: Store) {
    let entries = Entries::default();
    entries.enter("b");
    let graph = flaky(store.open().await, &entries);
    graph.invoke(said("one"), named("r")).await.done();
    let reused = |kind: &RunErrorKind| matches!(kind, RunErrorKind::RunIdReused(run) if run == "r");
    assert!(reused(graph.invoke(said("two"), named("r")).await.unwrap_err().kind()));
    graph.invoke(said("two"), "t").await.done();
    assert!(
        reused(graph.invoke(said("two"), named("r")).await.unwrap_err().kind()),
        "also once it is no longer the head"
    );
    assert_eq!(graph.state("t").await.unwrap().state.told(), "one a b two a b");
    let other_thread = RunConfig::thread("u").run_id("r");
    assert_eq!(
        graph.invoke(said("two"), other_thread).await.done().told(),
        "two a b",
        "run ids belong to their thread"
    );
}

async fn a_thread_of_another_graph_is_refused(store: Store) {
    let graph = |name: &str, handle| {
        StateGraph::<Trail>::new()
            .name(name)
            .node("ask", async |rt: Runtime| -> NodeResult<_> { Ok(said(rt.interrupt::<String>("?")?)) })
            .edge(START, "ask")
            .checkpointer(handle)
            .compile()
            .unwrap()
    };
    let (ours, theirs) = (graph("refunds", store.open().await), graph("orders", store.open().await));
    let pause = ours.invoke(TrailUpdate::new(), "t").await.pause();
    let foreign = |kind: &RunErrorKind| matches!(kind, RunErrorKind::OtherGraph { ours, theirs } if ours == "orders" && theirs == "refunds");
    assert!(foreign(theirs.invoke(said("x"), "t").await.unwrap_err().kind()));
    assert!(foreign(theirs.invoke((), "t").await.unwrap_err().kind()));
    assert!(foreign(theirs.invoke(pause.answer("x"), "t").await.unwrap_err().kind()));
    assert!(foreign(theirs.invoke(Command::resume("x"), "t").await.unwrap_err().kind()));
    assert!(foreign(theirs.update_state("t", said("x")).await.unwrap_err().kind()));
    assert!(foreign(theirs.fork("t", pause.checkpoint().unwrap()).await.unwrap_err().kind()));
    assert!(matches!(theirs.state("t").await.unwrap_err(), ReadError::OtherGraph { .. }));
    let listed = theirs.history("t", HistoryQuery::all()).await.unwrap_err();
    assert!(matches!(listed, ReadError::OtherGraph { .. }));
    assert_eq!(ours.invoke(pause.answer("ours"), "t").await.done().told(), "ours", "the thread is untouched");
}

// ---------------------------------------------------------------- stores that keep too little

/// A store that forgets everything when the process ends, and does not say so in its name.
#[derive(Debug)]
struct Forgetful(Memory);

#[async_trait::async_trait]
impl Checkpointer for Forgetful {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
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
        Guarantees::new("a cache without persistence", Durable::Process)
    }
    fn instance(&self) -> StoreInstance {
        self.0.instance()
    }
}

#[tokio::test]
async fn sync_on_a_store_that_keeps_nothing_is_refused() {
    let graph = StateGraph::<Trail>::new().node("a", async || said("a")).edge(START, "a");
    let graph = graph.checkpointer(Forgetful(Memory::new())).compile().unwrap();
    let error = graph.invoke(TrailUpdate::new(), "t").await.unwrap_err();
    let RunErrorKind::VolatileStore { store } = error.kind() else { panic!("{error}") };
    assert_eq!(store, "a cache without persistence");
    assert!(matches!(graph.state("t").await.unwrap_err(), ReadError::UnknownThread { .. }));
    for durability in [Durability::Async, Durability::Exit] {
        let config = RunConfig::thread(format!("{durability:?}")).durability(durability);
        graph.invoke(TrailUpdate::new(), config).await.done();
    }
    let memory = StateGraph::<Trail>::new().node("a", async || said("a")).edge(START, "a");
    memory.checkpointer(Memory::new()).compile().unwrap().invoke(said("x"), "t").await.done();
}
