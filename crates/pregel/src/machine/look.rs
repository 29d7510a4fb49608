//! A machine that has not started, looked at as a [`Snapshot`].

use std::sync::Arc;

use crate::snapshot::{Snapshot, SnapshotKind, TaskSnapshot};
use crate::state::State;

use super::Machine;

impl<S: State> Machine<S> {
    /// What the checkpoint in hand looks like. For a machine that has not been started.
    pub fn snapshot(mut self, kind: SnapshotKind) -> Snapshot<S, S::Update> {
        let clash = self.settle_finished(kind);
        let tasks: Vec<TaskSnapshot<S::Update>> =
            self.planned().into_iter().map(|task| self.look(task, kind)).collect();
        let shown = |task: &&TaskSnapshot<S::Update>| kind == SnapshotKind::Record || task.result.is_none();
        let next = tasks.iter().filter(shown).map(|task| task.task.node.clone()).collect();
        let questions = match kind {
            SnapshotKind::Record => tasks.iter().flat_map(|task| task.questions.clone()).collect(),
            SnapshotKind::Live => self.questions(None).into_iter().map(|(_, _, question)| question).collect(),
        };
        Snapshot {
            id: self.line.current,
            parent: self.line.parent,
            source: self.line.source,
            step: self.step,
            waiting: self.waiting_edges(),
            state: self.state,
            next,
            tasks,
            questions,
            clash,
        }
    }

    fn look(&self, task: crate::signal::TaskInfo, kind: SnapshotKind) -> TaskSnapshot<S::Update> {
        let record = self.records.get(&task.id);
        let result = match kind {
            SnapshotKind::Live => self.finished(&task).cloned(),
            SnapshotKind::Record => record.and_then(|record| record.result.clone()),
        };
        let questions = match record {
            Some(record) if kind == SnapshotKind::Record || result.is_none() => record.shown(),
            _ => Vec::new(),
        };
        TaskSnapshot { task, error: record.and_then(|record| record.error.clone()), questions, result }
    }

    /// Shows what finished tasks wrote, unless they contradict each other.
    fn settle_finished(&mut self, kind: SnapshotKind) -> Option<crate::effect::InvalidUpdate> {
        if kind == SnapshotKind::Record || self.frontier.start {
            return None;
        }
        self.seat_tasks();
        let clash = self.check_batch().err();
        if clash.is_none() {
            self.show_finished();
        }
        self.slots.clear();
        clash
    }

    /// The state as it stands, taken out.
    pub fn into_state(self) -> Arc<S> {
        self.state
    }
}
