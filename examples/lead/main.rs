//! A sales lead: research and draft (slow, paid model calls), a person's word, a mail, a log entry. The worker is killed
//! while it drafts and another goes on; research is not paid for again.
//!
//! `cargo run --example lead` needs no set-up. Progress comes from the stream of the run; `--yes` or `--no` says what the
//! person answers (yes unless said otherwise).

#![allow(unreachable_pub, reason = "an example reads better with plain `pub`")]

mod graph;
mod story;
mod worker;

use std::process::ExitCode;

type Fallible<T = ()> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let result = match args.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["worker", folder, command] => worker::run(folder, command),
        [] | ["--yes"] => story::tell("yes"),
        ["--no"] => story::tell("no"),
        _ => Err("usage: lead [--yes | --no]".into()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
