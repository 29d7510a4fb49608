//! Stories disturbed at their calls to the store, in every durability: they come out the same, they pay once, and what
//! was acknowledged does not run again.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../support/history.rs"]
mod history;
#[path = "../support/refund.rs"]
mod refund;
#[path = "../support/verdict.rs"]
mod verdict;

mod doubt;
mod lives;
mod repeated;
mod story;

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex};

use superstep::{Durability, Memory, Sqlite};
use tempfile::TempDir;

use history::Steps;
use refund::{Visit, World};

/// A bank that honours idempotency keys, and a diary.
#[derive(Default)]
struct Books(Mutex<Pages>);

#[derive(Clone, Debug, Default)]
struct Pages {
    visits: Vec<Visit>,
    receipts: BTreeMap<String, String>,
    requests: usize,
}

impl World for Books {
    fn visited(&self, visit: Visit) -> io::Result<()> {
        self.0.lock().unwrap().visits.push(visit);
        Ok(())
    }

    fn pay(&self, key: &str) -> io::Result<String> {
        let mut pages = self.0.lock().unwrap();
        pages.requests += 1;
        let receipt = format!("R-{}", pages.receipts.len() + 1);
        Ok(pages.receipts.entry(key.to_owned()).or_insert(receipt).clone())
    }
}

impl Books {
    fn pages(&self) -> Pages {
        self.0.lock().unwrap().clone()
    }
}

/// What one run has for itself, beside its store.
type Scene = (Arc<Books>, Option<TempDir>);

async fn memory() -> (Memory, Option<TempDir>) {
    (Memory::new(), None)
}

async fn sqlite() -> (Sqlite, Option<TempDir>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Sqlite::open(folder.path().join("threads.db")).await.unwrap();
    (store, Some(folder))
}

const LAG_1: Durability = Durability::Async { lag: 1 };
const LAG_32: Durability = Durability::Async { lag: 32 };

const DURABILITIES: [Durability; 4] = [Durability::Sync, LAG_1, LAG_32, Durability::Exit];

/// Which steps a durability stores.
fn steps(durability: Durability) -> Steps {
    if durability == Durability::Exit { Steps::Some } else { Steps::All }
}
