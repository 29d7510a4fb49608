//! Commits whose futures are dropped on the way.
#![allow(clippy::unwrap_used)]

mod common;

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use common::{id, key, rows, step, write};
use superstep_checkpoint::{At, Checkpointer, Commit, CommitError, Expect, Guard, ListQuery, Op};
use superstep_checkpoint_sqlite::{Sqlite, Synchronous};

async fn last(store: &Sqlite) -> u64 {
    store.get(&key("t"), At::Head).await.unwrap().namespace.map_or(0, |row| row.last_seq.0)
}

/// The commit is applied or it is not, and the next one goes through at once.
#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_commit_happened_or_did_not() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    let other = Sqlite::options(&file).busy_timeout(Duration::ZERO).open().await.unwrap();
    let (mut applied, mut lost) = (0, 0);
    for round in 0..300_u64 {
        let before = last(&store).await;
        let mut first = pin!(store.commit(step(&format!("first {round}"), 1)));
        let done = {
            let mut commit = pin!(store.commit(step("t", before + 1)));
            let mut context = Context::from_waker(Waker::noop());
            // On every second round it waits in line behind another commit, else it is on its way to the disk.
            let done = if round % 2 == 0 { Poll::Pending } else { first.as_mut().poll(&mut context) };
            let _ = commit.as_mut().poll(&mut context);
            if round % 2 == 0 {
                std::thread::sleep(Duration::from_micros(round));
            }
            done
        };
        match done {
            Poll::Ready(done) => done.unwrap(),
            Poll::Pending => first.await.unwrap(),
        }
        // Through the same connection, so whatever was on its way has ended.
        let next = loop {
            let next = last(&store).await + 1;
            match store.commit(step("t", next)).await {
                Ok(()) => break next,
                Err(CommitError::HeadMoved { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        };
        assert!(next == before + 1 || next == before + 2, "{before} {next}");
        *(if next == before + 2 { &mut applied } else { &mut lost }) += 1;
        // No lock is left behind: a store that never waits can write.
        other.commit(step(&format!("other {round}"), 1)).await.unwrap();
    }
    assert!(applied > 10 && lost > 10, "{applied} {lost}");
    let history = store.list(&key("t"), &ListQuery::default()).await.unwrap();
    assert!(history.iter().all(|found| found.values[0].parts[0].bytes == found.checkpoint.seq.to_string()));
    assert_eq!(rows(&file, "PRAGMA integrity_check").await, ["ok"]);
}

/// Dropped after each number of polls.
#[tokio::test]
async fn calls_dropped_after_each_poll_leave_the_store_usable() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::options(dir.path().join("a.db")).synchronous(Synchronous::Normal).open().await.unwrap();
    store.commit(step("t", 1)).await.unwrap();
    for polls in 0..50 {
        let (head, key) = (last(&store).await, key("t"));
        {
            let mut commit = pin!(store.commit(step("t", head + 1)));
            let mut get = pin!(store.get(&key, At::Head));
            for _ in 0..polls % 10 {
                let mut context = Context::from_waker(Waker::noop());
                if get.as_mut().poll(&mut context).is_ready() || commit.as_mut().poll(&mut context).is_ready() {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        let writes = vec![write(1, "done")];
        let put = |head| Commit {
            key: key.clone(),
            guard: Guard::head(Expect::Head(id(head))),
            ops: vec![Op::PutWrites { checkpoint: id(head), writes: writes.clone() }],
        };
        if store.commit(put(head)).await.is_err() {
            store.commit(put(head + 1)).await.unwrap();
        }
    }
}

/// Reads that are given up do not use the readers up.
#[tokio::test]
async fn dropped_reads_give_their_connections_back() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::options(dir.path().join("a.db"))
        .synchronous(Synchronous::Normal)
        .readers(std::num::NonZeroUsize::MIN)
        .open()
        .await
        .unwrap();
    for n in 1..=200 {
        store.commit(step("t", n)).await.unwrap();
    }
    let (key, all) = (key("t"), ListQuery::default());
    for micros in 0..200 {
        let list = store.list(&key, &all);
        let _ = tokio::time::timeout(Duration::from_micros(micros), list).await;
    }
    let list = store.list(&key, &all);
    assert_eq!(tokio::time::timeout(Duration::from_secs(20), list).await.unwrap().unwrap().len(), 200);
}

/// The connection may be closed under a running store; the next call opens another.
#[tokio::test]
async fn a_closed_store_opens_again_when_used() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(dir.path().join("a.db")).await.unwrap();
    for n in 1..=3 {
        store.commit(step("t", n)).await.unwrap();
        store.close().await;
        assert_eq!(last(&store).await, n);
    }
}
