//! What is refused, and that nothing is stored then.

use serde_json::json;
use superstep::checkpoint::{At, ThreadKey};
use superstep::{
    CheckpointId, Checkpointer, Command, CompiledGraph, HistoryQuery, Memory, NoStore, NodeResult, ReadError,
    RunConfig, RunErrorKind, Runtime, START, Sqlite, StateGraph, StoreErrorKind,
};
use superstep_checkpoint_testkit::{Fault, Faulty};

use crate::on_each_store;
use crate::support::{Entries, Expected, Store, Trail, TrailUpdate, said, says};

on_each_store!(
    b149_keys_of_a_filter_are_data,
    b155_a_deleted_thread_is_gone,
    b161_a_store_that_cannot_be_reached_is_an_error,
    b163_empty_ids_are_refused,
);

fn simple(store: impl Checkpointer) -> CompiledGraph<Trail> {
    StateGraph::<Trail>::new().node("a", says("a")).edge(START, "a").checkpointer(store).compile().unwrap()
}

async fn b149_keys_of_a_filter_are_data(store: Store) {
    let graph = simple(store.open().await);
    graph.invoke(said("mine"), RunConfig::thread("mine").metadata("user", "ann")).await.done();
    graph.invoke(said("theirs"), RunConfig::thread("theirs").metadata("user", "bob")).await.done();
    let long = "k".repeat(10_000);
    let odd = ["a') OR 1=1 --", "user' OR 'a'='a", "\"", "a.b", "$.user", "$", "", "user\0", "[0]", "é", &long];
    for key in odd {
        let found = graph.history("mine", HistoryQuery::all().metadata(key, "ann")).await.unwrap();
        assert!(found.is_empty(), "{key}");
        // The same text as a key of one's own is found, and only there.
        graph.invoke(said("odd"), RunConfig::thread("mine").metadata(key, "x' OR 1=1")).await.done();
        let query = || HistoryQuery::all().metadata(key, "x' OR 1=1");
        let found = graph.history("mine", query()).await.unwrap();
        assert!(!found.is_empty() && found.iter().all(|found| found.metadata.contains_key(key)), "{key}");
        assert!(graph.history("theirs", query()).await.unwrap().is_empty());
    }
    let bob = graph.history("mine", HistoryQuery::all().metadata("user", "bob")).await.unwrap();
    assert!(bob.is_empty(), "rows of other threads never appear");
}

async fn b155_a_deleted_thread_is_gone(store: Store) {
    let handle = store.open().await;
    let graph = StateGraph::<Trail>::new()
        .node("ask", async |rt: Runtime| -> NodeResult<()> { rt.interrupt::<bool>("kept?").map(drop) })
        .node("fail", async || Err::<(), _>(std::io::Error::other("down")))
        .node("fine", says("fine"))
        .edge(START, "ask")
        .edge(START, "fail")
        .edge(START, "fine")
        .checkpointer(handle.clone())
        .compile()
        .unwrap();
    let error = graph.invoke(said("secret"), "t").await.unwrap_err();
    let (question, checkpoint) = (error.interrupts()[0].clone(), error.checkpoint().unwrap());
    graph.invoke(said("other"), "other").await.unwrap_err();
    for _ in 0..2 {
        graph.delete_thread("t").await.unwrap(); // again is no error
        let key = ThreadKey { tenant: handle.tenant_id(), thread: "t".try_into().unwrap() }.root();
        for at in [At::Head, At::Id(checkpoint), At::Question(question.id)] {
            let view = handle.get(&key, at).await.unwrap();
            assert!(view.found.is_none() && view.namespace.is_none());
            let row = view.thread.unwrap();
            assert!(row.deleted && row.next.is_empty() && row.owner.is_none() && row.graph.is_empty(), "{row:?}");
        }
        assert!(graph.history("t", HistoryQuery::all()).await.unwrap().is_empty());
        assert!(matches!(graph.state("t").await.unwrap_err(), ReadError::UnknownThread { .. }));
    }
    graph.delete_thread("unknown").await.unwrap();
    let error = graph.invoke(question.answer(true), "t").await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::NothingToResume | RunErrorKind::UnknownQuestion(_)), "{error}");
    assert_eq!(graph.state("other").await.unwrap().tasks.len(), 3, "other threads stay");
    // The id may be used again, and its questions are others than before.
    let again = graph.invoke(said("again"), "t").await.unwrap_err();
    assert_eq!(graph.state("t").await.unwrap().state.told(), "again fine");
    assert_ne!(again.interrupts()[0].id, question.id);
}

