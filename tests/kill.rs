//! A process that runs the refund story on a file is killed with SIGKILL exactly before and exactly after each of its
//! calls to the store. Another process takes the thread up. In every durability the story ends the same, pays once,
//! and runs nothing again that the store had acknowledged.
//!
//! The parent is the world outside: it runs the payments service, shows the question to the person, and pulls the plug.
//! Each process writes down its visits to nodes in a diary, a file that is only appended to.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "support/children.rs"]
mod children;
#[path = "support/gated.rs"]
mod gated;
#[path = "support/history.rs"]
mod history;
#[path = "support/payments.rs"]
mod payments;
#[path = "support/refund.rs"]
mod refund;
#[path = "support/verdict.rs"]
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;
use superstep::{Durability, QuestionId, RunConfig, Sqlite, Step, TaskId};

use children::{Process, hear, orders, say};
use gated::{Call, Gate, Gated};
use history::{Steps, line};
use payments::{Service, pay};
use refund::{Refund, THREAD, Visit, World, graph, story, take_up};
use verdict::Taken;

// ------------------------------------------------------------------ the child

/// Orders of a child: its part, the durability, the folder, the address of the payments service.
struct Orders {
    part: String,
    durability: Durability,
    outside: Files,
}

impl Orders {
    fn read(text: &str) -> Self {
        let [part, durability, payments, folder] = text.splitn(4, ' ').collect::<Vec<_>>()[..] else {
            panic!("{text}")
        };
        let outside = Files { folder: PathBuf::from(folder), payments: payments.parse().unwrap() };
        Self { part: part.to_owned(), durability: durability_of(durability), outside }
    }
}

fn durability_of(name: &str) -> Durability {
    match name {
        "sync" => Durability::Sync,
        "async-1" => Durability::Async { lag: 1 },
        "async-32" => Durability::Async { lag: 32 },
        "exit" => Durability::Exit,
        other => panic!("no durability: {other}"),
    }
}

/// The world as a child reaches it.
#[derive(Clone)]
struct Files {
    folder: PathBuf,
    payments: SocketAddr,
}

impl World for Files {
    fn visited(&self, visit: Visit) -> io::Result<()> {
        let mut diary = OpenOptions::new().create(true).append(true).open(self.folder.join("diary"))?;
        let Visit { node, step, task, key } = visit;
        diary.write_all(format!("{node} {step} {task} {key}\n").as_bytes())
    }

    fn pay(&self, key: &str) -> io::Result<String> {
        pay(self.payments, key)
    }
}

/// Tells the parent of each call and waits until it may go on.
#[derive(Debug, Default)]
struct Leash(AtomicU64);

/// Says where this process is and waits. A parent that is gone lets nobody go on.
fn stop(line: &str) {
    say(line);
    hear().unwrap();
}

#[async_trait]
impl Gate for Leash {
    async fn before(&self, _: Call) {
        let call = self.0.fetch_add(1, Ordering::Relaxed) + 1;
        stop(&format!("call {call} before"));
    }

    async fn after(&self, _: Call, acknowledged: Vec<TaskId>) {
        let call = self.0.load(Ordering::Relaxed);
        let tasks: Vec<String> = acknowledged.iter().map(ToString::to_string).collect();
        stop(&format!("call {call} after {}", tasks.join(" ")));
    }
}

/// The child: runs as a test of its own, which does nothing in the parent.
#[tokio::test]
async fn child() {
    let Some(orders) = orders() else { return };
    let Orders { part, durability, outside } = Orders::read(&orders);
    let store = Sqlite::open(outside.folder.join("threads.db")).await.unwrap();
    let config = RunConfig::thread(THREAD).durability(durability);
    if part == "story" {
        let graph = graph(Gated::new(store, Leash::default()), Arc::new(outside));
        let state = story(&graph, config, |question| say(&format!("asks {question}"))).await.unwrap();
        assert_eq!(state, Refund::settled());
    } else {
        let mut asked = part.parse().ok();
        let state = take_up(&graph(store, Arc::new(outside)), config, &mut asked).await.unwrap();
        assert_eq!(state, Refund::settled());
    }
    say("done");
}

// ------------------------------------------------------------------ the parent

/// Where a child is killed: `call 3 before`.
fn point(call: u64, side: &str) -> String {
    format!("call {call} {side}")
}

/// A story that is killed at one point and taken up.
struct Scene {
    durability: &'static str,
    folder: tempfile::TempDir,
    service: Service,
    asked: Option<QuestionId>,
    acknowledged: BTreeSet<TaskId>,
}

