//! How the engine calls a store, and that runs do not get into each other's way.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::checkpoint::{
    At, Commit, CommitError, ListQuery, NamespaceKey, Op, StoreInstance, StoredCheckpoint, ThreadKey, View,
};
use superstep::{
    Checkpointer, Command, CompiledGraph, Context, Durability, END, Guarantees, HistoryQuery, NodeError, NodeResult,
    RunConfig, Runtime, START, State, StateGraph, StoreError,
};
use tokio::sync::Notify;

use crate::on_each_store;
use crate::support::{Expected, Store, Trail, TrailUpdate, said, says};

on_each_store!(
    b35_runs_on_one_graph_do_not_mix,
    b37_a_checkpoint_holds_one_step_and_no_mixture,
    b40_commits_of_a_thread_do_not_overlap,
    b42_a_thread_takes_turn_after_turn,
    b111_saves_on_their_way_are_bounded,
);

/// A store that takes a while and watches how it is called.
#[derive(Clone, Debug)]
struct Watched {
    inner: Arc<dyn Checkpointer>,
    /// How long each commit takes, by its number.
    pause: fn(usize) -> Duration,
    seen: Arc<Seen>,
}

#[derive(Debug, Default)]
struct Seen {
    commits: AtomicUsize,
    /// Commits on their way, by thread.
    under_way: Mutex<BTreeMap<String, usize>>,
    /// The most at once for one thread.
    most: AtomicUsize,
    /// The most checkpoints and bytes in one commit.
    checkpoints: AtomicUsize,
    bytes: AtomicUsize,
}

impl Watched {
    fn new(inner: Arc<dyn Checkpointer>, pause: fn(usize) -> Duration) -> Self {
        Self { inner, pause, seen: Arc::default() }
    }

    fn look_at(&self, commit: &Commit) {
        let put = |op: &Op| match op {
            Op::PutCheckpoint(new) => Some(new.values.iter().map(|value| value.bytes.len()).sum::<usize>()),
            _ => None,
        };
        let sizes: Vec<usize> = commit.ops.iter().filter_map(put).collect();
        self.seen.checkpoints.fetch_max(sizes.len(), Ordering::SeqCst);
        self.seen.bytes.fetch_max(sizes.iter().sum(), Ordering::SeqCst);
    }

    fn enters(&self, thread: &str) {
        let mut under_way = self.seen.under_way.lock().unwrap();
        let count = under_way.entry(thread.to_owned()).or_default();
        *count += 1;
        self.seen.most.fetch_max(*count, Ordering::SeqCst);
    }

    fn leaves(&self, thread: &str) {
        *self.seen.under_way.lock().unwrap().get_mut(thread).unwrap() -= 1;
    }

    fn most(&self) -> usize {
        self.seen.most.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Checkpointer for Watched {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        self.look_at(&commit);
        let thread = commit.key.thread.to_string();
        self.enters(&thread);
        let number = self.seen.commits.fetch_add(1, Ordering::SeqCst);
        tokio::time::sleep((self.pause)(number)).await;
        let result = self.inner.commit(commit).await;
        self.leaves(&thread);
        result
    }
    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        self.inner.get(key, at).await
    }
    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.inner.list(key, query).await
    }
    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        self.inner.delete_thread(key).await
    }
    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }
    fn instance(&self) -> StoreInstance {
        self.inner.instance()
    }
}

/// Some pauses shorter and some longer, the same each time.
fn uneven(number: usize) -> Duration {
    Duration::from_micros([0, 900, 300, 2_000, 100][number % 5])
}

// ---------------------------------------------------------------- many runs

/// Whose run it is.
struct Whose(String);

