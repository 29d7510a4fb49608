//! Calls that are dropped: at every await point, while commits are on their way, while nodes run side by side.

use std::collections::BTreeSet;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, mpsc};

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{
    Checkpointer, Command, CompiledGraph, Context, Durability, END, Memory, NodeResult, Outcome, QuestionId, RunConfig,
    RunError, RunErrorKind, Runtime, START, Sqlite, State, StateEdit, StateGraph, Synchronous, TaskId,
};
use tempfile::TempDir;
use tokio::sync::Semaphore;

use crate::gated::{Call, Gate, Gated};
use crate::history::{Steps, line};
use crate::polls::{let_others_run, poll_times};

#[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
struct Acts {
    #[reducer(append)]
    log: Vec<String>,
}

/// What happened, in order.
#[derive(Clone, Debug, PartialEq)]
enum Event {
    /// A node of call number `call` did something outside.
    Effect { call: u32, task: TaskId, what: String },
    /// The store has the result of a task.
    Stored(TaskId),
    /// The call was dropped.
    Dropped,
}

#[derive(Clone, Debug, Default)]
struct Diary(Arc<Mutex<Vec<Event>>>);

impl Diary {
    fn note(&self, event: Event) {
        self.0.lock().unwrap().push(event);
    }

    fn events(&self) -> Vec<Event> {
        self.0.lock().unwrap().clone()
    }

    /// The first call did nothing after it was dropped or the second began, and what the store had did not run again.
    fn check(&self) {
        let (mut stored, mut dropped) = (BTreeSet::new(), false);
        for event in self.events() {
            match event {
                Event::Effect { call, task, what } => {
                    dropped |= call == 2;
                    assert!(!(dropped && call == 1), "{what} was done by a call that is no more");
                    assert!(!stored.contains(&task), "{what} was done again");
                }
                Event::Stored(task) => _ = stored.insert(task),
                Event::Dropped => dropped = true,
            }
        }
    }
}

/// A store that takes its time, and says what it has.
#[async_trait]
impl Gate for Diary {
    async fn before(&self, _: Call) {
        tokio::task::yield_now().await;
        tokio::task::yield_now().await;
    }

    async fn after(&self, _: Call, stored: Vec<TaskId>) {
        for task in stored {
            self.note(Event::Stored(task));
        }
        tokio::task::yield_now().await;
    }
}

/// The number of the call that a node runs in.
struct CallNumber(u32);

/// Three effects with an await after each.
async fn act(rt: Runtime, diary: Context<Diary>, call: Context<CallNumber>) -> ActsUpdate {
    for n in 1..=3 {
        diary.note(Event::Effect { call: call.0, task: rt.task_id(), what: format!("{} {n}", rt.node()) });
        tokio::task::yield_now().await;
    }
    ActsUpdate::new().log([rt.node().to_string()])
}

async fn ask(rt: Runtime, diary: Context<Diary>, call: Context<CallNumber>) -> NodeResult<ActsUpdate> {
    tokio::task::yield_now().await;
    let answer: String = rt.interrupt("go on?")?;
    act(rt, diary, call).await;
    Ok(ActsUpdate::new().log([answer]))
}

/// `first → ask → left, right ⇒ last`
fn graph(store: impl Checkpointer, diary: &Diary) -> CompiledGraph<Acts> {
    StateGraph::<Acts>::new()
        .node("first", act)
        .node("ask", ask)
        .node("left", act)
        .node("right", act)
        .node("last", act)
        .edge(START, "first")
        .edge("first", "ask")
        .edge("ask", "left")
        .edge("ask", "right")
        .waiting_edge(["left", "right"], "last")
        .edge("last", END)
        .context(diary.clone())
        .context(CallNumber(0))
        .checkpointer(store)
        .compile()
        .unwrap()
}

// ------------------------------------------------------------------ every await point

/// Which call is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dropped {
    Input,
    Answer,
}

/// When the next call is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    AtOnce,
    Later,
}

struct Drops {
    dropped: Dropped,
    next: Next,
    durability: Durability,
}

impl Drops {
    fn config(&self, call: u32) -> RunConfig {
        RunConfig::thread("t").durability(self.durability).context(CallNumber(call))
    }

