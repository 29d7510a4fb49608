use superstep::State;

#[derive(State, Clone, Default)]
struct Agent {
    #[reducer(apend)]
    log: Vec<String>,
    #[reducer(concatenate)]
    text: String,
    #[reducer()]
    nothing: u8,
    #[reducer(untracked)]
    option: u8,
}

fn main() {}