async fn b35_runs_on_one_graph_do_not_mix(store: Store) {
    let check = |s: Arc<Trail>, rt: Runtime, whose: Context<Whose>| async move {
        for _ in 0..s.log.len() % 4 {
            tokio::task::yield_now().await;
        }
        let thread = rt.thread().map(ToString::to_string);
        if s.answer.as_deref() != Some(&*whose.0) || thread.as_deref() != Some(&*whose.0) {
            return Err(NodeError::msg(format!("{:?} and {} in the run of {thread:?}", s.answer, whose.0)));
        }
        Ok(said(whose.0.clone()))
    };
    let graph = StateGraph::<Trail>::new()
        .node("a", check)
        .node("b", check)
        .node("c", check)
        .edge(START, "a")
        .edge("a", "b")
        .edge("a", "c")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let runs = (0..200).map(|n| {
        let (graph, id) = (graph.clone(), format!("run {n}"));
        tokio::spawn(async move {
            for turn in 1..=3 {
                let config = RunConfig::thread(&*id).context(Whose(id.clone()));
                let done = graph.invoke(TrailUpdate::new().answer(id.clone()), config).await.done();
                assert_eq!(done.log, vec![id.clone(); 3 * turn]);
            }
            let history = graph.history(&*id, HistoryQuery::all()).await.unwrap();
            assert!(history.iter().all(|snapshot| snapshot.state.log.iter().all(|entry| *entry == id)));
        })
    });
    for run in runs.collect::<Vec<_>>() {
        run.await.unwrap();
    }
}

// ---------------------------------------------------------------- one run, stored while it goes on

/// Two large values; one can be changed behind the engine's back.
#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Large {
    numbers: Vec<u8>,
    shared: Arc<Mutex<Vec<u8>>>,
}

async fn b37_a_checkpoint_holds_one_step_and_no_mixture(store: Store) {
    const SIZE: usize = 100_000;
    let store = Watched::new(store.open().await, |_| Duration::from_millis(10));
    let fill = |with: u8| {
        move |s: Arc<Large>| {
            let shared = Arc::clone(&s.shared);
            *shared.lock().unwrap() = vec![with; SIZE];
            std::future::ready(LargeUpdate::new().numbers(vec![with; SIZE]).shared(shared))
        }
    };
    let graph = StateGraph::<Large>::new()
        .node("a", fill(1))
        .node("b", fill(2))
        .node("c", fill(3))
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", "c")
        .durability(Durability::Async { lag: 3 })
        .checkpointer(store)
        .compile()
        .unwrap();
    graph.invoke(LargeUpdate::new(), "t").await.unwrap();
    let history = graph.history("t", HistoryQuery::all()).await.unwrap();
    for (step, snapshot) in (1..=3_u8).zip(history.iter().rev().skip(2)) {
        assert_eq!(snapshot.step.0, i64::from(step));
        let shared = snapshot.state.shared.lock().unwrap();
        for numbers in [&snapshot.state.numbers, &*shared] {
            assert!(numbers.len() == SIZE && numbers.iter().all(|number| *number == step), "a mixture at step {step}");
        }
    }
}

