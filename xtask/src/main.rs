//! Chores of the workspace: `cargo xtask test`, `setup`, `tidy`.

mod deps;
mod setup;
mod steps;
mod tidy;

use std::process::ExitCode;

const HELP: &str = "\
cargo xtask <command>

  test    everything that must pass: setup, tidy, format, lints, tests, docs, features
  setup   installs what the tests need and is missing (as root)
  tidy    the rules of ARCHITECTURE.md that a program can check
";

fn main() -> ExitCode {
    let command = std::env::args().nth(1);
    let result = match command.as_deref() {
        Some("test") => steps::test(),
        Some("setup") => setup::install(),
        Some("tidy") => tidy::check(),
        _ => Err(HELP.to_owned()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
