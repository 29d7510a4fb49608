//! How a graph is described.

mod compile;
mod draw;
mod options;
mod outline;
mod problem;
mod state_graph;
mod validate;

#[cfg(test)]
mod tests;

pub use options::NodeOptions;
pub use problem::{InvalidGraph, Problem, Site};
pub use state_graph::StateGraph;
