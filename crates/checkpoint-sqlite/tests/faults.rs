//! What a store says when the file fails it, and that nothing is lost by it.
#![allow(clippy::unwrap_used)]

mod common;

use std::time::Duration;

use common::{before, change, id, key, put, step, write};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use superstep_checkpoint::{
    At, Checkpointer, Commit, CommitError, Expect, Guard, ListQuery, Op, PartKind, Retry, StoreError, StoreErrorKind,
};
use superstep_checkpoint_sqlite::{Sqlite, Synchronous};

const SECRET: &str = "s3cret-value";

fn of_store(error: CommitError) -> StoreError {
    match error {
        CommitError::Store(error) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_full_store_refuses_and_goes_on_with_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::options(dir.path().join("a.db")).max_bytes(200_000).open().await.unwrap();
    let mut n = 0_u64;
    let error = loop {
        n += 1;
        let values = vec![change("x", PartKind::Base, SECRET.repeat(1000))];
        match store.commit(Commit { key: key("t"), guard: before(n), ops: vec![put(n, values)] }).await {
            Ok(()) => assert!(n < 100),
            Err(error) => break of_store(error),
        }
    };
    assert_eq!((error.kind(), error.retry()), (StoreErrorKind::Full, Retry::Useless));
    assert!(!format!("{error} {error:?}").contains(SECRET));
    let view = store.get(&key("t"), At::Head).await.unwrap();
    assert_eq!(view.namespace.unwrap().head, id(n - 1));
    store.delete_thread(&key("t").thread).await.unwrap();
    store.commit(step("other", 1)).await.unwrap();
}

#[tokio::test]
async fn a_commit_that_waits_too_long_for_the_lock_is_locked_and_may_be_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::options(&file).busy_timeout(Duration::from_millis(50)).open().await.unwrap();
    let mut other = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let error = of_store(store.commit(step("t", 1)).await.unwrap_err());
    assert_eq!((error.kind(), error.retry()), (StoreErrorKind::Locked, Retry::MayHelp), "{error:?}");
    let error = store.delete_thread(&key("t").thread).await.unwrap_err();
    assert_eq!((error.kind(), error.operation()), (StoreErrorKind::Locked, "delete_thread"));
    assert!(store.get(&key("t"), At::Head).await.unwrap().thread.is_none(), "reading does not wait");
    other.close().await.unwrap();
    store.commit(step("t", 1)).await.unwrap();
}

#[tokio::test]
async fn a_commit_waits_for_a_lock_that_is_given_back_in_time() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    let mut other = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut other).await.unwrap();
    let waiting = tokio::spawn(async move { store.commit(step("t", 1)).await });
    tokio::time::sleep(Duration::from_millis(200)).await;
    other.close().await.unwrap();
    waiting.await.unwrap().unwrap();
}

/// Damaged pages, not in the first ones: the file opens, what is damaged does not read.
#[tokio::test]
async fn damaged_pages_are_corrupt_when_read() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    for n in 1..=50 {
        store.commit(step("t", n)).await.unwrap();
    }
    store.close().await;
    let mut bytes = std::fs::read(&file).unwrap();
    let from = bytes.len() / 4096 / 2 * 4096;
    bytes[from..].fill(0xa5);
    std::fs::write(&file, &bytes).unwrap();
    let store = Sqlite::open(&file).await.unwrap();
    let list = store.list(&key("t"), &ListQuery::default()).await.unwrap_err();
    assert_eq!((list.kind(), list.operation()), (StoreErrorKind::Corrupt, "list"), "{list:?}");
    drop(store);
    assert_eq!(std::fs::read(&file).unwrap(), bytes);
}

async fn altered(sql: &'static str) -> StoreError {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::options(&file).synchronous(Synchronous::Normal).open().await.unwrap();
    let writes = vec![write(1, SECRET)];
    let mut commit = step("t", 1);
    commit.ops.push(Op::PutWrites { checkpoint: id(1), writes });
    store.commit(commit).await.unwrap();
    let mut other = SqliteConnectOptions::new().filename(&file).connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut other).await.unwrap();
    let error = store.get(&key("t"), At::Head).await.unwrap_err();
    assert!(!format!("{error} {error:?}").contains(SECRET), "{error:?}");
    error
}

#[tokio::test]
async fn rows_that_are_not_as_they_should_be_are_corrupt() {
    for sql in [
        "UPDATE superstep_checkpoint SET body = 's3cret-value'",
        "UPDATE superstep_checkpoint SET body = json_set(body, '$.step', 's3cret-value')",
        "UPDATE superstep_checkpoint SET id = x'00'",
        "UPDATE superstep_thread SET epoch = -1",
        "UPDATE superstep_thread SET owner = x'00'",
        "UPDATE superstep_thread SET next = 's3cret-value'",
        "UPDATE superstep_value SET checkpoint = x'00'",
        "UPDATE superstep_value SET channel = ''",
        "UPDATE superstep_write SET task = x'00'",
        "UPDATE superstep_write SET node = ''",
    ] {
        let error = altered(sql).await;
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{sql}: {error:?}");
    }
}

#[tokio::test]
async fn rows_of_a_newer_version_are_too_new() {
    for sql in [
        "UPDATE superstep_checkpoint SET body = json_set(body, '$.format', 2)",
        "UPDATE superstep_checkpoint SET body = json_set(body, '$.format', 2, '$.step', 's3cret-value')",
        "UPDATE superstep_thread SET status = 'dreaming'",
        "UPDATE superstep_value SET kind = 99",
        "UPDATE superstep_write SET kind = 99",
    ] {
        let error = altered(sql).await;
        assert_eq!(error.kind(), StoreErrorKind::TooNew, "{sql}: {error:?}");
    }
}

/// A value may have a gigabyte; the content of one commit counts as one.
#[tokio::test]
async fn a_commit_beyond_a_gigabyte_is_too_large() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(dir.path().join("a.db")).await.unwrap();
    store.commit(step("t", 1)).await.unwrap();
    let half = bytes::Bytes::from(vec![0; 501_000_000]);
    let values =
        ["a", "b"].map(|name| superstep_checkpoint::Change { bytes: half.clone(), ..change(name, PartKind::Base, "") });
    let commit = Commit { key: key("t"), guard: Guard::head(Expect::Head(id(1))), ops: vec![put(2, values.into())] };
    let error = of_store(store.commit(commit).await.unwrap_err());
    assert_eq!((error.kind(), error.retry()), (StoreErrorKind::TooLarge, Retry::Useless), "{error:?}");
    store.commit(step("t", 2)).await.unwrap();
}
