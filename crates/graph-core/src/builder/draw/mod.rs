//! Graphs as Mermaid text.
//!
//! Nodes come in the order in which they are reached from START, then those that only commands and open routers reach.
//! Edges are solid, branches dotted; a waiting edge goes through a hexagon, and a router that may answer with any node
//! leads to a question mark. Ids are numbers, so no name can be taken for syntax.

mod text;

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use petgraph::Direction;
use petgraph::graph::{DiGraph, NodeIndex};
use petgraph::visit::{Bfs, EdgeRef};
use superstep_pregel::{END, START, Timing};

use super::outline::{BranchOutline, NodeOutline, Outline};
use text::escaped;

/// The Mermaid text.
pub(super) fn mermaid(outline: &Outline) -> String {
    let picture = Picture::of(outline);
    let order = picture.order();
    let ids = picture.ids(&order);
    let mut text = String::from("flowchart TD\n");
    for at in &order {
        line(&mut text, &format!("{}{}", ids[at], shape(&picture.graph[*at])));
    }
    for at in &order {
        for edge in picture.graph.edges_directed(*at, Direction::Outgoing) {
            line(&mut text, &format!("{} {} {}", ids[at], arrow(*edge.weight()), ids[&edge.target()]));
        }
    }
    text
}

fn line(text: &mut String, line: &str) {
    let _ = writeln!(text, "    {line}");
}

/// What stands in a picture.
#[derive(Clone, Copy)]
enum Vertex<'o> {
    Start,
    End,
    Node(&'o NodeOutline),
    /// Where the sources of a waiting edge meet.
    Join,
    /// Where a router leads whose answers are not known.
    Anywhere,
}

/// What leads from one to the next.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Arrow<'o> {
    Always,
    /// If the router says so; with its answer, where that is not the node's name.
    Maybe(Option<&'o str>),
}

type Line<'o> = (NodeIndex, NodeIndex, Arrow<'o>);

/// A graph as it is drawn.
struct Picture<'o> {
    graph: DiGraph<Vertex<'o>, Arrow<'o>>,
    places: HashMap<&'o str, NodeIndex>,
    start: NodeIndex,
}

impl<'o> Picture<'o> {
    fn of(outline: &'o Outline) -> Self {
        let mut graph = DiGraph::new();
        let start = graph.add_node(Vertex::Start);
        let mut places = HashMap::from([(START, start)]);
        for node in &outline.nodes {
            places.insert(node.name.as_str(), graph.add_node(Vertex::Node(node)));
        }
        places.insert(END, graph.add_node(Vertex::End));
        let mut picture = Self { graph, places, start };
        let lines = picture.lines(outline);
        // The edges of a vertex are given newest first, so they are added last first.
        for (from, to, arrow) in lines.into_iter().rev() {
            picture.graph.add_edge(from, to, arrow);
        }
        picture
    }

    fn lines(&mut self, outline: &'o Outline) -> Vec<Line<'o>> {
        let mut lines = Vec::new();
        for (from, to) in &outline.edges {
            lines.push((self.places[from.as_str()], self.places[to.as_str()], Arrow::Always));
        }
        for edge in &outline.waiting {
            let join = self.graph.add_node(Vertex::Join);
            lines.extend(edge.sources.iter().map(|source| (self.places[source.as_str()], join, Arrow::Always)));
            lines.push((join, self.places[edge.to.as_str()], Arrow::Always));
        }
        for branch in &outline.branches {
            self.branch(branch, &mut lines);
        }
        let mut drawn = HashSet::new();
        lines.retain(|line| drawn.insert(*line));
        lines
    }

    fn branch(&mut self, branch: &'o BranchOutline, lines: &mut Vec<Line<'o>>) {
        let from = self.places[branch.from.as_str()];
        let Some(paths) = &branch.paths else {
            return lines.push((from, self.graph.add_node(Vertex::Anywhere), Arrow::Maybe(None)));
        };
        for (key, node) in paths {
            let label = (key != node).then_some(key.as_str());
            lines.push((from, self.places[node.as_str()], Arrow::Maybe(label)));
        }
    }

    /// Everything that is drawn, in order: what START reaches, near ones first, then the rest; END last, if anything
    /// leads there.
    fn order(&self) -> Vec<NodeIndex> {
        let mut order = Vec::new();
        let mut walk = Bfs::new(&self.graph, self.start);
        while let Some(at) = walk.next(&self.graph) {
            order.push(at);
        }
        order.extend(self.graph.node_indices().filter(|at| !walk.discovered.contains(at.index())));
        let end = self.places[END];
        order.retain(|at| *at != end);
        if self.graph.edges_directed(end, Direction::Incoming).next().is_some() {
            order.push(end);
        }
        order
    }

    /// An id for each, numbered by kind.
    fn ids(&self, order: &[NodeIndex]) -> HashMap<NodeIndex, String> {
        let mut counts: HashMap<&str, usize> = HashMap::new();
        let mut id = |at: &NodeIndex| {
            let kind = match self.graph[*at] {
                Vertex::Start => return (*at, "start".to_owned()),
                Vertex::End => return (*at, "stop".to_owned()),
                Vertex::Node(_) => "n",
                Vertex::Join => "all",
                Vertex::Anywhere => "any",
            };
            let count = counts.entry(kind).or_default();
            *count += 1;
            (*at, format!("{kind}{count}"))
        };
        order.iter().map(&mut id).collect()
    }
}

fn shape(vertex: &Vertex<'_>) -> String {
    match vertex {
        Vertex::Start => "([\"START\"])".to_owned(),
        Vertex::End => "([\"END\"])".to_owned(),
        Vertex::Join => "{{\"all\"}}".to_owned(),
        Vertex::Anywhere => "{\"?\"}".to_owned(),
        Vertex::Node(node) => match node.options.timing {
            Timing::Eager => format!("[\"{}\"]", escaped(&node.name)),
            Timing::Deferred => format!("[\"{}<br/>(deferred)\"]", escaped(&node.name)),
        },
    }
}

fn arrow(arrow: Arrow<'_>) -> String {
    match arrow {
        Arrow::Always => "-->".to_owned(),
        Arrow::Maybe(None) => "-.->".to_owned(),
        Arrow::Maybe(Some(key)) => format!("-. \"{}\" .->", escaped(key)),
    }
}

#[cfg(test)]
mod tests;
