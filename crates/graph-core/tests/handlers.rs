//! Every form that a node or a router may have, run in a graph.
#![allow(clippy::unwrap_used, reason = "a test")]
#![allow(clippy::needless_pass_by_value, clippy::unnecessary_wraps, reason = "these forms are the point")]

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;
use superstep_graph_core::{
    Arg, Command, CompiledGraph, Context, Dispatch, DynSchema, DynState, DynUpdate, END, FromTask, IntoNode,
    IntoRouter, IntoRoutes, Node, NodeError, NodeResult, Outcome, Route, Router, RunConfig, RunErrorKind, Runtime,
    START, State, StateGraph, TaskContext, blocking,
};

type Error = Box<dyn std::error::Error>;

struct Shop {
    limit: u64,
}

fn builder() -> StateGraph<DynState> {
    let schema = DynSchema::new().last("order").last("next").append("log").build().unwrap();
    StateGraph::with_schema(schema)
}

fn log(text: impl Into<String>) -> DynUpdate {
    DynUpdate::new().set("log", vec![text.into()])
}

fn order(state: &DynState) -> &str {
    state["order"].as_str().unwrap_or_default()
}

async fn pause() {
    tokio::task::yield_now().await;
}

async fn run(graph: CompiledGraph<DynState>) -> Vec<String> {
    let outcome = graph.invoke(DynUpdate::new().set("order", "A-17"), ()).await.unwrap();
    serde_json::from_value(outcome.state()["log"].clone()).unwrap()
}

/// What a graph of this one node logs for order A-17.
async fn logged<M>(node: impl IntoNode<DynState, M>) -> Vec<String> {
    run(builder().context(Shop { limit: 50 }).node("n", node).edge(START, "n").compile().unwrap()).await
}

/// Where a router at START leads, of the nodes `a` and `b`.
async fn routed<M>(router: impl IntoRouter<DynState, M>) -> Vec<String> {
    let node = async |rt: Runtime| log(rt.node().as_str());
    let graph = builder().context(Shop { limit: 50 }).node("a", node).node("b", node).branch(START, router);
    run(graph.compile().unwrap()).await
}

// ------------------------------------------------------------------ functions

async fn shared(state: Arc<DynState>) -> DynUpdate {
    log(order(&state))
}

async fn owned(state: DynState) -> DynUpdate {
    log(order(&state))
}

async fn borrowed(state: &DynState) -> DynUpdate {
    pause().await;
    log(order(state))
}

async fn everything(state: &DynState, rt: Runtime, shop: Context<Shop>) -> NodeResult<DynUpdate> {
    pause().await;
    Ok(log(format!("{} {} {}", order(state), rt.node(), shop.limit)))
}

async fn nothing() {}

async fn generic<T: Default + ToString + Send + 'static>(_: Arc<DynState>) -> DynUpdate {
    log(T::default().to_string())
}

#[tokio::test]
async fn functions_with_any_form_of_the_state() {
    assert_eq!(logged(shared).await, ["A-17"]);
    assert_eq!(logged(owned).await, ["A-17"]);
    assert_eq!(logged(borrowed).await, ["A-17"]);
}

#[tokio::test]
async fn functions_with_extractors_or_nothing() {
    assert_eq!(logged(everything).await, ["A-17 n 50"]);
    assert!(logged(nothing).await.is_empty());
    assert_eq!(logged(generic::<u32>).await, ["0"]);
}

#[tokio::test]
async fn six_parameters() {
    async fn by_value(
        _: Arc<DynState>,
        _: Runtime,
        _: Context<Shop>,
        _: Context<Shop>,
        _: DynState,
        _: Runtime,
    ) -> DynUpdate {
        log("six")
    }
    async fn by_reference(
        _: &DynState,
        _: Runtime,
        _: Context<Shop>,
        _: Context<Shop>,
        _: DynState,
        _: Runtime,
    ) -> DynUpdate {
        log("six")
    }
    assert_eq!(logged(by_value).await, ["six"]);
    assert_eq!(logged(by_reference).await, ["six"]);
}

// ------------------------------------------------------------------ closures

#[tokio::test]
async fn plain_closures_that_make_a_future() {
    assert_eq!(logged(|state: Arc<DynState>| async move { log(order(&state)) }).await, ["A-17"]);
    let word = String::from("captured");
    let node = move |_: Arc<DynState>| {
        let word = word.clone();
        async move { log(word) }
    };
    assert_eq!(logged(node).await, ["captured"]);
}

