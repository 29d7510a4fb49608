//! Names of threads, runs, nodes and graphs.

use superstep::{InvalidId, Problem, ReadError, RunConfig, RunErrorKind, START, StateGraph};

use crate::on_each_store;
use crate::support::{Expected, Store, Trail, TrailUpdate, said, says};

on_each_store!(thread_ids_follow_one_rule, odd_thread_ids_do_not_share_data);

fn refused(kind: &RunErrorKind) -> &InvalidId {
    match kind {
        RunErrorKind::InvalidName(invalid) => invalid,
        other => panic!("{other}"),
    }
}

async fn thread_ids_follow_one_rule(store: Store) {
    let graph = StateGraph::<Trail>::new().node("a", says("a")).edge(START, "a");
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    for wrong in [String::new(), "x".repeat(10_000), "a\0b".to_owned(), "\u{1F980}".repeat(300)] {
        refused(graph.invoke(said("x"), &*wrong).await.unwrap_err().kind());
        refused(graph.invoke((), &*wrong).await.unwrap_err().kind());
        refused(graph.update_state(&*wrong, said("x")).await.unwrap_err().kind());
        assert!(matches!(graph.state(&*wrong).await.unwrap_err(), ReadError::InvalidName(_)));
        assert!(matches!(graph.delete_thread(&*wrong).await.unwrap_err(), ReadError::InvalidName(_)));
        refused(graph.invoke(said("x"), RunConfig::thread("t").run_id(wrong)).await.unwrap_err().kind());
    }
    assert!(matches!(graph.state("t").await.unwrap_err(), ReadError::UnknownThread { .. }), "nothing was stored");
}

async fn odd_thread_ids_do_not_share_data(store: Store) {
    let graph = StateGraph::<Trail>::new().node("a", async |s: &Trail| said(s.log[0].clone())).edge(START, "a");
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    let long = "x".repeat(1_024);
    let odd = [
        "a",
        "A",
        " a",
        "a ",
        "'",
        "\"",
        "''",
        "{}",
        "{a}",
        "a}b",
        "%",
        "_",
        "\\",
        "a\nb",
        "\u{1F980}",
        "e\u{301}",
        "\u{e9}",
        "'; drop table thread; --",
        "../../x",
        "a/b",
        "a:b|c",
        &long,
        &long[1..],
    ];
    for thread in odd {
        graph.invoke(said(thread), thread).await.done();
    }
    for thread in odd {
        assert_eq!(graph.state(thread).await.unwrap().state.log, [thread, thread]);
    }
}

#[test]
fn names_of_nodes_follow_one_rule() {
    let problems = |name: &str| {
        let graph = StateGraph::<Trail>::new().node(name, says("a")).edge(START, name);
        graph.compile().map(drop).map_err(|invalid| invalid.problems).err().unwrap_or_default()
    };
    assert!(matches!(problems("")[..], [Problem::InvalidName(InvalidId::Empty { .. })]));
    assert!(matches!(problems(&"x".repeat(1_025))[..], [Problem::InvalidName(InvalidId::TooLong { .. })]));
    assert!(matches!(problems("a\0")[..], [Problem::InvalidName(InvalidId::Nul { .. })]));
    assert!(matches!(&problems("__mine")[..], [Problem::ReservedName { name }] if name == "__mine"));
    assert!(matches!(&problems(START)[..], [Problem::ReservedName { .. }, ..]));
    assert!(matches!(problems("a|b")[..], [Problem::ForbiddenCharacter { character: '|', .. }]));
    for fine in ["a b", "'", "{}", "\u{1F980}", &"x".repeat(1_024)] {
        assert_eq!(problems(fine), []);
    }
}

#[tokio::test]
async fn a_node_of_the_longest_name_runs() {
    let name = "x".repeat(1_024);
    let store = Store::sqlite();
    let graph = StateGraph::<Trail>::new().node(&*name, says("a")).edge(START, &*name);
    let graph = graph.checkpointer(store.open().await).compile().unwrap();
    assert_eq!(graph.invoke(TrailUpdate::new(), "t").await.done().told(), "a");
}

#[test]
fn everything_wrong_with_a_graph_is_said_at_once() {
    let invalid = StateGraph::<Trail>::new()
        .node("write", says("a"))
        .node("write", says("b"))
        .edge(START, "wirte")
        .edge("write", START)
        .waiting_edge(Vec::<String>::new(), "write")
        .limit(0)
        .compile()
        .unwrap_err();
    assert_eq!(invalid.problems.len(), 5);
    let text = invalid.to_string();
    assert!(text.contains("did you mean \"write\"?"), "{text}");
    assert_eq!(text.lines().count(), 6);
}
