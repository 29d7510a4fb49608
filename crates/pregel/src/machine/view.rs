//! What may be asked of a machine: its tasks, its state, what was left behind.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use superstep_checkpoint::{CheckpointId, Digest, LineageId, NodeName, QuestionId, Step, TaskId, Turn};

use crate::effect::{Effect, TaskIndex};
use crate::identity::{TaskIdentity, TaskPath, TurnIdentity};
use crate::output::TaskOutput;
use crate::question::Question;
use crate::signal::{Signal, TaskAhead, TaskInfo};
use crate::state::State;
use crate::topology::{Place, START, Topology};

use super::Machine;
use super::slot::{Phase, Slot};

/// A task that runs.
#[derive(Clone, Debug)]
pub struct TaskView {
    /// Where in the graph.
    pub place: Place,
    /// What started it.
    pub path: TaskPath,
    /// What a Send carried.
    pub arg: Option<Arc<Value>>,
    /// Who it is.
    pub identity: TaskIdentity,
    /// Its step.
    pub step: Step,
}

/// A task of a step that a new input or an edit left behind.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Abandoned {
    /// The task.
    pub task: TaskId,
    /// Its node.
    pub node: NodeName,
    /// How far it was.
    pub progress: Progress,
    /// The questions it had open.
    pub questions: Vec<Question>,
}

/// How far a task was that was left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It finished; what it wrote is lost, since its step did not end.
    Finished,
    /// It had not run, or failed, or asked.
    Unfinished,
}

/// A task of the frontier.
pub(super) struct Planned<'a> {
    pub(super) place: Place,
    pub(super) path: TaskPath,
    pub(super) by_command: Option<Digest>,
    pub(super) arg: Option<&'a Arc<Value>>,
}

