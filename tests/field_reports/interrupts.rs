//! Questions, answers, and stops before and after nodes.

use std::collections::BTreeSet;

use superstep::{
    Command, CompiledGraph, END, HistoryQuery, NodeError, NodeResult, Outcome, PauseAt, QuestionId, RunConfig, Runtime,
    START, StateGraph,
};

use crate::on_each_store;
use crate::support::{Entries, Expected, Store, Trail, TrailUpdate, said, says};

on_each_store!(
    b44_questions_of_one_node_asked_at_once_have_ids_of_their_own,
    b44_named_questions_keep_their_ids_in_any_order,
    b48_answered_questions_do_not_come_back,
    b53_the_paused_checkpoint_may_be_named,
    b56_a_jump_beside_a_question_leaves_both_answerable,
    b58_stops_after_and_before_a_node,
    b59_stops_in_a_loop_do_not_wear_out,
    b64_a_router_is_asked_once,
);

async fn ask(rt: Runtime) -> NodeResult<TrailUpdate> {
    let answer: String = rt.interrupt(rt.node().as_str())?;
    Ok(said(format!("{}={answer}", rt.node())))
}

// ---------------------------------------------------------------- several questions

/// One node with three questions under way at once.
async fn three(store: &Store) -> CompiledGraph<Trail> {
    let node = async |rt: Runtime| -> NodeResult<_> {
        let ask = async |prompt: &str| rt.interrupt::<String>(prompt);
        let (a, b, c) = tokio::join!(ask("a?"), ask("b?"), ask("c?"));
        Ok(said(format!("{}{}{}", a?, b?, c?)))
    };
    let graph = StateGraph::<Trail>::new().node("three", node).edge(START, "three");
    graph.checkpointer(store.open().await).compile().unwrap()
}

async fn b44_questions_of_one_node_asked_at_once_have_ids_of_their_own(store: Store) {
    let pause = three(&store).await.invoke(TrailUpdate::new(), "t").await.pause();
    let asked = pause.interrupts();
    assert_eq!(asked.iter().map(|asked| asked.payload.as_str().unwrap()).collect::<Vec<_>>(), ["a?", "b?", "c?"]);
    assert_eq!(asked.iter().map(|asked| asked.id).collect::<BTreeSet<_>>().len(), 3);
    let reopened = three(&store).await;
    assert_eq!(reopened.state("t").await.unwrap().interrupts, asked, "the same after a reload");
    // Answers arrive by id, in any order.
    let answers = [(asked[2].id, "C"), (asked[0].id, "A"), (asked[1].id, "B")];
    assert_eq!(reopened.invoke(Command::answers(answers), "t").await.done().told(), "ABC");
}

async fn b44_named_questions_keep_their_ids_in_any_order(store: Store) {
    let graph = async |order: [&'static str; 2]| {
        let node = move |rt: Runtime| async move {
            let [first, second] = order.map(|key| rt.interrupt_as::<String>(key, key));
            Ok::<_, NodeError>(said(format!("{}={} {}={}", order[0], first?, order[1], second?)))
        };
        let graph = StateGraph::<Trail>::new().node("two", node).edge(START, "two");
        graph.checkpointer(store.open().await).compile().unwrap()
    };
    let pause = graph(["a", "b"]).await.invoke(TrailUpdate::new(), "t").await.pause();
    let id = |key: &str| pause.interrupts().iter().find(|asked| *asked.payload == key).unwrap().id;
    // The code was changed while the questions were open.
    let changed = graph(["b", "a"]).await;
    let done = changed.invoke(Command::answers([(id("a"), "A"), (id("b"), "B")]), "t").await.done();
    assert_eq!(done.told(), "b=B a=A");
}

/// Tasks of a step that are not finished run again with each call, also where they got no new answer: a call goes on
/// with the whole step. What must hold is that no answer is lost and nothing answered is asked again.
async fn b48_answered_questions_do_not_come_back(store: Store) {
    let entries = Entries::default();
    let (one, two) = (entries.clone(), entries.clone());
    let graph = StateGraph::<Trail>::new()
        .node("n1", move |rt: Runtime| {
            one.enter("n1");
            ask(rt)
        })
        .node("n2", move |rt: Runtime| {
            two.enter("n2");
            async move {
                let first: String = rt.interrupt("first")?;
                let second: String = rt.interrupt("second")?;
                Ok::<_, NodeError>(said(format!("n2={first}{second}")))
            }
        })
        .edge(START, "n1")
        .edge(START, "n2")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let open = |outcome: &Outcome<Trail>| -> Vec<(QuestionId, String)> {
        let text = |payload: &serde_json::Value| payload.as_str().unwrap().to_owned();
        outcome.interrupts().iter().map(|asked| (asked.id, text(&asked.payload))).collect()
    };
    let paused = graph.invoke(TrailUpdate::new(), "t").await.unwrap();
    let asked = open(&paused);
    assert_eq!(asked.iter().map(|(_, text)| text.as_str()).collect::<Vec<_>>(), ["n1", "first"]);

    let paused = graph.invoke(Command::answers([(asked[0].0, "x")]), "t").await.unwrap();
    assert_eq!(open(&paused), [asked[1].clone()], "the answered one is gone, the other is listed");
    assert_eq!(paused.state().told(), "n1=x", "what finished is shown");
    assert_eq!(entries.of("n1"), 2);

    let paused = graph.invoke(Command::answers([(asked[1].0, "y")]), "t").await.unwrap();
    let second = open(&paused);
    assert_eq!((second.len(), second[0].1.as_str()), (1, "second"));
    assert_eq!(graph.invoke(Command::answers([(second[0].0, "z")]), "t").await.done().told(), "n1=x n2=yz");
    assert_eq!(entries.of("n1"), 2, "a finished task does not run again");
}

