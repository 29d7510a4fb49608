//! Panics of the user's code beside the nodes themselves: they end one call, and nothing hangs.
#![allow(clippy::unwrap_used, reason = "a test")]

use std::time::Duration;

use superstep_graph_core::{
    CompiledGraph, DynSchema, DynState, DynUpdate, END, NodeError, NodeOptions, NodeResult, RetryPolicy, RunError,
    RunErrorKind, START, StateGraph,
};

async fn fails() -> NodeResult<DynUpdate> {
    Err(NodeError::msg("down"))
}

/// `bad` fails, and the rule whether to try again panics; with or without a node beside it.
fn graph(beside: bool) -> CompiledGraph<DynState> {
    let schema = DynSchema::new().last("x").build().unwrap();
    let options = NodeOptions::new().retry(RetryPolicy::attempts(3).when(|_| panic!("the rule panics")));
    let graph = StateGraph::with_schema(schema).node_with("bad", fails, options).edge(START, "bad").edge("bad", END);
    let graph = if beside { graph.node("good", async || {}).edge(START, "good").edge("good", END) } else { graph };
    graph.compile().unwrap()
}

async fn run(graph: CompiledGraph<DynState>) -> RunError {
    let run = graph.invoke(DynUpdate::new().set("x", 1), ());
    tokio::time::timeout(Duration::from_mins(1), run).await.unwrap().unwrap_err()
}

#[tokio::test(start_paused = true)]
async fn a_retry_rule_that_panics_says_no() {
    for beside in [false, true] {
        let error = run(graph(beside)).await;
        let RunErrorKind::Node { failures } = error.kind() else { panic!("{error:?}") };
        assert_eq!((failures[0].attempts, failures[0].error.to_string().as_str()), (1, "down"));
    }
}
