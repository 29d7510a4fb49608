//! Rules that a program can check.

use std::fs;
use std::path::{Path, PathBuf};

use crate::steps::root;

/// Words that the pure machine may not use.
const IMPURE: &[&str] = &[
    "async fn",
    ".await",
    "std::time::Instant",
    "SystemTime::now",
    "std::fs",
    "std::net",
    "rand::",
    "tokio::",
    "std::thread",
];

/// The longest source file, in lines, tests not counted.
const MAX_LINES: usize = 600;

/// Checks the tree; the error lists every problem.
pub(crate) fn check() -> Result<(), String> {
    let mut problems = Vec::new();
    crate::deps::check(root(), &mut problems);
    for file in sources(root()) {
        let Ok(text) = fs::read_to_string(&file) else { continue };
        let name = file.strip_prefix(root()).unwrap_or(&file).display().to_string();
        check_file(&name, &text, &mut problems);
    }
    for needed in ["LICENSE-MIT", "LICENSE-APACHE", "CHANGELOG.md", "ARCHITECTURE.md", "README.md", "deny.toml"] {
        if !root().join(needed).is_file() {
            problems.push(format!("{needed} is missing"));
        }
    }
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn check_file(name: &str, text: &str, problems: &mut Vec<String>) {
    let body = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    if !text.starts_with("//!") {
        problems.push(format!("{name}: a file opens with `//!` and what it is for"));
    }
    let lines = body.lines().count();
    if lines > MAX_LINES && !name.contains("/tests/") {
        problems.push(format!("{name}: {lines} lines; a file is one topic, at most {MAX_LINES}"));
    }
    if name.starts_with("crates/pregel/src") {
        for (number, line) in body.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//")) {
            if let Some(word) = IMPURE.iter().find(|word| line.contains(**word)) {
                problems.push(format!("{name}:{}: the machine is pure, but here is `{word}`", number + 1));
            }
        }
    }
    if name != "xtask/src/tidy.rs" && text.contains("#[ignore") {
        problems.push(format!("{name}: no ignored tests; assert what is, and say why"));
    }
}

/// All Rust files of the project, but what compile-fail tests feed the compiler.
fn sources(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders: Vec<PathBuf> =
        ["src", "crates", "xtask", "tests", "examples", "benches"].iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for path in entries.flatten().map(|entry| entry.path()) {
            let skipped = path.ends_with("target") || path.ends_with("tests/fail") || path.ends_with("tests/ui");
            if path.is_dir() && !skipped {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}
