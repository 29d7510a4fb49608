//! Processes that die, and stores that break.

use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use superstep::checkpoint::{At, Status, ThreadKey};
use superstep::{
    Checkpointer, CompiledGraph, Durability, END, ReadError, RunConfig, RunErrorKind, START, Sqlite, StoreErrorKind,
    TaskId, ThreadId,
};
use superstep_checkpoint_testkit::{Fault, Faulty};

use crate::children::{Process, orders, say};
use crate::gated::{Call, Gate, Gated};
use crate::history::{Steps, line};
use crate::polls::poll_times;
use crate::scene::{
    Bell, DURABILITIES, Notes, Place, Visits, When, done, failed, fails_once, held, input, killed, named, over, process,
};

on_every_store!(
    b01_results_and_the_checkpoint_that_rests_on_them_land_together,
    b03_a_run_is_known_once_it_began,
    b05_a_step_is_left_behind_when_it_is_stored,
    b20_a_join_waits_for_the_parent_that_was_cut_off,
    b158_a_store_that_panics_breaks_one_call,
    b158_a_store_that_fails_breaks_one_call,
);

fn two(store: impl Checkpointer, visits: &Visits) -> CompiledGraph<Notes> {
    let graph = over(store, visits).node("a", named).node("b", named);
    graph.edge(START, "a").edge("a", "b").edge("b", END).compile().unwrap()
}

/// The second commit carries the result of `a` and the checkpoint after it. It lands whole or not at all, so `a` runs
/// again each time or never.
fn b01_results_and_the_checkpoint_that_rests_on_them_land_together(place: &Place) {
    for _ in 0..10 {
        let (visits, entered) = (Visits::default(), Bell::new(When::Entered));
        place.clear();
        let run = async {
            let store = Faulty::new(place.open().await).on_commit(2, Fault::Hang);
            two(Gated::new(store, entered.clone()), &visits).invoke(input(), "t").await
        };
        killed(run, entered.rang(2));
        b01_next_process(place, &visits, "", "a");
        assert_eq!(visits.all(), ["a", "a", "b"]);

        let (visits, landed) = (Visits::default(), Bell::new(When::Answered));
        place.clear();
        let run = async {
            let store = Gated::new(place.open().await, landed.clone());
            two(Faulty::new(store).on_commit(2, Fault::HangAfter), &visits).invoke(input(), "t").await
        };
        killed(run, landed.rang(2));
        b01_next_process(place, &visits, "a", "b");
        assert_eq!(visits.all(), ["a", "b"]);
    }
}

fn b01_next_process(place: &Place, visits: &Visits, list: &str, next: &str) {
    process(async {
        let graph = two(place.open().await, visits);
        let seen = graph.state("t").await.unwrap();
        assert_eq!((seen.state.list.join(" ").as_str(), seen.next[0].as_str()), (list, next));
        assert_eq!(done(graph.invoke((), "t").await), ["a", "b"]);
        line(&graph, "t", Steps::All).await;
    });
}

/// In `sync` the input is stored before the first node runs. Where less is promised the thread may be unknown; it never
/// looks as if it were done.
fn b03_a_run_is_known_once_it_began(place: &Place) {
    for durability in DURABILITIES {
        let visits = Visits::default();
        place.clear();
        let graph = |store| over(store, &visits).node("a", held).edge(START, "a").edge("a", END).compile().unwrap();
        let config = || RunConfig::thread("t").durability(durability);
        killed(async { graph(place.open().await).invoke(input(), config()).await }, visits.entered());
        process(async {
            let graph = graph(place.open().await);
            visits.let_go();
            match graph.state("t").await {
                Ok(seen) => {
                    assert_eq!((seen.next[0].as_str(), seen.state.list.len()), ("a", 0));
                    assert_eq!(done(graph.invoke((), config()).await), ["a"]);
                }
                Err(ReadError::UnknownThread { .. }) => {
                    assert_ne!(durability, Durability::Sync, "the input is lost");
                    let unknown = failed(graph.invoke((), config()).await);
                    assert!(matches!(unknown, RunErrorKind::UnknownThread), "{unknown:?}");
                    assert_eq!(done(graph.invoke(input(), config()).await), ["a"]);
                }
                Err(other) => panic!("{other}"),
            }
        });
        assert_eq!(visits.of("a"), 2);
    }
}

fn b05_a_step_is_left_behind_when_it_is_stored(place: &Place) {
    let visits = Visits::default();
    let graph = |store| {
        let graph = over(store, &visits).node("a", named).node("b", fails_once).node("c", named);
        graph.edge(START, "a").edge("a", "b").edge("b", "c").edge("c", END).compile().unwrap()
    };
    process(async { graph(place.open().await).invoke(input(), "t").await.unwrap_err() });
    process(async { assert_eq!(done(graph(place.open().await).invoke((), "t").await), ["a", "b", "c"]) });
    process(async { assert_eq!(done(graph(place.open().await).invoke((), "t").await), ["a", "b", "c"]) });
    assert_eq!(visits.all(), ["a", "b", "b", "c"]);
}

/// `(a, b) => c`, where `b` can be held.
fn join(store: impl Checkpointer, visits: &Visits) -> CompiledGraph<Notes> {
    let graph = over(store, visits).node("a", named).node("b", held).node("c", named);
    graph.edge(START, "a").edge(START, "b").waiting_edge(["a", "b"], "c").edge("c", END).compile().unwrap()
}