    /// Drops the call after `polls` polls and makes another; whether it was still running.
    async fn drop_after(&self, polls: usize, store: impl Checkpointer) -> bool {
        let diary = Diary::default();
        let graph = graph(Gated::new(store, diary.clone()), &diary);
        let asked = match self.dropped {
            Dropped::Input => None,
            Dropped::Answer => Some(self.ask(&graph).await),
        };
        let mut call = Box::pin(self.call(&graph, 1, asked));
        let ended = poll_times(call.as_mut(), polls).await;
        drop(call);
        diary.note(Event::Dropped);
        if self.next == Next::Later {
            let_others_run().await;
        }
        let was_running = ended.is_none();
        let log = match ended {
            Some(end) => self.to_the_end(&graph, end.unwrap()).await,
            None => self.take_up(&graph, asked).await,
        };
        diary.check();
        assert_eq!(log, ["first", "yes", "left", "right", "last"]);
        let steps = if self.durability == Durability::Exit { Steps::Some } else { Steps::All };
        line(&graph, "t", steps).await;
        was_running
    }

    async fn ask(&self, graph: &CompiledGraph<Acts>) -> QuestionId {
        graph.invoke(ActsUpdate::new(), self.config(0)).await.unwrap().interrupts()[0].id
    }

    async fn call(
        &self,
        graph: &CompiledGraph<Acts>,
        number: u32,
        asked: Option<QuestionId>,
    ) -> Result<Outcome<Acts>, RunError> {
        match asked {
            None => graph.invoke(ActsUpdate::new(), self.config(number)).await,
            Some(question) => graph.invoke(Command::answers([(question, "yes")]), self.config(number)).await,
        }
    }

    /// What a caller does whose call was dropped: goes on, or makes it again if nothing came of it.
    async fn take_up(&self, graph: &CompiledGraph<Acts>, asked: Option<QuestionId>) -> Vec<String> {
        let outcome = match (asked, graph.invoke((), self.config(2)).await.map_err(RunError::into_kind)) {
            (None, Err(RunErrorKind::UnknownThread)) => self.call(graph, 2, None).await.unwrap(),
            (_, outcome) => outcome.unwrap(),
        };
        self.to_the_end(graph, outcome).await
    }

    async fn to_the_end(&self, graph: &CompiledGraph<Acts>, outcome: Outcome<Acts>) -> Vec<String> {
        let outcome = match outcome {
            Outcome::Interrupted(pause) => graph.invoke(pause.answer("yes"), self.config(2)).await.unwrap(),
            outcome => outcome,
        };
        outcome.into_done().unwrap().into_state().log
    }
}

const DURABILITIES: [Durability; 4] =
    [Durability::Sync, Durability::Async { lag: 1 }, Durability::Async { lag: 32 }, Durability::Exit];

/// Drops calls of both kinds at each of their await points, in every durability.
async fn drop_everywhere<C: Checkpointer>(next: Next, fresh: impl AsyncFn() -> (C, Option<TempDir>)) {
    for durability in DURABILITIES {
        for dropped in [Dropped::Input, Dropped::Answer] {
            let drops = Drops { dropped, next, durability };
            let mut polls = 0;
            loop {
                let (store, _folder) = fresh().await;
                if !drops.drop_after(polls, store).await {
                    break;
                }
                polls += 1;
            }
            assert!(polls > 10, "only {polls} await points in {durability:?}");
        }
    }
}

async fn memory() -> (Memory, Option<TempDir>) {
    (Memory::new(), None)
}

async fn sqlite() -> (Sqlite, Option<TempDir>) {
    let folder = tempfile::tempdir().unwrap();
    // No power fails here, and thousands of commits are made.
    let options = Sqlite::options(folder.path().join("threads.db")).synchronous(Synchronous::Normal);
    (options.open().await.unwrap(), Some(folder))
}

#[tokio::test]
async fn b11_b143_dropped_at_every_await_and_taken_up_at_once_in_memory() {
    drop_everywhere(Next::AtOnce, memory).await;
}

#[tokio::test]
async fn b11_b143_dropped_at_every_await_and_taken_up_later_in_memory() {
    drop_everywhere(Next::Later, memory).await;
}

#[tokio::test]
async fn b11_b143_dropped_at_every_await_and_taken_up_at_once_on_sqlite() {
    drop_everywhere(Next::AtOnce, sqlite).await;
}