// ---------------------------------------------------------------- naming a checkpoint, jumping

async fn b53_the_paused_checkpoint_may_be_named(store: Store) {
    for named in [false, true] {
        let (entries, thread) = (Entries::default(), format!("named {named}"));
        let graph = StateGraph::<Trail>::new()
            .node("a", entries.says("a"))
            .node("ask", ask)
            .node("b", entries.says("b"))
            .edge(START, "a")
            .edge("a", "ask")
            .edge("ask", "b")
            .checkpointer(store.open().await)
            .compile()
            .unwrap();
        let pause = graph.invoke(TrailUpdate::new(), &*thread).await.pause();
        let config = RunConfig::thread(&*thread);
        let config = if named { config.at(pause.checkpoint().unwrap()) } else { config };
        assert_eq!(graph.invoke(Command::resume("x"), config).await.done().told(), "a ask=x b");
        assert_eq!(entries.told(), "a1 b1");
    }
}

async fn b56_a_jump_beside_a_question_leaves_both_answerable(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("pay", ask)
        .node("chat", ask)
        .edge(START, "pay")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    for (thread, order) in [("pay first", ["pay", "chat"]), ("chat first", ["chat", "pay"])] {
        let pay = graph.invoke(TrailUpdate::new(), thread).await.pause().interrupts()[0].id;
        let both = graph.invoke(Command::goto("chat"), thread).await.pause();
        assert_eq!(both.interrupts().len(), 2);
        assert!(both.interrupts().iter().any(|asked| asked.id == pay && asked.node == "pay"), "pay asks as before");
        let answer = |node: &str| both.interrupts().iter().find(|asked| asked.node == node).unwrap().answer(node);
        graph.invoke(answer(order[0]), thread).await.pause();
        assert_eq!(graph.invoke(answer(order[1]), thread).await.done().told(), "chat=chat pay=pay");
    }
}

// ---------------------------------------------------------------- stops

async fn chain(store: &Store) -> CompiledGraph<Trail> {
    StateGraph::<Trail>::new()
        .node("a", says("a"))
        .node("b", says("b"))
        .node("c", says("c"))
        .edge(START, "a")
        .edge("a", "b")
        .edge("b", "c")
        .checkpointer(store.open().await)
        .compile()
        .unwrap()
}

/// Runs a thread to its end; gives the trail and what comes next at each stop.
async fn stops(graph: &CompiledGraph<Trail>, config: impl Fn() -> RunConfig) -> Vec<String> {
    let mut outcome = graph.invoke(TrailUpdate::new(), config()).await.unwrap();
    let mut stops = Vec::new();
    while let Outcome::Paused(stop) = outcome {
        let snapshot = graph.state(config()).await.unwrap();
        assert_eq!(snapshot.state.log, stop.state().log, "what was shown is stored");
        stops.push(format!("{} | {}", stop.state().told(), snapshot.next[0]));
        outcome = graph.invoke((), config()).await.unwrap();
    }
    outcome.into_done().unwrap();
    stops
}

async fn b58_stops_after_and_before_a_node(store: Store) {
    let graph = chain(&store).await;
    let after = || RunConfig::thread("after").interrupt_after("b");
    assert_eq!(stops(&graph, after).await, ["a b | c"]);
    let before = || RunConfig::thread("before").interrupt_before("b");
    assert_eq!(stops(&graph, before).await, ["a | b"]);
    let both = || RunConfig::thread("both").interrupt_before("b").interrupt_after("b");
    assert_eq!(stops(&graph, both).await, ["a | b", "a b | c"]);
    let all = || RunConfig::thread("all").interrupt_before(PauseAt::All);
    assert_eq!(stops(&graph, all).await, [" | a", "a | b", "a b | c"]);
}

async fn b59_stops_in_a_loop_do_not_wear_out(store: Store) {
    let graph = StateGraph::<Trail>::new()
        .node("a", says("a"))
        .node("b", says("b"))
        .edge(START, "a")
        .edge("a", "b")
        .branch("b", |s: &Trail| if s.log.len() < 6 { "a" } else { END })
        .interrupt_before("b")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    assert_eq!(stops(&graph, || RunConfig::thread("t")).await, ["a | b", "a b a | b", "a b a b a | b"]);
}

async fn b64_a_router_is_asked_once(store: Store) {
    let entries = Entries::default();
    let routed = entries.clone();
    let graph = StateGraph::<Trail>::new()
        .node("a", says("a"))
        .node("ask", ask)
        .branch("a", move |s: &Trail| -> NodeResult<_> {
            routed.enter("router");
            s.log.first().map(|_| "ask").ok_or_else(|| NodeError::msg("it sees no state"))
        })
        .edge(START, "a")
        .checkpointer(store.open().await)
        .compile()
        .unwrap();
    let pause = graph.invoke(TrailUpdate::new(), "t").await.pause();
    assert_eq!(graph.invoke(pause.answer("x"), "t").await.done().told(), "a ask=x");
    graph.history("t", HistoryQuery::all()).await.unwrap();
    assert_eq!(entries.told(), "router1");
}
