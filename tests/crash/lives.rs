//! Processes that die young, and stores that fail again and again.

use std::sync::Arc;

use superstep::{Checkpointer, Durability, Memory, QuestionId, RunConfig, RunErrorKind, StoreErrorKind};
use superstep_checkpoint_testkit::{Fault, Faulty, Mishap};
use tempfile::TempDir;

use crate::history::line;
use crate::refund::{Refund, THREAD, graph, take_up};
use crate::verdict::check_names;
use crate::{Books, DURABILITIES, memory, sqlite, steps};

/// Processes that take the thread up, one after another, until one of them finishes. `mortal` makes the store of each.
async fn live<C: Checkpointer>(durability: Durability, books: &Arc<Books>, most: u32, mortal: impl Fn(u32) -> C) {
    let config = || RunConfig::thread(THREAD).durability(durability);
    let mut asked: Option<QuestionId> = None;
    for life in 1..=most {
        match take_up(&graph(mortal(life), books.clone()), config(), &mut asked).await {
            Ok(state) => return assert_eq!(state, Refund::settled()),
            Err(error) => assert!(matches!(error.kind(), RunErrorKind::Store(_)), "{error:?}"),
        }
    }
    panic!("no progress in {most} lives");
}

async fn check<C: Checkpointer>(durability: Durability, store: C, books: Arc<Books>) {
    let pages = books.pages();
    assert_eq!(pages.receipts.len(), 1, "paid once");
    check_names(&pages.visits);
    line(&graph(store, books), THREAD, steps(durability)).await;
}

/// Every process dies after so many calls. Four are the fewest that get on: giving the answer again may take two reads,
/// going on another, and then one commit.
async fn die_young<C: Checkpointer + Clone>(fresh: impl AsyncFn() -> (C, Option<TempDir>)) {
    for durability in DURABILITIES {
        for calls in 4..=8 {
            for mishap in [Mishap::DiesBefore, Mishap::DiesDuring] {
                let (store, _folder) = fresh().await;
                let books = Arc::new(Books::default());
                let mortal = |_| match mishap {
                    Mishap::DiesBefore => Faulty::new(store.clone()).crash_after(calls),
                    _ => Faulty::new(store.clone()).crash_during(calls),
                };
                live(durability, &books, 20, mortal).await;
                check(durability, store.clone(), books).await;
            }
        }
    }
}

#[tokio::test]
async fn many_short_lives_in_memory() {
    die_young(memory).await;
}

#[tokio::test]
async fn many_short_lives_on_sqlite() {
    die_young(sqlite).await;
}

/// A third of all calls fails, half of those after they were carried out: also the reads that are to tell what became of
/// a commit.
#[tokio::test]
async fn faults_by_chance() {
    let faults = [(Fault::Before(StoreErrorKind::Connection), 170), (Fault::After, 170)];
    for durability in DURABILITIES {
        for seed in 0..250 {
            let (store, books) = (Memory::new(), Arc::new(Books::default()));
            let mortal = |life| Faulty::new(store.clone()).by_chance(seed * 1_000 + u64::from(life), faults);
            live(durability, &books, 200, mortal).await;
            check(durability, store.clone(), books).await;
        }
    }
}
