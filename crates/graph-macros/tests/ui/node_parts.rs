#![allow(unused)]

use std::rc::Rc;
use std::sync::Arc;

use superstep::{Command, NodeResult, Resume, Runtime, State, node};

#[derive(State, Clone, Default)]
struct Agent {
    amount: u64,
}

#[derive(State, Clone, Default)]
struct Other {
    amount: u64,
}

#[node(Agent)]
async fn wrong_parameter(state: Arc<Agent>, amount: u64) -> AgentUpdate {
    AgentUpdate::new()
}

#[node(Agent)]
async fn state_of_another_graph(state: Arc<Other>, rt: Runtime) -> AgentUpdate {
    AgentUpdate::new()
}

#[node(Agent)]
async fn reference_to_another_state(state: &Other) -> AgentUpdate {
    AgentUpdate::new()
}

#[node(Agent)]
async fn update_of_another_graph(state: Arc<Agent>) -> OtherUpdate {
    OtherUpdate::new()
}

#[node(Agent)]
async fn resumes(state: Arc<Agent>) -> NodeResult<Resume> {
    Ok(Command::resume(true))
}

#[node(Agent)]
async fn not_send(state: Arc<Agent>) -> AgentUpdate {
    let shared = Rc::new(1);
    std::future::ready(()).await;
    AgentUpdate::new().amount(*shared)
}

fn main() {}
