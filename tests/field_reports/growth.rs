//! What a long thread takes.

use superstep::{CompiledGraph, END, HistoryQuery, RunConfig, START, StateGraph};
use superstep_checkpoint_testkit::Recording;

use crate::on_each_store;
use crate::support::{Expected, Store, Trail, TrailUpdate};

on_each_store!(b112_listing_takes_one_call_whatever_the_limit, b113_what_does_not_change_is_stored_once);

fn counting(store: impl superstep::Checkpointer, to: u64) -> CompiledGraph<Trail> {
    StateGraph::<Trail>::new()
        .node("step", async || TrailUpdate::new().count(1))
        .edge(START, "step")
        .branch("step", move |s: &Trail| if s.count < to { "step" } else { END })
        .checkpointer(store)
        .compile()
        .unwrap()
}

/// A call to the `SQLite` store is one statement; so calls are counted.
async fn b112_listing_takes_one_call_whatever_the_limit(store: Store) {
    let store = Recording::new(store.open().await);
    let graph = counting(store.clone(), 100);
    graph.invoke(TrailUpdate::new(), RunConfig::thread("t")).await.done();
    store.take();
    for limit in [10, 100] {
        let listed = graph.history("t", HistoryQuery::all().limit(limit)).await.unwrap();
        assert!(listed.len() == limit && listed[1].tasks[0].result.is_some(), "with what their tasks wrote");
        let counts = store.counts();
        assert_eq!((counts.lists, counts.gets), (1, 0));
        store.take();
    }
    graph.state("t").await.unwrap();
    assert_eq!(store.counts().round_trips(), 1);
}

async fn b113_what_does_not_change_is_stored_once(store: Store) {
    let recorded = Recording::new(store.open().await);
    let graph = counting(recorded.clone(), 100);
    graph.invoke(TrailUpdate::new().answer("x".repeat(1_000_000)), "t").await.done();
    let bytes = recorded.counts().bytes();
    assert!(bytes < 2_100_000, "{bytes} bytes: once as the input, once as the state");
    if let Some(file) = store.file() {
        let log = file.with_extension("db-wal");
        let size = file.metadata().unwrap().len() + log.metadata().map_or(0, |log| log.len());
        assert!(size < 8_000_000, "{size} bytes on the disk");
    }
}
