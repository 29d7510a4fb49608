//! The story: a worker is killed while it drafts, another goes on, a person answers.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::Fallible;

pub fn tell(answer: &str) -> Fallible {
    let folder = std::env::temp_dir().join(format!("superstep-lead-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let told = tell_in(&folder, answer);
    std::fs::remove_dir_all(&folder)?;
    told
}

fn tell_in(folder: &Path, answer: &str) -> Fallible {
    println!("worker 1 starts");
    let mut worker = start(folder, "start")?;
    show_until(&mut worker, |line| line.contains("draft") && line.contains("50 %"))?;
    worker.kill()?; // SIGKILL
    worker.wait()?;
    println!("worker 1 was killed while it drafted");

    println!("worker 2 takes the thread up");
    to_end(folder, "go-on")?;
    println!("a person says {answer}");
    to_end(folder, answer)?;

    println!("paid model calls:");
    let bill = std::fs::read_to_string(folder.join("bill.log"))?;
    let mut calls: Vec<&str> = bill.lines().collect();
    calls.sort_unstable();
    for call in calls.chunk_by(|a, b| a == b) {
        println!("  {}  {}", call.len(), call[0]);
    }
    Ok(())
}

fn start(folder: &Path, command: &str) -> Fallible<Child> {
    let program: PathBuf = std::env::current_exe()?;
    Ok(Command::new(program).arg("worker").arg(folder).arg(command).stdout(Stdio::piped()).spawn()?)
}

fn to_end(folder: &Path, command: &str) -> Fallible {
    let mut worker = start(folder, command)?;
    show_until(&mut worker, |_| false)?;
    let status = worker.wait()?;
    if status.success() { Ok(()) } else { Err(format!("a worker failed: {status}").into()) }
}

/// Shows what a worker prints, until a line that is waited for.
fn show_until(worker: &mut Child, waited_for: impl Fn(&str) -> bool) -> Fallible {
    let stdout = worker.stdout.take().ok_or("no stdout")?;
    for line in BufReader::new(stdout).lines() {
        let line = line?;
        println!("{line}");
        if waited_for(&line) {
            break;
        }
    }
    Ok(())
}
