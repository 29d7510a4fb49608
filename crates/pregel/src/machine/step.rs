//! One super-step: which tasks run, and what happens as each ends.

use std::sync::Arc;

use smallvec::SmallVec;
use superstep_checkpoint::NodeName;

use crate::effect::{Effect, End, FailedTask, TaskFault, TaskIndex};
use crate::output::{Ended, TaskOutput};
use crate::question::Question;
use crate::signal::{Freshness, Signal, TaskEnd, TaskInput};
use crate::state::{Moment, State, WantUndo};
use crate::topology::Place;

use super::slot::{Ahead, Phase, PutState, Slot};
use super::{Fleeting, Flow, Machine, Mint, Purpose, Saving};

/// Whether a step may begin where the run is to stop before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pass {
    /// The call goes on from here: it passes the stop at which it may have stood.
    Through,
    /// It stops.
    Stop,
}

impl<S: State> Machine<S> {
    /// Begins the step after the border in hand, or ends the call.
    pub(super) fn begin_step(&mut self, pass: Pass, mint: Mint<'_>) -> Flow {
        if self.frontier.is_idle() {
            return Err(Box::new(End::Done));
        }
        if self.steps_run >= self.settings.limit {
            return Err(Box::new(End::OutOfSteps { limit: self.settings.limit }));
        }
        if pass == Pass::Stop {
            self.stop_before()?;
        }
        self.steps_run += 1;
        self.seat_tasks();
        self.start_tasks();
        if self.running == 0 { self.end_step(mint) } else { Ok(()) }
    }

    fn stop_before(&mut self) -> Flow {
        let nodes = self.frontier.pulls.iter().map(|pull| pull.node);
        let nodes: Vec<NodeName> = nodes
            .chain(self.frontier.pushes.iter().map(|push| push.send.node))
            .filter(|node| self.settings.before.hold(*node))
            .map(|node| self.topology.name_of(Place::Node(node)).clone())
            .collect();
        self.pause(nodes)
    }

    pub(super) fn pause(&mut self, nodes: Vec<NodeName>) -> Flow {
        if nodes.is_empty() {
            return Ok(());
        }
        if self.settings.watch.updates {
            self.rest.push_back(Effect::Emit(Signal::Paused));
        }
        Err(Box::new(End::Paused { nodes }))
    }

    pub(super) fn seat_tasks(&mut self) {
        self.slots.clear();
        let mut slots = std::mem::take(&mut self.slots);
        slots.extend(self.planned_tasks().map(|planned| {
            let mut slot = Slot::new(planned.place, planned.path);
            slot.by_command = planned.by_command;
            slot.arg = planned.arg.cloned();
            slot
        }));
        if !self.records.is_empty() {
            for slot in &mut slots {
                self.restore(slot);
            }
        }
        self.running = slots.iter().filter(|slot| matches!(slot.phase, Phase::Running)).count();
        self.slots = slots;
    }

    /// Gives a task the result that an earlier call left.
    fn restore(&self, slot: &mut Slot<S>) {
        let id = self.identity_of_slot(slot).id();
        if let Some(output) = self.records.get(&id).and_then(|record| record.result.clone()) {
            slot.phase = Phase::Finished { output, ahead: None };
            slot.put = PutState::Done;
        }
    }

    fn start_tasks(&mut self) {
        (0..self.slots.len()).for_each(|index| self.emit_started(index));
        for index in 0..self.slots.len() {
            if matches!(self.slots[index].phase, Phase::Running) {
                self.rest.push_back(Effect::Run(task_index(index)));
            } else {
                self.emit_update(index, Freshness::Restored);
            }
        }
    }

    fn emit_started(&mut self, index: usize) {
        if self.settings.watch.tasks {
            let slot = &self.slots[index];
            let task = self.info_of_slot(slot);
            let input = match &slot.arg {
                Some(arg) => TaskInput::Arg(Arc::clone(arg)),
                None => TaskInput::State(Arc::clone(&self.state)),
            };
            self.rest.push_back(Effect::Emit(Signal::TaskStarted { task, input }));
        }
    }

    // ---------------------------------------------------------------- routed tasks

