use superstep::State;

#[derive(State, Clone, Default)]
struct Agent {
    new: u64,
    amount: u64,
    overwrite_amount: u64,
}

fn main() {}