#[tokio::test]
async fn async_closures_hold_the_borrow_over_an_await() {
    let node = async |state: &DynState| {
        pause().await;
        log(order(state))
    };
    assert_eq!(logged(node).await, ["A-17"]);
    let node = async |state: &DynState, rt: Runtime| -> NodeResult<DynUpdate> {
        let number: u64 = order(state).trim_start_matches("A-").parse()?;
        pause().await;
        Ok(log(format!("{} {number} {}", rt.node(), order(state))))
    };
    assert_eq!(logged(node).await, ["n 17 A-17"]);
}

#[tokio::test]
async fn a_written_return_type_fixes_the_question_mark() {
    let node = async |state: Arc<DynState>| -> NodeResult<_> {
        let number: u64 = order(&state).trim_start_matches("A-").parse()?;
        Ok(log(number.to_string()))
    };
    assert_eq!(logged(node).await, ["17"]);
    let node = |state: Arc<DynState>| async move {
        let number: u64 = order(&state).trim_start_matches("A-").parse()?;
        Ok::<_, NodeError>(log(number.to_string()))
    };
    assert_eq!(logged(node).await, ["17"]);
}

struct Agent {
    name: &'static str,
}

impl Agent {
    async fn act(&self, state: &DynState) -> DynUpdate {
        pause().await;
        log(format!("{} {}", self.name, order(state)))
    }
}

#[tokio::test]
async fn a_method_through_a_closure_that_clones() {
    let agent = Arc::new(Agent { name: "Ann" });
    let node = move |state: Arc<DynState>| {
        let agent = Arc::clone(&agent);
        async move { agent.act(&state).await }
    };
    assert_eq!(logged(node).await, ["Ann A-17"]);
}

#[tokio::test]
async fn nodes_added_in_a_loop() {
    let mut graph = builder();
    for name in ["a", "b", "c"] {
        graph = graph.node(name, move || async move { log(name) }).edge(START, name);
    }
    assert_eq!(run(graph.compile().unwrap()).await, ["a", "b", "c"]);
}

#[tokio::test]
async fn something_that_is_not_send_may_live_between_awaits() {
    let node = async |state: &DynState| {
        let text = Rc::new(order(state).to_owned()).to_string();
        pause().await;
        log(text)
    };
    assert_eq!(logged(node).await, ["A-17"]);
}

// ------------------------------------------------------------------ outputs

#[tokio::test]
async fn everything_a_node_may_return() {
    let none: Vec<String> = Vec::new();
    assert_eq!(logged(async || ()).await, none);
    assert_eq!(logged(async || None::<DynUpdate>).await, none);
    assert_eq!(logged(async || Some(log("some"))).await, ["some"]);
    assert_eq!(logged(async || vec![log("one"), log("two")]).await, ["one", "two"]);
    assert_eq!(logged(async || Command::new().update(log("one")).update(log("two"))).await, ["one", "two"]);
    assert_eq!(logged(async || json!({ "log": ["json"] })).await, ["json"]);
    assert_eq!(logged(async || Ok::<_, std::io::Error>(Some(Command::goto(END).update(log("deep"))))).await, ["deep"]);
    assert_eq!(logged(async || vec![Ok::<_, NodeError>(log("one")), Ok(log("two"))]).await, ["one", "two"]);
}

#[tokio::test]
async fn a_command_may_lead_to_several_places() -> Result<(), Error> {
    let graph = builder()
        .node("first", async || Command::goto(["a", "b"]).and_send("c", 1).and_goto(Dispatch::to("c", 2)))
        .node("a", async || log("a"))
        .node("b", async || log("b"))
        .node("c", async |arg: Arg<u64>| log(format!("c{}", *arg)))
        .edge(START, "first");
    assert_eq!(run(graph.compile()?).await, ["a", "b", "c1", "c2"]);
    Ok(())
}

#[tokio::test]
async fn an_answer_needs_no_types() -> Result<(), Error> {
    let graph = builder()
        .node("ask", async |rt: Runtime| -> NodeResult<_> {
            let yes: bool = rt.interrupt("sure?")?;
            Ok(log(yes.to_string()))
        })
        .edge(START, "ask")
        .node("more", async |Arg(number): Arg<u8>| log(format!("more {number}")))
        .checkpointer(superstep_checkpoint::Memory::new());
    let graph = graph.compile()?;
    graph.invoke(DynUpdate::new(), "one").await?;
    let done = graph.invoke(Command::resume(true), "one").await?;
    assert_eq!(done.state()["log"], json!(["true"]));
    graph.invoke(json!({}), "two").await?;
    let done = graph.invoke(Command::resume(true).update(log("by Ann")).send("more", 1), "two").await?;
    assert_eq!(done.state()["log"], json!(["by Ann", "true", "more 1"]));
    Ok(())
}