    /// The node of a routed task succeeded: its routers run on the state with its update.
    pub(super) fn returned(&mut self, task: TaskIndex, output: TaskOutput<S::Update>, mint: Mint<'_>) -> Flow {
        let index = task.0 as usize;
        let nodes = self.blame(index);
        if let Err(invalid) = self.check_own(&output, &nodes) {
            self.fail_slot(index, invalid.to_string(), Some(TaskFault::InvalidUpdate(invalid)));
            return self.task_settled(index, mint);
        }
        self.slots[index].phase = Phase::Routing { output, ahead: None };
        self.route(index);
        Ok(())
    }

    pub(super) fn route(&mut self, index: usize) {
        let state = if self.may_apply_ahead() { self.apply_ahead(index) } else { self.preview(index) };
        self.rest.push_back(Effect::Route { task: task_index(index), state });
    }

    /// A task alone in its step is applied at once, so that no copy of the state is made for its routers.
    fn may_apply_ahead(&self) -> bool {
        self.slots.len() == 1 && self.fleeting == Fleeting::None
    }

    fn apply_ahead(&mut self, index: usize) -> Arc<S> {
        let Phase::Routing { output, ahead } = &mut self.slots[index].phase else { return Arc::clone(&self.state) };
        let updates: SmallVec<[S::Update; 2]> = output.updates.iter().cloned().collect();
        let state = Arc::make_mut(&mut self.state);
        let applied = state.apply(&self.schema, updates, Moment::Patch, WantUndo::Yes);
        *ahead = Some(Ahead { changes: applied.changes, undo: applied.undo });
        Arc::clone(&self.state)
    }

    fn preview(&self, index: usize) -> Arc<S> {
        let Phase::Routing { output, .. } = &self.slots[index].phase else { return Arc::clone(&self.state) };
        if output.updates.is_empty() {
            return Arc::clone(&self.state);
        }
        let mut state = (*self.state).clone();
        state.apply(&self.schema, output.updates.iter().cloned().collect(), Moment::Patch, WantUndo::No);
        Arc::new(state)
    }

    /// The routers failed and the node runs again: what it wrote does not count.
    pub(super) fn retried(&mut self, task: TaskIndex) {
        self.take_back(task.0 as usize);
    }

    fn take_back(&mut self, index: usize) {
        if let Phase::Routing { ahead: Some(ahead), .. } =
            std::mem::replace(&mut self.slots[index].phase, Phase::Running)
            && let Some(undo) = ahead.undo
        {
            Arc::make_mut(&mut self.state).undo(&self.schema, undo);
        }
    }

    // ---------------------------------------------------------------- ends

    pub(super) fn task_ended(&mut self, task: TaskIndex, ended: Ended<S::Update>, mint: Mint<'_>) -> Flow {
        let index = task.0 as usize;
        match ended {
            Ended::Finished(output) => self.finish_slot(index, output),
            Ended::Failed(text) => self.fail_slot(index, text, None),
            Ended::Asked(questions) => {
                self.take_back(index);
                self.slots[index].phase = Phase::Asked(questions);
            }
        }
        self.task_settled(index, mint)
    }

    /// A task's phase is decided: store it if others still run, else end the step.
    fn task_settled(&mut self, index: usize, mint: Mint<'_>) -> Flow {
        self.running -= 1;
        if self.running == 0 {
            self.emit_ended(index);
            return self.end_step(mint);
        }
        if self.settings.saving == Saving::EveryStep {
            let mut writes = Vec::new();
            self.take_writes(index, &mut writes);
            self.put_writes(writes);
        }
        self.emit_ended(index);
        Ok(())
    }

    /// A task finished: what it wrote is checked by itself and encoded, once.
    pub(super) fn finish_slot(&mut self, index: usize, routed: TaskOutput<S::Update>) {
        let phase = std::mem::replace(&mut self.slots[index].phase, Phase::Running);
        let (output, ahead) = match phase {
            Phase::Routing { mut output, ahead } => {
                output.goto.extend(routed.goto);
                output.sends.extend(routed.sends);
                (output, ahead)
            }
            _ => (routed, None),
        };
        if ahead.is_none() {
            let nodes = self.blame(index);
            if let Err(invalid) = self.check_own(&output, &nodes) {
                return self.fail_slot(index, invalid.to_string(), Some(TaskFault::InvalidUpdate(invalid)));
            }
        }
        if self.settings.saving != Saving::Never && self.slots[index].put == PutState::Nothing {
            match self.encode_output(&output) {
                Ok(bytes) => self.slots[index].put = PutState::Due(bytes),
                Err(error) => {
                    self.slots[index].phase = Phase::Routing { output, ahead };
                    let text = format!("its update cannot be stored: {error}");
                    return self.fail_slot(index, text, Some(TaskFault::Unencodable(error)));
                }
            }
        }
        self.slots[index].phase = Phase::Finished { output: Arc::new(output), ahead };
    }

