use superstep::State;

#[derive(State, Clone, Default)]
struct Agent {
    #[reducer(append)]
    appended: u64,
    #[reducer(add)]
    added: String,
    #[reducer(merge)]
    merged: Vec<String>,
    #[reducer(union)]
    united: Vec<f64>,
    #[reducer(max)]
    greatest: serde_json::Value,
    #[reducer(messages)]
    messages: Vec<String>,
}

fn main() {}
