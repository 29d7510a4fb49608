//! A refund that is parked for approval, killed mid-payment, taken up again and finished: paid once.
//!
//! `cargo run --example refund` needs no set-up. This process plays the outside world: it runs a payments service on a
//! loopback socket, starts worker processes one after another, answers the question and pulls the plug. The workers
//! share nothing but a SQLite file.
//!
//! * `graph.rs` is what you would write: the state, the nodes, the graph.
//! * `payments.rs` is the service: it honours idempotency keys and counts what it really paid.
//! * `worker.rs` is the process that runs the graph; `story.rs` starts and kills it.

#![allow(unreachable_pub, reason = "an example reads better with plain `pub`")]

mod graph;
mod payments;
mod story;
mod worker;

use std::process::ExitCode;

type Fallible<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.first().map(String::as_str) {
        Some("worker") => worker::run(&args[1..]),
        _ => story::tell(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