/// A call that another thread aborts at any moment, while nodes of it run on further threads.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b143_aborted_at_any_moment_by_another_thread() {
    for round in 0..400 {
        let drops = Drops { dropped: Dropped::Answer, next: Next::AtOnce, durability: DURABILITIES[round % 4] };
        let diary = Diary::default();
        let graph = graph(Gated::new(Memory::new(), diary.clone()), &diary);
        let asked = drops.ask(&graph).await;
        let call = tokio::spawn({
            let (graph, config) = (graph.clone(), drops.config(1));
            async move { graph.invoke(Command::answers([(asked, "yes")]), config).await.map(drop) }
        });
        for _ in 0..round / 4 {
            tokio::task::yield_now().await;
        }
        call.abort();
        let _ = call.await; // it may have been quicker
        let log = match graph.invoke(Command::answers([(asked, "yes")]), drops.config(2)).await {
            Err(error) if matches!(error.kind(), RunErrorKind::AlreadyAnswered(_)) => {
                drops.take_up(&graph, Some(asked)).await
            }
            outcome => drops.to_the_end(&graph, outcome.unwrap()).await,
        };
        diary.check();
        assert_eq!(log, ["first", "yes", "left", "right", "last"]);
    }
}

// ------------------------------------------------------------------ commits on their way

/// Holds commits up, and lets them go one by one.
#[derive(Debug)]
struct Held {
    reached: Semaphore,
    let_go: Semaphore,
}

#[async_trait]
impl Gate for Arc<Held> {
    async fn before(&self, call: Call) {
        if call == Call::Commit {
            self.reached.add_permits(1);
            self.let_go.acquire().await.unwrap().forget();
        }
    }

    async fn after(&self, _: Call, _: Vec<TaskId>) {}
}

/// A call that is dropped while commit number `n` is held up: that one is made, no other, and no further node runs.
/// Gives the node that comes next.
async fn drop_in_commit(n: u32) -> String {
    let (store, diary) = (Memory::new(), Diary::default());
    let held = Arc::new(Held { reached: Semaphore::new(0), let_go: Semaphore::new(n as usize - 1) });
    let graph = graph(Gated::new(store, held.clone()), &diary);
    {
        let mut call = pin!(graph.invoke(ActsUpdate::new(), RunConfig::thread("t")));
        tokio::select! {
            end = call.as_mut() => panic!("commit {n} is held up: {end:?}"),
            permits = held.reached.acquire_many(n) => permits.unwrap().forget(),
        }
    }
    let before = diary.events();
    let mut next = pin!(graph.invoke(Command::resume("no"), RunConfig::thread("t")));
    assert!(poll_times(next.as_mut(), 1).await.is_none(), "the next call waits for the commit on its way");
    let_others_run().await;
    assert!(poll_times(next.as_mut(), 1).await.is_none(), "it waits as long as it takes");
    held.let_go.add_permits(1);
    assert!(matches!(next.await.unwrap_err().kind(), RunErrorKind::NothingToResume));
    assert_eq!(diary.events(), before, "no further node was entered");
    assert_eq!(held.reached.available_permits(), 0, "no further commit was begun");
    let snapshot = graph.state("t").await.unwrap();
    assert_eq!(line(&graph, "t", Steps::All).await.last().unwrap().checkpoint, snapshot.checkpoint);
    snapshot.next[0].to_string()
}

#[tokio::test]
async fn b148_a_call_dropped_in_a_commit_finishes_it_and_enters_no_node() {
    assert_eq!(drop_in_commit(1).await, "first");
    assert_eq!(drop_in_commit(2).await, "ask");
}

/// The answer of a dropped call counts if its commit was on its way, and whoever answers meanwhile is told so.
#[tokio::test]
async fn an_answer_waits_for_the_commit_of_a_dropped_one() {
    let diary = Diary::default();
    let held = Arc::new(Held { reached: Semaphore::new(0), let_go: Semaphore::new(3) });
    let graph = graph(Gated::new(Memory::new(), held.clone()), &diary);
    let config = || RunConfig::thread("t").context(CallNumber(1));
    let asked = graph.invoke(ActsUpdate::new(), config()).await.unwrap().interrupts()[0].id;
    let mut first = Box::pin(graph.invoke(Command::answers([(asked, "first")]), config()));
    assert!(poll_times(first.as_mut(), 1).await.is_none(), "its commit is held up");
    let mut second = pin!(graph.invoke(Command::answers([(asked, "second")]), config()));
    assert!(poll_times(second.as_mut(), 1).await.is_none(), "the first may still be refused");
    drop(first);
    let_others_run().await;
    assert!(poll_times(second.as_mut(), 1).await.is_none(), "nor is it known yet");
    held.let_go.add_permits(1);
    let refused = second.await.unwrap_err().into_kind();
    assert!(matches!(refused, RunErrorKind::AlreadyAnswered(id) if id == asked), "{refused:?}");
    held.let_go.add_permits(100);
    let end = graph.invoke((), config()).await.unwrap();
    assert_eq!(end.state().log, ["first", "first", "left", "right", "last"]);
}

