//! A task of the step in hand.

use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;
use superstep_checkpoint::Digest;

use crate::channel::Changes;
use crate::effect::TaskFault;
use crate::frontier::{Passed, Pulled};
use crate::identity::TaskPath;
use crate::output::TaskOutput;
use crate::question::Question;
use crate::state::State;
use crate::topology::Place;

/// One task.
pub(super) struct Slot<S: State> {
    pub(super) place: Place,
    pub(super) path: TaskPath,
    pub(super) arg: Option<Arc<Value>>,
    pub(super) by_command: Option<Digest>,
    pub(super) phase: Phase<S>,
    pub(super) put: PutState,
}

impl<S: State> std::fmt::Debug for Slot<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Slot").field("place", &self.place).field("path", &self.path).finish_non_exhaustive()
    }
}

/// How far a task is.
pub(super) enum Phase<S: State> {
    /// Its node runs.
    Running,
    /// Its node succeeded; its routers run.
    Routing {
        output: TaskOutput<S::Update>,
        /// Set where its update is in the state already, since it is alone in its step.
        ahead: Option<Ahead<S>>,
    },
    Finished {
        output: Arc<TaskOutput<S::Update>>,
        ahead: Option<Ahead<S>>,
    },
    Failed {
        text: String,
        fault: Option<TaskFault>,
    },
    Asked(Vec<Question>),
}

/// An update that was applied before the barrier, so that routers can see it.
pub(super) struct Ahead<S: State> {
    pub(super) changes: Changes,
    pub(super) undo: Option<S::Undo>,
}

/// Whether a task's result is on its way to the store.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PutState {
    /// Nothing to store yet.
    Nothing,
    /// The encoded result is to be stored.
    Due(Vec<u8>),
    /// Stored, or on its way.
    Done,
}

impl<S: State> Slot<S> {
    pub(super) fn new(place: Place, path: TaskPath) -> Self {
        Self { place, path, arg: None, by_command: None, phase: Phase::Running, put: PutState::Nothing }
    }

    /// What it wrote, once it finished.
    pub(super) fn output(&self) -> Option<&TaskOutput<S::Update>> {
        match &self.phase {
            Phase::Finished { output, .. } => Some(output),
            _ => None,
        }
    }

    /// Its meaning for the next border.
    pub(super) fn passed(&self) -> Option<Passed<'_>> {
        let output = self.output()?;
        let pulled = if self.path == TaskPath::Pull { Pulled::ByEdge } else { Pulled::Otherwise };
        Some(Passed { place: self.place, pulled, goto: &output.goto, sends: &output.sends })
    }

    /// Its updates, taken out for the barrier.
    pub(super) fn take_updates(&mut self) -> SmallVec<[S::Update; 1]> {
        match std::mem::replace(&mut self.phase, Phase::Running) {
            Phase::Finished { output, .. } => Arc::unwrap_or_clone(output).updates,
            _ => SmallVec::new(),
        }
    }
}
