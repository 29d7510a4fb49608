//! The refund story, disturbed at every one of its calls.

use std::collections::BTreeSet;
use std::sync::Arc;

use superstep::checkpoint::WriteKind;
use superstep::{Checkpointer, Durability, QuestionId, RunConfig, RunError, RunErrorKind, StoreErrorKind, TaskId};
use superstep_checkpoint_testkit::{
    CommitOutcome, CrashPoint, Faulty, Mishap, OpSummary, Recording, crash_at_every_point,
};
use tempfile::TempDir;

use crate::history::line;
use crate::refund::{Refund, THREAD, graph, story, take_up};
use crate::verdict::Taken;
use crate::{Books, LAG_1, LAG_32, Pages, Scene, memory, sqlite, steps};

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
        async |store: Faulty<C>, (books, _): &Scene| {
            let store = Recording::new(store);
            let mut asked = None;
            let end = story(&graph(store.clone(), books.clone()), config(), |question| asked = Some(question)).await;
            Left { asked, end, acknowledged: acknowledged(&store), pages: books.pages() }
        },
        async |store: C, (books, _): &Scene, left: &Left| {
            let graph = graph(store, books.clone());
            let state = match &left.end {
                Ok(state) => state.clone(),
                Err(_) => take_up(&graph, config(), &mut left.asked.clone()).await.unwrap(),
            };
            let line = line(&graph, THREAD, steps(durability)).await;
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
