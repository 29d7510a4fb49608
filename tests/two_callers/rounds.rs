//! Two processes meet on one thread, 200 times. Both read the same head; then both are let go. One wins, the other is
//! told so; no round is lost and none counts twice.

use std::path::{Path, PathBuf};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{
    Checkpointer, Command, CompiledGraph, END, NodeResult, Outcome, QuestionId, RunConfig, RunError, RunErrorKind,
    Runtime, START, Sqlite, State, StateGraph, TaskId,
};

use crate::children::{Process, hear, orders, say};
use crate::gated::{Call, Gate, Gated};
use crate::history::{Steps, line};

const THREAD: &str = "meeting";
const ROUNDS: u32 = 200;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Rounds {
    round: u32,
    #[reducer(append)]
    list: Vec<u32>,
}

/// Enters the round that the input named.
async fn work(state: &Rounds) -> RoundsUpdate {
    say("entered");
    RoundsUpdate::new().list([state.round])
}

/// Enters the round that the answer names.
async fn ask(rt: Runtime) -> NodeResult<RoundsUpdate> {
    let round: u32 = rt.interrupt("which round is next?")?;
    say("entered");
    Ok(RoundsUpdate::new().list([round]))
}

fn graph(store: impl Checkpointer) -> CompiledGraph<Rounds> {
    StateGraph::<Rounds>::new()
        .node("work", work)
        .node("ask", ask)
        .edge(START, "work")
        .edge("work", "ask")
        .edge("ask", END)
        .checkpointer(store)
        .compile()
        .unwrap()
}

// ------------------------------------------------------------------ the children

/// Holds a call up once it has read the head, until the parent lets it go on.
#[derive(Debug)]
struct Door;

#[async_trait]
impl Gate for Door {
    async fn before(&self, _: Call) {}

    async fn after(&self, call: Call, _: Vec<TaskId>) {
        if call == Call::Get {
            say("read");
            hear().unwrap();
        }
    }
}

#[tokio::test]
async fn child() {
    let Some(file) = orders() else { return };
    let store = Sqlite::open(PathBuf::from(file)).await.unwrap();
    let (alone, met) = (graph(store.clone()), graph(Gated::new(store, Door)));
    say("ready");
    while let Some(order) = hear() {
        let words: Vec<&str> = order.split(' ').collect();
        let outcome = match words[..] {
            ["input", round] => met.invoke(RoundsUpdate::new().round(round.parse().unwrap()), THREAD).await,
            ["answer", question, round] => {
                let (question, round): (QuestionId, u32) = (question.parse().unwrap(), round.parse().unwrap());
                met.invoke(Command::answers([(question, round)]), THREAD).await
            }
            ["prepare", round] => {
                let config = RunConfig::thread(THREAD).interrupt_before(["work"]);
                alone.invoke(RoundsUpdate::new().round(round.parse().unwrap()), config).await
            }
            ["resume"] => met.invoke((), THREAD).await,
            _ => panic!("no order: {order}"),
        };
        say(&told(outcome));
    }
}

fn told(outcome: Result<Outcome<Rounds>, RunError>) -> String {
    match outcome.map_err(RunError::into_kind) {
        Ok(Outcome::Interrupted(pause)) => format!("won {}", pause.interrupts()[0].id),
        Ok(Outcome::Done(_) | Outcome::Paused(_)) => "won".to_owned(),
        Err(RunErrorKind::HeadMoved { .. }) => "lost HeadMoved".to_owned(),
        Err(RunErrorKind::AlreadyAnswered(_)) => "lost AlreadyAnswered".to_owned(),
        other => panic!("neither won nor lost: {other:?}"),
    }
}

// ------------------------------------------------------------------ the parent

struct Pair([Process; 2]);

/// How a round ended.
struct Met {
    entered: usize,
    /// The question that the winner left open.
    open: Option<String>,
    lost: String,
}

impl Pair {
    fn start(file: &Path) -> Self {
        let process = || {
            let mut process = Process::start("rounds::child", &file.display().to_string());
            assert_eq!(process.hear().unwrap(), "ready");
            process
        };
        Self([process(), process()])
    }

    /// Both get the order and read the head; then both go on.
    fn meet(&mut self, order: &str) -> Met {
        for process in &mut self.0 {
            process.say(order);
        }
        for process in &mut self.0 {
            assert_eq!(process.hear().unwrap(), "read");
        }
        for process in &mut self.0 {
            process.say("go on");
        }
        let mut met = Met { entered: 0, open: None, lost: String::new() };
        let mut winners = 0;
        for process in &mut self.0 {
            match met.end_of(process).split_once(' ') {
                Some(("lost", why)) => why.clone_into(&mut met.lost),
                Some((_, question)) => {
                    winners += 1;
                    met.open = Some(question.to_owned());
                }
                None => winners += 1,
            }
        }
        assert_eq!(winners, 1, "one wins: {order}");
        met
    }
}

impl Met {
    /// What a process says at the end of its call; counts its visits to nodes meanwhile.
    fn end_of(&mut self, process: &mut Process) -> String {
        loop {
            match process.hear().unwrap().as_str() {
                "entered" => self.entered += 1,
                end => return end.to_owned(),
            }
        }
    }
}

#[test]
fn two_processes_meet_on_one_thread_200_times() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("threads.db");
    let mut pair = Pair::start(&file);
    let mut open = None;
    for round in 1..=ROUNDS {
        let met = match round % 4 {
            // A new turn: the loser is refused before any node runs.
            1 => {
                let met = pair.meet(&format!("input {round}"));
                assert_eq!((met.lost.as_str(), met.entered), ("HeadMoved", 1));
                met
            }
            // Work that was left: both do it, since nobody told them apart yet; one result counts.
            3 => {
                pair.0[0].say(&format!("prepare {round}"));
                assert_eq!(pair.0[0].hear().as_deref(), Some("won"));
                let met = pair.meet("resume");
                assert_eq!((met.lost.as_str(), met.entered), ("HeadMoved", 2));
                met
            }
            // An answer: the loser is refused before any node runs.
            _ => {
                let question: String = open.take().unwrap();
                let met = pair.meet(&format!("answer {question} {round}"));
                assert_eq!((met.lost.as_str(), met.entered), ("AlreadyAnswered", 1));
                met
            }
        };
        open = met.open;
    }
    check(&file);
}

#[tokio::main(flavor = "current_thread")]
async fn check(file: &Path) {
    let graph = graph(Sqlite::open(file).await.unwrap());
    let line = line(&graph, THREAD, Steps::All).await;
    let list: Vec<u32> = (1..=ROUNDS).collect();
    assert_eq!(line.last().unwrap().state.list, list);
}
