//! Two processes that give one thread input after input, each again and again until it is taken: whatever the order in
//! which they meet, each input is there once.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{
    Checkpointer, CompiledGraph, Durability, END, RunConfig, RunErrorKind, START, Sqlite, State, StateGraph, WhenBusy,
};
use tokio::task::JoinSet;

use crate::children::{Process, hear, orders, say};
use crate::history::{Steps, line};

const THREAD: &str = "anvil";
const PROCESSES: u32 = 2;
const TASKS: u32 = 3;
const INPUTS: u32 = 25;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Anvil {
    input: u32,
    #[reducer(append)]
    list: Vec<u32>,
}

async fn work(state: &Anvil) -> AnvilUpdate {
    AnvilUpdate::new().list([state.input])
}

fn graph(store: impl Checkpointer) -> CompiledGraph<Anvil> {
    StateGraph::<Anvil>::new()
        .node("work", work)
        .edge(START, "work")
        .edge("work", END)
        .checkpointer(store)
        .compile()
        .unwrap()
}

/// Gives an input until it is taken. That somebody else was quicker is the only error, and leaves nothing behind.
async fn give(graph: &CompiledGraph<Anvil>, input: u32, durability: Durability) {
    let config = RunConfig::thread(THREAD).durability(durability).when_busy(WhenBusy::Wait);
    loop {
        match graph.invoke(AnvilUpdate::new().input(input), config.clone()).await {
            Ok(outcome) => return assert_eq!(outcome.state().list.last(), Some(&input)),
            Err(error) => assert!(matches!(error.kind(), RunErrorKind::HeadMoved { .. }), "{error:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Some(orders) = orders() else { return };
    let (number, file) = orders.split_once(' ').unwrap();
    let (number, file): (u32, PathBuf) = (number.parse().unwrap(), file.into());
    let graph = graph(Sqlite::open(file).await.unwrap());
    say("ready");
    hear().unwrap();
    let mut tasks = JoinSet::new();
    for task in 0..TASKS {
        let graph = graph.clone();
        let durability = [Durability::Sync, Durability::Async, Durability::Exit][task as usize % 3];
        tasks.spawn(async move {
            for input in 0..INPUTS {
                give(&graph, (number * TASKS + task) * INPUTS + input, durability).await;
            }
        });
    }
    tasks.join_all().await;
    say("done");
}

#[test]
fn every_input_of_two_processes_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("threads.db");
    let process = |number| Process::start("hammer::child", &format!("{number} {}", file.display()));
    let mut processes: Vec<Process> = (0..PROCESSES).map(process).collect();
    for process in &mut processes {
        assert_eq!(process.hear().as_deref(), Some("ready"));
    }
    for process in &mut processes {
        process.say("go on");
    }
    for process in &mut processes {
        assert_eq!(process.hear().as_deref(), Some("done"));
    }
    check(&file);
}

#[tokio::main(flavor = "current_thread")]
async fn check(file: &Path) {
    let graph = graph(Sqlite::open(file).await.unwrap());
    let line = line(&graph, THREAD, Steps::Some).await;
    let list = &line.last().unwrap().state.list;
    let all: BTreeSet<u32> = list.iter().copied().collect();
    let count = PROCESSES * TASKS * INPUTS;
    assert_eq!((list.len(), all), (count as usize, (0..count).collect()));
}
