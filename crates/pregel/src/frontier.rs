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

/// A task that a Send started.
#[derive(Clone, Debug, PartialEq)]
pub struct Push {
    /// What was sent.
    pub send: Dispatch,
    /// Set where a caller's command sent it: the command's digest.
    pub by_command: Option<Digest>,
}

/// Everything that decides what runs after a border.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frontier {
    /// The input has arrived and is still to be applied.
    pub start: bool,
    /// Nodes to run, in order of name, each once.
    pub pulls: Vec<Pull>,
    /// Sends to run, in the order sent, those of commands last.
    pub pushes: Vec<Push>,
    /// Waiting edges at which some sources have arrived: the position of the edge, the sources in order of name. A full
    /// one stays until its target has run, so that an edit in between does not take the target away.
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
        !self.start && self.pulls.is_empty() && self.pushes.is_empty()
    }

    /// The border after these tasks, which are all tasks of the step, in task order.
    #[must_use]
    pub fn advance<'a>(mut self, topology: &Topology, passed: impl Iterator<Item = Passed<'a>> + Clone) -> Self {
        self.empty_edges(topology, &passed);
        self.pulls.clear();
        self.pass_all(topology, passed)
    }

    /// The border after an edit that passes as this task: nothing of the step in hand runs, but what waits for others
    /// goes on waiting, and what they made due is due.
    #[must_use]
    pub fn edit<'a>(mut self, topology: &Topology, passed: impl Iterator<Item = Passed<'a>>) -> Self {
        let due = self.due_after_edit(topology);
        self.pulls = due.into_iter().map(|node| Pull { node, by_command: None }).collect();
        self.pass_all(topology, passed)
    }

    /// The nodes that an edit does not take away: deferred ones that were let go, and those behind a full edge.
    pub(crate) fn due_after_edit(&self, topology: &Topology) -> SmallVec<[NodeIndex; 2]> {
        let full = self.due_edges(topology);
        let stays = |node: &NodeIndex| topology.timing(*node) == Timing::Deferred || full.contains(node);
        self.pulls.iter().map(|pull| pull.node).filter(stays).collect()
    }

    /// The border that a new input finds: nothing of the old turn runs, half-filled waiting edges start anew. What was to
    /// run counts as what ran last.
    #[must_use]
    pub fn begin_turn(self) -> Self {
        let start = self.start.then_some(Place::Start);
        let left = start.into_iter().chain(self.pulls.iter().map(|pull| Place::Node(pull.node)));
        let left: SmallVec<[Place; 2]> = left.collect();
        let last = if left.is_empty() { self.last } else { left };
        Self { start: true, deferred: self.deferred, last, ..Self::default() }
    }

    fn pass_all<'a>(self, topology: &Topology, passed: impl Iterator<Item = Passed<'a>>) -> Self {
        let Self { pulls, arrivals, deferred, last: before, .. } = self;
        let mut next = Self { pulls, arrivals, deferred, ..Self::default() };
        for task in passed {
            next.pass(topology, &task);
        }
        if next.last.is_empty() {
            next.last = before;
        }
        // A deferred node that was let go and is reached again waits again.
        next.pulls.retain(|pull| !next.deferred.contains(&pull.node));
        next.settle(topology, None);
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
        self.pushes.extend(task.sends.iter().map(|send| Push { send: send.clone(), by_command: None }));
        if task.pulled == Pulled::ByEdge {
            self.last.push(task.place);
        }
    }

    /// Adds what a caller's command starts beside the tasks.
    pub(crate) fn add_command(&mut self, topology: &Topology, goto: &[NodeIndex], sends: &[Dispatch], by: Digest) {
        for node in goto {
            self.trigger(topology, *node, Some(by));
        }
        self.pushes.extend(sends.iter().map(|send| Push { send: send.clone(), by_command: Some(by) }));
        // One that was let go runs in this step: once is enough.
        self.deferred.retain(|node| !self.pulls.iter().any(|pull| pull.node == *node));
        self.settle(topology, Some(by));
    }

    /// Starts a node: at the next step, or when all else is done.
    fn trigger(&mut self, topology: &Topology, node: NodeIndex, by_command: Option<Digest>) {
        match topology.timing(node) {
            Timing::Eager => self.pulls.push(Pull { node, by_command }),
            Timing::Deferred => {
                self.deferred.insert(node);
            }
        }
    }

    // ---------------------------------------------------------------- waiting edges

    fn arrive(&mut self, topology: &Topology, join: u32, from: NodeIndex) {
        let arrived = self.arrivals.entry(join).or_default();
        if let Err(at) = arrived.binary_search(&from) {
            arrived.insert(at, from);
        }
        let target = topology.join(join).target;
        if is_full(topology, join, arrived) && topology.timing(target) == Timing::Eager {
            self.pulls.push(Pull { node: target, by_command: None });
        }
    }

    /// Empties the full edges into nodes that ran.
    fn empty_edges<'a>(&mut self, topology: &Topology, passed: &(impl Iterator<Item = Passed<'a>> + Clone)) {
        self.arrivals.retain(|join, arrived| {
            let target = Place::Node(topology.join(*join).target);
            let ran = passed.clone().any(|task| task.place == target && task.pulled == Pulled::ByEdge);
            !(ran && is_full(topology, *join, arrived))
        });
    }

    /// The nodes that a full edge makes due now.
    fn due_edges(&self, topology: &Topology) -> SmallVec<[NodeIndex; 2]> {
        let full = self.arrivals.iter().filter(|(join, arrived)| is_full(topology, **join, arrived));
        full.map(|(join, _)| topology.join(*join).target).collect()
    }

    // ---------------------------------------------------------------- order

    /// Lets deferred nodes go if nothing else is left.
    fn settle(&mut self, topology: &Topology, by_command: Option<Digest>) {
        if self.is_idle() {
            self.release(topology, by_command);
        }
        self.sort();
    }

    /// Brings pulls into task order, each node once; one that the turn itself started stays its own.
    pub(crate) fn sort(&mut self) {
        self.pulls.sort_by_key(|pull| (pull.node, pull.by_command.is_some()));
        self.pulls.dedup_by_key(|pull| pull.node);
    }

    /// Lets deferred nodes go: those made due by an edge, and those whose waiting edge is full.
    fn release(&mut self, topology: &Topology, by_command: Option<Digest>) {
        let full = self.due_edges(topology);
        let due = std::mem::take(&mut self.deferred).into_iter().chain(full);
        self.pulls.extend(due.map(|node| Pull { node, by_command }));
    }
}

fn is_full(topology: &Topology, join: u32, arrived: &[NodeIndex]) -> bool {
    topology.join(join).sources.iter().all(|source| arrived.contains(source))
}
