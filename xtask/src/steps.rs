//! The gate, step by step.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Runs everything that must pass; stops at the first step that does not.
pub(crate) fn test() -> Result<(), String> {
    crate::setup::ensure()?;
    step("tidy", crate::tidy::check)?;
    cargo("format", &["fmt", "--all", "--check"], &[])?;
    cargo(
        "lints",
        &["clippy", "--workspace", "--all-targets", "--all-features", "--locked", "--", "-D", "warnings"],
        &[],
    )?;
    cargo("tests", &["test", "--workspace", "--all-features", "--locked"], &[])?;
    cargo(
        "docs",
        &["doc", "--workspace", "--all-features", "--no-deps", "--locked"],
        &[("RUSTDOCFLAGS", "-D warnings")],
    )?;
    features()
}

/// Each feature of the facade alone, and none, so that none needs another without saying so.
fn features() -> Result<(), String> {
    for features in ["", "macros", "sqlite"] {
        let name = if features.is_empty() { "no feature".to_owned() } else { format!("feature {features} alone") };
        let flags = ["check", "--package", "superstep", "--no-default-features", "--features", features, "--locked"];
        cargo(&name, &flags, &[])?;
    }
    Ok(())
}

fn cargo(name: &str, args: &[&str], env: &[(&str, &str)]) -> Result<(), String> {
    step(name, || {
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.args(args).envs(env.iter().copied()).current_dir(root());
        match command.status() {
            Ok(status) if status.success() => Ok(()),
            Ok(_) => Err(format!("cargo {} failed", args.join(" "))),
            Err(error) => Err(format!("cargo cannot be started: {error}")),
        }
    })
}

fn step(name: &str, run: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    println!("── {name}");
    let start = Instant::now();
    let result = run();
    println!("── {name}: {} ({:.0} s)", if result.is_ok() { "ok" } else { "FAILED" }, start.elapsed().as_secs_f64());
    result
}

/// The root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or_else(|| Path::new("."))
}
