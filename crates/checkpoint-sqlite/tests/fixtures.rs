//! Files of every released version still open, and the tables of a version never change.
#![allow(clippy::unwrap_used)]

mod common;

use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use common::{before, change, id, key, put, rows, write};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use superstep_checkpoint::{
    At, Checkpointer, Commit, Fence, ListQuery, OwnerId, Part, PartKind, QuestionId, Status, Write, WriteKind,
};
use superstep_checkpoint_sqlite::Sqlite;

const V1: &str = include_str!("fixtures/v1.sql");

async fn load(path: &Path, dump: &'static str) {
    let mut connection = SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap();
    sqlx::raw_sql(dump).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

#[tokio::test]
async fn a_file_of_version_1_opens_reads_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    load(&file, V1).await;
    let store = Sqlite::open(&file).await.unwrap();
    let question = QuestionId::from_bytes([5; 16]);
    let view = store.get(&key("t"), At::Question(question)).await.unwrap();

    let thread = view.thread.unwrap();
    let owner = OwnerId::from_bytes([6; 16]);
    assert_eq!(
        (thread.epoch.0, thread.owner, thread.status, thread.graph.as_str()),
        (1, Some(owner), Status::Waiting, "g")
    );
    assert_eq!(thread.next[0].as_str(), "work");
    assert_eq!(thread.updated_at, UNIX_EPOCH + Duration::from_millis(1_796_074_988_137));

    let found = view.found.unwrap();
    assert_eq!(*found.checkpoint, common::checkpoint(3));
    assert_eq!(found.writes, [Write { kind: WriteKind::Question, path: question.into(), ..write(2, "sure?") }]);
    let part = |n, kind, bytes: &'static str| Part { checkpoint: id(n), kind, bytes: bytes.into() };
    assert_eq!(found.values.len(), 1, "the channel count is cleared");
    assert_eq!(found.values[0].parts, [part(2, PartKind::Base, "a"), part(3, PartKind::Segment, "b")]);

    let of_bob = store.list(&key("t"), &ListQuery::default().metadata("user", "bob")).await.unwrap();
    assert_eq!((of_bob.len(), of_bob[0].checkpoint.id, &of_bob[0].args[..]), (1, id(2), &b"args"[..]));
    assert!(store.get(&key("gone"), At::Head).await.unwrap().thread.unwrap().deleted);

    let guard = before(4).fenced(Fence { epoch: thread.epoch, owner });
    let ops = vec![put(4, vec![change("log", PartKind::Segment, "c")])];
    store.commit(Commit { key: key("t"), guard, ops }).await.unwrap();
}

/// A new file has the tables of the fixture: a released migration was not edited.
#[tokio::test]
async fn the_tables_of_version_1_are_as_they_were() {
    let dir = tempfile::tempdir().unwrap();
    let (old, new) = (dir.path().join("old.db"), dir.path().join("new.db"));
    load(&old, V1).await;
    Sqlite::open(&new).await.unwrap().close().await;
    let schema = "SELECT name, sql FROM sqlite_schema ORDER BY name";
    assert_eq!(rows(&old, schema).await, rows(&new, schema).await);
}
