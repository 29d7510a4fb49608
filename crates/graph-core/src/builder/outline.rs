//! What a graph looks like, without its code: the same for all states, so that checks and drawings are compiled once.

use crate::builder::NodeOptions;
use crate::config::{Durability, PauseAt};

/// The description of a graph as the user gave it, unchecked.
#[derive(Debug)]
pub(super) struct Outline {
    pub(super) name: String,
    /// In the order given.
    pub(super) nodes: Vec<NodeOutline>,
    pub(super) edges: Vec<(String, String)>,
    pub(super) waiting: Vec<WaitingEdge>,
    pub(super) branches: Vec<BranchOutline>,
    pub(super) before: Option<PauseAt>,
    pub(super) after: Option<PauseAt>,
    pub(super) durability: Durability,
    pub(super) limit: u64,
    /// Types of which more than one context was given.
    pub(super) doubled_contexts: Vec<&'static str>,
}

#[derive(Debug)]
pub(super) struct NodeOutline {
    pub(super) name: String,
    pub(super) options: NodeOptions,
}

/// An edge that waits for all its sources.
#[derive(Debug)]
pub(super) struct WaitingEdge {
    pub(super) sources: Vec<String>,
    pub(super) to: String,
}

/// A place at which a router stands.
#[derive(Debug)]
pub(super) struct BranchOutline {
    pub(super) from: String,
    /// From answers to nodes. Without it answers are node names.
    pub(super) paths: Option<Vec<(String, String)>>,
}

/// The most steps of a call unless said otherwise.
const DEFAULT_LIMIT: u64 = 1_000;

impl Outline {
    pub(super) fn new(name: String) -> Self {
        Self {
            name,
            nodes: Vec::new(),
            edges: Vec::new(),
            waiting: Vec::new(),
            branches: Vec::new(),
            before: None,
            after: None,
            durability: Durability::default(),
            limit: DEFAULT_LIMIT,
            doubled_contexts: Vec::new(),
        }
    }
}
