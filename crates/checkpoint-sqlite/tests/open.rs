//! What is opened, what is refused, and that a refused file stays as it was.
#![allow(clippy::unwrap_used)]

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use common::{id, key, rows, step};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, SqliteConnection};
use superstep_checkpoint::{At, Checkpointer, Durable, OpenError, Retry, StoreErrorKind};
use superstep_checkpoint_sqlite::{Sqlite, Synchronous};

/// All files of a folder with what is in them.
fn snapshot(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = std::fs::read_dir(dir).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file());
    entries.map(|entry| (entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap())).collect()
}

/// Opens the file `a.db` of the folder, which must be refused and leave the folder as it was.
async fn refused(dir: &Path) -> OpenError {
    let before = snapshot(dir);
    let error = Sqlite::options(dir.join("a.db")).busy_timeout(Duration::from_millis(100)).open().await.unwrap_err();
    assert_eq!(snapshot(dir), before, "{error:?}");
    assert!(error.to_string().contains("a.db"), "{error}");
    error
}

async fn foreign(path: &Path, journal: SqliteJournalMode, sql: &'static str) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true).journal_mode(journal);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection
}

/// A file of ours with one thread of three steps, closed.
async fn ours(path: &Path) {
    let store = Sqlite::open(path).await.unwrap();
    for n in 1..=3 {
        store.commit(step("t", n)).await.unwrap();
    }
    store.close().await;
}

async fn alter(path: &Path, sql: &str) {
    let mut connection = SqliteConnectOptions::new().filename(path).connect().await.unwrap();
    sqlx::raw_sql(AssertSqlSafe(sql.to_owned())).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn what_was_committed_is_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    ours(&path).await;
    let store = Sqlite::open(&path).await.unwrap();
    assert_eq!(store.get(&key("t"), At::Head).await.unwrap().namespace.unwrap().head, id(3));
}

#[tokio::test]
async fn an_empty_file_becomes_ours() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("a.db"), b"").unwrap();
    ours(&dir.path().join("a.db")).await;
}

#[tokio::test]
async fn names_that_mean_something_to_sqlite_are_plain_files() {
    let dir = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:x?mode=memory", "a b%20c?d#e.db", "é'\";--.db"] {
        let path = dir.path().join(name);
        ours(&path).await;
        assert!(path.metadata().unwrap().len() > 0, "{name}");
    }
    let error = Sqlite::open("").await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Invalid, "{error:?}");
}

#[cfg(unix)]
#[tokio::test]
async fn only_its_owner_may_read_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::open(dir.path().join("a.db")).await.unwrap();
    store.commit(step("t", 1)).await.unwrap();
    let files = snapshot(dir.path());
    assert_eq!(files.keys().collect::<Vec<_>>(), ["a.db", "a.db-shm", "a.db-wal"]);
    for file in files.keys() {
        let mode = dir.path().join(file).metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[tokio::test]
async fn a_file_that_is_no_database_is_not_ours() {
    let dir = tempfile::tempdir().unwrap();
    for content in [&b"x"[..], b"hello, world\n", &[0; 4096], b"SQLite format 3\0", &[b'z'; 10_000]] {
        std::fs::write(dir.path().join("a.db"), content).unwrap();
        let error = refused(dir.path()).await;
        assert_eq!(error.kind(), StoreErrorKind::NotOurs, "{error:?}");
    }
}

#[tokio::test]
async fn a_database_of_another_application_is_not_ours() {
    let sql = [
        "CREATE TABLE customers (name TEXT)",
        "PRAGMA application_id = 7; CREATE TABLE customers (name TEXT)",
        "PRAGMA application_id = 7",
        "PRAGMA user_version = 1",
        "CREATE TABLE superstep_thread (tenant TEXT)",
    ];
    for sql in sql {
        for journal in [SqliteJournalMode::Delete, SqliteJournalMode::Wal] {
            let dir = tempfile::tempdir().unwrap();
            let connection = foreign(&dir.path().join("a.db"), journal, sql).await;
            connection.close().await.unwrap();
            let error = refused(dir.path()).await;
            assert_eq!(error.kind(), StoreErrorKind::NotOurs, "{sql}: {error:?}");
        }
    }
}

#[tokio::test]
async fn a_database_that_another_application_has_open_is_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let mut connection =
        foreign(&dir.path().join("a.db"), SqliteJournalMode::Wal, "CREATE TABLE customers (name TEXT)").await;
    // Content that stands in its log only.
    sqlx::raw_sql("PRAGMA wal_checkpoint; INSERT INTO customers VALUES ('x')").execute(&mut connection).await.unwrap();
    let before = std::fs::read(dir.path().join("a.db")).unwrap();
    let error = refused(dir.path()).await;
    assert_eq!(error.kind(), StoreErrorKind::NotOurs, "{error:?}");
    assert_eq!(std::fs::read(dir.path().join("a.db")).unwrap(), before);
}

