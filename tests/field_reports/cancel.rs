//! Calls and streams that are dropped.

use std::sync::Arc;

use superstep::{
    Checkpointer, CompiledGraph, Context, Durability, END, Event, NodeResult, RunConfig, RunErrorKind, RunStream,
    Runtime, START, StreamMode,
};

use crate::history::{Steps, line};
use crate::scene::{DURABILITIES, Notes, NotesUpdate, Place, Visits, done, failed, held, input, named, over, process};

on_every_store!(
    b145_finished_steps_outlive_a_cancel,
    b146_a_turn_cut_off_is_seen_and_can_be_resumed,
    b146_a_turn_cut_off_is_left_behind_by_new_input,
);

/// `a → b → slow`, cancelled in `slow`. `exit` is the exception: it stores when a call ends, and a dropped one does not.
fn b145_finished_steps_outlive_a_cancel(place: &Place) {
    for durability in DURABILITIES {
        let visits = Visits::default();
        place.clear();
        let config = || RunConfig::thread("t").durability(durability);
        process(async {
            let graph = over(place.open().await, &visits).node("a", named).node("b", named).node("slow", held);
            let graph = graph.edge(START, "a").edge("a", "b").edge("b", "slow").edge("slow", END).compile().unwrap();
            tokio::select! {
                biased;
                end = graph.invoke(input(), config()) => panic!("it is held: {end:?}"),
                () = visits.entered() => {}
            }
            visits.let_go();
            if durability == Durability::Exit {
                let unknown = failed(graph.invoke((), config()).await);
                assert!(matches!(unknown, RunErrorKind::UnknownThread), "{unknown:?}");
                assert_eq!(done(graph.invoke(input(), config()).await), ["a", "b", "slow"]);
                return;
            }
            // What was on its way gets there; the next call waits for it.
            assert_eq!(done(graph.invoke((), config()).await), ["a", "b", "slow"]);
            assert_eq!(["a", "b", "slow"].map(|node| visits.of(node)), [1, 1, 2], "{durability:?}");
            let line = line(&graph, "t", Steps::All).await;
            let cut = line.iter().find(|snapshot| snapshot.next == ["slow"]).unwrap();
            assert_eq!(cut.state.list, ["a", "b"]);
        });
    }
}

/// Shows a first word, then is held.
async fn answer(rt: Runtime, visits: Context<Visits>) -> NodeResult<NotesUpdate> {
    rt.emit("The")?;
    Ok(held(rt, visits).await)
}

/// `call → tool → answer`
fn chat(store: Arc<dyn Checkpointer>, visits: &Visits) -> CompiledGraph<Notes> {
    let graph = over(store, visits).node("call", named).node("tool", named).node("answer", answer);
    graph.edge(START, "call").edge("call", "tool").edge("tool", "answer").edge("answer", END).compile().unwrap()
}

/// Streams until the first word of the answer is on the screen; then the reader is gone.
async fn cut_off(mut stream: RunStream<Notes>) {
    while let Some(event) = stream.next().await {
        if let Event::Custom(word) = event.unwrap() {
            assert_eq!((word.node.as_str(), &word.value), ("answer", &"The".into()));
            return;
        }
    }
    panic!("no word of the answer was shown");
}

async fn b146_disconnect(graph: &CompiledGraph<Notes>) {
    let modes = [StreamMode::Updates, StreamMode::Custom];
    cut_off(graph.stream(input().turn(1), RunConfig::thread("t").stream_modes(modes))).await;
    let seen = graph.state("t").await.unwrap();
    assert_eq!(
        (seen.state.list.join(" ").as_str(), &seen.next[..]),
        ("call tool", &["answer".try_into().unwrap()][..])
    );
}

fn b146_a_turn_cut_off_is_seen_and_can_be_resumed(place: &Place) {
    let visits = Visits::default();
    process(async { b146_disconnect(&chat(place.open().await, &visits)).await });
    visits.let_go();
    process(async {
        assert_eq!(done(chat(place.open().await, &visits).invoke((), "t").await), ["call", "tool", "answer"]);
    });
    assert_eq!(["call", "tool", "answer"].map(|node| visits.of(node)), [1, 1, 2]);
}

/// The rule: new input begins a new turn with the old state; what was unfinished is left behind, and the outcome says so.
fn b146_a_turn_cut_off_is_left_behind_by_new_input(place: &Place) {
    let visits = Visits::default();
    process(async { b146_disconnect(&chat(place.open().await, &visits)).await });
    visits.let_go();
    process(async {
        let outcome = chat(place.open().await, &visits).invoke(input().turn(2), "t").await.unwrap();
        let left: Vec<&str> = outcome.abandoned().iter().map(|left| left.node.as_str()).collect();
        assert_eq!(left, ["answer"]);
        assert_eq!(outcome.state().list, ["call", "tool", "call", "tool", "answer"]);
        assert_eq!(outcome.state().turn, 2);
    });
}
