//! One call: the machine's effects performed in order, up to a chosen one.

use std::sync::Arc;

use superstep_checkpoint::{CheckpointId, Expect};
use superstep_pregel::{DynState, DynUpdate, Effect, End, Event, Machine, Put, Refusal, Settings, Signal, TaskIndex};

use super::thread::Thread;

/// What was performed.
#[derive(Debug)]
pub(crate) enum Done {
    /// Adjacent puts, as one commit.
    Commit(Vec<Put>),
    Run(TaskIndex),
    Route(TaskIndex, Arc<DynState>),
    Emit(Signal<DynState>),
    Finish(End),
}

/// A call under way.
pub(crate) struct Call {
    pub(crate) machine: Machine<DynState>,
    /// The checkpoint on which it began.
    pub(crate) begun_on: Option<CheckpointId>,
    head: Expect,
    queue: Vec<Put>,
    /// After so many effects the process dies.
    pub(crate) dies_after: Option<usize>,
    /// How many effects were performed.
    pub(crate) performed: usize,
    /// Whether each commit is sent twice, as if its first outcome were not known.
    pub(crate) twice: bool,
}

impl Call {
    pub(crate) fn new(thread: &Thread, settings: Settings, at: Option<CheckpointId>) -> Self {
        let (ground, head) = thread.ground(at);
        let graph = &thread.graph;
        let machine = Machine::new(Arc::clone(&graph.topology), Arc::clone(&graph.schema), settings, ground);
        let begun_on = machine.checkpoint();
        Self { machine, begun_on, head, queue: Vec::new(), dies_after: None, performed: 0, twice: false }
    }

    pub(crate) fn is_dead(&self) -> bool {
        self.dies_after.is_some_and(|effects| self.performed >= effects)
    }

    /// Tells the machine what happened, and performs what it wants.
    pub(crate) fn tell(&mut self, thread: &mut Thread, event: Event<DynUpdate>) -> Result<Vec<Done>, Refusal> {
        self.machine.handle(event, &mut || thread.mint())?;
        let mut done = Vec::new();
        while let Some(effect) = self.next_effect() {
            self.perform(thread, effect, &mut done);
        }
        if self.is_dead() {
            self.queue.clear();
        }
        self.commit(thread, &mut done);
        Ok(done)
    }

    fn next_effect(&mut self) -> Option<Effect<DynState>> {
        if self.is_dead() {
            return None;
        }
        let effect = self.machine.next_effect()?;
        self.performed += 1;
        Some(effect)
    }

    fn perform(&mut self, thread: &mut Thread, effect: Effect<DynState>, done: &mut Vec<Done>) {
        let effect = match effect {
            Effect::Put(put) => {
                let answers = matches!(put, Put::Answers { .. });
                self.queue.push(put);
                if answers {
                    self.commit(thread, done);
                }
                return;
            }
            Effect::Run(task) => Done::Run(task),
            Effect::Route { task, state } => Done::Route(task, state),
            Effect::Emit(signal) => Done::Emit(signal),
            Effect::Finish(end) => Done::Finish(end),
            other => panic!("what is {other:?}?"),
        };
        self.commit(thread, done);
        done.push(effect);
    }

    fn commit(&mut self, thread: &mut Thread, done: &mut Vec<Done>) {
        if self.queue.is_empty() {
            return;
        }
        let puts = std::mem::take(&mut self.queue);
        let head = std::mem::replace(&mut self.head, Expect::Empty(superstep_checkpoint::Epoch(u64::MAX)));
        self.head = thread.put(head, &puts).unwrap();
        if self.twice {
            let before = thread.stored();
            let commits = thread.commits.len();
            drop(thread.put(head, &puts));
            thread.commits.truncate(commits);
            assert_eq!(thread.stored(), before, "a commit sent twice changed something");
        }
        done.push(Done::Commit(puts));
    }
}
