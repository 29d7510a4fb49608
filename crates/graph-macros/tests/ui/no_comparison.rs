use superstep::State;

#[derive(Clone, Default, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
struct Plain;

#[derive(State, Clone, Default)]
struct Agent {
    #[state(ephemeral)]
    plain: Plain,
}

fn main() {}