// ------------------------------------------------------------------ nodes that run side by side

/// Holds nodes until there is a sign, and tells how many wait for it.
struct Side {
    waiting: Semaphore,
    sign: Semaphore,
}

async fn wait_for_a_sign(rt: Runtime, diary: Context<Diary>, side: Context<Arc<Side>>, call: Context<CallNumber>) {
    let mut sign = pin!(side.sign.acquire());
    let signed = poll_fn(|cx| {
        let polled = sign.as_mut().poll(cx);
        if polled.is_pending() {
            side.waiting.add_permits(1);
        }
        polled
    });
    signed.await.unwrap().forget();
    diary.note(Event::Effect { call: call.0, task: rt.task_id(), what: rt.node().to_string() });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b143_nodes_side_by_side_do_nothing_after_the_drop() {
    for _ in 0..50 {
        let diary = Diary::default();
        let side = Arc::new(Side { waiting: Semaphore::new(0), sign: Semaphore::new(0) });
        let graph = StateGraph::<Acts>::new()
            .node("left", wait_for_a_sign)
            .node("right", wait_for_a_sign)
            .edge(START, "left")
            .edge(START, "right")
            .context(diary.clone())
            .context(side.clone())
            .context(CallNumber(1))
            .checkpointer(Memory::new())
            .compile()
            .unwrap();
        let call = tokio::spawn({
            let graph = graph.clone();
            async move { graph.invoke(ActsUpdate::new(), "t").await.map(drop) }
        });
        side.waiting.acquire_many(2).await.unwrap().forget();
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        side.sign.add_permits(2);
        // Whoever comes next finds the nodes gone, not on their way out.
        graph.update_state("t", StateEdit::new(ActsUpdate::new()).as_node("left")).await.unwrap();
        assert_eq!(diary.events(), [], "a node went on after its call was dropped");
    }
}

/// A way into a node that computes, and out of it.
struct Door(Mutex<(mpsc::Sender<()>, mpsc::Receiver<()>)>);

async fn compute(rt: Runtime, door: Context<Door>, diary: Context<Diary>, call: Context<CallNumber>) {
    if call.0 == 1 {
        let door = door.0.lock().unwrap();
        door.0.send(()).unwrap();
        door.1.recv().unwrap(); // no await: it holds its thread
    }
    diary.note(Event::Effect { call: call.0, task: rt.task_id(), what: rt.node().to_string() });
}

async fn begin(rt: Runtime, diary: Context<Diary>, call: Context<CallNumber>) {
    diary.note(Event::Effect { call: call.0, task: rt.task_id(), what: rt.node().to_string() });
}

/// A node that computes cannot be cut off before its next await. The thread is taken until then.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn b143_the_next_call_waits_for_a_node_that_cannot_be_cut_off() {
    let diary = Diary::default();
    let (entered, was_entered) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel();
    let graph = StateGraph::<Acts>::new()
        .node("begin", begin)
        .node("beside", async || {})
        .node("compute", compute)
        .edge(START, "begin")
        .edge("begin", "beside")
        .edge("begin", "compute")
        .context(Door(Mutex::new((entered, may_leave))))
        .context(diary.clone())
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    let config = |call| RunConfig::thread("t").context(CallNumber(call));
    let first = tokio::spawn({
        let (graph, config) = (graph.clone(), config(1));
        async move { graph.invoke(ActsUpdate::new(), config).await.map(drop) }
    });
    tokio::task::spawn_blocking(move || was_entered.recv().unwrap()).await.unwrap();
    first.abort();
    assert!(first.await.unwrap_err().is_cancelled());
    let mut second = pin!(graph.invoke(ActsUpdate::new(), config(2)));
    assert!(poll_times(second.as_mut(), 1).await.is_none());
    assert_eq!(effects(&diary), ["1 begin"], "the next call began beside a node of the first");
    leave.send(()).unwrap();
    second.await.unwrap();
    assert_eq!(effects(&diary), ["1 begin", "1 compute", "2 begin", "2 compute"]);
}

fn effects(diary: &Diary) -> Vec<String> {
    let effect = |event| match event {
        Event::Effect { call, what, .. } => Some(format!("{call} {what}")),
        _ => None,
    };
    diary.events().into_iter().filter_map(effect).collect()
}
