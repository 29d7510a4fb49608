//! What the tests of the whole library share: stores to run on, and a small state with its nodes.

#![allow(dead_code, unreachable_pub, reason = "each test target uses a part of it")]

use std::collections::BTreeMap;
use std::future::{Ready, ready};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{Checkpointer, Memory, Outcome, Pause, RunError, Sqlite, State, Synchronous};

/// A store of one kind that can be opened anew, as another process would.
pub enum Store {
    /// Everything stays in the process: there is no other process to see it from.
    Memory(Memory),
    /// One file in a folder of its own.
    Sqlite(tempfile::TempDir),
}

impl Store {
    pub fn memory() -> Self {
        Self::Memory(Memory::new())
    }

    pub fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    /// A handle; of a file a fresh one, which knows nothing of what others remember.
    pub async fn open(&self) -> Arc<dyn Checkpointer> {
        match self {
            Self::Memory(memory) => Arc::new(memory.clone()),
            Self::Sqlite(folder) => Arc::new(open_sqlite(&folder.path().join("threads.db")).await),
        }
    }

    /// The file, if it is one.
    pub fn file(&self) -> Option<PathBuf> {
        match self {
            Self::Memory(_) => None,
            Self::Sqlite(folder) => Some(folder.path().join("threads.db")),
        }
    }
}

/// A store in a file. Flushes of the disk are left out: no test here cuts the power.
pub async fn open_sqlite(file: &Path) -> Sqlite {
    Sqlite::options(file).synchronous(Synchronous::Normal).open().await.unwrap()
}

/// Makes a test of each scenario on each store.
#[macro_export]
macro_rules! on_each_store {
    ($($scenario:ident),+ $(,)?) => {
        mod memory {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario($crate::support::Store::memory()).await;
            })+
        }
        mod sqlite {
            $(#[tokio::test]
            async fn $scenario() {
                super::$scenario($crate::support::Store::sqlite()).await;
            })+
        }
    };
}

/// A state for graphs that only leave a trail.
#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trail {
    /// The nodes that finished.
    #[reducer(append)]
    pub log: Vec<String>,
    /// A field that one node a step may write.
    pub answer: Option<String>,
    #[reducer(add)]
    pub count: u64,
}

impl Trail {
    /// The trail as one text.
    pub fn told(&self) -> String {
        self.log.join(" ")
    }
}

/// An update that adds one word to the trail.
pub fn said(word: impl Into<String>) -> TrailUpdate {
    TrailUpdate::new().log([word.into()])
}

/// A node that adds its name to the trail.
pub fn says(word: &'static str) -> impl Fn() -> Ready<TrailUpdate> + Send + Sync + 'static {
    move || ready(said(word))
}

/// How often each node was entered.
#[derive(Clone, Default)]
pub struct Entries(Arc<Mutex<BTreeMap<String, u32>>>);

impl Entries {
    /// Counts one; gives the number so far.
    pub fn enter(&self, node: &str) -> u32 {
        let mut entries = self.0.lock().unwrap();
        let count = entries.entry(node.to_owned()).or_default();
        *count += 1;
        *count
    }

    pub fn of(&self, node: &str) -> u32 {
        self.0.lock().unwrap().get(node).copied().unwrap_or_default()
    }

    /// All, as `a1 b2`.
    pub fn told(&self) -> String {
        let entries = self.0.lock().unwrap();
        entries.iter().map(|(node, count)| format!("{node}{count}")).collect::<Vec<_>>().join(" ")
    }

    /// A node that counts itself and adds its name to the trail.
    pub fn says(&self, word: &'static str) -> impl Fn() -> Ready<TrailUpdate> + Send + Sync + use<> + 'static {
        let entries = self.clone();
        move || {
            entries.enter(word);
            ready(said(word))
        }
    }
}

/// The pause of an outcome that is one.
pub trait Expected<S> {
    fn pause(self) -> Pause<S>;
    fn done(self) -> S;
}

impl<S: Clone> Expected<S> for Result<Outcome<S>, RunError> {
    fn pause(self) -> Pause<S> {
        match self.expect("the run was to ask") {
            Outcome::Interrupted(pause) => pause,
            other => panic!("the run was to ask and is {other:?}"),
        }
    }

    fn done(self) -> S {
        match self.expect("the run was to end") {
            Outcome::Done(done) => done.into_state(),
            other => panic!("the run was to end and is {other:?}"),
        }
    }
}
