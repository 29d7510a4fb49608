use superstep::State;

#[derive(State)]
struct Agent {
    amount: u64,
}

fn main() {}
