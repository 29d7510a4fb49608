//! The story: three workers, one answer, one SIGKILL, one payment.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use crate::Fallible;
use crate::payments::Service;

struct Story {
    folder: PathBuf,
    service: Service,
    began: Instant,
}

pub fn tell() -> Fallible {
    let folder = std::env::temp_dir().join(format!("superstep-refund-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let story = Story { folder, service: Service::start()?, began: Instant::now() };
    let told = story.tell();
    std::fs::remove_dir_all(&story.folder)?;
    told
}

impl Story {
    fn tell(&self) -> Fallible {
        self.say("payments service", &format!("listens on {}", self.service.address()));

        let asked = self.run_to_end("worker 1", &["start"])?;
        let question = asked.strip_prefix("asks ").and_then(|text| text.split(' ').next());
        let question = question.ok_or("worker 1 was to ask")?;
        self.say("worker 1", "qualified the refund, asked for approval and exited");

        self.say("a person", "approves, naming the question");
        let (mut worker, paid) = self.run_to_line("worker 2", &["answer", question])?;
        worker.kill()?; // SIGKILL
        worker.wait()?;
        self.say("worker 2", &format!("{paid}, and was killed before the result was saved"));

        let done = self.run_to_end("worker 3", &["go-on"])?;
        let log = done.strip_prefix("done ").ok_or("worker 3 was to finish")?;
        self.say("worker 3", "took the thread up, paid with the same key, finished");

        println!("\nlog of the thread:");
        log.split(" | ").for_each(|line| println!("  {line}"));
        println!("\nhow often each node ran:");
        for (node, times) in entries(&self.folder.join("diary.log"))? {
            println!("  {node:<8} {times}");
        }
        let (requests, payments) = self.service.counts();
        println!("\nrequests to the payments service: {requests}");
        println!("payments: {payments}");
        if payments == 1 { Ok(()) } else { Err(format!("{payments} payments were made").into()) }
    }

    fn say(&self, who: &str, what: &str) {
        println!("[{:>5} ms] {who}: {what}", self.began.elapsed().as_millis());
    }

    fn start(&self, name: &str, command: &[&str]) -> Fallible<Child> {
        let child = Command::new(std::env::current_exe()?)
            .arg("worker")
            .arg(&self.folder)
            .arg(self.service.address().to_string())
            .args(command)
            .stdout(Stdio::piped())
            .spawn()?;
        self.say(name, &format!("starts as process {}", child.id()));
        Ok(child)
    }

    /// Runs a worker until it exits; gives its last line.
    fn run_to_end(&self, name: &str, command: &[&str]) -> Fallible<String> {
        let output = self.start(name, command)?.wait_with_output()?;
        if !output.status.success() {
            return Err(format!("{name} failed").into());
        }
        let text = String::from_utf8(output.stdout)?;
        Ok(text.lines().last().unwrap_or_default().to_owned())
    }

    /// Runs a worker until it prints a line; gives the worker and the line.
    fn run_to_line(&self, name: &str, command: &[&str]) -> Fallible<(Child, String)> {
        let mut child = self.start(name, command)?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line)?;
        Ok((child, line.trim_end().to_owned()))
    }
}

/// How often each node was entered, in the order first entered.
fn entries(diary: &Path) -> Fallible<Vec<(String, usize)>> {
    let text = std::fs::read_to_string(diary)?;
    let (mut order, mut counts) = (Vec::new(), BTreeMap::<&str, usize>::new());
    for node in text.lines().filter_map(|line| line.split(' ').next()) {
        let count = counts.entry(node).or_default();
        if *count == 0 {
            order.push(node);
        }
        *count += 1;
    }
    Ok(order.into_iter().map(|node| (node.to_owned(), counts[node])).collect())
}
