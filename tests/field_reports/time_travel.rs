//! Old checkpoints: they stay, they can be listed, and one can go on from them.

use std::collections::BTreeSet;

use superstep::{
    CheckpointId, Command, CompiledGraph, END, HistoryQuery, NodeResult, Outcome, RunConfig, Runtime, START, Source,
    StateEdit, StateGraph, StateSnapshot,
};

use crate::on_each_store;
use crate::support::{Expected, Store, Trail, TrailUpdate, said, says};

on_each_store!(
    b09_a_named_checkpoint_stays_as_it_is,
    b14_channels_that_did_not_change_are_there_after_a_reload,
    b115_every_run_adds_checkpoints_and_the_latest_is_the_newest,
    b116_a_replay_from_before_a_question_asks_anew,
    b121_live_and_reloaded_state_are_the_same,
    b122_history_is_newest_first_by_number,
    b126_an_edit_as_a_node_moves_the_position,
    b128_past_states_stay_as_they_were,
);

async fn asking(store: &Store) -> CompiledGraph<Trail> {
    StateGraph::<Trail>::new()
        .node("a", says("a"))
        .node("ask", async |rt: Runtime| -> NodeResult<_> { Ok(said(rt.interrupt::<String>("?")?)) })
        .node("b", says("b"))
        .edge(START, "a")
        .edge("a", "ask")
        .edge("ask", "b")
        .checkpointer(store.open().await)
        .compile()
        .unwrap()
}

fn at(checkpoint: CheckpointId) -> RunConfig {
    RunConfig::thread("t").at(checkpoint)
}

async fn all(graph: &CompiledGraph<Trail>) -> Vec<StateSnapshot<Trail>> {
    graph.history("t", HistoryQuery::all()).await.unwrap()
}

/// The ids from this checkpoint back to the first.
fn lineage(history: &[StateSnapshot<Trail>], from: CheckpointId) -> Vec<CheckpointId> {
    let parent = |id| history.iter().find(|snapshot| snapshot.checkpoint == id).unwrap().parent;
    std::iter::successors(Some(from), |id| parent(*id)).collect()
}

async fn b09_a_named_checkpoint_stays_as_it_is(store: Store) {
    let graph = asking(&store).await;
    let paused = graph.invoke(TrailUpdate::new(), "t").await.pause().checkpoint().unwrap();
    assert_eq!(graph.invoke(Command::resume("x"), at(paused)).await.done().told(), "a x b");
    let graph = asking(&store).await;
    let named = graph.state(at(paused)).await.unwrap();
    assert_eq!((named.checkpoint, named.state.told().as_str(), named.next[0].as_str()), (paused, "a", "ask"));
    let history = all(&graph).await;
    let head = graph.state("t").await.unwrap().checkpoint;
    assert!(head != paused && lineage(&history, head).contains(&paused));
}

async fn b14_channels_that_did_not_change_are_there_after_a_reload(store: Store) {
    let graph = async || {
        StateGraph::<Trail>::new()
            .node("x", async || TrailUpdate::new().answer("x".to_owned()))
            .node("step", async || TrailUpdate::new().count(1))
            .node("ask", async |rt: Runtime| -> NodeResult<()> { rt.interrupt::<bool>("?").map(drop) })
            .edge(START, "x")
            .edge("x", "step")
            .branch("step", |s: &Trail| if s.count < 20 { "step" } else { "ask" })
            .checkpointer(store.open().await)
            .compile()
            .unwrap()
    };
    graph().await.invoke(TrailUpdate::new(), "t").await.pause();
    let reloaded = graph().await.state("t").await.unwrap().state;
    assert_eq!((reloaded.answer.as_deref(), reloaded.count), (Some("x"), 20));
    let done = graph().await.invoke(Command::resume(true), "t").await.done();
    assert_eq!((done.answer.as_deref(), done.count), (Some("x"), 20));
}

async fn b115_every_run_adds_checkpoints_and_the_latest_is_the_newest(store: Store) {
    let graph = StateGraph::<Trail>::new().node("a", says("a")).node("b", says("b")).edge(START, "a").edge("a", "b");
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    graph.invoke(said("1"), "t").await.done();
    let after_a = all(&graph).await.iter().find(|snapshot| snapshot.step.0 == 1).unwrap().checkpoint;
    let mut heads = vec![graph.state("t").await.unwrap().checkpoint];

    assert_eq!(graph.invoke((), at(after_a)).await.done().told(), "1 a b");
    heads.push(graph.state("t").await.unwrap().checkpoint);
    for (input, told) in [("2", "1 a b 2 a b"), ("3", "1 a b 2 a b 3 a b")] {
        assert_eq!(graph.invoke(said(input), "t").await.done().told(), told);
        heads.push(graph.state("t").await.unwrap().checkpoint);
    }
    let history = all(&graph).await;
    assert_eq!(heads.iter().collect::<BTreeSet<_>>().len(), 4, "every run has a head of its own");
    assert_eq!(history[0].checkpoint, heads[3]);
    let line = lineage(&history, heads[3]);
    assert!(line.contains(&heads[2]) && line.contains(&heads[1]) && line.contains(&after_a));
    assert!(!line.contains(&heads[0]), "the branch that was left is not among its ancestors");
}

