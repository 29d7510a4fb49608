//! Everything that is wrong with a description, at once.

use std::collections::{BTreeSet, HashSet};

use superstep_checkpoint::id::MAX_NAME_BYTES;
use superstep_checkpoint::{InvalidId, NodeName};
use superstep_pregel::{END, START};

use super::outline::{BranchOutline, NodeOutline, Outline, WaitingEdge};
use super::problem::{Problem, Site};
use crate::config::{Durability, PauseAt};

/// All problems: of the graph, its settings and nodes, then of what leads where, each in the order given.
pub(super) fn problems(outline: &Outline) -> Vec<Problem> {
    let names = outline.nodes.iter().map(|node| node.name.as_str()).collect();
    let mut check = Check { names, problems: Vec::new() };
    check.whole(outline);
    check.settings(outline);
    check.nodes(&outline.nodes);
    outline.edges.iter().for_each(|(from, to)| check.edge(from, to));
    outline.waiting.iter().for_each(|edge| check.waiting_edge(edge));
    outline.branches.iter().for_each(|branch| check.branch(branch));
    check.pauses(outline.before.as_ref(), &Site::InterruptBefore);
    check.pauses(outline.after.as_ref(), &Site::InterruptAfter);
    check.problems
}

struct Check<'a> {
    names: BTreeSet<&'a str>,
    problems: Vec<Problem>,
}

impl Check<'_> {
    fn whole(&mut self, outline: &Outline) {
        self.problems.extend(graph_name(&outline.name).map(Problem::InvalidName));
        let enters = outline.edges.iter().any(|(from, _)| from == START)
            || outline.branches.iter().any(|branch| branch.from == START);
        if outline.nodes.is_empty() {
            self.problems.push(Problem::NoNodes);
        } else if !enters {
            self.problems.push(Problem::NoEntry);
        }
    }

    fn settings(&mut self, outline: &Outline) {
        if outline.limit == 0 {
            self.problems.push(Problem::ZeroLimit);
        }
        if matches!(outline.durability, Durability::Async { lag: 0 }) {
            self.problems.push(Problem::ZeroLag);
        }
        let contexts: BTreeSet<_> = outline.doubled_contexts.iter().copied().collect();
        self.problems.extend(contexts.into_iter().map(|context| Problem::DuplicateContext { context }));
    }

    fn nodes(&mut self, nodes: &[NodeOutline]) {
        for name in repeated(nodes.iter().map(|node| &node.name)) {
            self.problems.push(Problem::DuplicateNode { name: name.clone() });
        }
        for node in nodes {
            self.node_name(&node.name);
            self.retry(node);
        }
    }

    fn node_name(&mut self, name: &str) {
        if let Err(error) = NodeName::new(name) {
            self.problems.push(error.into());
        }
        if name.starts_with("__") {
            self.problems.push(Problem::ReservedName { name: name.to_owned() });
        }
        if let Some(character) = name.chars().find(|character| matches!(character, '|' | ':')) {
            self.problems.push(Problem::ForbiddenCharacter { name: name.to_owned(), character });
        }
    }

    fn retry(&mut self, node: &NodeOutline) {
        if !node.options.retry.has_attempts() {
            self.problems.push(Problem::ZeroAttempts { node: node.name.clone() });
        }
        if !node.options.retry.has_valid_factor() {
            self.problems.push(Problem::InvalidFactor { node: node.name.clone() });
        }
    }

    fn edge(&mut self, from: &str, to: &str) {
        let site = Site::Edge { from: from.to_owned(), to: to.to_owned() };
        self.source(from, &site);
        self.target(to, &site);
    }

    fn waiting_edge(&mut self, edge: &WaitingEdge) {
        let to = &edge.to;
        let site = Site::WaitingEdge { sources: edge.sources.clone(), to: to.clone() };
        if edge.sources.is_empty() {
            self.problems.push(Problem::NoSources { to: to.clone() });
        }
        for source in repeated(&edge.sources) {
            self.problems.push(Problem::DuplicateSource { node: source.clone(), to: to.clone() });
        }
        for source in edge.sources.iter().collect::<BTreeSet<_>>() {
            if source == START {
                self.problems.push(Problem::WaitsForStart { to: to.clone() });
            } else {
                self.source(source, &site);
            }
        }
        self.target(to, &site);
    }

    fn branch(&mut self, branch: &BranchOutline) {
        let from = &branch.from;
        self.source(from, &Site::Branch { from: from.clone() });
        let Some(paths) = &branch.paths else { return };
        if paths.is_empty() {
            self.problems.push(Problem::NoPaths { from: from.clone() });
        }
        for key in repeated(paths.iter().map(|(key, _)| key)) {
            self.problems.push(Problem::DuplicateKey { from: from.clone(), key: key.clone() });
        }
        for (key, node) in paths {
            self.target(node, &Site::Path { from: from.clone(), key: key.clone() });
        }
    }

    fn pauses(&mut self, at: Option<&PauseAt>, site: &Site) {
        if let Some(PauseAt::Nodes(names)) = at {
            for name in names {
                self.known(name, site);
            }
        }
    }

    fn source(&mut self, name: &str, site: &Site) {
        match name {
            END => self.problems.push(Problem::EndAsSource { site: site.clone() }),
            START => {}
            _ => self.known(name, site),
        }
    }

    fn target(&mut self, name: &str, site: &Site) {
        match name {
            START => self.problems.push(Problem::StartAsTarget { site: site.clone() }),
            END => {}
            _ => self.known(name, site),
        }
    }

    fn known(&mut self, name: &str, site: &Site) {
        if !self.names.contains(name) {
            let similar = similar(name, &self.names).map(str::to_owned);
            self.problems.push(Problem::UnknownNode { name: name.to_owned(), site: site.clone(), similar });
        }
    }
}

/// What is wrong with the name of a graph, which is stored with its threads: it obeys the rule of all names.
fn graph_name(name: &str) -> Option<InvalidId> {
    let what = "a graph name";
    match name.len() {
        0 => Some(InvalidId::Empty { what }),
        bytes if bytes > MAX_NAME_BYTES => Some(InvalidId::TooLong { what, bytes }),
        _ => name.find('\0').map(|at| InvalidId::Nul { what, at }),
    }
}

/// What stands more than once, each once, in the order of the second standing.
fn repeated<T: Copy + Eq + std::hash::Hash>(items: impl IntoIterator<Item = T>) -> Vec<T> {
    let (mut seen, mut told) = (HashSet::new(), HashSet::new());
    items.into_iter().filter(|item| !seen.insert(*item) && told.insert(*item)).collect()
}

/// The known name that is nearest, if a third of its letters or fewer differ.
fn similar<'n>(name: &str, names: &BTreeSet<&'n str>) -> Option<&'n str> {
    let near = names.iter().map(|known| (distance(name, known), *known));
    let (distance, known) = near.min_by_key(|(distance, _)| *distance)?;
    (distance <= known.chars().count().div_ceil(3)).then_some(known)
}

/// How many letters must be changed, added or taken away to make one text of the other.
fn distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.chars().enumerate() {
            let change = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = change.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.chars().count()]
}
