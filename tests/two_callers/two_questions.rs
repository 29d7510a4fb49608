//! Two questions of one step, answered at once by two processes: each stops for the question that the other answers, and
//! yet the thread gets to its end.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{
    Checkpointer, Command, CompiledGraph, Context, Durability, END, NodeResult, Outcome, QuestionId, RunConfig,
    RunErrorKind, Runtime, START, Sqlite, State, StateGraph, Synchronous, TaskId,
};
use tokio::sync::{Barrier, Semaphore, watch};

use crate::gated::{Call, Gate, Gated};
use crate::history::{Steps, line};

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Both {
    #[reducer(append)]
    list: Vec<String>,
}

/// What happens at the nodes.
#[derive(Debug)]
struct Stage {
    /// How often a node got on.
    visits: AtomicUsize,
    /// How often `after` was entered.
    after: watch::Sender<u32>,
    may_leave: Semaphore,
}

impl Stage {
    fn new(may_leave: usize) -> Arc<Self> {
        let (visits, after) = (AtomicUsize::new(0), watch::Sender::new(0));
        Arc::new(Self { visits, after, may_leave: Semaphore::new(may_leave) })
    }

    /// Waits until `after` was entered so often.
    async fn after_entered(&self, times: u32) {
        self.after.subscribe().wait_for(|entered| *entered >= times).await.unwrap();
    }
}

async fn ask(rt: Runtime, stage: Context<Arc<Stage>>) -> NodeResult<BothUpdate> {
    let answer: String = rt.interrupt(rt.node().as_str())?;
    stage.visits.fetch_add(1, Ordering::Relaxed);
    Ok(BothUpdate::new().list([answer]))
}

async fn after(stage: Context<Arc<Stage>>) -> BothUpdate {
    stage.visits.fetch_add(1, Ordering::Relaxed);
    stage.after.send_modify(|entered| *entered += 1);
    stage.may_leave.acquire().await.unwrap().forget();
    BothUpdate::new().list(["after".to_owned()])
}

/// `left, right ⇒ after`, where both ask.
fn graph(store: impl Checkpointer, stage: &Arc<Stage>) -> CompiledGraph<Both> {
    StateGraph::<Both>::new()
        .node("left", ask)
        .node("right", ask)
        .node("after", after)
        .edge(START, "left")
        .edge(START, "right")
        .waiting_edge(["left", "right"], "after")
        .edge("after", END)
        .context(Arc::clone(stage))
        .checkpointer(store)
        .compile()
        .unwrap()
}

/// Holds two calls up at their reads: each takes the questions for open before the other answers, and looks for what the
/// other finished when both have finished.
#[derive(Debug)]
struct Door {
    meeting: Arc<Barrier>,
    /// At how many reads they meet.
    meetings: usize,
    reads: AtomicUsize,
    /// Is held further, with what it saw, until the other is in `after`.
    late: Option<Arc<Stage>>,
}

impl Door {
    fn new(meeting: &Arc<Barrier>, meetings: usize, late: Option<Arc<Stage>>) -> Self {
        Self { meeting: Arc::clone(meeting), meetings, reads: AtomicUsize::new(0), late }
    }
}

#[async_trait]
impl Gate for Door {
    async fn before(&self, call: Call) {
        if call == Call::Get && self.reads.fetch_add(1, Ordering::Relaxed) == 1 && self.meetings == 2 {
            self.meeting.wait().await;
        }
    }

    async fn after(&self, call: Call, _: Vec<TaskId>) {
        match (self.reads.load(Ordering::Relaxed), &self.late) {
            (1, _) if call == Call::Get => _ = self.meeting.wait().await,
            (2, Some(stage)) if call == Call::Get => stage.after_entered(1).await,
            _ => {}
        }
    }
}

/// Files without flushes: no power fails here.
async fn open(file: &Path) -> Sqlite {
    Sqlite::options(file).synchronous(Synchronous::Normal).open().await.unwrap()
}

async fn questions(graph: &CompiledGraph<Both>) -> [QuestionId; 2] {
    let asked = graph.invoke(BothUpdate::new(), "t").await.unwrap();
    [0, 1].map(|number: usize| asked.interrupts()[number].id)
}

/// Both find that all is finished, and one is in `after` already when the other is about to go on: that is not its work
/// any more.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn who_comes_late_to_a_finished_step_leaves_what_follows_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("threads.db");
    let (stage, meeting) = (Stage::new(0), Arc::new(Barrier::new(2)));
    let quiet = graph(open(&file).await, &stage);
    let [left, right] = questions(&quiet).await;
    let quick = graph(Gated::new(open(&file).await, Door::new(&meeting, 2, None)), &stage);
    let late = graph(Gated::new(open(&file).await, Door::new(&meeting, 2, Some(stage.clone()))), &stage);
    let quick = tokio::spawn(async move { quick.invoke(Command::answers([(left, "yes")]), "t").await.map(drop) });
    let outcome = tokio::select! {
        biased;
        outcome = late.invoke(Command::answers([(right, "yes")]), "t") => outcome.unwrap(),
        () = stage.after_entered(2) => panic!("both went on with what follows"),
    };
    assert!(matches!(outcome, Outcome::Interrupted(_)), "{outcome:?}");
    stage.may_leave.add_permits(2);
    quick.await.unwrap().unwrap();
    assert_eq!(quiet.state("t").await.unwrap().state.list, ["yes", "yes", "after"]);
    assert_eq!(stage.visits.load(Ordering::Relaxed), 3);
}

/// Answers one question. The head may be moved by the other, once it has both results.
async fn answer(graph: CompiledGraph<Both>, question: QuestionId, durability: Durability) {
    let config = RunConfig::thread("t").durability(durability);
    if let Err(error) = graph.invoke(Command::answers([(question, "yes")]), config).await {
        assert!(matches!(error.kind(), RunErrorKind::HeadMoved { .. }), "{error:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_questions_answered_at_once_by_two_processes_lead_on() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..90 {
        let durability = [Durability::Sync, Durability::Async, Durability::Exit][round % 3];
        let file = folder.path().join(round.to_string());
        let stage = Stage::new(100);
        let quiet = graph(open(&file).await, &stage);
        let [left, right] = questions(&quiet).await;
        let meeting = Arc::new(Barrier::new(2));
        let one = graph(Gated::new(open(&file).await, Door::new(&meeting, 1, None)), &stage);
        let two = graph(Gated::new(open(&file).await, Door::new(&meeting, 1, None)), &stage);
        let calls = [answer(one, left, durability), answer(two, right, durability)].map(tokio::spawn);
        for call in calls {
            call.await.unwrap();
        }
        let seen = quiet.state("t").await.unwrap();
        assert!(seen.next.is_empty() && seen.state.list == ["yes", "yes", "after"], "{:?}", seen.state);
        // Where a step may begin before the one before it is stored, both may be in the last one when they learn that
        // only one of them can be.
        let most = if durability == Durability::Sync { 3 } else { 4 };
        let visits = stage.visits.load(Ordering::Relaxed);
        assert!((3..=most).contains(&visits), "{visits} visits in {durability:?}");
        line(&quiet, "t", Steps::Some).await;
    }
}
