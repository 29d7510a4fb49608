//! `derive(State)` and `#[node]`.