fn b20_a_join_waits_for_the_parent_that_was_cut_off(place: &Place) {
    let (visits, landed) = (Visits::default(), Bell::new(When::Answered));
    // The first commit is the input's, the second has the result of `a` while `b` runs.
    let run = async { join(Gated::new(place.open().await, landed.clone()), &visits).invoke(input(), "t").await };
    killed(run, landed.rang(2));
    visits.let_go();
    process(async { assert_eq!(done(join(place.open().await, &visits).invoke((), "t").await), ["a", "b", "c"]) });
    assert_eq!((visits.of("a"), visits.of("b"), visits.of("c")), (1, 2, 1));
}

/// Dropped in the very poll in which the parents were started: neither of them was polled.
#[test]
fn b20_a_join_waits_for_parents_that_never_began() {
    let (place, visits) = (Place::memory(), Visits::default());
    process(async {
        let graph = join(place.open().await, &visits);
        assert!(poll_times(pin!(graph.invoke(input(), "t")), 1).await.is_none());
    });
    assert!(visits.all().is_empty());
    visits.let_go();
    process(async { assert_eq!(done(join(place.open().await, &visits).invoke((), "t").await), ["a", "b", "c"]) });
    assert_eq!((visits.of("b"), visits.of("c")), (1, 1));
}

/// Panics in one commit.
#[derive(Debug)]
struct Panics {
    on: u32,
    commits: AtomicU32,
}

#[async_trait]
impl Gate for Panics {
    async fn before(&self, call: Call) {
        let earlier = self.commits.fetch_add(u32::from(call == Call::Commit), Ordering::Relaxed);
        assert!(call != Call::Commit || earlier + 1 != self.on, "the store panics");
    }

    async fn after(&self, _: Call, _: Vec<TaskId>) {}
}

fn b158_a_store_that_panics_breaks_one_call(place: &Place) {
    b158(place, async |store, visits| {
        let graph = two(Gated::new(store, Panics { on: 2, commits: 0.into() }), &visits);
        let run = tokio::spawn({
            let graph = graph.clone();
            async move { graph.invoke(input(), "broken").await.map(drop) }
        });
        assert!(run.await.unwrap_err().is_panic());
        graph
    });
}

fn b158_a_store_that_fails_breaks_one_call(place: &Place) {
    b158(place, async |store, visits| {
        let graph = two(Faulty::new(store).on_commit(2, Fault::Before(StoreErrorKind::Full)), &visits);
        let error = failed(graph.invoke(input(), "broken").await);
        assert!(matches!(error, RunErrorKind::Store(_)), "{error:?}");
        graph
    });
}

/// Whether in the same process or the next: new runs run, the broken one is seen to be unfinished and goes on.
fn b158(place: &Place, break_one: impl AsyncFn(Arc<dyn Checkpointer>, Visits) -> CompiledGraph<Notes>) {
    for restart in [false, true] {
        let visits = Visits::default();
        place.clear();
        let check = async |graph: &CompiledGraph<Notes>| {
            assert_eq!(done(graph.invoke(input(), "new").await), ["a", "b"]);
            assert_eq!(status(&*place.open().await, "broken").await, Status::Ready);
            assert_eq!(graph.state("broken").await.unwrap().next, ["a"]);
            assert_eq!(done(graph.invoke((), "broken").await), ["a", "b"]);
            assert_eq!(status(&*place.open().await, "broken").await, Status::Done);
        };
        process(async {
            let graph = break_one(place.open().await, visits.clone()).await;
            if !restart {
                check(&graph).await;
            }
        });
        if restart {
            process(async { check(&two(place.open().await, &visits)).await });
        }
        assert_eq!(visits.of("a"), 3, "once for the new run, twice for the broken one");
    }
}

async fn status(store: &dyn Checkpointer, thread: &str) -> Status {
    let key = ThreadKey { tenant: store.tenant_id(), thread: ThreadId::new(thread).unwrap() };
    store.get(&key.root(), At::Head).await.unwrap().thread.unwrap().status
}

// ------------------------------------------------------------------ a process that is really killed

const THREADS: usize = 10;

fn b07_config(number: usize) -> RunConfig {
    RunConfig::thread(format!("t{number}")).durability(DURABILITIES[number % DURABILITIES.len()])
}

#[tokio::test]
async fn b07_child() {
    let Some(file) = orders() else { return };
    let graph = two(Sqlite::open(file).await.unwrap(), &Visits::default());
    for number in 0..THREADS {
        done(graph.invoke(input(), b07_config(number)).await);
    }
    say("done");
    std::future::pending::<()>().await;
}

/// What a call returned is there after a kill, in every durability.
#[tokio::test]
async fn b07_threads_that_ended_are_there_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("threads.db");
    let mut process = Process::start("crash::b07_child", &file.display().to_string());
    assert_eq!(process.hear().as_deref(), Some("done"));
    process.kill();
    let store = Sqlite::open(&file).await.unwrap();
    let graph = two(store.clone(), &Visits::default());
    for number in 0..THREADS {
        let seen = graph.state(b07_config(number)).await.unwrap();
        assert_eq!((seen.state.list.join(" ").as_str(), seen.next.len()), ("a b", 0));
        assert_eq!(status(&store, &format!("t{number}")).await, Status::Done);
    }
}
