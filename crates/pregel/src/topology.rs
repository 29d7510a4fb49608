//! The frozen shape of a graph: nodes, edges, waiting edges. Names become indices here and only here.

use std::collections::HashMap;

use smallvec::SmallVec;
use superstep_checkpoint::{Digest, NodeName};

use crate::channel::ChannelSpec;

/// The name of the pseudo node where every turn begins.
pub const START: &str = "__start__";
/// The name of the pseudo node where work ends.
pub const END: &str = "__end__";

/// The position of a node in its graph. Nodes stand in the order of their names (bytes), so comparing positions is
/// comparing names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeIndex(u32);

impl NodeIndex {
    /// The position as an index.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// Where a task stands in the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Place {
    /// At the start: the arrival of an input.
    Start,
    /// At a node.
    Node(NodeIndex),
}

/// Where a jump leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// To the end: nothing is started.
    End,
    /// To a node.
    Node(NodeIndex),
}

/// When a triggered node runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Timing {
    /// In the next super-step.
    #[default]
    Eager,
    /// Once nothing else is left to run.
    Deferred,
}

/// Whether routers decide where a place leads, beside its edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Routing {
    /// Edges alone.
    #[default]
    Direct,
    /// Routers too: the driver runs them as a part of the task.
    Routed,
}

/// What [`Topology::new`] is made from. Names are checked there, the rest was checked by the builder.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// The graph's name.
    pub name: String,
    /// The nodes, in any order.
    pub nodes: Vec<NodeDraft>,
    /// Edges, from [`START`] or a node to a node or [`END`].
    pub edges: Vec<(String, String)>,
    /// Waiting edges: all sources, then the target.
    pub waiting: Vec<(Vec<String>, String)>,
    /// Whether routers stand at [`START`].
    pub start: Routing,
}

/// One node of a [`Draft`].
#[derive(Clone, Debug)]
pub struct NodeDraft {
    /// Its name.
    pub name: NodeName,
    /// When it runs.
    pub timing: Timing,
    /// Whether routers stand at it.
    pub routing: Routing,
}

/// A name that is no node of the graph.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no node {name:?} in graph {graph:?}")]
pub struct UnknownNode {
    /// The name, as given.
    pub name: String,
    /// The graph.
    pub graph: String,
}

/// Edges that leave one place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Exits {
    pub(crate) edges: SmallVec<[NodeIndex; 2]>,
    pub(crate) joins: SmallVec<[u32; 1]>,
    pub(crate) routing: Routing,
}

#[derive(Clone, Debug)]
struct Node {
    name: NodeName,
    timing: Timing,
    exits: Exits,
}

/// A waiting edge.
#[derive(Clone, Debug)]
pub(crate) struct Join {
    pub(crate) sources: SmallVec<[NodeIndex; 4]>,
    pub(crate) target: NodeIndex,
}

/// The frozen shape of a graph.
#[derive(Clone, Debug)]
pub struct Topology {
    name: String,
    signature: Digest,
    start_name: NodeName,
    start: Exits,
    nodes: Vec<Node>,
    joins: Vec<Join>,
    index: HashMap<NodeName, NodeIndex>,
}

impl Topology {
    /// Freezes a draft. The channels only enter the signature.
    ///
    /// # Errors
    /// [`UnknownNode`] if an edge names a node that is not there, also where START or END stand on the wrong side.
    pub fn new(mut draft: Draft, channels: &[ChannelSpec]) -> Result<Self, UnknownNode> {
        draft.nodes.sort_by(|a, b| a.name.cmp(&b.name));
        let signature = signature(&draft, channels);
        let nodes: Vec<Node> = draft.nodes.into_iter().map(Node::from).collect();
        let index = (0_u32..).zip(&nodes).map(|(i, node)| (node.name.clone(), NodeIndex(i))).collect();
        let start = Exits { routing: draft.start, ..Exits::default() };
        let start_name = NodeName::new(START).unwrap_or_else(|_| unreachable!("START is a valid name"));
        let mut topology = Self { name: draft.name, signature, start_name, start, nodes, joins: Vec::new(), index };
        for (from, to) in &draft.edges {
            topology.add_edge(from, to)?;
        }
        for (sources, target) in &draft.waiting {
            topology.add_join(sources, target)?;
        }
        Ok(topology)
    }

    fn add_edge(&mut self, from: &str, to: &str) -> Result<(), UnknownNode> {
        let from = self.place(from)?;
        if let Target::Node(to) = self.target(to)? {
            let edges = &mut self.exits_mut(from).edges;
            if !edges.contains(&to) {
                edges.push(to);
            }
        }
        Ok(())
    }