// ------------------------------------------------------------------ arguments

#[derive(Serialize, Deserialize)]
struct Topic {
    name: String,
}

#[tokio::test]
async fn what_a_dispatch_carries_is_an_argument() -> Result<(), Error> {
    async fn write(Arg(topic): Arg<Topic>, state: Arc<DynState>) -> DynUpdate {
        log(format!("{} for {}", topic.name, order(&state)))
    }
    let graph = builder()
        .node("write", write)
        .branch(START, async || ["cats", "dogs"].map(|name| Dispatch::to("write", Topic { name: name.to_owned() })));
    assert_eq!(run(graph.compile()?).await, ["cats for A-17", "dogs for A-17"]);
    Ok(())
}

// ------------------------------------------------------------------ routers

enum Next {
    A,
    Nowhere,
}

impl IntoRoutes for Next {
    fn into_routes(self) -> Vec<Route> {
        match self {
            Self::A => "a".into_routes(),
            Self::Nowhere => Vec::new(),
        }
    }
}

fn by_function(state: &DynState, shop: Context<Shop>) -> &'static str {
    if order(state) == "A-17" && shop.limit == 50 { "a" } else { "b" }
}

async fn by_async_function(state: &DynState) -> NodeResult<String> {
    pause().await;
    Ok(order(state).replace("A-17", "a"))
}

#[tokio::test]
async fn routers_of_every_form() {
    assert_eq!(routed(by_function).await, ["a"]);
    assert_eq!(routed(by_async_function).await, ["a"]);
    assert_eq!(routed(|| "b").await, ["b"]);
    assert_eq!(routed(|_: Arc<DynState>, _: Context<Shop>| "b").await, ["b"]);
    assert_eq!(routed(|state: &DynState| if order(state).is_empty() { "a" } else { "b" }).await, ["b"]);
    assert_eq!(routed(async |_: DynState| "b").await, ["b"]);
    assert_eq!(routed(|_: Arc<DynState>| async move { "b" }).await, ["b"]);
    let held = async |state: &DynState| {
        pause().await;
        if order(state).is_empty() { "a" } else { "b" }
    };
    assert_eq!(routed(held).await, ["b"]);
}

fn borrowing(state: &DynState) -> Option<&str> {
    order(state).strip_suffix("-17").map(|_| "a")
}

#[tokio::test]
async fn everything_a_router_may_return() {
    let none: Vec<String> = Vec::new();
    assert_eq!(routed(|| END).await, none);
    assert_eq!(routed(|| String::from("a")).await, ["a"]);
    assert_eq!(routed(|| superstep_checkpoint::NodeName::new("a")).await, ["a"]);
    assert_eq!(routed(|| ["b", "a"]).await, ["a", "b"]);
    assert_eq!(routed(|| vec!["a"]).await, ["a"]);
    assert_eq!(routed(|| Dispatch::to("a", ())).await, ["a"]);
    assert_eq!(routed(|| vec![Dispatch::to("b", 1), Dispatch::to("a", 2)]).await, ["b", "a"]);
    assert_eq!(routed(|| [Route::Node("b".into()), Route::Send(Dispatch::to("a", 2))]).await, ["b", "a"]);
    assert_eq!(routed(|| [Next::A, Next::Nowhere]).await, ["a"]);
    assert_eq!(routed(|| Ok::<_, std::fmt::Error>(Next::A)).await, ["a"]);
    assert_eq!(routed(|| None::<&str>).await, none);
    assert_eq!(routed(borrowing).await, ["a"]);
}

#[tokio::test]
async fn keys_stand_for_nodes() -> Result<(), Error> {
    let node = async |rt: Runtime| log(rt.node().as_str());
    let graph = builder()
        .node("pay", node)
        .node("stop", node)
        .branch_map(START, |state: &DynState| order(state) == "A-17", [(true, "pay"), (false, END)])
        .branch_to("pay", || "stop", ["stop", END])
        .branch_map("stop", async || "over", [("over", END)]);
    assert_eq!(run(graph.compile()?).await, ["pay", "stop"]);
    Ok(())
}

// ------------------------------------------------------------------ blocking

