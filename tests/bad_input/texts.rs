//! The text of each error: it names the thread, node or channel, and says what to do.

use std::fmt::Display;

use serde_json::json;
use superstep::{
    CheckpointId, Command, CompiledGraph, Context, Durability, DynSchema, DynState, DynUpdate, HistoryQuery, Memory,
    NodeResult, QuestionId, RunConfig, RunError, Runtime, START, StateEdit, StateGraph, TaskId,
};

use crate::support::{Expected, Trail, TrailUpdate, said, says};

const ID: [u8; 16] = [7; 16];

/// The text, with ids in it masked.
fn text(error: impl Display) -> String {
    let text = error.to_string();
    let is_id = |word: &str| word.len() == 32 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let words = text.split(' ').map(|word| {
        let bare = word.trim_end_matches([';', ',', ':', '.']);
        if is_id(bare) { word.replace(bare, "<id>") } else { word.to_owned() }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn asking(name: &str, store: Memory) -> CompiledGraph<Trail> {
    let ask = async |rt: Runtime| -> NodeResult<_> { Ok(said(rt.interrupt::<u8>("how many?")?.to_string())) };
    StateGraph::<Trail>::new()
        .name(name)
        .node("ask", ask)
        .node("ask too", ask)
        .node("fail", async || Err::<(), _>(std::io::Error::other("no bank")))
        .node("one", async || TrailUpdate::new().answer("1".to_owned()))
        .node("two", async || TrailUpdate::new().answer("2".to_owned()))
        .node("again", says("again"))
        .branch(START, |s: &Trail| s.log.first().cloned().map_or_else(|| vec!["ask".to_owned()], |to| split(&to)))
        .edge("again", "again")
        .checkpointer(store)
        .compile()
        .unwrap()
}

fn split(names: &str) -> Vec<String> {
    names.split(',').map(str::to_owned).collect()
}

async fn refused(call: impl Future<Output = Result<superstep::Outcome<Trail>, RunError>>) -> String {
    text(call.await.unwrap_err())
}

#[tokio::test]
async fn texts_of_calls() {
    let memory = Memory::new();
    let graph = asking("asking", memory.clone());
    let question = QuestionId::from_bytes(ID);
    let at = RunConfig::thread("t").at(CheckpointId::from_bytes(ID));
    assert_eq!(refused(graph.invoke((), "t")).await, "thread \"t\": there is no such thread; give it an input");
    assert_eq!(refused(graph.invoke(said("x"), "")).await, "a thread id is empty; give it a name of 1 to 1024 bytes");
    assert_eq!(
        refused(graph.invoke(said("x"), RunConfig::thread("t").limit(0))).await,
        "thread \"t\": the call's settings are not valid: a limit of 0 steps; give at least 1"
    );
    assert_eq!(
        refused(graph.invoke(said("x"), RunConfig::thread("t").durability(Durability::Async { lag: 0 }))).await,
        "thread \"t\": the call's settings are not valid: a lag of 0 steps; use `Durability::Sync`"
    );
    let pause = graph.invoke(TrailUpdate::new(), "t").await.pause();
    assert_eq!(
        refused(graph.invoke((), at)).await,
        "thread \"t\": there is no checkpoint <id> in this thread; take one from its history"
    );
    assert_eq!(
        refused(graph.invoke(Command::answers([(question, 1)]), "t")).await,
        "thread \"t\": question <id> is not open on this thread; take one from the snapshot's or the outcome's interrupts"
    );
    assert_eq!(
        refused(graph.invoke(Command::answers::<u8>([]), "t")).await,
        "thread \"t\": no answer was given; name at least one question"
    );
    assert_eq!(
        refused(graph.invoke(pause.answer("three"), "t")).await,
        "thread \"t\": the answer to question <id> does not fit: the answer: value is not of type \"integer\"; the \
         question is still open, answer it again (step 1)"
    );
    graph.invoke(pause.answer(3), "t").await.done();
    assert_eq!(
        refused(graph.invoke(pause.answer(3), "t")).await,
        "thread \"t\": question <id> is answered already; the first answer counts"
    );
    assert_eq!(
        refused(graph.invoke(Command::resume(3), "t")).await,
        "thread \"t\": no question is open, so there is nothing to resume; give an input, or `()` to go on"
    );
    assert_eq!(
        refused(graph.invoke(Command::goto("nowhere"), "t")).await,
        "thread \"t\": there is no node \"nowhere\" in graph \"asking\""
    );
    assert_eq!(
        refused(asking("other", memory).invoke((), "t")).await,
        "thread \"t\": the thread belongs to graph \"asking\", not to \"other\"; use another thread id, or name the graph \
         \"asking\""
    );
}

#[tokio::test]
async fn texts_of_steps() {
    let graph = asking("asking", Memory::new());
    assert_eq!(
        refused(graph.invoke(said("fail,ask"), "failed")).await,
        "thread \"failed\": node \"fail\" failed: no bank (step 1)"
    );
    assert_eq!(
        refused(graph.invoke(said("one,two"), "clash")).await,
        "thread \"clash\": the tasks of a step contradict each other: the update of channel \"answer\" by node \"one\" and \
         node \"two\" cannot be applied: it takes one write a step and got several; give it a reducer, or let one node \
         write it (step 1)"
    );
    assert_eq!(
        refused(graph.invoke(said("again"), RunConfig::thread("limit").limit(3))).await,
        "thread \"limit\": the limit of 3 steps is reached and there is more to do; call again to go on, or raise the \
         limit (step 4)"
    );
    let pause = graph.invoke(said("ask,ask too"), "both").await.pause();
    assert_eq!(
        refused(graph.invoke(pause.answer(1), "both")).await,
        "thread \"both\": 2 questions are open; answer them by id"
    );
    let error = graph.discard("both", TaskId::from_bytes(ID)).await.unwrap_err();
    assert_eq!(
        text(error),
        "thread \"both\": task <id> is no finished task of the step in hand; take one from the snapshot's tasks"
    );
    let edit = StateEdit::new(said("x")).as_node("nobody");
    let error = graph.update_state("both", edit).await.unwrap_err();
    assert_eq!(text(error), "thread \"both\": there is no node \"nobody\" in graph \"asking\"");
}

#[tokio::test]
async fn texts_of_reads() {
    let graph = asking("asking", Memory::new());
    let read = async |config: RunConfig| text(graph.state(config).await.unwrap_err());
    assert_eq!(read(RunConfig::new()).await, "name a thread");
    assert_eq!(read(RunConfig::thread("t")).await, "there is no thread \"t\"");
    graph.invoke(TrailUpdate::new(), "t").await.pause();
    assert_eq!(
        read(RunConfig::thread("t").at(CheckpointId::from_bytes(ID))).await,
        "there is no checkpoint <id> in thread \"t\""
    );
    assert_eq!(
        text(graph.history("t", HistoryQuery::all().limit(0)).await.unwrap_err()),
        "a limit of 0 checkpoints gives nothing; ask for at least 1"
    );
}

struct Bank;

#[tokio::test]
async fn texts_of_what_is_missing() {
    let graph = || StateGraph::<Trail>::new().node("a", async |_: Context<Bank>| ()).edge(START, "a");
    let text_of = text(graph().compile().unwrap().invoke(said("x"), ()).await.unwrap_err());
    assert_eq!(
        text_of,
        "node \"a\" takes a Context<bad_input::bad_input::texts::Bank>, which neither the graph nor the call gives; give it \
         with `.context(..)`"
    );
    let graph = graph().context(Bank).compile().unwrap();
    assert_eq!(
        refused(graph.invoke(said("x"), "t")).await,
        "thread \"t\": the call names a thread, but the graph has no store; give it one with `.checkpointer(..)`"
    );
    assert_eq!(refused(graph.invoke((), ())).await, "this needs a thread; name one in the call");
    assert_eq!(
        refused(asking("asking", Memory::new()).invoke(said("ask"), ())).await,
        "a node asked a question in a run without a thread; give the graph a store and name a thread (step 1)"
    );
}

#[tokio::test]
async fn texts_of_dynamic_updates() {
    let schema = DynSchema::new().append("log").build().unwrap();
    let graph = StateGraph::<DynState>::with_schema(schema)
        .name("dynamic")
        .node("a", async || DynUpdate::new().set("lgo", 1))
        .edge(START, "a")
        .checkpointer(Memory::new())
        .compile()
        .unwrap();
    assert_eq!(
        text(graph.invoke(json!({ "log": 1 }), "t").await.unwrap_err()),
        "thread \"t\": the update of channel \"log\" by the caller cannot be applied: its reducer takes a list, not a number"
    );
    assert_eq!(
        text(graph.invoke(json!({}), "t").await.unwrap_err()),
        "thread \"t\": node \"a\" failed: the update of channel \"lgo\" by node \"a\" cannot be applied: the state has no \
         such channel (step 1)"
    );
}
