//! What the reports have in common: stores that outlive a process, a state, nodes that are counted.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{
    Checkpointer, Context, Durability, Memory, NodeError, NodeResult, Outcome, RunError, RunErrorKind, Runtime, Sqlite,
    State, StateGraph, TaskId,
};
use tempfile::TempDir;
use tokio::sync::Semaphore;

use crate::gated::{Call, Gate};

/// Makes a test of each of these functions on each store: `on_every_store!(b05, b16)`.
macro_rules! on_every_store {
    ($($test:ident),* $(,)?) => {
        mod on_memory {
            $(#[test]
            fn $test() {
                super::$test(&$crate::scene::Place::memory());
            })*
        }
        mod on_sqlite {
            $(#[test]
            fn $test() {
                super::$test(&$crate::scene::Place::sqlite());
            })*
        }
    };
}

/// Where the data of a test is. It outlives the processes that open it.
pub(crate) enum Place {
    Memory { present: Mutex<Memory> },
    Sqlite { folder: TempDir, files: AtomicU64 },
}

impl Place {
    pub(crate) fn memory() -> Self {
        Self::Memory { present: Mutex::default() }
    }

    pub(crate) fn sqlite() -> Self {
        Self::Sqlite { folder: tempfile::tempdir().unwrap(), files: AtomicU64::new(0) }
    }

    /// A handle of its own on the data.
    pub(crate) async fn open(&self) -> Arc<dyn Checkpointer> {
        match self {
            Self::Memory { present } => Arc::new(present.lock().unwrap().clone()),
            Self::Sqlite { .. } => Arc::new(Sqlite::open(self.file()).await.unwrap()),
        }
    }

    /// From here on the place is empty.
    pub(crate) fn clear(&self) {
        match self {
            Self::Memory { present } => *present.lock().unwrap() = Memory::new(),
            Self::Sqlite { files, .. } => _ = files.fetch_add(1, Ordering::Relaxed),
        }
    }

    fn file(&self) -> PathBuf {
        match self {
            Self::Memory { .. } => unreachable!("no file"),
            Self::Sqlite { folder, files } => folder.path().join(files.load(Ordering::Relaxed).to_string()),
        }
    }
}

/// A process: whatever it left running is gone when it ends.
pub(crate) fn process<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async { tokio::time::timeout(Duration::from_mins(1), work).await.unwrap() })
}

/// A process that is killed as soon as something happens.
pub(crate) fn killed<T: std::fmt::Debug>(work: impl Future<Output = T>, when: impl Future<Output = ()>) {
    process(async {
        tokio::select! {
            biased;
            end = work => panic!("it was to be killed before its end: {end:?}"),
            () = when => {}
        }
    });
}

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct Notes {
    pub(crate) turn: u32,
    #[reducer(append)]
    pub(crate) list: Vec<String>,
    #[reducer(add)]
    pub(crate) count: i64,
}

pub(crate) fn input() -> NotesUpdate {
    NotesUpdate::new()
}

/// A word into the list.
pub(crate) fn list(word: impl Into<String>) -> NotesUpdate {
    NotesUpdate::new().list([word.into()])
}

/// How often nodes were entered, and a way to hold one.
#[derive(Clone, Default)]
pub(crate) struct Visits(Arc<Inside>);

struct Inside {
    nodes: Mutex<Vec<String>>,
    entered: Semaphore,
    may_leave: Semaphore,
}

impl Default for Inside {
    fn default() -> Self {
        Self { nodes: Mutex::default(), entered: Semaphore::new(0), may_leave: Semaphore::new(0) }
    }
}

impl Visits {
    pub(crate) fn note(&self, rt: &Runtime) {
        self.0.nodes.lock().unwrap().push(rt.node().to_string());
    }

    pub(crate) fn of(&self, node: &str) -> usize {
        self.0.nodes.lock().unwrap().iter().filter(|visited| *visited == node).count()
    }

    /// All nodes entered, in order.
    pub(crate) fn all(&self) -> Vec<String> {
        self.0.nodes.lock().unwrap().clone()
    }

    /// Waits until a node that is held was entered.
    pub(crate) async fn entered(&self) {
        self.0.entered.acquire().await.unwrap().forget();
    }

    /// Lets a node that is held go, or the next one.
    pub(crate) fn let_go(&self) {
        self.0.may_leave.add_permits(1);
    }
}

/// A node that writes its name.
pub(crate) async fn named(rt: Runtime, visits: Context<Visits>) -> NotesUpdate {
    visits.note(&rt);
    list(rt.node().as_str())
}

/// A node that fails the first time.
pub(crate) async fn fails_once(rt: Runtime, visits: Context<Visits>) -> NodeResult<NotesUpdate> {
    visits.note(&rt);
    if visits.of(rt.node().as_str()) == 1 {
        return Err(NodeError::msg("not yet"));
    }
    Ok(list(rt.node().as_str()))
}

/// A node that is held until it may go.
pub(crate) async fn held(rt: Runtime, visits: Context<Visits>) -> NotesUpdate {
    visits.note(&rt);
    visits.0.entered.add_permits(1);
    visits.0.may_leave.acquire().await.unwrap().forget();
    list(rt.node().as_str())
}

/// Rings at commits: when they are entered, or when the store behind has answered.
#[derive(Clone, Debug)]
pub(crate) struct Bell {
    when: When,
    rings: Arc<Semaphore>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Entered,
    Answered,
}

impl Bell {
    pub(crate) fn new(when: When) -> Self {
        Self { when, rings: Arc::new(Semaphore::new(0)) }
    }

    /// Waits until it rang so often.
    pub(crate) async fn rang(&self, times: u32) {
        self.rings.acquire_many(times).await.unwrap().forget();
    }

    fn ring(&self, call: Call, when: When) {
        if call == Call::Commit && when == self.when {
            self.rings.add_permits(1);
        }
    }
}

#[async_trait]
impl Gate for Bell {
    async fn before(&self, call: Call) {
        self.ring(call, When::Entered);
    }

    async fn after(&self, call: Call, _: Vec<TaskId>) {
        self.ring(call, When::Answered);
    }
}

/// The beginning of a graph over a store, with the visits as context.
pub(crate) fn over(store: impl Checkpointer, visits: &Visits) -> StateGraph<Notes> {
    StateGraph::new().checkpointer(store).context(visits.clone())
}

/// Every durability.
pub(crate) const DURABILITIES: [Durability; 4] =
    [Durability::Sync, Durability::Async { lag: 1 }, Durability::Async { lag: 32 }, Durability::Exit];

/// The list of a run that is done.
pub(crate) fn done(outcome: Result<Outcome<Notes>, RunError>) -> Vec<String> {
    outcome.unwrap().into_done().unwrap().into_state().list
}

/// Why a run failed.
pub(crate) fn failed(outcome: Result<Outcome<Notes>, RunError>) -> RunErrorKind {
    outcome.unwrap_err().into_kind()
}

/// The nodes that failed in a run.
pub(crate) fn failed_nodes(outcome: Result<Outcome<Notes>, RunError>) -> Vec<String> {
    match failed(outcome) {
        RunErrorKind::Node { failures } => failures.iter().map(|failure| failure.node.to_string()).collect(),
        other => panic!("no node failed: {other:?}"),
    }
}
