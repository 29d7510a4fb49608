//! Golden drawings.

use superstep_pregel::{DynSchema, DynState, END, START};

use crate::{Command, NodeOptions, StateGraph};

fn graph(nodes: &[&str]) -> StateGraph<DynState> {
    let graph = StateGraph::with_schema(DynSchema::new().last("x").build().unwrap());
    nodes.iter().fold(graph, |graph, name| graph.node(*name, async || ()))
}

fn check(graph: StateGraph<DynState>, expected: &str) {
    let drawn = graph.compile().unwrap().mermaid().to_owned();
    assert_eq!(drawn, expected, "\n{drawn}");
}

#[test]
fn edges_and_a_branch_with_answers() {
    let graph = graph(&["pay", "qualify", "refuse"])
        .edge(START, "qualify")
        .branch_map("qualify", || true, [(true, "pay"), (false, "refuse")])
        .branch_to("refuse", || END, ["qualify", END])
        .edge("pay", END);
    check(
        graph,
        "flowchart TD
    start([\"START\"])
    n1[\"qualify\"]
    n2[\"pay\"]
    n3[\"refuse\"]
    stop([\"END\"])
    start --> n1
    n1 -. \"true\" .-> n2
    n1 -. \"false\" .-> n3
    n2 --> stop
    n3 -.-> n1
    n3 -.-> stop
",
    );
}

#[test]
fn waiting_edges_meet_and_deferred_nodes_are_marked() {
    let graph = graph(&["plan", "cats", "dogs"])
        .node_with("gather", async || (), NodeOptions::new().deferred())
        .edge(START, "plan")
        .edge("plan", "cats")
        .edge("plan", "cats")
        .edge("plan", "dogs")
        .waiting_edge(["cats", "dogs"], "gather");
    check(
        graph,
        "flowchart TD
    start([\"START\"])
    n1[\"plan\"]
    n2[\"cats\"]
    n3[\"dogs\"]
    all1{{\"all\"}}
    n4[\"gather<br/>(deferred)\"]
    start --> n1
    n1 --> n2
    n1 --> n3
    n2 --> all1
    n3 --> all1
    all1 --> n4
",
    );
}

#[test]
fn open_routers_and_nodes_that_only_commands_reach() {
    let graph =
        graph(&["lone"]).node("jump", async || Command::goto("lone")).branch(START, || "jump").edge("lone", "lone");
    check(
        graph,
        "flowchart TD
    start([\"START\"])
    any1{\"?\"}
    n1[\"lone\"]
    n2[\"jump\"]
    start -.-> any1
    n1 --> n1
",
    );
}

#[test]
fn names_cannot_break_the_drawing() {
    let graph = graph(&["end", "a\"] --> b", "größer 🦀"]).edge(START, "end").branch_map(
        "end",
        || "x",
        [("a|b\"", "a\"] --> b"), ("%%", "größer 🦀")],
    );
    check(
        graph,
        "flowchart TD
    start([\"START\"])
    n1[\"end\"]
    n2[\"a#34;#93; --#62; b\"]
    n3[\"größer 🦀\"]
    start --> n1
    n1 -. \"a#124;b#34;\" .-> n2
    n1 -. \"#37;#37;\" .-> n3
",
    );
}
