//! Calls that are made again after a crash: by name, at an old checkpoint, edits.

use std::sync::Arc;

use superstep::{
    CheckpointId, Command, CompiledGraph, Durability, HistoryQuery, Memory, Outcome, QuestionId, RunConfig, RunError,
    RunErrorKind, Source, StateEdit,
};
use superstep_checkpoint_testkit::{CrashReport, Faulty, Mishap, crash_at_every_point};

use crate::history::line;
use crate::refund::{Refund, RefundUpdate, THREAD, graph, input, story, take_up};
use crate::{Books, DURABILITIES, steps};

// ------------------------------------------------------------------ by name

const NAME: &str = "refund of A-17";

fn config(durability: Durability) -> RunConfig {
    RunConfig::thread(THREAD).durability(durability)
}

/// A caller who knows nothing but the name of its call, and makes it until it is over.
async fn by_name(graph: &CompiledGraph<Refund>, durability: Durability) -> Result<Refund, RunError> {
    let named = || config(durability).run_id(NAME);
    let outcome = graph.invoke(input(), named()).await?;
    if let Outcome::Interrupted(pause) = outcome {
        graph.invoke(pause.answer(true), config(durability)).await?;
    }
    let again = graph.invoke(input(), named()).await?;
    Ok(again.into_done().unwrap().into_state())
}

/// A call with a name is made again and again, whatever became of it: it is one turn, and pays once.
#[tokio::test]
async fn a_call_with_a_name_may_be_repeated() {
    for durability in DURABILITIES {
        let report = crash_at_every_point(
            async || (Memory::new(), Arc::new(Books::default())),
            async |store: Faulty<Memory>, books: &Arc<Books>| by_name(&graph(store, books.clone()), durability).await,
            async |store: Memory, books: &Arc<Books>, _: &Result<_, _>| {
                let graph = graph(store, books.clone());
                let state = by_name(&graph, durability).await.unwrap();
                let line = line(&graph, THREAD, steps(durability)).await;
                let inputs = line.iter().filter(|snapshot| snapshot.source == Source::Input).count();
                assert!(inputs <= 1, "{inputs} turns");
                let other = graph.invoke(RefundUpdate::new().order("B-18"), config(durability).run_id(NAME)).await;
                let kind = other.unwrap_err().into_kind();
                assert!(matches!(kind, RunErrorKind::RunIdReused(_)), "{kind:?}");
                state
            },
            |point, books, first, state| {
                assert_eq!(state, Refund::settled());
                assert_eq!(books.pages().receipts.len(), 1);
                assert!(first.is_ok() || point.mishap != Mishap::None);
            },
        )
        .await;
        check_report(&report);
    }
}

fn check_report(report: &CrashReport) {
    assert_eq!(report.missed, [], "the same calls each time");
    assert!(report.calls >= 3, "{report:?}");
}

// ------------------------------------------------------------------ at an old checkpoint

/// A store with the story told to its end, and where its question stood.
struct Told {
    books: Arc<Books>,
    question: QuestionId,
    at: CheckpointId,
    head: CheckpointId,
}

async fn told() -> (Memory, Told) {
    let (store, books) = (Memory::new(), Arc::new(Books::default()));
    let graph = graph(store.clone(), books.clone());
    let mut asked = None;
    story(&graph, THREAD.into(), |question| asked = Some(question)).await.unwrap();
    let history = graph.history(THREAD, HistoryQuery::all()).await.unwrap();
    let at = history.iter().find(|snapshot| !snapshot.interrupts.is_empty()).unwrap().checkpoint;
    (store, Told { books, question: asked.unwrap(), at, head: history[0].checkpoint })
}

/// An answer at an old checkpoint opens a line of work of its own, which pays for itself: once, since the line is stored
/// before its first node runs. The caller makes the call again if the head did not move, and goes on if it did.
#[tokio::test]
async fn a_fork_pays_once() {
    for durability in DURABILITIES {
        let fork = async |graph: &CompiledGraph<Refund>, told: &Told| {
            let answer = Command::answers([(told.question, true)]);
            graph.invoke(answer, config(durability).at(told.at)).await
        };
        let report = crash_at_every_point(
            told,
            async |store: Faulty<Memory>, told: &Told| fork(&graph(store, told.books.clone()), told).await.is_ok(),
            async |store: Memory, told: &Told, done: &bool| {
                let graph = graph(store, told.books.clone());
                let moved = graph.state(THREAD).await.unwrap().checkpoint != told.head;
                assert!(moved || !done);
                let outcome = if moved { graph.invoke((), config(durability)).await } else { fork(&graph, told).await };
                let forks = graph.history(THREAD, HistoryQuery::all()).await.unwrap();
                let forks = forks.iter().filter(|snapshot| snapshot.source == Source::Fork).count();
                (outcome.unwrap().into_done().unwrap().into_state(), forks)
            },
            |_, told, _, (state, forks)| {
                let settled = Refund::settled();
                assert_eq!((state.approved, state.log.len()), (settled.approved, settled.log.len()));
                assert_eq!(state.receipt.as_deref(), Some("R-2"), "a payment of its own");
                assert_eq!((told.books.pages().receipts.len(), forks), (2, 1));
            },
        )
        .await;
        check_report(&report);
    }
}

// ------------------------------------------------------------------ edits

/// An edit is there whole or not at all; and if its caller was told that it is there, it is.
#[tokio::test]
async fn an_edit_is_there_or_not() {
    let edit = || StateEdit::new(RefundUpdate::new().log(["edited".to_owned()])).as_node("qualify");
    let report = crash_at_every_point(
        async || {
            let (store, books) = (Memory::new(), Arc::new(Books::default()));
            graph(store.clone(), books.clone()).invoke(input(), THREAD).await.unwrap();
            (store, books)
        },
        async |store: Faulty<Memory>, books: &Arc<Books>| {
            graph(store, books.clone()).update_state(THREAD, edit()).await.map_err(RunError::into_kind)
        },
        async |store: Memory, books: &Arc<Books>, _: &Result<_, _>| {
            let graph = graph(store, books.clone());
            take_up(&graph, THREAD.into(), &mut None).await.unwrap()
        },
        |_, books, told, state| {
            let edited = state.log.iter().filter(|line| *line == "edited").count();
            match told {
                Ok(_) => assert_eq!(edited, 1),
                Err(kind) => assert!(edited <= 1 && matches!(kind, RunErrorKind::Store(_)), "{kind}"),
            }
            assert_eq!(books.pages().receipts.len(), 1);
        },
    )
    .await;
    assert_eq!(report.missed, []);
}
