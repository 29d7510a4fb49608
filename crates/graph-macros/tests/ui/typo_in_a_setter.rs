use superstep::State;

#[derive(State, Clone, Default)]
struct Agent {
    amount: u64,
}

fn main() {
    let _ = AgentUpdate::new().amuont(1);
    let _ = AgentUpdate::new().amount("1");
}
