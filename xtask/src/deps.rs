//! Which crate of the workspace may use which.

use std::fs;
use std::path::Path;

/// The arrows of ARCHITECTURE.md: a crate, and the crates of ours that it may depend on.
const ARROWS: &[(&str, &[&str])] = &[
    ("crates/checkpoint", &[]),
    ("crates/pregel", &["superstep-checkpoint"]),
    ("crates/graph-core", &["superstep-checkpoint", "superstep-pregel"]),
    ("crates/graph-macros", &[]),
    ("crates/checkpoint-sqlite", &["superstep-checkpoint"]),
    ("crates/checkpoint-testkit", &["superstep-checkpoint"]),
];

/// Crates that may not be dependencies of the pure machine.
const IMPURE: &[&str] = &["tokio", "rand", "futures-util", "async-trait", "sqlx"];

/// Checks the arrows.
pub(crate) fn check(root: &Path, problems: &mut Vec<String>) {
    for (folder, allowed) in ARROWS {
        let manifest = root.join(folder).join("Cargo.toml");
        let Ok(text) = fs::read_to_string(&manifest) else {
            problems.push(format!("{} cannot be read", manifest.display()));
            continue;
        };
        for dependency in dependencies(&text) {
            let ours = dependency.starts_with("superstep-");
            if ours && !allowed.contains(&dependency.as_str()) {
                problems.push(format!("{folder} may not depend on {dependency}: arrows point down only"));
            }
            if *folder == "crates/pregel" && IMPURE.contains(&dependency.as_str()) {
                problems.push(format!("{folder} is pure and may not depend on {dependency}"));
            }
        }
    }
}

/// The names under `[dependencies]`.
fn dependencies(manifest: &str) -> Vec<String> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            inside = line == "[dependencies]";
        } else if inside && !line.is_empty() && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            names.push(name.to_owned());
        }
    }
    names
}
