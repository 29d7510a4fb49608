//! Files written by each version still open and resume. To write the file of this version:
//! `WRITE_FIXTURE=1 cargo test --test field_reports b91`.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use superstep::{
    Arg, Checkpointer, Command, CompiledGraph, Dispatch, END, HistoryQuery, NodeError, NodeResult, RunConfig, Runtime,
    START, Sqlite, StateGraph,
};

use crate::support::{Expected, Trail, TrailUpdate, said, says};

fn file(version: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/field_reports/threads-{version}.db"))
}

#[derive(Serialize, Deserialize)]
struct Parcel {
    weight: u64,
}

/// The graph as it was when the file was written, and stays. `up` says whether what `flaky` needs is there.
fn graph(store: impl Checkpointer, up: bool) -> CompiledGraph<Trail> {
    StateGraph::<Trail>::new()
        .name("fixture")
        .node("a", says("a"))
        .node("ask", async |rt: Runtime| -> NodeResult<_> {
            let name: String = rt.interrupt("name?")?;
            let sure: bool = rt.interrupt_as("sure", "sure?")?;
            Ok(said(format!("{name}:{sure}")))
        })
        .node("weigh", async |Arg(parcel): Arg<Parcel>| TrailUpdate::new().count(parcel.weight))
        .node("flaky", move || std::future::ready(if up { Ok(said("up")) } else { Err(NodeError::msg("down")) }))
        .node("joined", says("joined"))
        .edge(START, "a")
        .branch("a", |s: &Trail| match s.answer.as_deref() {
            Some("ask") => vec![Dispatch::to("ask", ())],
            Some("sends") => [1, 20, 300].map(|weight| Dispatch::to("weigh", Parcel { weight })).into(),
            _ => Vec::new(),
        })
        .branch("a", |s: &Trail| match s.answer.as_deref() {
            Some("join") => vec!["flaky", "b"],
            _ => vec![END],
        })
        .node("b", says("b"))
        .waiting_edge(["a", "b", "flaky"], "joined")
        .checkpointer(store)
        .compile()
        .unwrap()
}

fn kind(kind: &str) -> TrailUpdate {
    said("in").answer(kind.to_owned())
}

async fn write(file: &Path) {
    let store = Sqlite::open(file).await.unwrap();
    let graph = graph(store.clone(), false);
    graph.invoke(kind("nothing"), "finished").await.done();
    let pause = graph.invoke(kind("ask"), "paused").await.pause();
    graph.invoke(pause.answer("Ann"), "paused").await.pause();
    graph.invoke(kind("sends"), RunConfig::thread("sends").interrupt_before("weigh")).await.unwrap();
    graph.invoke(kind("join"), "failed").await.unwrap_err();
    store.close().await;
}

#[tokio::test]
async fn b91_threads_of_this_version_resume() {
    let path = file("0.1");
    if std::env::var_os("WRITE_FIXTURE").is_some() {
        let _ = std::fs::remove_file(&path); // it need not be there
        write(&path).await;
    }
    assert!(path.metadata().unwrap().len() < 100_000);
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("threads.db");
    std::fs::copy(&path, &copy).unwrap();
    resume(&copy).await;
}

/// The same graph, written by the code under test: what is stored has not changed its meaning.
#[tokio::test]
async fn b91_threads_written_now_resume() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("threads.db");
    write(&path).await;
    resume(&path).await;
}

async fn resume(file: &Path) {
    let graph = graph(Sqlite::open(file).await.unwrap(), true);
    let finished = graph.state("finished").await.unwrap();
    assert_eq!((finished.state.told().as_str(), finished.next.len()), ("in a", 0));
    assert_eq!(graph.invoke((), "finished").await.done().told(), "in a");
    assert_eq!(graph.invoke(said("again"), "finished").await.done().told(), "in a again a");

    let paused = graph.state("paused").await.unwrap();
    let [open] = &paused.interrupts[..] else { panic!("one question is open") };
    assert_eq!(*open.payload, "sure?");
    assert_eq!(graph.invoke(open.answer(true), "paused").await.done().told(), "in a Ann:true");

    let sends = graph.state("sends").await.unwrap();
    assert_eq!(sends.next, ["weigh", "weigh", "weigh"]);
    assert_eq!(graph.invoke((), "sends").await.done().count, 321);

    let failed = graph.state("failed").await.unwrap();
    let flaky = failed.tasks.iter().find(|task| task.node == "flaky").unwrap();
    assert_eq!((flaky.error.as_deref(), failed.next.as_slice()), (Some("down"), &["flaky".try_into().unwrap()][..]));
    assert_eq!(graph.invoke((), "failed").await.done().told(), "in a b up joined");

    for thread in ["finished", "paused", "sends", "failed"] {
        let history = graph.history(thread, HistoryQuery::all()).await.unwrap();
        assert_eq!(history.last().unwrap().step.0, -1);
        let first = history.iter().rev().nth(2).unwrap();
        let replay = RunConfig::thread(thread).at(first.checkpoint).interrupt_before(["ask", "weigh", "flaky"]);
        graph.invoke(Command::<TrailUpdate>::new(), replay).await.unwrap();
    }
}
