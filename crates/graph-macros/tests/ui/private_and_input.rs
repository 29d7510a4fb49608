use superstep::State;

#[derive(State, Clone, Default)]
struct Agent {
    #[state(private, input)]
    a: u64,
    #[state(output)]
    #[state(private)]
    b: u64,
}

fn main() {}