impl Scene {
    fn new(durability: &'static str) -> Self {
        let (folder, service) = (tempfile::tempdir().unwrap(), Service::start().unwrap());
        Self { durability, folder, service, asked: None, acknowledged: BTreeSet::new() }
    }

    fn process(&self, part: &str) -> Process {
        let folder = self.folder.path().display();
        Process::start("child", &format!("{part} {} {} {folder}", self.durability, self.service.address()))
    }

    /// Lets the story go on to a point and kills it there. Whether it got there.
    fn kill_at(&mut self, point: &str) -> bool {
        let mut process = self.process("story");
        loop {
            let said = process.hear().unwrap(); // it ends with `done`
            if said == "done" {
                assert!(process.end().success());
                return false;
            }
            self.take_note(&said);
            if said.starts_with(point) {
                process.kill();
                return true;
            }
            if said.starts_with("call") {
                process.say("go on");
            }
        }
    }

    fn take_note(&mut self, said: &str) {
        if let Some(question) = said.strip_prefix("asks ") {
            self.asked = Some(question.parse().unwrap());
        }
        if let Some((_, tasks)) = said.split_once(" after") {
            self.acknowledged.extend(tasks.split_whitespace().map(|task| task.parse::<TaskId>().unwrap()));
        }
    }

    fn take_up(&self) {
        let part = self.asked.map_or_else(|| "unasked".to_owned(), |question| question.to_string());
        let mut process = self.process(&part);
        assert_eq!(process.hear().as_deref(), Some("done"));
        assert!(process.end().success());
    }

    fn diary(&self) -> Vec<Visit> {
        let text = std::fs::read_to_string(self.folder.path().join("diary")).unwrap_or_default();
        text.lines().map(read_visit).collect()
    }

    /// What must hold once the story was taken up; `before` are the visits of the process that was killed.
    fn check(&self, before: &[Visit]) {
        let diary = self.diary();
        assert_eq!(self.service.payments(), 1, "paid once");
        check_counts(&diary);
        Taken {
            durability: durability_of(self.durability),
            asked: self.asked.is_some(),
            acknowledged: &self.acknowledged,
            before,
            after: &diary[before.len()..],
        }
        .check();
        self.check_history();
    }

    #[tokio::main(flavor = "current_thread")]
    async fn check_history(&self) {
        let store = Sqlite::open(self.folder.path().join("threads.db")).await.unwrap();
        let outside = Files { folder: self.folder.path().to_owned(), payments: self.service.address() };
        let graph = graph(store, Arc::new(outside));
        let steps = if self.durability == "exit" { Steps::Some } else { Steps::All };
        let line = line(&graph, THREAD, steps).await;
        let head = line.last().unwrap();
        assert_eq!((&*head.state, head.next.len()), (&Refund::settled(), 0));
    }
}

fn read_visit(line: &str) -> Visit {
    let [node, step, task, key] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let step = Step(step.parse().unwrap());
    Visit { node: node.to_owned(), step, task: task.parse().unwrap(), key: key.to_owned() }
}

/// Every node ran, none more than twice.
fn check_counts(diary: &[Visit]) {
    let mut counts = BTreeMap::<&str, usize>::new();
    for visit in diary.iter().filter(|visit| visit.node != "ask") {
        *counts.entry(&visit.node).or_default() += 1;
    }
    let nodes: Vec<&str> = counts.keys().copied().collect();
    assert_eq!(nodes, ["approve", "book", "close", "notify", "pay", "qualify"]);
    assert!(counts.values().all(|count| (1..=2).contains(count)), "{counts:?}");
}

/// Kills the story at every point; gives the number of calls to the store.
fn kill_everywhere(durability: &'static str) -> u64 {
    for call in 1.. {
        for side in ["before", "after"] {
            let (mut scene, point) = (Scene::new(durability), point(call, side));
            let _names = NamesThePoint(&point);
            if !scene.kill_at(&point) {
                return call - 1;
            }
            let before = scene.diary();
            scene.take_up();
            scene.check(&before);
        }
    }
    unreachable!("the story has an end")
}

struct NamesThePoint<'p>(&'p str);

impl Drop for NamesThePoint<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("killed at: {}", self.0);
        }
    }
}

#[test]
fn killed_anywhere_in_sync() {
    assert!(kill_everywhere("sync") >= 10);
}

#[test]
fn killed_anywhere_in_async_with_a_lag_of_1() {
    assert!(kill_everywhere("async-1") >= 9);
}

#[test]
fn killed_anywhere_in_async_with_a_lag_of_32() {
    assert!(kill_everywhere("async-32") >= 5);
}

#[test]
fn killed_anywhere_in_exit() {
    assert!(kill_everywhere("exit") >= 5);
}
