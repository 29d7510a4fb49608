//! What the tests need beside Rust: a C compiler, for SQLite.

use std::process::{Command, Stdio};

/// A program that must be there, and the Debian package that brings it.
struct Need {
    program: &'static str,
    package: &'static str,
}

const NEEDS: &[Need] = &[Need { program: "cc", package: "gcc" }, Need { program: "make", package: "make" }];

/// Makes sure that everything is there: installs it as root, else says how.
pub(crate) fn ensure() -> Result<(), String> {
    let missing = missing();
    if missing.is_empty() {
        return Ok(());
    }
    if is_root() { install() } else { Err(format!("{} missing; run: sudo cargo xtask setup", names(&missing))) }
}

/// Installs what is missing.
pub(crate) fn install() -> Result<(), String> {
    let missing = missing();
    if missing.is_empty() {
        println!("nothing is missing");
        return Ok(());
    }
    if !is_root() {
        return Err(format!("{} missing; run: sudo cargo xtask setup", names(&missing)));
    }
    println!("installing {}", names(&missing));
    run("apt-get", &["update", "-q"])?;
    let mut args = vec!["install", "-y", "-q", "--no-install-recommends"];
    args.extend(missing.iter().map(|need| need.package));
    run("apt-get", &args)
}

fn missing() -> Vec<&'static Need> {
    NEEDS.iter().filter(|need| !is_there(need.program)).collect()
}

fn names(needs: &[&Need]) -> String {
    needs.iter().map(|need| need.package).collect::<Vec<_>>().join(", ")
}

fn is_there(program: &str) -> bool {
    let quiet = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    quiet.is_ok()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|output| output.stdout.starts_with(b"0\n"))
}

fn run(program: &str, args: &[&str]) -> Result<(), String> {
    match Command::new(program).args(args).env("DEBIAN_FRONTEND", "noninteractive").status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{program} {} failed: {status}", args.join(" "))),
        Err(error) => Err(format!("{program} cannot be started: {error}")),
    }
}
