use superstep::State;

#[derive(Clone, Default)]
struct Plain;

#[derive(State, Clone, Default)]
struct Agent {
    plain: Plain,
}

fn main() {}
