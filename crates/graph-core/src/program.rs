//! A graph as the driver runs it: the topology for the machine, beside it the code of nodes and routers.

use std::sync::Arc;

use superstep_checkpoint::{Checkpointer, NodeName, Sealer};
use superstep_pregel::{Pauses, Place, State, Topology};

use crate::config::Durability;
use crate::node::{Contexts, Need, Node, Router};
use crate::retry::RetryPolicy;

/// A frozen graph with its code.
pub(crate) struct Program<S: State> {
    pub(crate) topology: Arc<Topology>,
    pub(crate) schema: Arc<S::Schema>,
    /// By node index.
    pub(crate) nodes: Vec<NodeEntry<S>>,
    pub(crate) start_routers: Vec<RouterEntry<S>>,
    pub(crate) contexts: Arc<Contexts>,
    /// The contexts that nodes and routers take, each with the first that takes it.
    pub(crate) needs: Vec<(NodeName, Need)>,
    pub(crate) before: Pauses,
    pub(crate) after: Pauses,
    pub(crate) store: Option<Arc<dyn Checkpointer>>,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) durability: Durability,
    pub(crate) limit: u64,
    /// The Mermaid text, drawn when the graph was compiled.
    pub(crate) mermaid: String,
}

/// One node.
pub(crate) struct NodeEntry<S: State> {
    pub(crate) name: NodeName,
    pub(crate) node: Arc<dyn Node<S>>,
    pub(crate) routers: Vec<RouterEntry<S>>,
    pub(crate) retry: RetryPolicy,
}

/// One router of a node or of the start.
pub(crate) struct RouterEntry<S: State> {
    pub(crate) router: Arc<dyn Router<S>>,
    /// From what the router answers to nodes; without it answers are node names.
    pub(crate) paths: Option<Vec<(String, String)>>,
}

impl<S: State> Clone for RouterEntry<S> {
    fn clone(&self) -> Self {
        Self { router: Arc::clone(&self.router), paths: self.paths.clone() }
    }
}

impl<S: State> Program<S> {
    pub(crate) fn routers(&self, place: Place) -> &[RouterEntry<S>] {
        match place {
            Place::Start => &self.start_routers,
            Place::Node(node) => &self.nodes[node.get()].routers,
        }
    }
}
