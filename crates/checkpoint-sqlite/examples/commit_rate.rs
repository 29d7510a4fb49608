//! Commits a second through the store, against bare one-row commits with the same settings, taken in turns.
//!
//! `cargo run --release -p superstep-checkpoint-sqlite --example commit_rate -- [directory] [rounds]`
#![allow(clippy::unwrap_used, clippy::cast_precision_loss)]

#[path = "../tests/common/mod.rs"]
mod common;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{before, change, key, put, step};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection};
use superstep_checkpoint::{At, Checkpointer, Commit, ListQuery, PartKind};
use superstep_checkpoint_sqlite::{Sqlite, Synchronous};

/// Commits of one turn.
const TURN: u64 = 400;
/// Threads that run at once.
const TASKS: u64 = 16;
/// Checkpoints of one commit in `async` durability with a long lag.
const GROUP: u64 = 32;

#[tokio::main]
async fn main() {
    let mut args = std::env::args().skip(1);
    let parent = args.next().map_or_else(std::env::temp_dir, PathBuf::from);
    let rounds: usize = args.next().map_or(8, |rounds| rounds.parse().unwrap());
    for synchronous in [Synchronous::Full, Synchronous::Normal] {
        let dir = tempfile::tempdir_in(&parent).unwrap();
        // On a worker of the runtime, as an engine would: the main thread takes longer to wake.
        tokio::spawn(async move { compare(dir.path(), synchronous, rounds).await }).await.unwrap();
    }
    let dir = tempfile::tempdir_in(&parent).unwrap();
    tokio::spawn(async move { reads(dir.path()).await }).await.unwrap();
}

async fn compare(dir: &Path, synchronous: Synchronous, rounds: usize) {
    let store = Sqlite::options(dir.join("store.db")).synchronous(synchronous).open().await.unwrap();
    let mut bare = bare(&dir.join("bare.db"), synchronous).await;
    let (mut step_no, mut group_no, mut many_no) = (0, 0, 0);
    let mut times = [Vec::new(), Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..rounds {
        times[0].push(bare_turn(&mut bare).await / u32::try_from(TURN).unwrap());
        times[1].push(step_turn(&store, &mut step_no).await / u32::try_from(TURN).unwrap());
        times[2].push(group_turn(&store, &mut group_no).await / u32::try_from(TURN / GROUP * GROUP).unwrap());
        times[3].push(many_turn(&store, &mut many_no).await / u32::try_from(TURN / TASKS * TASKS).unwrap());
    }
    let [bare, step, group, many] = times.map(median);
    let rate = |time: Duration| 1.0 / time.as_secs_f64();
    println!("{synchronous:?}: bare one-row commit {bare:?} ({:.0}/s)", rate(bare));
    println!("  step of one task            {step:?} ({:.0}/s), ratio {:.3}", rate(step), rate(step) / rate(bare));
    println!("  checkpoint in a group of {GROUP} {group:?} ({:.0}/s)", rate(group));
    println!("  step, {TASKS} threads at once   {many:?} ({:.0}/s)", rate(many));
}

async fn bare(path: &Path, synchronous: Synchronous) -> SqliteConnection {
    let synchronous = match synchronous {
        Synchronous::Normal => SqliteSynchronous::Normal,
        _ => SqliteSynchronous::Full,
    };
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true).disable_statement_logging();
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(synchronous);
    let mut connection = options.connect().await.unwrap();
    sqlx::raw_sql("CREATE TABLE bare (id INTEGER PRIMARY KEY, bytes BLOB)").execute(&mut connection).await.unwrap();
    connection
}

async fn bare_turn(connection: &mut SqliteConnection) -> Duration {
    let start = Instant::now();
    for _ in 0..TURN {
        let insert = sqlx::query("INSERT INTO bare (bytes) VALUES (?1)").bind(vec![7_u8; 600]);
        insert.execute(&mut *connection).await.unwrap();
    }
    start.elapsed()
}

async fn step_turn(store: &Sqlite, no: &mut u64) -> Duration {
    let start = Instant::now();
    for _ in 0..TURN {
        *no += 1;
        store.commit(step("steps", *no)).await.unwrap();
    }
    start.elapsed()
}

async fn group_turn(store: &Sqlite, no: &mut u64) -> Duration {
    let start = Instant::now();
    for _ in 0..TURN / GROUP {
        let guard = before(*no + 1);
        let one = |n: u64| put(n, vec![change("count", PartKind::Base, n.to_string())]);
        let ops = (*no + 1..=*no + GROUP).map(one).collect();
        store.commit(Commit { key: key("groups"), guard, ops }).await.unwrap();
        *no += GROUP;
    }
    start.elapsed()
}

async fn many_turn(store: &Sqlite, no: &mut u64) -> Duration {
    let (start, first) = (Instant::now(), *no + 1);
    *no += TURN / TASKS;
    let last = *no;
    let mut tasks = tokio::task::JoinSet::new();
    for task in 0..TASKS {
        let store = store.clone();
        tasks.spawn(async move {
            for n in first..=last {
                store.commit(step(&format!("many {task}"), n)).await.unwrap();
            }
        });
    }
    tasks.join_all().await;
    start.elapsed()
}

/// Reads of a thread with 1,000 steps that appends one segment of 500 bytes a step.
async fn reads(dir: &Path) {
    let store = Sqlite::options(dir.join("store.db")).synchronous(Synchronous::Normal).open().await.unwrap();
    for n in 1..=1000_u64 {
        let message = if n == 1 { PartKind::Base } else { PartKind::Segment };
        let values = vec![change("count", PartKind::Base, n.to_string()), change("messages", message, vec![b'm'; 500])];
        let ops = vec![put(n, values)];
        store.commit(Commit { key: key("long"), guard: before(n), ops }).await.unwrap();
    }
    for n in 1..=1000 {
        store.commit(step("small", n)).await.unwrap();
    }
    for thread in ["small", "long"] {
        let mut get = Vec::new();
        let mut list = Vec::new();
        for _ in 0..200 {
            let start = Instant::now();
            let view = store.get(&key(thread), At::Head).await.unwrap();
            get.push(start.elapsed());
            drop(view);
            let start = Instant::now();
            let ten = ListQuery::default().limit(NonZeroUsize::new(10).unwrap());
            assert_eq!(store.list(&key(thread), &ten).await.unwrap().len(), 10);
            list.push(start.elapsed());
        }
        println!("{thread}: get {:?}, list of 10 {:?}", median(get), median(list));
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}
