//! What compile refuses, and how it says so.

use std::time::Duration;

use superstep_checkpoint::InvalidId;
use superstep_pregel::{DynSchema, DynState, END, START};

use super::{Problem, Site};
use crate::{Durability, NodeOptions, PauseAt, RetryPolicy, StateGraph};

fn empty() -> StateGraph<DynState> {
    StateGraph::with_schema(DynSchema::new().last("x").build().unwrap()).name("g")
}

/// A graph of nodes `a` and `b`, entered at `a`.
fn graph() -> StateGraph<DynState> {
    empty().node("a", async || ()).node("b", async || ()).edge(START, "a")
}

fn problems(graph: StateGraph<DynState>) -> Vec<Problem> {
    graph.compile().unwrap_err().problems
}

/// The one problem of a graph, as text.
fn text(graph: StateGraph<DynState>) -> String {
    let problems = problems(graph);
    assert_eq!(problems.len(), 1, "{problems:?}");
    problems[0].to_string()
}

#[test]
fn everything_wrong_is_said_at_once() {
    let graph = empty()
        .node("plan", async || ())
        .node("plan", async || ())
        .node("__x", async || ())
        .edge("plan", "plam")
        .edge(END, "plan")
        .edge("plan", START)
        .waiting_edge(["nobody"], "plan")
        .branch("nowhere", || END)
        .interrupt_before(["somewhere"])
        .limit(0);
    let error = graph.compile().unwrap_err();
    let expected = "\
graph \"g\" cannot be compiled: 10 problems
- nothing leads from START, so no node would ever run; add `.edge(START, ..)` or `.branch(START, ..)`
- the limit is 0 steps, so nothing could run; give at least 1
- there are several nodes named \"plan\"; give each a name of its own
- \"__x\" is no name for a node: names that begin with two underscores are reserved
- the edge \"plan\" -> \"plam\" names the node \"plam\", which the graph does not have; did you mean \"plan\"?
- the edge \"__end__\" -> \"plan\" begins at END, where every path ends; begin at a node, or at START
- the edge \"plan\" -> \"__start__\" leads to START, where only turns begin; lead to the node that is to run again
- the waiting edge [\"nobody\"] -> \"plan\" names the node \"nobody\", which the graph does not have
- the branch at \"nowhere\" names the node \"nowhere\", which the graph does not have
- `interrupt_before` names the node \"somewhere\", which the graph does not have";
    assert_eq!(error.to_string(), expected, "\n{error}");
}

#[test]
fn one_problem_is_one_line() {
    let error = empty().compile().unwrap_err();
    let expected = "graph \"g\" cannot be compiled: the graph has no nodes; add one with `.node(name, f)`";
    assert_eq!(error.to_string(), expected);
}

#[test]
fn names_of_nodes() {
    let named = |name: &str| graph().node(name, async || ());
    for fine in [" a ", "{\"'}", "🦀", "_", "x__y", &"x".repeat(1_024)] {
        assert!(named(fine).compile().is_ok(), "{fine:?}");
    }
    assert_eq!(problems(named("")), [Problem::InvalidName(InvalidId::Empty { what: "a node name" })]);
    assert!(text(named(&"x".repeat(1_025))).contains("1025 bytes, the most is 1024"));
    assert!(text(named("x\0")).contains("NUL"));
    assert!(text(named("x|y")).contains("\"x|y\" holds '|'"));
    assert!(text(named("x:y")).contains("holds ':'"));
    for reserved in [START, END, "__anything"] {
        assert_eq!(problems(named(reserved)), [Problem::ReservedName { name: reserved.into() }]);
    }
}

#[test]
fn names_of_graphs() {
    assert_eq!(problems(graph().name("")), [Problem::InvalidName(InvalidId::Empty { what: "a graph name" })]);
    assert!(text(graph().name("x\0")).starts_with("a graph name holds a NUL"));
    let schema = DynSchema::new().last("x").build().unwrap();
    let unnamed = StateGraph::<DynState>::with_schema(schema).node("a", async || ()).edge(START, "a");
    assert_eq!(unnamed.compile().unwrap().name(), "DynState");
}

#[test]
fn three_of_a_name_are_one_problem() {
    let graph = graph().node("a", async || ()).node("a", async || ());
    assert_eq!(problems(graph), [Problem::DuplicateNode { name: "a".into() }]);
}

#[test]
fn entries() {
    assert_eq!(problems(empty().node("a", async || ()).edge("a", END)), [Problem::NoEntry]);
    assert!(empty().node("a", async || ()).branch(START, || "a").compile().is_ok());
    assert!(empty().node("a", async || ()).edge(START, END).compile().is_ok());
}

#[test]
fn a_node_that_nothing_leads_to_is_fine() {
    assert!(graph().compile().is_ok());
}

#[test]
fn waiting_edges() {
    assert_eq!(problems(graph().waiting_edge(Vec::<String>::new(), "b")), [Problem::NoSources { to: "b".into() }]);
    assert_eq!(problems(graph().waiting_edge(["a", START], "b")), [Problem::WaitsForStart { to: "b".into() }]);
    let twice = Problem::DuplicateSource { node: "a".into(), to: "b".into() };
    assert_eq!(problems(graph().waiting_edge(["a", "a", "a"], "b")), [twice]);
    assert!(text(graph().waiting_edge(["a", END], "b")).contains("begins at END"));
    assert!(text(graph().waiting_edge(["a"], START)).contains("leads to START"));
    assert!(text(graph().waiting_edge(["a"], "c")).contains("names the node \"c\""));
    assert!(graph().waiting_edge(["a", "b"], END).compile().is_ok());
}

#[test]
fn branches() {
    assert!(text(graph().branch(END, || "a")).contains("begins at END"));
    let site = Site::Path { from: "a".into(), key: "yes".into() };
    let unknown = Problem::UnknownNode { name: "bb".into(), site, similar: Some("b".into()) };
    assert_eq!(problems(graph().branch_map("a", || "yes", [("yes", "bb"), ("no", END)])), [unknown]);
    assert!(text(graph().branch_to("a", || "a", [START])).contains("leads to START"));
    assert_eq!(problems(graph().branch_to("a", || "a", Vec::<String>::new())), [Problem::NoPaths { from: "a".into() }]);
    let twice = Problem::DuplicateKey { from: "a".into(), key: "yes".into() };
    assert_eq!(problems(graph().branch_map("a", || "yes", [("yes", "a"), ("yes", "b")])), [twice]);
}

#[test]
fn settings() {
    assert_eq!(problems(graph().limit(0)), [Problem::ZeroLimit]);
    assert_eq!(problems(graph().durability(Durability::Async { lag: 0 })), [Problem::ZeroLag]);
    let graph_of_two = graph().context(1_u8).context(2_u8).context(3_u8).context("x");
    assert_eq!(problems(graph_of_two), [Problem::DuplicateContext { context: "u8" }]);
    assert!(text(graph().interrupt_before(["a"]).interrupt_after(["c", "b"])).starts_with("`interrupt_after` names"));
    assert!(graph().interrupt_before(PauseAt::All).compile().is_ok());
    assert!(text(graph().interrupt_before([START])).contains("__start__"));
}

#[test]
fn retry_policies() {
    let with = |policy| graph().node_with("c", async || (), NodeOptions::new().retry(policy));
    assert_eq!(problems(with(RetryPolicy::attempts(0))), [Problem::ZeroAttempts { node: "c".into() }]);
    let shrinking = RetryPolicy::attempts(2).factor(0.5);
    assert_eq!(problems(with(shrinking)), [Problem::InvalidFactor { node: "c".into() }]);
    assert!(with(RetryPolicy::attempts(3).initial_interval(Duration::ZERO)).compile().is_ok());
}

#[test]
fn the_order_of_edges_does_not_change_the_signature() {
    let signature = |graph: StateGraph<DynState>| graph.compile().unwrap().program.topology.signature();
    let first = signature(graph().edge("a", "b").edge("b", END));
    assert_eq!(first, signature(graph().edge("b", END).edge("a", "b").edge("a", "b")));
    assert_ne!(first, signature(graph().edge("a", "b")));
}

#[test]
fn contexts_are_listed_with_the_first_that_takes_them() {
    use crate::Context;
    let graph = graph()
        .node("c", async |_: Context<u8>, _: Context<u16>| ())
        .branch("b", |_: Context<u8>| END)
        .branch("a", async |_: &DynState, _: Context<u32>| END)
        .compile()
        .unwrap();
    let needs = graph.program.needs.iter().map(|(node, need)| format!("{node} {}", need.type_name()));
    assert_eq!(needs.collect::<Vec<_>>(), ["a u32", "b u8", "c u16"]);
}

#[test]
fn graphs_and_their_errors_move_between_threads() {
    fn check<T: Send + Sync + 'static>() {}
    fn check_error<E: std::error::Error + Send + Sync + 'static>() {}
    check::<StateGraph<DynState>>();
    check::<crate::CompiledGraph<DynState>>();
    check_error::<crate::InvalidGraph>();
    check_error::<Problem>();
    check_error::<crate::InvalidInput>();
}