async fn b161_a_store_that_cannot_be_reached_is_an_error(store: Store) {
    let (entries, inner) = (Entries::default(), store.open().await);
    for call in 1..=2 {
        let faulty = Faulty::new(inner.clone()).on_call(call, Fault::Before(StoreErrorKind::Connection));
        let graph = StateGraph::<Trail>::new().node("a", entries.says("a")).edge(START, "a");
        let graph = graph.checkpointer(faulty).compile().unwrap();
        let error = graph.invoke(TrailUpdate::new(), "t").await.unwrap_err();
        let RunErrorKind::Store(fault) = error.kind() else { panic!("{error}") };
        assert_eq!((fault.kind(), error.is_retryable()), (StoreErrorKind::Connection, true));
        assert_eq!(entries.of("a"), 0, "it does not go on without a store");
        let error = simple(Faulty::new(inner.clone()).on_call(1, Fault::Before(StoreErrorKind::Connection)));
        assert!(matches!(error.state("t").await.unwrap_err(), ReadError::Store(_)));
    }
}

#[tokio::test]
async fn b161_what_is_no_store_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let notes = folder.path().join("notes.txt");
    std::fs::write(&notes, "not a database, but long enough to have a header ".repeat(40)).unwrap();
    assert_eq!(Sqlite::open(folder.path()).await.unwrap_err().kind(), StoreErrorKind::Denied);
    assert_eq!(Sqlite::open(folder.path().join("no/such/t.db")).await.unwrap_err().kind(), StoreErrorKind::Denied);
    assert_eq!(Sqlite::open(&notes).await.unwrap_err().kind(), StoreErrorKind::NotOurs);
    assert!(std::fs::read_to_string(&notes).unwrap().starts_with("not a database"));
}

async fn b163_empty_ids_are_refused(store: Store) {
    let graph = simple(store.open().await);
    let refused = |kind: &RunErrorKind| matches!(kind, RunErrorKind::InvalidName(_));
    assert!(refused(graph.invoke(said("x"), "").await.unwrap_err().kind()));
    assert!(refused(graph.invoke((), "").await.unwrap_err().kind()));
    assert!(refused(graph.invoke(Command::resume(1), "").await.unwrap_err().kind()));
    assert!(refused(graph.update_state("", said("x")).await.unwrap_err().kind()));
    assert!(refused(graph.fork("", CheckpointId::from_bytes([1; 16])).await.unwrap_err().kind()));
    assert!(matches!(graph.state("").await.unwrap_err(), ReadError::InvalidName(_)));
    assert!(matches!(graph.history("", HistoryQuery::all()).await.unwrap_err(), ReadError::InvalidName(_)));
    assert!(matches!(graph.delete_thread("").await.unwrap_err(), ReadError::InvalidName(_)));
    assert!(CheckpointId::parse("").is_err() && serde_json::from_value::<CheckpointId>(json!("")).is_err());
}

#[tokio::test]
async fn b164_a_pause_without_a_store_is_refused() {
    let ask = async |rt: Runtime| -> NodeResult<()> { rt.interrupt::<bool>("?").map(drop) };
    let asking = StateGraph::<Trail>::new().node("ask", ask).edge(START, "ask").compile().unwrap();
    let error = asking.invoke(TrailUpdate::new(), ()).await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::NoStore(NoStore::Interrupt)), "{error}");
    assert!(error.to_string().contains("give the graph a store"), "{error}");

    // Stops by choice are refused before anything runs.
    let entries = Entries::default();
    let stopping = |graph: StateGraph<Trail>| graph.node("a", entries.says("a")).edge(START, "a").compile().unwrap();
    let before = stopping(StateGraph::new().interrupt_before("a"));
    let after = stopping(StateGraph::new().interrupt_after("a").checkpointer(Memory::new()));
    for graph in [before, after] {
        let error = graph.invoke(TrailUpdate::new(), ()).await.unwrap_err();
        assert!(matches!(error.kind(), RunErrorKind::NoStore(NoStore::Pause)), "{error}");
        assert!(error.to_string().contains("name a thread"), "{error}");
    }
    assert_eq!(entries.of("a"), 0);
    let no_stops = RunConfig::new().interrupt_before(Vec::<String>::new());
    let graph = stopping(StateGraph::new().interrupt_before("a"));
    assert_eq!(graph.invoke(TrailUpdate::new(), no_stops).await.done().told(), "a");
}