async fn b116_a_replay_from_before_a_question_asks_anew(store: Store) {
    let graph = asking(&store).await;
    graph.invoke(TrailUpdate::new(), "t").await.pause();
    graph.invoke(Command::resume("x"), "t").await.done();
    let old_head = graph.state("t").await.unwrap().checkpoint;
    let history = all(&graph).await;
    let before = history.iter().find(|snapshot| snapshot.next.first().is_some_and(|next| *next == "ask")).unwrap();
    let pause = graph.invoke((), at(before.checkpoint)).await.pause();
    assert_eq!(pause.state().told(), "a");
    assert_ne!(pause.interrupts()[0].id, before.tasks[0].interrupts[0].id, "another question, on another branch");
    assert_eq!(graph.invoke(pause.answer("y"), "t").await.done().told(), "a y b");
    assert_eq!(graph.state(at(old_head)).await.unwrap().state.told(), "a x b");
}

async fn b121_live_and_reloaded_state_are_the_same(store: Store) {
    let graph = async || {
        let mut graph = StateGraph::<Trail>::new();
        for name in ["e", "b", "d", "a", "f"] {
            graph = graph.node(name, says(name)).edge(START, name).edge(name, "then");
        }
        graph
            .node("c", async || TrailUpdate::new().overwrite_log(["cleared"]))
            .node("then", says("then"))
            .edge(START, "c")
            .checkpointer(store.open().await)
            .compile()
            .unwrap()
    };
    let live = graph().await.invoke(said("in"), "t").await.done();
    assert_eq!(live.told(), "cleared then", "nothing beside an overwrite of the same step counts");
    let reloaded = graph().await;
    assert_eq!(*reloaded.state("t").await.unwrap().state, live);
    assert_eq!(all(&reloaded).await[1].state.told(), "cleared");
}

async fn b122_history_is_newest_first_by_number(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("step", async || TrailUpdate::new().count(1))
        .edge(START, "step")
        .branch("step", |s: &Trail| if s.count < 12 { "step" } else { END })
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    graph.invoke(TrailUpdate::new(), "t").await.done();
    let steps = |history: &[StateSnapshot<Trail>]| history.iter().map(|snapshot| snapshot.step.0).collect::<Vec<_>>();
    assert_eq!(steps(&all(&graph).await), (-1..=12).rev().collect::<Vec<_>>());
    let newest = graph.history("t", HistoryQuery::all().limit(3)).await.unwrap();
    assert_eq!(steps(&newest), [12, 11, 10]);
    let older = HistoryQuery::all().limit(2).before(newest[2].checkpoint);
    assert_eq!(steps(&graph.history("t", older).await.unwrap()), [9, 8]);
    assert_eq!(graph.state("t").await.unwrap().step.0, 12);
}

async fn b126_an_edit_as_a_node_moves_the_position(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("a", says("a"))
        .node("b", says("b"))
        .node("f", says("f"))
        .edge(START, "a")
        .edge("a", "b")
        .branch("b", |s: &Trail| if s.answer.as_deref() == Some("go") { "f" } else { END })
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    graph.invoke(TrailUpdate::new(), "t").await.done();
    let edit = StateEdit::new(TrailUpdate::new().answer("go".to_owned())).as_node("b");
    graph.update_state("t", edit).await.unwrap();
    let edited = graph.state("t").await.unwrap();
    assert_eq!((edited.next.len(), edited.next[0].as_str(), edited.source), (1, "f", Source::Update));
    assert_eq!(graph.invoke((), "t").await.done().told(), "a b f");
}

async fn b128_past_states_stay_as_they_were(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("down", async |s: &Trail| {
            let left: u64 = s.answer.as_deref().unwrap_or("5").parse().unwrap_or_default();
            TrailUpdate::new().answer((left - 1).to_string())
        })
        .edge(START, "down")
        .branch("down", |s: &Trail| if s.answer.as_deref() == Some("0") { END } else { "down" })
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let stop = || RunConfig::thread("t").interrupt_after("down");
    let mut outcome = graph.invoke(TrailUpdate::new().answer("5".to_owned()), stop()).await.unwrap();
    let mut seen = vec![outcome.shared_state()];
    while let Outcome::Paused(_) = outcome {
        outcome = graph.invoke((), stop()).await.unwrap();
        seen.push(outcome.shared_state());
    }
    let counts = |states: Vec<&Trail>| states.iter().filter_map(|s| s.answer.clone()).collect::<Vec<_>>().join(" ");
    let history = all(&graph).await;
    assert_eq!(counts(history.iter().rev().map(|snapshot| &*snapshot.state).collect()), "5 4 3 2 1 0");
    let seen = counts(seen.iter().map(|state| &**state).collect());
    assert!(seen.starts_with("4 3 2 1 0"), "what a caller holds does not change: {seen}");
}