    fn add_join(&mut self, sources: &[String], target: &str) -> Result<(), UnknownNode> {
        let mut indices = SmallVec::new();
        for source in sources {
            indices.push(self.node(source)?);
        }
        let Target::Node(target) = self.target(target)? else { return Ok(()) };
        let join = u32::try_from(self.joins.len()).unwrap_or(u32::MAX);
        for source in &indices {
            self.exits_mut(Place::Node(*source)).joins.push(join);
        }
        self.joins.push(Join { sources: indices, target });
        Ok(())
    }

    fn exits_mut(&mut self, place: Place) -> &mut Exits {
        match place {
            Place::Start => &mut self.start,
            Place::Node(node) => &mut self.nodes[node.get()].exits,
        }
    }

    pub(crate) fn exits(&self, place: Place) -> &Exits {
        match place {
            Place::Start => &self.start,
            Place::Node(node) => &self.nodes[node.get()].exits,
        }
    }

    pub(crate) fn join(&self, join: u32) -> &Join {
        &self.joins[join as usize]
    }

    pub(crate) fn joins(&self) -> impl Iterator<Item = (u32, &Join)> {
        (0_u32..).zip(&self.joins)
    }

    /// The graph's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// A digest of its nodes, edges and channels.
    pub fn signature(&self) -> Digest {
        self.signature
    }

    /// How many nodes it has.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether it has no nodes.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// All nodes, in order of name.
    pub fn nodes(&self) -> impl Iterator<Item = NodeIndex> + use<> {
        (0..u32::try_from(self.nodes.len()).unwrap_or(u32::MAX)).map(NodeIndex)
    }

    /// The name of a place.
    pub fn name_of(&self, place: Place) -> &NodeName {
        match place {
            Place::Start => &self.start_name,
            Place::Node(node) => &self.nodes[node.get()].name,
        }
    }

    /// When a node runs.
    pub fn timing(&self, node: NodeIndex) -> Timing {
        self.nodes[node.get()].timing
    }

    /// Whether routers stand at a place.
    pub fn routing(&self, place: Place) -> Routing {
        self.exits(place).routing
    }

    /// The node of this name.
    ///
    /// # Errors
    /// [`UnknownNode`] if there is none.
    pub fn node(&self, name: &str) -> Result<NodeIndex, UnknownNode> {
        self.index.get(name).copied().ok_or_else(|| UnknownNode { name: name.to_owned(), graph: self.name.clone() })
    }

    /// The start or the node of this name.
    ///
    /// # Errors
    /// [`UnknownNode`] if there is none.
    pub fn place(&self, name: &str) -> Result<Place, UnknownNode> {
        if name == START { Ok(Place::Start) } else { self.node(name).map(Place::Node) }
    }

    /// Where a jump to this name leads.
    ///
    /// # Errors
    /// [`UnknownNode`] if there is no such node.
    pub fn target(&self, name: &str) -> Result<Target, UnknownNode> {
        if name == END { Ok(Target::End) } else { self.node(name).map(Target::Node) }
    }

    /// The only node, where there is exactly one.
    pub(crate) fn sole_node(&self) -> Option<NodeIndex> {
        (self.nodes.len() == 1).then_some(NodeIndex(0))
    }
}

impl From<NodeDraft> for Node {
    fn from(draft: NodeDraft) -> Self {
        let exits = Exits { routing: draft.routing, ..Exits::default() };
        Self { name: draft.name, timing: draft.timing, exits }
    }
}

/// A digest of everything that decides what a stored checkpoint of this graph means.
fn signature(draft: &Draft, channels: &[ChannelSpec]) -> Digest {
    let mut hash = blake3::Hasher::new_derive_key("superstep graph signature v1");
    let mut put = |part: &str| {
        hash.update(&(part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    };
    for node in &draft.nodes {
        put(node.name.as_str());
        put(&format!("{:?}", node.timing));
    }
    for (from, to) in &draft.edges {
        put(from);
        put(to);
    }
    for (sources, target) in &draft.waiting {
        for source in sources {
            put(source);
        }
        put(target);
    }
    for channel in channels {
        put(channel.name.as_str());
        put(&format!("{:?} {:?}", channel.reducer, channel.kind));
    }
    let mut digest = [0; 16];
    digest.copy_from_slice(&hash.finalize().as_bytes()[..16]);
    Digest::from_bytes(digest)
}
