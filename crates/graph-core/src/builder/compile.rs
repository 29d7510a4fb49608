//! From a description to a program.

use std::collections::BTreeMap;
use std::sync::Arc;

use superstep_checkpoint::NodeName;
use superstep_pregel::{Draft, NodeDraft, Pauses, Routing, START, State, Topology};

use super::outline::{BranchOutline, NodeOutline, Outline, WaitingEdge};
use super::problem::{InvalidGraph, Problem};
use super::{StateGraph, draw, validate};
use crate::config::PauseAt;
use crate::graph::CompiledGraph;
use crate::node::{Need, Node, Router};
use crate::program::{NodeEntry, Program, RouterEntry};

/// Routers by the place at which they stand.
type RoutersAt<S> = BTreeMap<String, Vec<RouterEntry<S>>>;

impl<S: State> StateGraph<S> {
    /// Checks the description and freezes it.
    ///
    /// A node that nothing leads to is no error: commands may. Contexts are checked when a run begins, since a call may
    /// bring them.
    ///
    /// # Errors
    /// [`InvalidGraph`] lists everything that is wrong.
    pub fn compile(self) -> Result<CompiledGraph<S>, InvalidGraph> {
        let graph = self.outline.name.clone();
        let problems = validate::problems(&self.outline);
        if !problems.is_empty() {
            return Err(InvalidGraph { graph, problems });
        }
        let program = self.into_program().map_err(|problem| InvalidGraph { graph, problems: vec![problem] })?;
        Ok(CompiledGraph::from_program(program))
    }

    fn into_program(self) -> Result<Program<S>, Problem> {
        let Self { outline, schema, nodes, routers, contexts, store, sealer } = self;
        let topology = Topology::new(draft(&outline)?, S::channels(&schema))?;
        let mermaid = draw::mermaid(&outline);
        let mut routers = by_place(outline.branches, routers);
        let start_routers = routers.remove(START).unwrap_or_default();
        let nodes = entries(outline.nodes, nodes, routers)?;
        Ok(Program {
            needs: needs(&topology, &nodes, &start_routers),
            before: pauses(&topology, outline.before)?,
            after: pauses(&topology, outline.after)?,
            topology: Arc::new(topology),
            schema,
            nodes,
            start_routers,
            contexts: Arc::new(contexts),
            store,
            sealer: Arc::new(sealer),
            durability: outline.durability,
            limit: outline.limit,
            mermaid,
        })
    }
}

/// The machine's side of the description. Edges are sorted and each kept once, so that the order in which they were
/// written does not change the graph's signature.
fn draft(outline: &Outline) -> Result<Draft, Problem> {
    let mut edges = outline.edges.clone();
    edges.sort();
    edges.dedup();
    let nodes = outline.nodes.iter().map(|node| node_draft(outline, node));
    Ok(Draft {
        name: outline.name.clone(),
        nodes: nodes.collect::<Result<_, _>>()?,
        edges,
        waiting: waiting(outline),
        start: routing(outline, START),
    })
}

/// Waiting edges, each once, with their sources in order of name.
fn waiting(outline: &Outline) -> Vec<(Vec<String>, String)> {
    let in_order = |edge: &WaitingEdge| {
        let mut sources = edge.sources.clone();
        sources.sort();
        (sources, edge.to.clone())
    };
    let mut waiting: Vec<_> = outline.waiting.iter().map(in_order).collect();
    waiting.sort();
    waiting.dedup();
    waiting
}

fn node_draft(outline: &Outline, node: &NodeOutline) -> Result<NodeDraft, Problem> {
    Ok(NodeDraft {
        name: NodeName::new(&node.name)?,
        timing: node.options.timing,
        routing: routing(outline, &node.name),
    })
}

fn routing(outline: &Outline, place: &str) -> Routing {
    if outline.branches.iter().any(|branch| branch.from == place) { Routing::Routed } else { Routing::Direct }
}

fn by_place<S: State>(branches: Vec<BranchOutline>, routers: Vec<Arc<dyn Router<S>>>) -> RoutersAt<S> {
    let mut places = RoutersAt::new();
    for (branch, router) in branches.into_iter().zip(routers) {
        places.entry(branch.from).or_default().push(RouterEntry { router, paths: branch.paths });
    }
    places
}

/// The nodes with their code, in the order of their names as in the topology.
fn entries<S: State>(
    outlines: Vec<NodeOutline>,
    nodes: Vec<Arc<dyn Node<S>>>,
    mut routers: RoutersAt<S>,
) -> Result<Vec<NodeEntry<S>>, Problem> {
    let entry = |(outline, node): (NodeOutline, _)| {
        let routers = routers.remove(&outline.name).unwrap_or_default();
        Ok(NodeEntry { name: NodeName::new(&outline.name)?, node, routers, retry: outline.options.retry })
    };
    let mut entries: Vec<_> = outlines.into_iter().zip(nodes).map(entry).collect::<Result<_, Problem>>()?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// The contexts taken, each with the first place that takes it.
fn needs<S: State>(
    topology: &Topology,
    nodes: &[NodeEntry<S>],
    start_routers: &[RouterEntry<S>],
) -> Vec<(NodeName, Need)> {
    let mut all: Vec<(NodeName, Need)> = Vec::new();
    let mut add = |place: &NodeName, needs: Vec<Need>| {
        for need in needs {
            if !all.iter().any(|(_, known)| known.id == need.id) {
                all.push((place.clone(), need));
            }
        }
    };
    let start = topology.name_of(superstep_pregel::Place::Start);
    for entry in start_routers {
        add(start, entry.router.needs());
    }
    for node in nodes {
        add(&node.name, node.node.needs());
        for entry in &node.routers {
            add(&node.name, entry.router.needs());
        }
    }
    all
}

fn pauses(topology: &Topology, at: Option<PauseAt>) -> Result<Pauses, Problem> {
    Ok(match at {
        None => Pauses::Never,
        Some(PauseAt::All) => Pauses::Everywhere,
        Some(PauseAt::Nodes(names)) => {
            Pauses::At(names.iter().map(|name| topology.node(name)).collect::<Result<_, _>>()?)
        }
    })
}
