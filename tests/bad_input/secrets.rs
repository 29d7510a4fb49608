//! Neither an error nor a `Debug` shows a value of the state.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt::Debug;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep::{
    Command, CompiledGraph, Dispatch, DynSchema, DynState, DynUpdate, HistoryQuery, Memory, NodeResult, RunConfig,
    Runtime, START, State, StateEdit, StateGraph, StreamMode,
};

use crate::support::Expected;

/// What must be seen nowhere.
const SECRET: &str = "4929-3813-3266-4295";

#[derive(State, Clone, Default, Serialize, Deserialize, JsonSchema)]
struct Card {
    number: String,
    #[reducer(append)]
    notes: Vec<String>,
    keyed: BTreeMap<(u8, u8), String>,
}

/// Everything that was shown.
#[derive(Default)]
struct Shown(Vec<String>);

impl Shown {
    fn debug(&mut self, thing: &impl Debug) {
        self.0.push(format!("{thing:?}"));
        self.0.push(format!("{thing:#?}"));
    }

    /// The error and all its sources, as text and `Debug`.
    fn error(&mut self, error: &(dyn Error + 'static)) {
        let mut next = Some(error);
        while let Some(error) = next {
            self.0.push(error.to_string());
            self.0.push(format!("{error:?}"));
            next = error.source();
        }
    }

    fn holds_no_secret(&self) {
        assert!(self.0.len() > 10);
        for text in &self.0 {
            assert!(!text.contains(SECRET), "{text}");
        }
    }
}

fn graph() -> CompiledGraph<Card> {
    StateGraph::<Card>::new()
        .node("split", async |s: &Card| {
            let update = CardUpdate::new().notes([s.number.clone()]);
            Command::send("ask", &s.number).update(update).and_goto("note")
        })
        .node("ask", async |s: &Card, rt: Runtime| -> NodeResult<_> {
            rt.emit(json!({ "number": s.number }))?;
            let number: String = rt.interrupt(json!({ "is this right?": s.number }))?;
            Ok(CardUpdate::new().number(number))
        })
        .node("note", async |s: &Card| CardUpdate::new().notes([s.number.clone()]))
        .edge(START, "split")
        .checkpointer(Memory::new())
        .compile()
        .unwrap()
}

async fn show_stream(graph: &CompiledGraph<Card>, shown: &mut Shown) {
    let modes =
        [StreamMode::Values, StreamMode::Updates, StreamMode::Tasks, StreamMode::Checkpoints, StreamMode::Custom];
    let mut events = graph.stream(CardUpdate::new().number(SECRET), RunConfig::thread("streamed").stream_modes(modes));
    shown.debug(&events);
    while let Some(event) = events.next().await {
        let event = event.unwrap();
        shown.debug(&event);
        match &event {
            superstep::Event::Update { output, task, .. } => {
                shown.debug(output);
                shown.debug(task);
            }
            superstep::Event::TaskStarted { input: superstep::TaskInput::Arg(arg), .. } => {
                shown.debug(&superstep::TaskInput::<Card>::Arg(arg.clone()));
            }
            superstep::Event::TaskEnded { end, .. } => shown.debug(end),
            superstep::Event::Checkpoint { tasks, .. } => shown.debug(tasks),
            superstep::Event::Interrupted { interrupts } => shown.debug(interrupts),
            superstep::Event::Custom(custom) => shown.debug(custom),
            superstep::Event::Ended(outcome) => shown.debug(outcome),
            _ => {}
        }
    }
}

#[tokio::test]
async fn what_is_shown_of_a_run_holds_no_value_of_the_state() {
    let (graph, mut shown) = (graph(), Shown::default());
    shown.debug(&graph);
    shown.debug(&CardUpdate::new().number(SECRET).notes([SECRET]));
    shown.debug(&StateEdit::new(CardUpdate::new().number(SECRET)));
    shown.debug(&Command::goto("ask").update(CardUpdate::new().number(SECRET)).and_send("ask", SECRET));
    shown.debug(&Dispatch::to("ask", SECRET));
    shown.debug(&Command::resume(SECRET).update(CardUpdate::new().number(SECRET)).send("ask", SECRET));
    show_stream(&graph, &mut shown).await;

    let pause = graph.invoke(CardUpdate::new().number(SECRET), "t").await.pause();
    shown.debug(&pause);
    shown.debug(&pause.interrupts());
    shown.debug(&pause.answer(SECRET));
    let snapshot = graph.state("t").await.unwrap();
    shown.debug(&snapshot);
    shown.debug(&snapshot.tasks);
    shown.debug(&snapshot.interrupts);
    shown.debug(&graph.history("t", HistoryQuery::all()).await.unwrap());
    let outcome = graph.invoke(CardUpdate::new().number(SECRET), "t").await.unwrap();
    assert!(!outcome.abandoned().is_empty());
    shown.debug(&outcome.abandoned());
    shown.debug(&outcome.into_done().unwrap_err());
    shown.holds_no_secret();
}

#[tokio::test]
async fn errors_hold_no_value_of_the_state() {
    let (graph, mut shown) = (graph(), Shown::default());
    let pause = graph.invoke(CardUpdate::new().number(SECRET), "t").await.pause();
    let wrong = json!({ "number": SECRET });
    shown.error(&graph.invoke(pause.answer(wrong), "t").await.unwrap_err());
    shown.error(&graph.invoke(pause.answer(json!([SECRET])), "t").await.unwrap_err());
    let keyed = CardUpdate::new().keyed(BTreeMap::from([((1, 2), SECRET.to_owned())]));
    shown.error(&graph.invoke(keyed.clone(), "unstorable").await.unwrap_err());

    let clashing = StateGraph::<Card>::new()
        .node("a", async |s: &Card| CardUpdate::new().number(s.number.clone()))
        .node("b", async |s: &Card| CardUpdate::new().number(s.number.clone()))
        .node("c", move || std::future::ready(keyed.clone()))
        .node("d", async |superstep::Arg(_): superstep::Arg<u8>| ())
        .node("split", async || Command::<CardUpdate>::send("d", SECRET))
        .branch(START, |s: &Card| match s.notes.len() {
            0 => vec!["a", "b"],
            1 => vec!["c"],
            _ => vec!["split"],
        })
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    for (thread, notes) in [("clash", 0), ("unstorable", 1), ("argument", 2)] {
        let input = CardUpdate::new().number(SECRET).notes(vec![SECRET.to_owned(); notes]);
        shown.error(&clashing.invoke(input, thread).await.unwrap_err());
        let snapshot = clashing.state(thread).await.unwrap();
        shown.debug(&snapshot.clash);
        shown.debug(&snapshot.tasks);
    }
    shown.holds_no_secret();
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Numbered {
    number: u64,
}

#[tokio::test]
async fn what_does_not_decode_is_not_shown() {
    let (memory, mut shown) = (Memory::new(), Shown::default());
    let old = StateGraph::<Card>::new().name("card").node("a", async || ()).edge(START, "a");
    let old = old.checkpointer(memory.clone()).compile().unwrap();
    old.invoke(CardUpdate::new().number(SECRET), "t").await.unwrap();
    let new = StateGraph::<Numbered>::new().name("card").node("a", async || ()).edge(START, "a");
    let new = new.checkpointer(memory).compile().unwrap();
    shown.error(&new.invoke((), "t").await.unwrap_err());
    shown.error(&new.state("t").await.unwrap_err());
    shown.error(&new.history("t", HistoryQuery::all()).await.unwrap_err());
    shown.holds_no_secret();
}

#[tokio::test]
async fn dynamic_states_show_no_values_either() {
    let mut shown = Shown::default();
    let schema = DynSchema::new().last("number").append("notes").add("sum").build().unwrap();
    let graph = StateGraph::<DynState>::with_schema(schema)
        .name("card")
        .node("bad", async |s: &DynState| DynUpdate::new().set("notes", s["number"].clone()))
        .edge(START, "bad")
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    let update = DynUpdate::new().set("number", SECRET).set("notes", json!([SECRET]));
    shown.debug(&update);
    shown.error(&graph.invoke(json!(SECRET), "t").await.unwrap_err());
    shown.error(&graph.invoke(DynUpdate::new().set("sum", SECRET), "t").await.unwrap_err());
    shown.error(&graph.invoke(DynUpdate::new().set("notes", SECRET), "t").await.unwrap_err());
    shown.error(&graph.invoke(update, "t").await.unwrap_err());
    let snapshot = graph.state("t").await.unwrap();
    shown.debug(&snapshot.state);
    shown.debug(&snapshot);
    shown.debug(&snapshot.tasks);
    shown.holds_no_secret();
}
