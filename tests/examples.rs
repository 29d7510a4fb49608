//! Every example runs to its end, and what it prints is what is expected of it. To take what it prints now as
//! expected: `UPDATE_EXPECTED=1 cargo test --test examples`.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn refund() {
    compare("refund", &[], "expected.txt");
}

#[test]
fn lead() {
    compare("lead", &[], "expected.txt");
}

#[test]
fn lead_that_is_turned_down() {
    compare("lead", &["--no"], "expected-no.txt");
}

/// Examples are built with the tests, into a folder beside theirs.
fn binary(example: &str) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let profile = test.parent().and_then(Path::parent).unwrap();
    let binary = profile.join("examples").join(format!("{example}{}", std::env::consts::EXE_SUFFIX));
    assert!(binary.is_file(), "{} is missing; run `cargo build --examples`", binary.display());
    binary
}

fn compare(example: &str, args: &[&str], expected: &str) {
    let output = Command::new(binary(example)).args(args).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{example} failed: {errors}");
    let printed = masked(&String::from_utf8(output.stdout).unwrap());
    let expected = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples").join(example).join(expected);
    if std::env::var_os("UPDATE_EXPECTED").is_some() {
        std::fs::write(&expected, &printed).unwrap();
    }
    let text = std::fs::read_to_string(&expected).unwrap_or_default();
    assert_eq!(printed, text, "{example} prints something else than {}", expected.display());
}

/// Replaces what differs from run to run: times, ports, process ids, keys.
fn masked(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = after(line, "] ").map_or(line.to_owned(), |rest| format!("[ time ] {rest}"));
        let words = line.split_inclusive(' ').map(|word| match word.trim_end() {
            bare if bare.starts_with("127.0.0.1:") => word.replace(bare, "<address>"),
            bare if is_number(bare) && line.contains("as process") => word.replace(bare, "<process>"),
            _ => word.to_owned(),
        });
        words.collect::<String>() + "\n"
    });
    in_any_order(lines.collect())
}

/// What follows the time with which a line begins, if it does.
fn after<'t>(line: &'t str, end: &str) -> Option<&'t str> {
    let (time, rest) = line.strip_prefix('[')?.split_once(end)?;
    time.ends_with("ms").then_some(rest)
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// Lines of progress of nodes that run side by side come in any order: runs of them are sorted.
fn in_any_order(mut lines: Vec<String>) -> String {
    let beside = |line: &str| line.starts_with("  website") || line.starts_with("  news");
    for run in lines.chunk_by_mut(|a, b| beside(a) && beside(b)) {
        run.sort();
    }
    lines.concat()
}
