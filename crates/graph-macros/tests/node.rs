//! `#[node]` leaves functions as they are and asks whether they fit.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]
#![deny(warnings, missing_docs, clippy::pedantic)]
#![allow(clippy::needless_pass_by_value, reason = "nodes take their parameters by value")]

use std::sync::Arc;

use superstep::{Arg, Command, Context, DynState, DynUpdate, IntoNode, NodeResult, Runtime, State, blocking, node};

#[derive(State, Clone, Debug, Default)]
struct Refund {
    order: String,
    approved: Option<bool>,
}

struct Bank;

#[node(Refund)]
async fn nothing() {}

#[node(Refund)]
async fn by_arc(state: Arc<Refund>) -> RefundUpdate {
    RefundUpdate::new().order(state.order.clone())
}

#[node(Refund)]
async fn by_value(state: Refund, rt: Runtime) -> NodeResult<Option<RefundUpdate>> {
    let yes: bool = rt.interrupt(&state.order)?;
    Ok(yes.then(|| RefundUpdate::new().approved(true)))
}

/// Docs, attributes and visibility stay.
#[node(Refund)]
#[allow(clippy::unused_async, reason = "it is an example")]
pub(crate) async fn by_reference(
    state: &Refund,
    bank: Context<Bank>,
    Arg(number): Arg<u8>,
) -> NodeResult<Command<RefundUpdate>> {
    let _ = (bank, number);
    Ok(Command::goto("pay").update(RefundUpdate::new().order(state.order.as_str())))
}

#[node(DynState)]
async fn with_lifetime<'a>(state: &'a DynState) -> Vec<DynUpdate> {
    let name: &'a str = state["name"].as_str().unwrap_or_default();
    std::future::ready(()).await;
    vec![DynUpdate::new().set("name", name)]
}

#[node(DynState)]
async fn generic<T, const N: usize>(arg: Arg<T>) -> DynUpdate
where
    T: serde::de::DeserializeOwned + Into<serde_json::Value> + Send + 'static,
{
    DynUpdate::new().set("x", arg.0).set("n", N)
}

#[node(DynState, blocking)]
fn computes(state: Arc<DynState>) -> DynUpdate {
    DynUpdate::new().set("n", state.iter().count())
}

mod elsewhere {
    pub(crate) use superstep as inner;
}

#[node(DynState, crate = "crate::elsewhere::inner")]
async fn the_crate_is_elsewhere() -> DynUpdate {
    DynUpdate::new()
}

fn is_node<S: State, M>(_: impl IntoNode<S, M>) {}

#[test]
fn they_are_nodes() {
    is_node::<Refund, _>(nothing);
    is_node::<Refund, _>(by_arc);
    is_node::<Refund, _>(by_value);
    is_node::<Refund, _>(by_reference);
    is_node::<DynState, _>(with_lifetime);
    is_node::<DynState, _>(generic::<u64, 3>);
    is_node::<DynState, _>(blocking(computes));
    is_node::<DynState, _>(the_crate_is_elsewhere);
}
