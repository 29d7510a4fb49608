//! Commits that wait for the writer and go to the disk together: each is applied or refused on its own.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::task::{Context, Waker};
use std::time::Duration;

use common::{before, change, id, key, put, rows, step, write};
use futures_util::future::join_all;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use superstep_checkpoint::{
    At, Checkpointer, Commit, CommitError, FoundHead, Guard, Op, OwnerId, PartKind, Seq, StoreErrorKind,
};
use superstep_checkpoint_sqlite::Sqlite;

type Answer = Result<(), CommitError>;

/// Sends all commits while the file is locked by somebody else, so that they pile up; gives their answers in order.
async fn at_once(file: &Path, store: &Sqlite, commits: Vec<Commit>) -> Vec<Answer> {
    let mut other = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let mut calls: Vec<_> = commits.into_iter().map(|commit| store.commit(commit)).collect();
    for call in &mut calls {
        // Into the line, one after the other.
        assert!(call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    }
    other.close().await.unwrap();
    join_all(calls).await
}

async fn last(store: &Sqlite, thread: &str) -> u64 {
    store.get(&key(thread), At::Head).await.unwrap().namespace.map_or(0, |row| row.last_seq.0)
}

#[tokio::test(flavor = "multi_thread")]
async fn each_commit_sees_what_the_ones_before_it_wrote() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    let fenced =
        Commit { key: key("c"), guard: before(1), ops: vec![Op::Claim { owner: OwnerId::from_bytes([1; 16]) }] };
    let commits = vec![
        step("first", 1),
        step("a", 1),
        step("a", 2),
        step("a", 2),
        step("b", 2),
        fenced,
        step("c", 1),
        step("a", 3),
        step("b", 1),
    ];
    let answers = at_once(&file, &store, commits).await;
    let applied: Vec<bool> = answers.iter().map(Result::is_ok).collect();
    assert_eq!(applied, [true, true, true, false, false, true, false, true, true], "{answers:?}");
    let moved = |answer: &Answer| match answer {
        Err(CommitError::HeadMoved { found, .. }) => *found,
        other => panic!("{other:?}"),
    };
    assert_eq!(moved(&answers[3]), FoundHead::Head(id(2)));
    assert_eq!(moved(&answers[4]), FoundHead::Nothing);
    assert!(matches!(&answers[6], Err(CommitError::Fenced { epoch, .. }) if epoch.0 == 1));
    assert_eq!((last(&store, "a").await, last(&store, "b").await, last(&store, "c").await), (3, 1, 0));
}

/// More than go together in one transaction, of more than one namespace of a thread.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_line_is_served_in_order() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    let answers = at_once(&file, &store, (1..=100).map(|n| step("t", n)).collect()).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    assert_eq!(last(&store, "t").await, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_fails_does_not_take_the_others_along() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    for n in 1..=2 {
        store.commit(step("t", n)).await.unwrap();
    }
    // The id of the first checkpoint again, at a later position.
    let mut again = common::checkpoint(3);
    again.id = id(1);
    let again = superstep_checkpoint::NewCheckpoint { checkpoint: again, args: Vec::new().into(), values: Vec::new() };
    let again = Commit { key: key("t"), guard: before(3), ops: vec![Op::PutCheckpoint(Box::new(again))] };
    let answers = at_once(&file, &store, vec![step("x", 1), step("y", 1), again, step("t", 3), step("z", 1)]).await;
    assert!(matches!(answers[2], Err(CommitError::Invalid { .. })), "{answers:?}");
    assert_eq!(answers.iter().filter(|answer| answer.is_ok()).count(), 4, "{answers:?}");
    assert_eq!(rows(&file, "SELECT count(*) FROM superstep_checkpoint").await, ["6"]);
    // What was refused before is forgotten.
    let answers = at_once(&file, &store, vec![step("x", 2), step("y", 2), step("t", 4), step("z", 2)]).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
}

/// Great commits go alone, small ones around them together.
#[tokio::test(flavor = "multi_thread")]
async fn great_and_small_commits_mix() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    let size = |n: u64| if n.is_multiple_of(5) { 300_000 } else { 10_000 };
    let commit = |n: u64| {
        let value = vec![u8::try_from(n).unwrap(); size(n)];
        Commit { key: key("t"), guard: before(n), ops: vec![put(n, vec![change("x", PartKind::Base, value)])] }
    };
    let answers = at_once(&file, &store, (1..=40).map(commit).collect()).await;
    assert!(answers.iter().all(Result::is_ok), "{answers:?}");
    for n in 1..=40 {
        let found = store.get(&key("t"), At::Id(id(n))).await.unwrap().found.unwrap();
        assert_eq!(found.checkpoint.seq, Seq(n));
        assert_eq!(found.values[0].parts[0].bytes, vec![u8::try_from(n).unwrap(); size(n)]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_who_wait_too_long_are_told_so() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::options(&file).busy_timeout(Duration::from_millis(50)).open().await.unwrap();
    let mut other = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let calls: Vec<_> = (0..20)
        .map(|n| {
            let store = store.clone();
            tokio::spawn(async move { store.commit(step(&format!("t{n}"), 1)).await })
        })
        .collect();
    for call in calls {
        let answer = call.await.unwrap();
        assert!(
            matches!(&answer, Err(CommitError::Store(error)) if error.kind() == StoreErrorKind::Locked),
            "{answer:?}"
        );
    }
    other.close().await.unwrap();
    store.commit(step("t0", 1)).await.unwrap();
}

/// Some of those who wait give up. Theirs are applied or not; those of the others are answered.
#[tokio::test(flavor = "multi_thread")]
async fn those_who_give_up_do_not_leave_the_others_without_an_answer() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    for round in 0..40_u64 {
        let calls: Vec<_> = (0..20_u64)
            .map(|n| {
                let store = store.clone();
                let writes = vec![write(u8::try_from(n).unwrap(), "done")];
                let ops = vec![put(1, Vec::new()), Op::PutWrites { checkpoint: id(1), writes }];
                let commit = Commit { key: key(&format!("{round} {n}")), guard: Guard::head(before(1).head), ops };
                tokio::spawn(async move { store.commit(commit).await })
            })
            .collect();
        tokio::time::sleep(Duration::from_micros(round * 20)).await;
        for call in calls.iter().step_by(3) {
            call.abort();
        }
        for call in calls {
            match call.await {
                Ok(answer) => answer.unwrap(),
                Err(aborted) => assert!(aborted.is_cancelled()),
            }
        }
    }
    assert_eq!(rows(&file, "PRAGMA integrity_check").await, ["ok"]);
}