    pub(super) fn fail_slot(&mut self, index: usize, text: String, fault: Option<TaskFault>) {
        self.take_back(index);
        let slot = &mut self.slots[index];
        slot.phase = Phase::Failed { text, fault };
        if slot.put == PutState::Done {
            slot.put = PutState::Nothing; // the input is stored, that its routers failed is not
        }
    }

    fn blame(&self, index: usize) -> SmallVec<[NodeName; 1]> {
        let place = self.slots[index].place;
        let caller = place == Place::Start || self.purpose != Purpose::Run;
        if caller { SmallVec::new() } else { SmallVec::from_elem(self.topology.name_of(place).clone(), 1) }
    }

    fn emit_ended(&mut self, index: usize) {
        if self.slots[index].place == Place::Start || self.purpose != Purpose::Run {
            return;
        }
        match &self.slots[index].phase {
            Phase::Asked(questions) => self.emit_asked(index, questions.clone()),
            Phase::Finished { .. } => self.emit_update(index, Freshness::Fresh),
            _ => {}
        }
        self.emit_task_end(index);
    }

    fn emit_update(&mut self, index: usize, freshness: Freshness) {
        if self.settings.watch.updates
            && let Phase::Finished { output, .. } = &self.slots[index].phase
        {
            let (task, output) = (self.info_of_slot(&self.slots[index]), Arc::clone(output));
            self.rest.push_back(Effect::Emit(Signal::Update { task, output, freshness }));
        }
    }

    fn emit_asked(&mut self, index: usize, questions: Vec<Question>) {
        if self.settings.watch.updates {
            let task = self.info_of_slot(&self.slots[index]);
            self.rest.push_back(Effect::Emit(Signal::Asked { task, questions }));
        }
    }

    /// Shows the questions of the step beside the state: once all its tasks ended, so that they come in task order.
    pub(super) fn emit_questions(&mut self) {
        if !self.settings.watch.values {
            return;
        }
        for slot in &self.slots {
            if let Phase::Asked(questions) = &slot.phase {
                let (state, questions) = (Arc::clone(&self.state), questions.clone());
                self.rest.push_back(Effect::Emit(Signal::Values { state, questions }));
            }
        }
    }

    fn emit_task_end(&mut self, index: usize) {
        if !self.settings.watch.tasks {
            return;
        }
        let end = match &self.slots[index].phase {
            Phase::Finished { output, .. } => TaskEnd::Finished(Arc::clone(output)),
            Phase::Failed { text, .. } => TaskEnd::Failed(text.clone()),
            Phase::Asked(questions) => TaskEnd::Asked(questions.clone()),
            Phase::Running | Phase::Routing { .. } => return,
        };
        let task = self.info_of_slot(&self.slots[index]);
        self.rest.push_back(Effect::Emit(Signal::TaskEnded { task, end }));
    }

    /// The tasks that failed, for the end of the call.
    pub(super) fn failed(&mut self) -> Vec<FailedTask> {
        let mut failed = Vec::new();
        for index in 0..self.slots.len() {
            let info =
                matches!(self.slots[index].phase, Phase::Failed { .. }).then(|| self.info_of_slot(&self.slots[index]));
            if let (Some(info), Phase::Failed { fault, .. }) = (info, &mut self.slots[index].phase) {
                let fault = fault.take();
                failed.push(FailedTask { task: task_index(index), id: info.id, node: info.node, fault });
            }
        }
        failed
    }
}

pub(super) fn task_index(index: usize) -> TaskIndex {
    TaskIndex(u32::try_from(index).unwrap_or(u32::MAX))
}
