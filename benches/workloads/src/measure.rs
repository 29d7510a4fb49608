//! How it is measured.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{ConnectOptions, SqliteConnection};
use superstep::Checkpointer;
use superstep_checkpoint_testkit::Recording;

use crate::Fallible;
use crate::place::Place;
use crate::workload::{Runner, Workload};

/// Bare commits of a round, to compare with.
const BARE: u32 = 400;

struct Row {
    place: Place,
    runner: Runner,
    times: Vec<Duration>,
}

/// Runs a workload everywhere, in turns, and prints a row for each place.
pub(crate) async fn compare(workload: Workload, rounds: usize) -> Fallible {
    let folder = tempfile::tempdir()?;
    let mut rows = Vec::new();
    for place in Place::ALL {
        let own = folder.path().join(place.name().replace(' ', "-"));
        std::fs::create_dir(&own)?;
        let runner = workload.graph(place.store(&own).await?)?;
        rows.push(Row { place, runner, times: Vec::new() });
    }
    let mut bare = bare(&folder.path().join("bare.db")).await?;
    let mut bare_times = Vec::new();
    for round in 0..=rounds {
        let took = bare_round(&mut bare).await?;
        let mut took_all = Vec::new();
        for row in &rows {
            took_all.push(one(row, round).await?);
        }
        if round > 0 {
            bare_times.push(took / BARE); // the first round warms up
            rows.iter_mut().zip(took_all).for_each(|(row, took)| row.times.push(took));
        }
    }
    print(workload, rows, median(bare_times)).await
}

async fn one(row: &Row, round: usize) -> Fallible<Duration> {
    let config = row.place.config(&format!("thread-{round}"));
    let start = Instant::now();
    row.runner.run(config).await?;
    Ok(start.elapsed())
}

async fn print(workload: Workload, rows: Vec<Row>, bare: Duration) -> Fallible {
    println!("\n{}: {} steps; a bare one-row commit takes {bare:.0?}", workload.name(), workload.steps());
    println!(
        "  {:<16} {:>10} {:>10} {:>12} {:>8} {:>11} {:>9} {:>9}",
        "store", "median", "a step", "steps/s", "commits", "bytes", "vs bare", "peak MB"
    );
    for row in rows {
        let time = median(row.times);
        let counts = counts(workload, row.place).await?;
        let peak = peak_of(workload, row.place)?;
        let floor = bare.as_secs_f64() * f64::from(counts.commits);
        let ratio = if counts.commits == 0 || row.place == Place::Memory { 0.0 } else { floor / time.as_secs_f64() };
        println!(
            "  {:<16} {:>10} {:>10} {:>12.0} {:>8} {:>11} {:>9} {:>9.1}",
            row.place.name(),
            format!("{time:.2?}"),
            format!("{:.2?}", time / workload.steps()),
            f64::from(workload.steps()) / time.as_secs_f64(),
            counts.commits,
            counts.bytes,
            if ratio > 0.0 { format!("{ratio:.2}") } else { "-".to_owned() },
            peak
        );
    }
    Ok(())
}

struct Counted {
    commits: u32,
    bytes: usize,
}

/// Commits of one run, and the encoded bytes handed over.
async fn counts(workload: Workload, place: Place) -> Fallible<Counted> {
    let folder = tempfile::tempdir()?;
    let Some(store) = place.store(folder.path()).await? else { return Ok(Counted { commits: 0, bytes: 0 }) };
    let recording = Arc::new(Recording::new(store));
    let runner = workload.graph(Some(Arc::clone(&recording) as Arc<dyn Checkpointer>))?;
    runner.run(place.config("counted")).await?;
    let counts = recording.counts();
    Ok(Counted { commits: u32::try_from(counts.commits)?, bytes: counts.bytes() })
}

/// The peak memory of one run in a process of its own, in MB.
fn peak_of(workload: Workload, place: Place) -> Fallible<f64> {
    let own = std::env::current_exe()?;
    let output = Command::new(own).args(["--memory-of", workload.name(), place.name()]).output()?;
    let kilobytes: f64 = String::from_utf8(output.stdout)?.trim().parse()?;
    Ok(kilobytes / 1024.0)
}

/// Runs once and prints the peak resident size of this process, in KB.
pub(crate) async fn memory_of(workload: &str, place: &str) -> Fallible {
    let workload = Workload::named(workload).ok_or("no such workload")?;
    let place = Place::named(place).ok_or("no such place")?;
    let folder = tempfile::tempdir()?;
    let runner = workload.graph(place.store(folder.path()).await?)?;
    runner.run(place.config("once")).await?;
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    println!("{}", peak.unwrap_or("0 kB").trim().trim_end_matches(" kB"));
    Ok(())
}

async fn bare(path: &Path) -> Fallible<SqliteConnection> {
    let options = SqliteConnectOptions::new().filename(path).create_if_missing(true).disable_statement_logging();
    let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
    let mut connection = options.connect().await?;
    sqlx::raw_sql("CREATE TABLE bare (id INTEGER PRIMARY KEY, bytes BLOB)").execute(&mut connection).await?;
    Ok(connection)
}

async fn bare_round(connection: &mut SqliteConnection) -> Fallible<Duration> {
    let start = Instant::now();
    for _ in 0..BARE {
        let insert = sqlx::query("INSERT INTO bare (bytes) VALUES (?1)").bind(vec![7_u8; 600]);
        insert.execute(&mut *connection).await?;
    }
    Ok(start.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
