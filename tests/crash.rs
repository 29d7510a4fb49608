//! The refund story, disturbed at every one of its calls to the store, in every durability: it comes out the same, it
//! pays once, and what was acknowledged does not run again.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/history.rs"]
mod history;
#[path = "support/refund.rs"]
mod refund;
#[path = "support/verdict.rs"]
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};

use superstep::checkpoint::WriteKind;
use superstep::{
    Checkpointer, Durability, Memory, QuestionId, RunConfig, RunError, RunErrorKind, Sqlite, StoreErrorKind, TaskId,
};
use superstep_checkpoint_testkit::{
    CommitOutcome, CrashPoint, Faulty, Mishap, OpSummary, Recording, crash_at_every_point,
};
use tempfile::TempDir;

use history::{Steps, line};
use refund::{Refund, THREAD, Visit, World, graph, story, take_up};
use verdict::{Taken, check_names};

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

/// What the disturbed process left behind.
struct Left {
    /// The question that a person was shown.
    asked: Option<QuestionId>,
    end: Result<Refund, RunError>,
    /// Tasks whose results the store had acknowledged.
    acknowledged: BTreeSet<TaskId>,
    pages: Pages,
}

/// What is there at the end.
struct End {
    state: Refund,
    pages: Pages,
}

fn acknowledged<C: Checkpointer>(store: &Recording<C>) -> BTreeSet<TaskId> {
    let applied = store.commits().into_iter().filter(|commit| commit.outcome == Some(CommitOutcome::Applied));
    let mut tasks = BTreeSet::new();
    for op in applied.flat_map(|commit| commit.ops) {
        if let OpSummary::Writes { records, .. } = op {
            tasks.extend(
                records.into_iter().filter(|(_, _, kind, ..)| *kind == WriteKind::Result).map(|(task, ..)| task),
            );
        }
    }
    tasks
}

/// Disturbs the story everywhere, on fresh stores of one make.
async fn prove<C: Checkpointer + Clone>(durability: Durability, fresh: impl AsyncFn() -> (C, Option<TempDir>)) {
    let config = || RunConfig::thread(THREAD).durability(durability);
    let report = crash_at_every_point(
        async || {
            let (store, folder) = fresh().await;
            (store, (Arc::new(Books::default()), folder))
        },
        async |store: Faulty<C>, (books, _): &(Arc<Books>, _)| {
            let store = Recording::new(store);
            let mut asked = None;
            let end = story(&graph(store.clone(), books.clone()), config(), |question| asked = Some(question)).await;
            Left { asked, end, acknowledged: acknowledged(&store), pages: books.pages() }
        },
        async |store: C, (books, _): &(Arc<Books>, _), left: &Left| {
            let graph = graph(store, books.clone());
            let state = match &left.end {
                Ok(state) => state.clone(),
                Err(_) => take_up(&graph, config(), &mut left.asked.clone()).await.unwrap(),
            };
            let steps = if durability == Durability::Exit { Steps::Some } else { Steps::All };
            let line = line(&graph, THREAD, steps).await;
            assert_eq!(*line.last().unwrap().state, state, "the head is the end");
            assert!(graph.state(THREAD).await.unwrap().next.is_empty());
            End { state, pages: books.pages() }
        },
        |point, _, left, end| check(point, durability, &left, &end),
    )
    .await;
    assert_eq!(report.missed, [], "the story makes the same calls each time");
    assert!(report.calls >= 5, "{report:?}");
}

fn check(point: CrashPoint, durability: Durability, left: &Left, end: &End) {
    assert_eq!(end.state, Refund::settled());
    assert_eq!(end.pages.receipts.len(), 1, "paid once: {:?}", end.pages);
    check_error(point, left);
    let (before, after) = end.pages.visits.split_at(left.pages.visits.len());
    if left.end.is_ok() {
        assert!(after.is_empty(), "the run ended well and yet nodes ran again: {after:?}");
        check_each_ran_once(&end.pages);
    }
    let (asked, acknowledged) = (left.asked.is_some(), &left.acknowledged);
    Taken { durability, asked, acknowledged, before, after }.check();
}