fn compute(state: &DynState, rt: Runtime) -> NodeResult<DynUpdate> {
    Ok(log(format!("{} {}", rt.node(), order(state))))
}

#[tokio::test]
async fn synchronous_functions_as_nodes() {
    assert_eq!(logged(blocking(compute)).await, ["n A-17"]);
    assert_eq!(logged(blocking(|| log("closure"))).await, ["closure"]);
    assert_eq!(logged(blocking(|state: Arc<DynState>| log(order(&state)))).await, ["A-17"]);
    assert_eq!(logged(blocking(|state: &DynState| Rc::new(Some(log(order(state)))).as_ref().clone())).await, ["A-17"]);
}

#[tokio::test]
async fn a_panic_is_an_error_of_the_node() {
    fn bad(_: &DynState) -> DynUpdate {
        panic!("out of paper")
    }
    let graph = builder().node("n", blocking(bad)).edge(START, "n").compile().unwrap();
    let error = graph.invoke(DynUpdate::new(), ()).await.unwrap_err();
    assert!(error.to_string().contains("out of paper"), "{error}");
    let graph = builder().node("n", async || -> DynUpdate { panic!("no ink") }).edge(START, "n").compile().unwrap();
    let error = graph.invoke(DynUpdate::new(), ()).await.unwrap_err();
    assert!(error.to_string().contains("no ink"), "{error}");
}

// ------------------------------------------------------------------ what does not fit

/// A value that has no JSON form: a map whose keys are no texts.
fn formless() -> BTreeMap<(u8, u8), u8> {
    BTreeMap::from([((1, 2), 3)])
}

async fn failure(graph: StateGraph<DynState>) -> String {
    let error = graph.compile().unwrap().invoke(DynUpdate::new(), ()).await.unwrap_err();
    let RunErrorKind::Node { failures } = error.kind() else { panic!("{error}") };
    failures[0].error.to_string()
}

async fn node_failure<M>(node: impl IntoNode<DynState, M>) -> String {
    failure(builder().node("n", node).edge(START, "n")).await
}

async fn router_failure<M>(router: impl IntoRouter<DynState, M>) -> String {
    failure(builder().node("n", async || ()).edge(START, "n").branch("n", router)).await
}

#[tokio::test]
async fn what_a_node_lacks_fails_its_task() {
    let text = node_failure(async |_: Arg<u8>| ()).await;
    assert_eq!(text, "the node wants a u8 from a Send, but an edge started it");
    let graph = builder().node("n", async |_: Arg<u8>| ()).branch(START, || Dispatch::to("n", "seven"));
    assert_eq!(failure(graph).await, "what the Send carried is not a u8: another type was expected");
}

#[tokio::test]
async fn a_context_that_is_missing_is_found_before_anything_runs() {
    let graph = builder().node("n", async |_: Context<Shop>| ()).edge(START, "n").compile().unwrap();
    let error = graph.invoke(DynUpdate::new(), ()).await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::MissingContext { .. }), "{error}");
    assert!(graph.invoke(DynUpdate::new(), RunConfig::new().context(Shop { limit: 1 })).await.is_ok());
    let graph = builder().node("n", async || ()).branch(START, |_: Context<Shop>| "n").compile().unwrap();
    let error = graph.invoke(DynUpdate::new(), ()).await.unwrap_err();
    assert!(matches!(error.kind(), RunErrorKind::MissingContext { .. }), "{error}");
}

#[tokio::test]
async fn what_leads_nowhere_fails_the_task() {
    let text = "there is no node \"x\" in graph \"DynState\"";
    assert_eq!(node_failure(async || Command::goto("x")).await, text);
    assert_eq!(node_failure(async || Command::send("x", 1)).await, text);
    assert_eq!(router_failure(|| "x").await, text);
    let graph = builder().node("n", async || ()).branch_map(START, || "x", [("y", "n")]);
    assert_eq!(failure(graph).await, "the router answered \"x\", which its paths do not have");
}

#[tokio::test]
async fn what_has_no_json_form_fails_the_task() {
    let text = "the value given to the engine has no JSON form";
    assert_eq!(node_failure(async || Command::send("n", formless())).await, text);
    assert_eq!(router_failure(|| vec![Dispatch::to("n", formless())]).await, text);
    assert_eq!(node_failure(async || json!([1])).await, "an update is an object of channels and values, not a list");
}

