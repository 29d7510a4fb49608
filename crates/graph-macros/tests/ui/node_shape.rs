#![allow(unused)]

use std::sync::Arc;

use superstep::{DynState, DynUpdate, node};

#[node(DynState)]
fn synchronous(state: Arc<DynState>) -> DynUpdate {
    DynUpdate::new()
}

#[node(DynState, blocking)]
async fn both(state: Arc<DynState>) -> DynUpdate {
    DynUpdate::new()
}

#[node]
async fn no_state() -> DynUpdate {
    DynUpdate::new()
}

#[node(DynState, bloking)]
async fn unknown_option() -> DynUpdate {
    DynUpdate::new()
}

#[node(DynState)]
async fn seven(_: (), _: (), _: (), _: (), _: (), _: (), _: ()) {}

struct Agent;

impl Agent {
    #[node(DynState)]
    async fn method(&self) {}
}

#[node(DynState)]
struct NotAFunction;

fn main() {}
