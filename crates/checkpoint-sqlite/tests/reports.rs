//! What users of such stores reported, on a file. Reports about several processes are in `processes.rs`, about opening
//! in `open.rs`.
#![allow(clippy::unwrap_used)]

mod common;

use std::num::NonZeroUsize;
use std::time::Instant;

use common::{before, change, id, key, put, rows, step, write};
use superstep_checkpoint::{
    At, Checkpointer, Commit, ListQuery, Namespace, Op, PartKind, Status, TenantId, ThreadId, ThreadKey, WriteKind,
};
use superstep_checkpoint_sqlite::{Sqlite, Synchronous};

#[tokio::test]
async fn b107_records_put_three_times_are_there_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    store.commit(step("t", 1)).await.unwrap();
    for bytes in ["first", "second", "third"] {
        let writes = vec![write(1, bytes), write(2, bytes)];
        let ops = vec![Op::PutWrites { checkpoint: id(1), writes }];
        store.commit(Commit { key: key("t"), guard: before(2), ops }).await.unwrap();
    }
    assert_eq!(rows(&file, "SELECT bytes FROM superstep_write").await, ["third", "third"]);
}

/// That a read is one statement is plain from the code; here that a page of history costs no more in a long thread.
#[tokio::test]
async fn b112_a_page_of_a_long_history_costs_as_much_as_one_of_a_short_history() {
    let dir = tempfile::tempdir().unwrap();
    let store = Sqlite::options(dir.path().join("a.db")).synchronous(Synchronous::Normal).open().await.unwrap();
    for (thread, length) in [("short", 100_u64), ("long", 10_000)] {
        for first in (1..=length).step_by(100) {
            let one = |n: u64| put(n, vec![change("count", PartKind::Base, n.to_string())]);
            let ops = (first..first + 100).map(one).collect();
            store.commit(Commit { key: key(thread), guard: before(first), ops }).await.unwrap();
        }
    }
    let mut best = [f64::MAX; 2];
    for _ in 0..30 {
        for (best, thread) in best.iter_mut().zip(["short", "long"]) {
            let start = Instant::now();
            let ten = ListQuery::default().limit(NonZeroUsize::new(10).unwrap()).before(id(60));
            let list = store.list(&key(thread), &ten).await.unwrap();
            assert_eq!(
                list.iter().map(|found| found.checkpoint.seq.0).collect::<Vec<_>>(),
                (50..60).rev().collect::<Vec<_>>()
            );
            store.get(&key(thread), At::Head).await.unwrap();
            *best = best.min(start.elapsed().as_secs_f64());
        }
    }
    // A scan of the long thread would take a hundred times as long; ten leaves room for a busy machine.
    assert!(best[1] < best[0] * 10.0, "{best:?}");
}

#[tokio::test]
async fn b113_what_does_not_change_is_stored_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    for n in 1..=100_u64 {
        let mut values = vec![change("count", PartKind::Base, n.to_string())];
        if n == 1 {
            values.push(change("constant", PartKind::Base, vec![b'c'; 1_000_000]));
        }
        store.commit(Commit { key: key("t"), guard: before(n), ops: vec![put(n, values)] }).await.unwrap();
    }
    store.close().await;
    let bytes = file.metadata().unwrap().len();
    assert!(bytes < 1_500_000, "{bytes}");
    let found = Sqlite::open(&file).await.unwrap().get(&key("t"), At::Head).await.unwrap().found.unwrap();
    assert_eq!(found.values[0].parts[0].bytes.len(), 1_000_000);
    assert_eq!(found.values[1].parts[0].bytes, "100");
}

#[tokio::test]
async fn b155_of_a_deleted_thread_only_its_tombstone_remains() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    let (gone, kept) = ("gone-7f3a", "kept");
    for thread in [gone, kept] {
        for namespace in ["", "child:1", "child:1|grandchild"] {
            let key = key(thread).thread.namespace(Namespace::new(namespace).unwrap());
            let epoch = before(1);
            let question = superstep_checkpoint::Write { kind: WriteKind::Question, ..write(1, "sure?") };
            let writes = vec![
                write(2, "result"),
                superstep_checkpoint::Write { kind: WriteKind::Error, ..write(3, "no") },
                question,
            ];
            let mut ops =
                vec![put(1, vec![change("x", PartKind::Base, "x")]), Op::PutWrites { checkpoint: id(1), writes }];
            ops.push(Op::SetStatus { status: Status::Waiting, next: Vec::new() });
            store.commit(Commit { key, guard: epoch, ops }).await.unwrap();
        }
    }
    let unknown = ThreadKey { tenant: TenantId::default(), thread: ThreadId::new("never").unwrap() };
    for thread in [&key(gone).thread, &key(gone).thread, &unknown] {
        store.delete_thread(thread).await.unwrap();
    }
    let mut found = Vec::new();
    for table in rows(&file, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").await {
        for row in rows(&file, &format!("SELECT * FROM {table}")).await.into_iter().filter(|row| row.contains(gone)) {
            found.push(format!("{table}: {row}"));
        }
    }
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("superstep_thread: |gone-7f3a|1|null|done|[]||1|"), "{found:?}");
    assert!(store.get(&key(gone), At::Head).await.unwrap().found.is_none());
    assert_eq!(store.list(&key(kept), &ListQuery::default()).await.unwrap().len(), 1);
    assert_eq!(rows(&file, "SELECT count(*) FROM superstep_write").await, ["9"]);
}

/// Not in unused parts of the file either, once the log is copied into it.
#[tokio::test]
async fn b155_the_content_of_a_deleted_thread_is_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("a.db");
    let store = Sqlite::open(&file).await.unwrap();
    let secret = "s3cret-value";
    for n in 1..=20_u64 {
        let values = vec![change("x", PartKind::Base, secret.repeat(usize::try_from(n).unwrap() * 40))];
        store.commit(Commit { key: key("t"), guard: before(n), ops: vec![put(n, values)] }).await.unwrap();
    }
    store.close().await;
    let holds_secret = || std::fs::read(&file).unwrap().windows(secret.len()).any(|part| part == secret.as_bytes());
    assert!(holds_secret());
    store.delete_thread(&key("t").thread).await.unwrap();
    store.close().await;
    assert!(!dir.path().join("a.db-wal").exists());
    assert!(!holds_secret());
}
