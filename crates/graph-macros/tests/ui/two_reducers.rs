use superstep::State;

#[derive(State, Clone, Default)]
struct Agent {
    #[reducer(append)]
    #[reducer(union)]
    log: Vec<String>,
    #[reducer(add, max)]
    amount: u64,
    #[state(any)]
    #[reducer(append)]
    any: Vec<String>,
    #[state(untracked, ephemeral)]
    kinds: u8,
}

fn main() {}
