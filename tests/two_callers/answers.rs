//! A hundred answers to one question at once.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{
    Checkpointer, Command, CompiledGraph, Context, END, Memory, NodeResult, Outcome, QuestionId, RunError,
    RunErrorKind, Runtime, START, Sqlite, State, StateGraph,
};
use tokio::task::JoinSet;

use crate::children::{Process, hear, orders, say};

const THREAD: &str = "asked";

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Answered {
    by: u32,
    #[reducer(append)]
    log: Vec<String>,
}

/// How often the node after the question ran.
#[derive(Default)]
struct Runs(AtomicUsize);

async fn ask(rt: Runtime) -> NodeResult<AnsweredUpdate> {
    let by: u32 = rt.interrupt("who is first?")?;
    Ok(AnsweredUpdate::new().by(by))
}

async fn after(state: &Answered, runs: Context<Arc<Runs>>) -> AnsweredUpdate {
    runs.0.fetch_add(1, Ordering::Relaxed);
    AnsweredUpdate::new().log([format!("answered by {}", state.by)])
}

fn graph(store: impl Checkpointer, runs: &Arc<Runs>) -> CompiledGraph<Answered> {
    StateGraph::<Answered>::new()
        .node("ask", ask)
        .node("after", after)
        .edge(START, "ask")
        .edge("ask", "after")
        .edge("after", END)
        .context(Arc::clone(runs))
        .checkpointer(store)
        .compile()
        .unwrap()
}

async fn question(graph: &CompiledGraph<Answered>) -> QuestionId {
    match graph.invoke(AnsweredUpdate::new(), THREAD).await.unwrap() {
        Outcome::Interrupted(pause) => pause.interrupts()[0].id,
        other => panic!("no question: {other:?}"),
    }
}

type Ends = Vec<(u32, Result<Outcome<Answered>, RunError>)>;

/// So many tasks answer at once, each with its own number. `question` is `None` for answers that name none.
async fn answer_all(
    graph: &CompiledGraph<Answered>,
    question: Option<QuestionId>,
    numbers: std::ops::Range<u32>,
) -> Ends {
    let mut tasks = JoinSet::new();
    for number in numbers {
        let graph = graph.clone();
        tasks.spawn(async move {
            let answer = match question {
                Some(question) => Command::answers([(question, number)]),
                None => Command::resume(number),
            };
            (number, graph.invoke(answer, THREAD).await)
        });
    }
    tasks.join_all().await
}

/// The number of the one whose answer counted, after it was checked that the others were told so.
fn winner(ends: Ends, is_refusal: impl Fn(&RunErrorKind) -> bool) -> Option<u32> {
    let mut winner = None;
    for (number, end) in ends {
        match end {
            Ok(outcome) => {
                assert_eq!(winner.replace(number), None, "two answers counted");
                assert_eq!(outcome.state().by, number);
            }
            Err(error) => assert!(is_refusal(error.kind()), "{error:?}"),
        }
    }
    winner
}

async fn one_of_100_wins(store: impl Checkpointer) {
    let runs = Arc::new(Runs::default());
    let graph = graph(store, &runs);
    let question = question(&graph).await;
    let ends = answer_all(&graph, Some(question), 0..100).await;
    let winner = winner(ends, |kind| matches!(kind, RunErrorKind::AlreadyAnswered(id) if *id == question)).unwrap();
    assert_eq!(runs.0.load(Ordering::Relaxed), 1);
    let state = graph.state(THREAD).await.unwrap().state;
    assert_eq!(state.log, [format!("answered by {winner}")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_100_answers_in_one_process_wins_in_memory() {
    for _ in 0..20 {
        one_of_100_wins(Memory::new()).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_100_answers_in_one_process_wins_on_sqlite() {
    let folder = tempfile::tempdir().unwrap();
    for round in 0..5 {
        one_of_100_wins(Sqlite::open(folder.path().join(round.to_string())).await.unwrap()).await;
    }
}

/// An answer that names no question cannot be told from one that comes too late for it: it finds the thread busy, the
/// question answered, or nothing to answer.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_100_answers_that_name_no_question_wins() {
    for _ in 0..20 {
        let runs = Arc::new(Runs::default());
        let graph = graph(Memory::new(), &runs);
        question(&graph).await;
        let ends = answer_all(&graph, None, 0..100).await;
        let is_refusal = |kind: &RunErrorKind| {
            use RunErrorKind::{AlreadyAnswered, NothingToResume, ThreadBusy};
            matches!(kind, ThreadBusy | AlreadyAnswered(_) | NothingToResume)
        };
        assert!(winner(ends, is_refusal).is_some());
        assert_eq!(runs.0.load(Ordering::Relaxed), 1);
    }
}

/// Answers that do not fit are refused and keep nobody else out.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn answers_that_do_not_fit_do_not_stand_in_the_way() {
    for _ in 0..20 {
        let runs = Arc::new(Runs::default());
        let graph = graph(Memory::new(), &runs);
        let question = question(&graph).await;
        let mut wrong = JoinSet::new();
        for _ in 0..50 {
            let graph = graph.clone();
            wrong.spawn(async move { graph.invoke(Command::answers([(question, "me")]), THREAD).await.unwrap_err() });
        }
        let right = answer_all(&graph, Some(question), 0..50).await;
        assert!(winner(right, |kind| matches!(kind, RunErrorKind::AlreadyAnswered(_))).is_some());
        for error in wrong.join_all().await {
            let kind = error.kind();
            assert!(matches!(kind, RunErrorKind::WrongAnswer { .. } | RunErrorKind::AlreadyAnswered(_)), "{error:?}");
        }
        assert_eq!(runs.0.load(Ordering::Relaxed), 1);
    }
}

// ------------------------------------------------------------------ two processes

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child() {
    let Some(file) = orders() else { return };
    let runs = Arc::new(Runs::default());
    let graph = graph(Sqlite::open(PathBuf::from(file)).await.unwrap(), &runs);
    say("ready");
    let question: QuestionId = hear().unwrap().parse().unwrap();
    let ends = answer_all(&graph, Some(question), 0..50).await;
    let winner = winner(ends, |kind| matches!(kind, RunErrorKind::AlreadyAnswered(id) if *id == question));
    say(&format!("{} won, {} runs", u32::from(winner.is_some()), runs.0.load(Ordering::Relaxed)));
}

#[tokio::test]
async fn one_of_100_answers_from_two_processes_wins() {
    for _ in 0..5 {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("threads.db");
        let graph = graph(Sqlite::open(&file).await.unwrap(), &Arc::default());
        let question = question(&graph).await;
        let mut pair = [(); 2].map(|()| Process::start("answers::child", &file.display().to_string()));
        for process in &mut pair {
            assert_eq!(process.hear().unwrap(), "ready");
        }
        for process in &mut pair {
            process.say(&question.to_string());
        }
        let mut told = pair.map(|mut process| process.hear().unwrap());
        told.sort();
        assert_eq!(told, ["0 won, 0 runs", "1 won, 1 runs"]);
        assert_eq!(graph.state(THREAD).await.unwrap().state.log.len(), 1);
    }
}
