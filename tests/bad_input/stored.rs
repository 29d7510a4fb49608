//! What is stored no longer fits the graph that reads it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{
    Command, CompiledGraph, HistoryQuery, LoadReason, NodeResult, ReadError, RunErrorKind, Runtime, START, State,
    StateGraph,
};

use crate::on_each_store;
use crate::support::{Expected, Store};

on_each_store!(a_state_that_no_longer_decodes_is_named, a_channel_that_is_gone_is_named, a_node_that_is_gone_is_named);

mod before {
    use super::{Deserialize, JsonSchema, Serialize, State};

    #[derive(State, Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub(super) struct Refund {
        pub order: String,
        pub cents: u64,
    }
}

mod after {
    use super::{Deserialize, JsonSchema, Serialize, State};

    #[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
    pub(super) struct Refund {
        pub order: String,
        pub cents: Vec<u64>,
    }
}

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Less {
    order: String,
}

/// A graph over `S` named `refund`, with a node of this name that asks.
macro_rules! asking {
    ($state:ty, $node:expr, $store:expr) => {
        StateGraph::<$state>::new()
            .name("refund")
            .node($node, async |rt: Runtime| -> NodeResult<()> { rt.interrupt::<bool>("pay?").map(drop) })
            .edge(START, $node)
            .checkpointer($store.open().await)
            .compile()
            .unwrap()
    };
}

async fn written(store: &Store) -> CompiledGraph<before::Refund> {
    let graph = asking!(before::Refund, "ask", store);
    graph.invoke(before::RefundUpdate::new().order("A-17").cents(420), "t").await.pause();
    graph
}

/// The thread is as it was, and its own graph goes on with it.
async fn untouched(graph: CompiledGraph<before::Refund>) {
    let done = graph.invoke(Command::resume(true), "t").await.done();
    assert_eq!(done, before::Refund { order: "A-17".to_owned(), cents: 420 });
}

async fn a_state_that_no_longer_decodes_is_named(store: Store) {
    let old = written(&store).await;
    let head = old.state("t").await.unwrap().checkpoint;
    let new = asking!(after::Refund, "ask", store);
    let is_cents = |reason: &LoadReason| matches!(reason, LoadReason::Channel { channel, .. } if *channel == "cents");

    let ReadError::Load { source, .. } = new.state("t").await.unwrap_err() else { panic!("another error") };
    assert!(source.checkpoint == head && is_cents(&source.reason));
    let error = new.history("t", HistoryQuery::all()).await.unwrap_err();
    assert!(matches!(&error, ReadError::Load { source, .. } if is_cents(&source.reason)), "{error}");
    for error in [
        new.invoke(Command::resume(true), "t").await.unwrap_err(),
        new.invoke((), "t").await.unwrap_err(),
        new.invoke(after::RefundUpdate::new(), "t").await.unwrap_err(),
        new.update_state("t", after::RefundUpdate::new()).await.unwrap_err(),
    ] {
        let RunErrorKind::Load(load) = error.kind() else { panic!("{error}") };
        assert!(load.checkpoint == head && is_cents(&load.reason));
        let text = error.to_string();
        assert!(text.contains("\"t\"") && text.contains("\"cents\"") && text.contains(&head.to_string()), "{text}");
    }
    untouched(old).await;
}

async fn a_channel_that_is_gone_is_named(store: Store) {
    let old = written(&store).await;
    let error = asking!(Less, "ask", store).invoke((), "t").await.unwrap_err();
    let RunErrorKind::Load(load) = error.kind() else { panic!("{error}") };
    assert!(matches!(&load.reason, LoadReason::UnknownChannel { channel } if *channel == "cents"), "{error}");
    untouched(old).await;
}

async fn a_node_that_is_gone_is_named(store: Store) {
    let old = written(&store).await;
    let error = asking!(before::Refund, "inquire", store).invoke((), "t").await.unwrap_err();
    let RunErrorKind::Load(load) = error.kind() else { panic!("{error}") };
    assert!(matches!(&load.reason, LoadReason::UnknownNode(unknown) if unknown.name == "ask"), "{error}");
    untouched(old).await;
}
