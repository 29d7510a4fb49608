//! What comes next: the pure step from one border to the following one.
//!
//! Nothing here scans nodes or edges of the whole graph: the work of a step is that of the tasks in it.

use std::collections::{BTreeMap, BTreeSet};

use smallvec::SmallVec;
use superstep_checkpoint::Digest;

use crate::output::Dispatch;
use crate::topology::{NodeIndex, Place, Timing, Topology};

/// A node started by an edge, a route or a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pull {
    /// The node.
    pub node: NodeIndex,
    /// Set where a caller's command started it: the command's digest.
    pub by_command: Option<Digest>,
}

/// Everything that decides what runs after a border.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frontier {
    /// The input has arrived and is still to be applied.
    pub start: bool,
    /// Nodes to run, in order of name, each once.
    pub pulls: Vec<Pull>,
    /// Sends to run, in the order sent.
    pub sends: Vec<Dispatch>,
    /// Waiting edges at which some sources have arrived: the position of the edge, the sources in order of name.
    pub arrivals: BTreeMap<u32, SmallVec<[NodeIndex; 4]>>,
    /// Deferred nodes that an edge made due.
    pub deferred: BTreeSet<NodeIndex>,
    /// Places started by edges that ran last.
    pub last: SmallVec<[Place; 2]>,
}

/// What a finished task means for the next border.
#[derive(Clone, Copy, Debug)]
pub struct Passed<'a> {
    /// Where it ran.
    pub place: Place,
    /// Whether an edge started it, or the start itself.
    pub pulled: Pulled,
    /// Nodes it jumps to.
    pub goto: &'a [NodeIndex],
    /// Tasks it sends.
    pub sends: &'a [Dispatch],
}

/// Whether a task was started by an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pulled {
    /// By an edge, route or jump, or it is the start.
    ByEdge,
    /// By a Send or an edit: an edit without a named node does not speak for it.
    Otherwise,
}

impl Frontier {
    /// Whether nothing is left to run.
    pub fn is_idle(&self) -> bool {
        !self.start && self.pulls.is_empty() && self.sends.is_empty()
    }

    /// The border after these tasks, which are all tasks of the step, in task order.
    #[must_use]
    pub fn advance<'a>(self, topology: &Topology, passed: impl Iterator<Item = Passed<'a>>) -> Self {
        let before = self.last;
        let mut next = Self { arrivals: self.arrivals, deferred: self.deferred, ..Self::default() };
        for task in passed {
            next.pass(topology, &task);
        }
        if next.last.is_empty() {
            next.last = before;
        }
        if next.pulls.is_empty() && next.sends.is_empty() {
            next.release(topology);
        }
        next.settle();
        next
    }

    fn pass(&mut self, topology: &Topology, task: &Passed<'_>) {
        let exits = topology.exits(task.place);
        for node in exits.edges.iter().chain(task.goto) {
            self.trigger(topology, *node, None);
        }
        if let Place::Node(node) = task.place {
            for join in &exits.joins {
                self.arrive(topology, *join, node);
            }
        }
        self.sends.extend_from_slice(task.sends);
        if task.pulled == Pulled::ByEdge {
            self.last.push(task.place);
        }
    }

    /// Starts a node: at the next step, or when all else is done.
    pub(crate) fn trigger(&mut self, topology: &Topology, node: NodeIndex, by_command: Option<Digest>) {
        match topology.timing(node) {
            Timing::Eager => self.pulls.push(Pull { node, by_command }),
            Timing::Deferred => {
                self.deferred.insert(node);
            }
        }
    }

    fn arrive(&mut self, topology: &Topology, join: u32, from: NodeIndex) {
        let arrived = self.arrivals.entry(join).or_default();
        if let Err(at) = arrived.binary_search(&from) {
            arrived.insert(at, from);
        }
        let edge = topology.join(join);
        let complete = edge.sources.iter().all(|source| arrived.contains(source));
        if complete && topology.timing(edge.target) == Timing::Eager {
            self.arrivals.remove(&join);
            self.pulls.push(Pull { node: edge.target, by_command: None });
        }
    }

    /// Lets deferred nodes go, since nothing else is left: those made due by an edge, and those whose waiting edge is full.
    fn release(&mut self, topology: &Topology) {
        let full: Vec<u32> = self
            .arrivals
            .iter()
            .filter(|(join, arrived)| is_full(topology, **join, arrived))
            .map(|(join, _)| *join)
            .collect();
        for join in full {
            self.arrivals.remove(&join);
            self.deferred.insert(topology.join(join).target);
        }
        self.pulls.extend(std::mem::take(&mut self.deferred).into_iter().map(|node| Pull { node, by_command: None }));
    }

    /// Brings pulls into task order, each node once; one that the turn itself started stays its own.
    pub(crate) fn settle(&mut self) {
        self.pulls.sort_by_key(|pull| (pull.node, pull.by_command.is_some()));
        self.pulls.dedup_by_key(|pull| pull.node);
    }

    /// The border that a new input finds: nothing of the old turn runs, half-filled waiting edges start anew.
    #[must_use]
    pub fn begin_turn(self) -> Self {
        Self { start: true, deferred: self.deferred, last: self.last, ..Self::default() }
    }

    /// The border that an edit finds: nothing runs, but what has arrived stays.
    #[must_use]
    pub fn begin_edit(self) -> Self {
        Self { arrivals: self.arrivals, deferred: self.deferred, last: self.last, ..Self::default() }
    }
}

fn is_full(topology: &Topology, join: u32, arrived: &[NodeIndex]) -> bool {
    topology.join(join).sources.iter().all(|source| arrived.contains(source))
}
