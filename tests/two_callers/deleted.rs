//! A thread that is deleted while a call runs it does not come back.

use std::pin::pin;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{
    Checkpointer, CompiledGraph, Context, END, Memory, ReadError, RunConfig, RunErrorKind, Runtime, START, Sqlite,
    State, StateGraph, TaskId,
};
use tokio::sync::Semaphore;

use crate::gated::{Call, Gate, Gated};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Steps {
    #[reducer(append)]
    list: Vec<String>,
}

/// The keys of the side effects, in the order in which they were used.
#[derive(Default)]
struct Keys(Mutex<Vec<String>>);

async fn step(rt: Runtime, keys: Context<Arc<Keys>>) -> StepsUpdate {
    keys.0.lock().unwrap().push(rt.idempotency_key("effect"));
    StepsUpdate::new().list([rt.node().to_string()])
}

fn graph(store: impl Checkpointer, keys: &Arc<Keys>) -> CompiledGraph<Steps> {
    StateGraph::<Steps>::new()
        .node("a", step)
        .node("b", step)
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", END)
        .context(Arc::clone(keys))
        .checkpointer(store)
        .compile()
        .unwrap()
}

/// Holds commits up before they reach the store.
#[derive(Debug)]
struct Held {
    reached: Semaphore,
    let_go: Semaphore,
}

impl Held {
    /// Lets so many commits through.
    fn after(commits: usize) -> Arc<Self> {
        Arc::new(Self { reached: Semaphore::new(0), let_go: Semaphore::new(commits) })
    }

    /// Waits until so many commits came.
    async fn reached(&self, commits: u32) {
        self.reached.acquire_many(commits).await.unwrap().forget();
    }
}

#[async_trait]
impl Gate for Arc<Held> {
    async fn before(&self, call: Call) {
        if call == Call::Commit {
            self.reached.add_permits(1);
            self.let_go.acquire().await.unwrap().forget();
        }
    }

    async fn after(&self, _: Call, _: Vec<TaskId>) {}
}

/// Deletes the thread when commit number `n` of a run is about to reach the store.
async fn delete_before_commit(n: u32, store: impl Checkpointer + Clone) {
    let keys = Arc::new(Keys::default());
    let held = Held::after(n as usize - 1);
    let (slow, quick) = (graph(Gated::new(store.clone(), held.clone()), &keys), graph(store, &keys));
    let mut run = pin!(slow.invoke(StepsUpdate::new(), "t"));
    tokio::select! {
        end = run.as_mut() => panic!("commit {n} is held up: {end:?}"),
        () = held.reached(n) => {}
    }
    quick.delete_thread("t").await.unwrap();
    held.let_go.add_permits(1);
    let error = run.await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::HeadMoved { .. }), "{error:?}");
    assert!(matches!(quick.state("t").await, Err(ReadError::UnknownThread { .. })), "it came back");
    assert!(matches!(quick.invoke((), "t").await.unwrap_err().kind(), RunErrorKind::UnknownThread));
    let ran = keys.0.lock().unwrap().len();
    // The id may be used again; what is done then is not what was done before.
    let again = quick.invoke(StepsUpdate::new(), "t").await.unwrap();
    assert_eq!(again.state().list, ["a", "b"]);
    let keys = keys.0.lock().unwrap();
    assert!(keys[ran..].iter().all(|key| !keys[..ran].contains(key)), "a new thread used old keys");
}

#[tokio::test]
async fn a_deleted_thread_does_not_come_back_in_memory() {
    for n in 1..=3 {
        delete_before_commit(n, Memory::new()).await;
    }
}

#[tokio::test]
async fn a_deleted_thread_does_not_come_back_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    for n in 1..=3 {
        delete_before_commit(n, Sqlite::open(folder.path().join(n.to_string())).await.unwrap()).await;
    }
}

/// Deleted and begun anew by somebody else: the first call does not write into the new thread either.
#[tokio::test]
async fn a_call_on_a_deleted_thread_does_not_write_into_its_successor() {
    let (store, keys) = (Memory::new(), Arc::new(Keys::default()));
    let held = Held::after(0);
    let slow = graph(Gated::new(store.clone(), held.clone()).apart(), &keys);
    let quick = graph(store, &keys);
    let mut run = pin!(slow.invoke(StepsUpdate::new(), "t"));
    tokio::select! {
        end = run.as_mut() => panic!("the first commit is held up: {end:?}"),
        () = held.reached(1) => {}
    }
    quick.delete_thread("t").await.unwrap();
    quick.invoke(StepsUpdate::new(), RunConfig::thread("t")).await.unwrap();
    held.let_go.add_permits(1);
    let error = run.await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::HeadMoved { .. }), "{error:?}");
    assert_eq!(quick.state("t").await.unwrap().state.list, ["a", "b"]);
}