impl<S: State> Machine<S> {
    /// The tasks that come next, in task order.
    pub(super) fn planned_tasks(&self) -> impl Iterator<Item = Planned<'_>> {
        let start = self.frontier.start.then_some(Planned {
            place: Place::Start,
            path: TaskPath::Pull,
            by_command: None,
            arg: None,
        });
        let pulls = self.frontier.pulls.iter().map(|pull| Planned {
            place: Place::Node(pull.node),
            path: TaskPath::Pull,
            by_command: pull.by_command,
            arg: None,
        });
        let pushes = (0_u32..).zip(&self.frontier.pushes).map(|(index, push)| Planned {
            place: Place::Node(push.send.node),
            path: TaskPath::Push(index),
            by_command: push.by_command,
            arg: Some(&push.send.arg),
        });
        start.into_iter().chain(pulls).chain(pushes)
    }

    pub(super) fn identity_of(&self, place: Place, path: TaskPath, by_command: Option<Digest>) -> TaskIdentity {
        let (node, step) = (self.topology.name_of(place).as_str(), self.step.next());
        match by_command {
            None => self.identity.task(step, node, path),
            Some(digest) => TurnIdentity::new(&self.key, &Turn { digest, ..self.turn.clone() }).task(step, node, path),
        }
    }

    pub(super) fn identity_of_slot(&self, slot: &Slot<S>) -> TaskIdentity {
        self.identity_of(slot.place, slot.path, slot.by_command)
    }

    pub(super) fn info_of_slot(&self, slot: &Slot<S>) -> TaskInfo {
        let id = self.identity_of_slot(slot).id();
        TaskInfo { id, node: self.topology.name_of(slot.place).clone(), path: slot.path }
    }

    /// The tasks that come next, for people.
    pub(super) fn planned(&self) -> Vec<TaskInfo> {
        let info = |planned: Planned<'_>| TaskInfo {
            id: self.identity_of(planned.place, planned.path, planned.by_command).id(),
            node: self.topology.name_of(planned.place).clone(),
            path: planned.path,
        };
        self.planned_tasks().map(info).collect()
    }

    /// The questions that may be answered, in task order: the open ones, or at an old checkpoint those shown there.
    pub(super) fn questions(&self, replay: Option<LineageId>) -> Vec<(TaskId, NodeName, Question)> {
        let mut found = Vec::new();
        for task in self.planned() {
            let Some(record) = self.records.get(&task.id) else { continue };
            let questions = if replay.is_some() { record.shown() } else { record.open().cloned().collect() };
            found.extend(questions.into_iter().map(|question| (task.id, task.node.clone(), question)));
        }
        found
    }

    /// The tasks of the frontier, as left behind.
    pub(super) fn left_behind(&self) -> Vec<Abandoned> {
        let left = self.planned().into_iter().map(|task| {
            let progress = if self.finished(&task).is_some() { Progress::Finished } else { Progress::Unfinished };
            let record = self.records.get(&task.id);
            let questions = record.map(|record| record.open().cloned().collect()).unwrap_or_default();
            Abandoned { task: task.id, node: task.node, progress, questions }
        });
        left.collect()
    }

    /// What a task of the frontier wrote, if it finished. The input that waits at the start is no result.
    pub(super) fn finished(&self, task: &TaskInfo) -> Option<&Arc<TaskOutput<S::Update>>> {
        if task.node == START {
            return None;
        }
        self.records.get(&task.id)?.result.as_ref()
    }

    pub(super) fn emit_checkpoint(&mut self) {
        if !self.settings.watch.checkpoints {
            return;
        }
        let Some(id) = self.line.current else { return };
        let tasks = self.planned().into_iter().map(|task| self.ahead(task)).collect();
        self.rest.push_back(Effect::Emit(Signal::Checkpoint {
            id,
            parent: self.line.parent,
            state: Arc::clone(&self.state),
            source: self.line.source,
            step: self.step,
            tasks,
        }));
    }

    fn ahead(&self, task: TaskInfo) -> TaskAhead {
        let record = self.records.get(&task.id);
        TaskAhead {
            error: record.and_then(|record| record.error.clone()),
            questions: record.map(super::super::position::Record::shown).unwrap_or_default(),
            task,
        }
    }

    /// The names of the nodes that come next, without those that finished.
    pub(super) fn next_names(&self) -> Vec<NodeName> {
        if self.slots.is_empty() {
            let open = self.planned().into_iter().filter(|task| self.finished(task).is_none());
            return open.map(|task| task.node).collect();
        }
        let open = self.slots.iter().filter(|slot| !matches!(slot.phase, Phase::Finished { .. }));
        open.map(|slot| self.topology.name_of(slot.place).clone()).collect()
    }

    // ---------------------------------------------------------------- for the driver

    /// A task of the step in hand.
    pub fn task(&self, task: TaskIndex) -> TaskView {
        let slot = &self.slots[task.0 as usize];
        TaskView {
            place: slot.place,
            path: slot.path,
            arg: slot.arg.clone(),
            identity: self.identity_of_slot(slot),
            step: self.step.next(),
        }
    }

    /// How many tasks the step in hand has.
    pub fn task_count(&self) -> usize {
        self.slots.len()
    }

    /// How many of them still run.
    pub fn running(&self) -> usize {
        self.running
    }

    /// The answers that tasks of the step in hand may use.
    pub fn answers(&self) -> &Arc<BTreeMap<QuestionId, Arc<Value>>> {
        &self.answers
    }

    /// The state as it stands.
    pub fn state(&self) -> &Arc<S> {
        &self.state
    }

    /// The graph.
    pub fn topology(&self) -> &Arc<Topology> {
        &self.topology
    }

    /// The channels.
    pub fn schema(&self) -> &Arc<S::Schema> {
        &self.schema
    }

    /// The border in hand, where borders have ids.
    pub fn checkpoint(&self) -> Option<CheckpointId> {
        self.line.current
    }

    /// The step of the border in hand.
    pub fn step(&self) -> Step {
        self.step
    }

    /// How many steps may still begin in this call, the one in hand not counted.
    pub fn remaining_steps(&self) -> u64 {
        self.settings.limit.saturating_sub(self.steps_run)
    }

    /// The turn in hand.
    pub fn turn(&self) -> &Turn {
        &self.turn
    }

    /// What this call left behind of an earlier turn.
    pub fn abandoned(&self) -> &[Abandoned] {
        &self.abandoned
    }

    /// The questions asked in this step, in task order, for the end of an interrupted or failed call.
    pub fn asked(&self) -> Vec<(TaskInfo, Question)> {
        let mut asked = Vec::new();
        for slot in &self.slots {
            if let Phase::Asked(questions) = &slot.phase {
                let info = self.info_of_slot(slot);
                asked.extend(questions.iter().map(|question| (info.clone(), question.clone())));
            }
        }
        asked
    }

    /// Waiting edges at which only some sources arrived: the target and the sources still missing.
    pub fn waiting_edges(&self) -> Vec<(NodeName, Vec<NodeName>)> {
        let name = |node| self.topology.name_of(Place::Node(node)).clone();
        let waits = self.frontier.arrivals.iter().map(|(join, arrived)| {
            let join = self.topology.join(*join);
            let missing = join.sources.iter().filter(|source| !arrived.contains(source));
            (name(join.target), missing.map(|source| name(*source)).collect::<Vec<_>>())
        });
        waits.filter(|(_, missing)| !missing.is_empty()).collect()
    }
}
