//! Changes by hand: edits of the state, and dropping what a task wrote.

use std::sync::Arc;

use smallvec::SmallVec;
use superstep_checkpoint::{NodeName, Status, Step, TaskId, Turn};

use crate::effect::{Edit, End, Refusal};
use crate::identity::TaskPath;
use crate::output::TaskOutput;
use crate::state::State;
use crate::topology::{Place, Routing};

use super::slot::{Phase, PutState, Slot};
use super::{Abandoned, Flow, Machine, Mint, Progress, Purpose};

impl<S: State> Machine<S> {
    pub(super) fn begin_edit(&mut self, edit: Edit<S::Update>, mint: Mint<'_>) -> Result<Flow, Refusal> {
        let place = self.edited_place(edit.as_node.as_deref())?;
        let mut output = TaskOutput::default();
        output.updates.extend(edit.update);
        self.check_own(&output, &[])?;
        let encoded = self.encode_output(&output).map_err(Refusal::Unencodable)?;
        self.purpose = Purpose::Edit { stands_for: self.edited_task(place) };
        self.abandoned = self.left_by_edit();
        self.leave_step();
        self.open_lineage(self.old_lineage());
        self.set_turn(Turn { digest: edit.digest, ..self.turn.clone() });
        if self.line.current.is_none() {
            self.step = Step(-1); // without an input before it, an edit is step 0
        }
        Ok(self.pass_edit(place, output, encoded, mint))
    }

    /// The edit goes the way of a task of its node, without the node.
    fn pass_edit(&mut self, place: Place, output: TaskOutput<S::Update>, encoded: Vec<u8>, mint: Mint<'_>) -> Flow {
        let mut slot = Slot::new(place, TaskPath::Push(0));
        slot.phase = Phase::Routing { output, ahead: None };
        slot.put = PutState::Due(encoded);
        self.slots = vec![slot];
        self.running = 1;
        if self.topology.routing(place) == Routing::Routed {
            self.route(0);
            return Ok(());
        }
        self.finish_slot(0, TaskOutput::default());
        self.end_step(mint)
    }

    /// As which node an edit counts.
    fn edited_place(&self, as_node: Option<&str>) -> Result<Place, Refusal> {
        if let Some(name) = as_node {
            return Ok(self.topology.place(name)?);
        }
        if let Some(node) = self.topology.sole_node() {
            return Ok(Place::Node(node));
        }
        if self.line.current.is_none() {
            return Ok(Place::Start);
        }
        match self.frontier.last[..] {
            [] => Ok(Place::Start), // nothing ran yet
            [place] => Ok(place),
            ref last => {
                let nodes = last.iter().map(|place| self.topology.name_of(*place).clone()).collect();
                Err(Refusal::AmbiguousEdit { nodes })
            }
        }
    }

    /// The unfinished task of the node, where edges started one: the edit is recorded as its result. Nothing is
    /// recorded on old checkpoints.
    fn edited_task(&self, place: Place) -> Option<TaskId> {
        if self.old_lineage().is_some() {
            return None;
        }
        let task = self.planned_tasks().find(|task| task.place == place && task.path == TaskPath::Pull)?;
        let id = self.identity_of(task.place, task.path, task.by_command).id();
        self.records.get(&id).is_none_or(|record| record.result.is_none()).then_some(id)
    }

    /// What an edit leaves behind: not the nodes that stay due, unless something of them is lost.
    fn left_by_edit(&self) -> Vec<Abandoned> {
        let mut left = self.left_behind();
        let due = self.frontier.due_after_edit(&self.topology);
        let stays = |name: &NodeName| due.iter().any(|node| self.topology.name_of(Place::Node(*node)) == name);
        left.retain(|task| task.progress == Progress::Finished || !task.questions.is_empty() || !stays(&task.node));
        left
    }

    /// Drops what a finished task wrote to the state; where it leads stays.
    pub(super) fn discard(&mut self, task: TaskId) -> Result<Flow, Refusal> {
        let planned = self.planned().into_iter().find(|info| info.id == task);
        let Some(planned) = planned.filter(|_| self.old_lineage().is_none()) else {
            return Err(Refusal::UnknownTask { task });
        };
        let Some(result) = self.finished(&planned) else { return Err(Refusal::UnknownTask { task }) };
        let kept = TaskOutput { updates: SmallVec::new(), ..TaskOutput::clone(result) };
        let encoded = self.encode_output(&kept).map_err(Refusal::Unencodable)?;
        self.put_result(task, planned.node, encoded);
        if let Some(record) = self.records.get_mut(&task) {
            record.result = Some(Arc::new(kept));
        }
        self.standing = Some(Status::Ready);
        Ok(Err(Box::new(End::Done)))
    }
}
