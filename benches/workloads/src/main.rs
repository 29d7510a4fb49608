//! Whole workloads, each without a store, in memory and on SQLite in every durability, taken in turns in one run.
//!
//! `cargo run --release -p superstep-bench -- [workload] [--rounds N]`; without a name all of them. Times are medians over
//! the rounds. Bare one-row SQLite commits with the same settings run in the same rounds, so the ratio holds on a machine
//! whose speed drifts. Compare ratios, not absolute times of different runs.
#![allow(clippy::expect_used, reason = "a benchmark that cannot run has nothing better to do than to say why")]

mod measure;
mod place;
mod workload;

use workload::Workload;

type Fallible<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> Fallible {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, workload, place] = &args[..]
        && flag == "--memory-of"
    {
        return runtime()?.block_on(measure::memory_of(workload, place));
    }
    let rounds = match args.iter().position(|arg| arg == "--rounds") {
        Some(at) => args.get(at + 1).ok_or("--rounds takes a number")?.parse()?,
        None => 5,
    };
    let wanted = args.first().filter(|arg| !arg.starts_with("--"));
    let workloads = Workload::ALL.iter().filter(|workload| wanted.is_none_or(|name| name == workload.name()));
    runtime()?.block_on(async {
        for workload in workloads {
            measure::compare(*workload, rounds).await?;
        }
        Ok(())
    })
}

/// The loop is driven on a worker thread: spawning from the thread that blocks is dear.
fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()
}