#[tokio::test]
async fn a_newer_file_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    ours(&path).await;
    alter(&path, "PRAGMA user_version = 1000").await;
    let before = std::fs::read(&path).unwrap();
    let error = Sqlite::open(&path).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TooNew, "{error:?}");
    assert!(std::error::Error::source(&error).unwrap().to_string().contains("1000"), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

/// The newer version may stand in the log only, after a crash of the newer program.
#[tokio::test]
async fn a_newer_file_is_left_alone_with_its_log() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    ours(&path).await;
    let mut newer = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    sqlx::raw_sql("PRAGMA user_version = 1000").execute(&mut newer).await.unwrap();
    let crashed = tempfile::tempdir().unwrap();
    for (name, content) in snapshot(dir.path()).into_iter().filter(|(name, _)| name != "a.db-shm") {
        std::fs::write(crashed.path().join(name), content).unwrap();
    }
    let before = snapshot(crashed.path());
    assert!(!before["a.db-wal"].is_empty());
    let error = Sqlite::open(crashed.path().join("a.db")).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::TooNew, "{error:?}");
    let after = snapshot(crashed.path());
    assert_eq!((&after["a.db"], &after["a.db-wal"]), (&before["a.db"], &before["a.db-wal"]));
}

#[tokio::test]
async fn a_folder_a_missing_folder_and_a_device_are_denied() {
    let dir = tempfile::tempdir().unwrap();
    for path in [dir.path().to_owned(), dir.path().join("missing/a.db"), "/dev/null".into(), "/".into()] {
        let error = Sqlite::open(&path).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Denied, "{error:?}");
    }
    assert!(snapshot(dir.path()).is_empty());
}

#[tokio::test]
async fn a_locked_file_is_locked_and_a_retry_may_help() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    ours(&path).await;
    let mut other = SqliteConnectOptions::new().filename(&path).connect().await.unwrap();
    let lock = "PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE";
    sqlx::raw_sql(lock).execute(&mut other).await.unwrap();
    let before = std::fs::read(&path).unwrap();
    let options = Sqlite::options(&path).busy_timeout(Duration::from_millis(100));
    let error = options.clone().open().await.unwrap_err();
    assert_eq!((error.kind(), error.source.retry()), (StoreErrorKind::Locked, Retry::MayHelp), "{error:?}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
    other.close().await.unwrap();
    options.open().await.unwrap();
}

#[tokio::test]
async fn no_room_for_the_tables_is_full() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let error = Sqlite::options(&path).max_bytes(8192).open().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Full, "{error:?}");
    assert_eq!(path.metadata().unwrap().len(), 0);
    ours(&path).await;
}

#[tokio::test]
async fn a_damaged_file_is_corrupt() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    ours(&path).await;
    let good = std::fs::read(&path).unwrap();
    let mut scrambled = good.clone();
    scrambled[100..4096].fill(0x5a);
    for damaged in [&good[..4096], &good[..5000], &scrambled] {
        std::fs::write(&path, damaged).unwrap();
        let error = Sqlite::open(&path).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Corrupt, "{error:?}");
        assert_eq!(std::fs::read(&path).unwrap(), damaged);
    }
}

#[tokio::test]
async fn b088_preparing_twice_changes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    ours(&path).await;
    let before = std::fs::read(&path).unwrap();
    for _ in 0..2 {
        Sqlite::open(&path).await.unwrap().close().await;
    }
    assert_eq!(std::fs::read(&path).unwrap(), before);
    assert_eq!(rows(&path, "SELECT version FROM superstep_migration").await, ["1"]);
}

/// A program that died before it turned the log on leaves a file with tables and without a log.
#[tokio::test]
async fn b090_a_file_without_a_log_gets_one() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    ours(&path).await;
    alter(&path, "PRAGMA journal_mode = DELETE").await;
    ours_goes_on(&path).await;
    assert_eq!(rows(&path, "PRAGMA journal_mode").await, ["wal"]);
}

async fn ours_goes_on(path: &Path) {
    let store = Sqlite::open(path).await.unwrap();
    store.commit(step("t", 4)).await.unwrap();
    store.close().await;
}

#[tokio::test]
async fn the_promises_name_the_settings() {
    let dir = tempfile::tempdir().unwrap();
    let full = Sqlite::open(dir.path().join("a.db")).await.unwrap();
    assert_eq!(full.guarantees().store, "sqlite (WAL, synchronous=FULL)");
    assert_eq!(full.guarantees().durable, Durable::PowerLoss);
    let normal = Sqlite::options(dir.path().join("a.db")).synchronous(Synchronous::Normal).open().await.unwrap();
    assert_eq!(normal.guarantees().store, "sqlite (WAL, synchronous=NORMAL)");
    assert_eq!(normal.guarantees().durable, Durable::ProcessCrash);
    assert!(normal.guarantees().shared && !normal.guarantees().volatile_allowed);
    assert_eq!(full.instance(), full.clone().instance());
    assert_ne!(full.instance(), normal.instance());
}