fn check_each_ran_once(pages: &Pages) {
    let mut nodes: Vec<&str> = pages.visits.iter().map(|visit| visit.node.as_str()).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["approve", "ask", "ask", "book", "close", "notify", "pay", "qualify"]);
    assert_eq!(pages.requests, 1);
}

/// A lost answer to a commit is no error at all; anything else is an error of the store, and worth a retry.
fn check_error(point: CrashPoint, left: &Left) {
    let Err(error) = &left.end else {
        assert!(!point.mishap.is_death() && point.mishap != Mishap::Refused, "the store failed and nobody was told");
        return;
    };
    assert_ne!(point.mishap, Mishap::None);
    let RunErrorKind::Store(fault) = error.kind() else { panic!("not an error of the store: {error:?}") };
    assert_eq!((fault.kind(), error.is_retryable()), (StoreErrorKind::Connection, true));
    let read = fault.operation() == "get";
    assert!(point.mishap != Mishap::Unanswered || read, "a commit in doubt is looked up: {error:?}");
}

/// Processes that die after every few calls, one after another, until one finishes. Four are the fewest that get on: giving
/// the answer again may take two reads, going on another, and then one commit.
async fn wear_down<C: Checkpointer + Clone>(durability: Durability, fresh: impl AsyncFn() -> (C, Option<TempDir>)) {
    let config = || RunConfig::thread(THREAD).durability(durability);
    for life in 4..=8 {
        for mishap in [Mishap::DiesBefore, Mishap::DiesDuring] {
            let (store, _folder) = fresh().await;
            let books = Arc::new(Books::default());
            let (mut asked, mut lives) = (None, 0);
            let state = loop {
                lives += 1;
                assert!(lives < 20, "no progress in lives of {life} calls in {durability:?}");
                let mortal = Faulty::new(store.clone());
                let mortal = match mishap {
                    Mishap::DiesBefore => mortal.crash_after(life),
                    _ => mortal.crash_during(life),
                };
                match take_up(&graph(mortal, books.clone()), config(), &mut asked).await {
                    Ok(state) => break state,
                    Err(error) => assert!(matches!(error.kind(), RunErrorKind::Store(_)), "{error:?}"),
                }
            };
            assert_eq!(state, Refund::settled());
            let pages = books.pages();
            assert_eq!(pages.receipts.len(), 1);
            check_names(&pages.visits);
            let steps = if durability == Durability::Exit { Steps::Some } else { Steps::All };
            line(&graph(store, books), THREAD, steps).await;
        }
    }
}

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

#[tokio::test]
async fn sync_in_memory() {
    prove(Durability::Sync, memory).await;
}

#[tokio::test]
async fn sync_on_sqlite() {
    prove(Durability::Sync, sqlite).await;
}

#[tokio::test]
async fn async_with_a_lag_of_1_in_memory() {
    prove(LAG_1, memory).await;
}

#[tokio::test]
async fn async_with_a_lag_of_1_on_sqlite() {
    prove(LAG_1, sqlite).await;
}

#[tokio::test]
async fn async_with_a_lag_of_32_in_memory() {
    prove(LAG_32, memory).await;
}

#[tokio::test]
async fn async_with_a_lag_of_32_on_sqlite() {
    prove(LAG_32, sqlite).await;
}

#[tokio::test]
async fn exit_in_memory() {
    prove(Durability::Exit, memory).await;
}

#[tokio::test]
async fn exit_on_sqlite() {
    prove(Durability::Exit, sqlite).await;
}

#[tokio::test]
async fn many_short_lives_in_memory() {
    for durability in [Durability::Sync, LAG_1, LAG_32, Durability::Exit] {
        wear_down(durability, memory).await;
    }
}

#[tokio::test]
async fn many_short_lives_on_sqlite() {
    for durability in [Durability::Sync, LAG_1, LAG_32, Durability::Exit] {
        wear_down(durability, sqlite).await;
    }
}