#[tokio::test]
async fn errors_of_nodes_and_routers_keep_their_text() {
    assert_eq!(node_failure(async || Err::<(), _>(std::fmt::Error)).await, std::fmt::Error.to_string());
    assert_eq!(router_failure(async || Err::<&str, _>(NodeError::msg("no way"))).await, "no way");
    assert_eq!(router_failure(|| -> &str { panic!("lost") }).await, "the node panicked: lost");
    let text = node_failure(async || Command::goto(END).to_parent()).await;
    assert_eq!(text, "the command is for the graph around this one, but this one is no subgraph");
}

/// A parameter of one's own.
struct Budget(u64);

impl<S: State> FromTask<S> for Budget {
    fn from_task(task: &TaskContext<S>) -> Result<Self, NodeError> {
        let shop = task.context::<Shop>().ok_or_else(|| NodeError::msg("no shop"))?;
        Ok(Self(shop.limit + u64::from(task.runtime().attempt())))
    }
}

#[tokio::test]
async fn parameters_of_ones_own() {
    assert_eq!(logged(async |budget: Budget| log(budget.0.to_string())).await, ["51"]);
    assert_eq!(node_failure(async |_: Budget| ()).await, "no shop");
}

#[tokio::test]
async fn what_is_a_node_or_router_already() {
    let node: Arc<dyn Node<DynState>> = shared.into_node();
    assert_eq!(logged(node).await, ["A-17"]);
    let router: Arc<dyn Router<DynState>> = by_function.into_router();
    assert_eq!(routed(router).await, ["a"]);
}

// ------------------------------------------------------------------ inputs

#[tokio::test]
async fn everything_a_caller_may_give() -> Result<(), Error> {
    let graph = builder()
        .node("a", async |state: &DynState| log(format!("a {}", state["order"])))
        .node("b", async |arg: Arg<u8>| log(format!("b {}", *arg)))
        .edge(START, "a")
        .checkpointer(superstep_checkpoint::Memory::new())
        .compile()?;
    let order = || DynUpdate::new().set("order", 1);
    let logs = async |input: Outcome<DynState>| input.state()["log"].clone();
    assert_eq!(logs(graph.invoke(order(), ()).await?).await, json!(["a 1"]));
    assert_eq!(logs(graph.invoke(json!({ "order": 2 }), ()).await?).await, json!(["a 2"]));
    assert_eq!(logs(graph.invoke(Command::new().update(order()), ()).await?).await, json!(["a 1"]));
    graph.invoke(order(), "t").await?;
    assert_eq!(logs(graph.invoke((), "t").await?).await, json!(["a 1"]));
    assert_eq!(logs(graph.invoke(Command::send("b", 1), "t").await?).await, json!(["a 1", "b 1"]));
    assert_eq!(logs(graph.invoke(Command::goto("a"), "t").await?).await, json!(["a 1", "b 1", "a 1"]));
    Ok(())
}

#[tokio::test]
async fn inputs_that_no_run_can_begin_with() {
    let graph = builder().node("n", async || ()).edge(START, "n").compile().unwrap();
    let texts = [
        graph.invoke(Command::send("n", formless()), ()).await.unwrap_err().to_string(),
        graph.invoke(Command::resume(formless()), "t").await.unwrap_err().to_string(),
        graph.invoke(Command::goto("n").to_parent(), ()).await.unwrap_err().to_string(),
        graph.invoke(json!("text"), ()).await.unwrap_err().to_string(),
    ];
    let expected = [
        "the input is not valid: what is sent to \"n\" has no JSON form: key must be a string",
        "thread \"t\": the input is not valid: the answer has no JSON form: key must be a string",
        "the input is not valid: `to_parent` is for nodes of subgraphs, not for callers",
        "the input is not valid: an update is an object of channels and values, not a text",
    ];
    assert_eq!(texts, expected);
}

#[test]
fn what_is_shown_for_debugging_holds_no_values() {
    let command = Command::goto(["a", END]).and_send("b", "secret").update(DynUpdate::new().set("x", "secret"));
    let routes = "[Node(\"a\"), Node(\"__end__\"), Send(Dispatch(\"b\"))]";
    assert_eq!(format!("{command:?}"), format!("Command {{ updates: 1, routes: {routes}, scope: Here }}"));
    let resume = Command::resume("secret").update(DynUpdate::new().set("x", "secret")).send("b", "secret");
    let text = format!("{resume:?} {:?}", Arg("secret"));
    assert_eq!(text, "Resume { answers: Ok(Plain), updates: 1, routes: [Send(Dispatch(\"b\"))] } Arg<&str>");
}
