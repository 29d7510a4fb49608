use superstep::State;

#[derive(State, Clone, Default)]
#[state(private)]
struct Agent {
    #[state(append)]
    reducer: Vec<String>,
    #[state(untraked)]
    typo: u64,
    #[state(input, input)]
    twice: u64,
}

#[derive(State, Clone, Default)]
struct Other {
    #[state(untraked)]
    typo: u64,
    #[state(append)]
    reducer: Vec<String>,
    #[state(input, input)]
    twice: u64,
    #[state(crate = "x")]
    root: u64,
}

fn main() {}
