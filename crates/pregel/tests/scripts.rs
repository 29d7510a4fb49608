//! Golden scripts: what the machine wants done, call by call. `UPDATE_SCRIPTS=1` rewrites what they expect.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod support;

use std::path::{Path, PathBuf};

#[test]
fn scripts_get_the_effects_they_expect() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let differing: Vec<String> = files.iter().filter_map(|file| differs(file)).collect();
    assert!(differing.is_empty(), "{}\n`UPDATE_SCRIPTS=1` rewrites them", differing.join("\n"));
}

/// Where a script gets something else than it expects.
fn differs(file: &Path) -> Option<String> {
    let expected = std::fs::read_to_string(file).unwrap();
    println!("{}", file.display());
    let got = support::script::run(&expected);
    if std::env::var_os("UPDATE_SCRIPTS").is_some() {
        std::fs::write(file, &got).unwrap();
    } else if got != expected {
        return Some(first_difference(file, &got, &expected));
    }
    got.contains("MISTAKE").then(|| format!("{}: a command makes no sense, see MISTAKE", file.display()))
}

fn first_difference(file: &Path, got: &str, expected: &str) -> String {
    let line = got.lines().zip(expected.lines()).position(|(got, expected)| got != expected);
    let line = line.unwrap_or_else(|| got.lines().count().min(expected.lines().count()));
    let at = |text: &str| text.lines().nth(line).unwrap_or("the end").to_owned();
    format!("{}:{}\n  expected {}\n  got      {}", file.display(), line + 1, at(expected), at(got))
}