/// The documented contract: for one thread the engine has one commit on its way at a time, whatever happens.
async fn b40_commits_of_a_thread_do_not_overlap(store: Store) {
    let store = Watched::new(store.open().await, uneven);
    let hang = Arc::new(Notify::new());
    let entered = Arc::clone(&hang);
    let graph = StateGraph::<Trail>::new()
        .node("split", async || (0..20).fold(Command::new(), |all, n| all.and_send("work", n)))
        .node("work", async |superstep::Arg(n): superstep::Arg<u64>| {
            tokio::time::sleep(Duration::from_micros(n * 70 % 900)).await;
            TrailUpdate::new().count(n)
        })
        .node("fail", async |s: Arc<Trail>| -> NodeResult<()> {
            if s.answer.is_none() { Err(NodeError::msg("down")) } else { Ok(()) }
        })
        .node("ask", async |rt: Runtime| -> NodeResult<_> { Ok(said(rt.interrupt::<String>("?")?)) })
        .node("hang", move || {
            let entered = Arc::clone(&entered);
            async move {
                entered.notify_one();
                std::future::pending::<()>().await;
            }
        })
        .edge(START, "split")
        .branch("work", |s: &Trail| s.log.first().cloned().unwrap_or_else(|| END.to_owned()))
        .checkpointer(store.clone())
        .compile()
        .unwrap();
    let config =
        |thread: &str, durability| RunConfig::thread(format!("{thread} {durability:?}")).durability(durability);
    for durability in [Durability::Sync, Durability::Async, Durability::Async { lag: 8 }, Durability::Exit] {
        let on = |thread| config(thread, durability);
        assert_eq!(graph.invoke(TrailUpdate::new(), on("fan-out")).await.done().count, 190);
        graph.invoke(said("fail"), on("failure")).await.unwrap_err();
        graph.invoke(Command::new().update(TrailUpdate::new().answer("up".to_owned())), on("failure")).await.done();
        let pause = graph.invoke(said("ask"), on("pause")).await.pause();
        assert_eq!(graph.invoke(pause.answer("x"), on("pause")).await.done().told(), "ask x");
        tokio::select! {
            ended = graph.invoke(said("hang"), on("cancel")) => panic!("{ended:?}"),
            () = hang.notified() => {}
        }
        // The next call waits for the commit that a dropped one left on its way.
        let waits = on("cancel").when_busy(superstep::WhenBusy::Wait);
        let anew = TrailUpdate::new().overwrite_log(Vec::<String>::new());
        graph.invoke(anew, waits).await.done();
    }
    assert_eq!(store.most(), 1);
}

async fn b42_a_thread_takes_turn_after_turn(store: Store) {
    let graph = async || {
        let graph = StateGraph::<Trail>::new().node("a", says("a")).edge(START, "a");
        graph.checkpointer(store.open().await).compile().unwrap()
    };
    let one: CompiledGraph<Trail> = graph().await;
    one.invoke(said("1"), "t").await.done();
    one.invoke(said("2"), "t").await.done();
    let two = graph().await;
    assert_eq!(two.invoke(said("3"), "t").await.done().told(), "1 a 2 a 3 a");
    let history = two.history("t", HistoryQuery::all()).await.unwrap();
    assert_eq!(history.len(), 9, "three turns of input, arrival and one step");
    assert!(history.windows(2).all(|pair| pair[0].parent == Some(pair[1].checkpoint)), "one line");
    two.delete_thread("t").await.unwrap();
    assert_eq!(one.invoke(said("4"), "t").await.done().told(), "4 a");
    assert_eq!(one.history("t", HistoryQuery::all()).await.unwrap().len(), 3);
}

async fn b111_saves_on_their_way_are_bounded(store: Store) {
    const BYTES: usize = 100_000;
    for (lag, name) in [(1, "one"), (4, "four")] {
        let watched = Watched::new(store.open().await, |_| Duration::from_millis(2));
        let graph = StateGraph::<Trail>::new()
            .node("step", async || TrailUpdate::new().count(1).answer("x".repeat(BYTES)))
            .edge(START, "step")
            .branch("step", |s: &Trail| if s.count < 60 { "step" } else { END })
            .durability(Durability::Async { lag })
            .checkpointer(watched.clone())
            .compile()
            .unwrap();
        graph.invoke(TrailUpdate::new(), name).await.done();
        assert_eq!(watched.most(), 1, "one save at a time");
        let lag = usize::try_from(lag).unwrap();
        let (checkpoints, bytes) = (&watched.seen.checkpoints, &watched.seen.bytes);
        // So many steps may be unacknowledged when a node starts, and that node's own comes after.
        assert!(checkpoints.load(Ordering::SeqCst) <= lag + 1, "{checkpoints:?} checkpoints at a lag of {lag}");
        assert!(bytes.load(Ordering::SeqCst) <= (lag + 1) * (BYTES + 100), "{bytes:?} bytes at a lag of {lag}");
        assert_eq!(graph.state(name).await.unwrap().state.count, 60, "all is stored when the call returns");
    }
}
