//! How a call begins: an input, going on, a fork, and the commands beside the tasks.

use std::sync::Arc;

use smallvec::SmallVec;
use superstep_checkpoint::{LineageId, Source, TaskId, Turn};

use crate::effect::{Basis, Effect, End, Input, Refusal, Start, TaskFault};
use crate::identity::{TaskPath, TurnIdentity, extend};
use crate::output::TaskOutput;
use crate::position::Patch;
use crate::signal::Signal;
use crate::state::{Moment, State, WantUndo};
use crate::topology::{Place, Routing, START};

use super::line::Kept;
use super::save::{PutNow, unencodable};
use super::slot::{Phase, PutState, Slot};
use super::step::Pass;
use super::{Flow, Machine, Mint, Saving};

impl<S: State> Machine<S> {
    pub(super) fn start(&mut self, start: Start<S::Update>, mint: Mint<'_>) -> Result<Flow, Refusal> {
        match start {
            Start::Input(input) => self.begin_turn(input, mint),
            Start::Continue { patch } => self.go_on(patch, mint),
            Start::Answer { answers, patch } => self.answer(answers, patch, mint),
            Start::Edit(edit) => self.begin_edit(edit, mint),
            Start::Fork => self.fork_only(mint),
            Start::Discard { task } => self.discard(task),
        }
    }

    // ---------------------------------------------------------------- input

    fn begin_turn(&mut self, input: Input<S::Update>, mint: Mint<'_>) -> Result<Flow, Refusal> {
        self.check_given(&input.output)?;
        let encoded = self.encode_output(&input.output).map_err(Refusal::Unencodable)?;
        let lineage = self.old_lineage();
        self.abandoned = self.left_behind();
        self.leave_step();
        self.open_lineage(lineage);
        self.set_turn(Turn { lineage: self.turn.lineage, digest: input.digest, run: input.run });
        let unfinished = !self.frontier.is_idle();
        self.frontier = std::mem::take(&mut self.frontier).begin_turn();
        if unfinished {
            self.apply_batch(SmallVec::new()); // the step in hand ends here
        }
        // A new lineage is durable before its first task.
        let put = if lineage.is_some() { PutNow::Always } else { PutNow::BySaving };
        Ok(self.arrive(input.output, encoded, put, mint))
    }

    /// The input is at the start: a border of its own, then the start's task.
    fn arrive(&mut self, output: TaskOutput<S::Update>, encoded: Vec<u8>, put: PutNow, mint: Mint<'_>) -> Flow {
        self.border(Source::Input, put, mint)?;
        self.emit_checkpoint();
        self.seat_start(output, PutState::Due(encoded));
        self.put_input();
        self.run_start(mint)
    }

    /// Goes on with an input that had arrived when an earlier call ended.
    fn arrive_again(&mut self, mint: Mint<'_>) -> Flow {
        let output = self.records.remove(&self.start_id()).and_then(|record| record.result);
        let output = output.map(Arc::unwrap_or_clone).unwrap_or_default();
        let invalid = self.check_own(&output, &[]).err();
        self.seat_start(output, PutState::Done);
        if let Some(invalid) = invalid {
            // It was right when it arrived; a command since then changed the state.
            self.fail_slot(0, invalid.to_string(), Some(TaskFault::InvalidUpdate(invalid)));
            return self.end_step(mint);
        }
        self.run_start(mint)
    }

    /// The id of the start's task.
    fn start_id(&self) -> TaskId {
        self.identity.task(self.step.next(), START, TaskPath::Pull).id()
    }

    fn seat_start(&mut self, output: TaskOutput<S::Update>, put: PutState) {
        let mut slot = Slot::new(Place::Start, TaskPath::Pull);
        slot.phase = Phase::Routing { output, ahead: None };
        slot.put = put;
        self.slots = vec![slot];
        self.running = 1;
    }

    /// Puts the input, if the border at which it waits is stored.
    fn put_input(&mut self) {
        if self.settings.saving != Saving::Never && self.line.kept == Kept::Stored {
            self.flush_writes();
        }
    }

    fn run_start(&mut self, mint: Mint<'_>) -> Flow {
        if self.topology.routing(Place::Start) == Routing::Routed {
            self.route(0);
            return Ok(());
        }
        self.finish_slot(0, TaskOutput::default());
        self.end_step(mint)
    }

    // ---------------------------------------------------------------- going on

    fn go_on(&mut self, patch: Option<Patch<S::Update>>, mint: Mint<'_>) -> Result<Flow, Refusal> {
        if self.line.current.is_none() {
            return Err(Refusal::NothingToContinue);
        }
        let replay = self.replay_lineage();
        match patch {
            Some(patch) => {
                self.check_patch(&patch)?;
                self.take_patch(patch, replay)?;
            }
            None if self.frontier.is_idle() => return Ok(self.stay()),
            None => {}
        }
        Ok(self.take_up(replay, mint))
    }

    /// Nothing is left to do here: show the state and end.
    fn stay(&mut self) -> Flow {
        self.emit_values();
        self.emit_checkpoint();
        Err(Box::new(End::Done))
    }

    /// Goes on from the checkpoint in hand, on a branch of its own if it is to be replayed.
    pub(super) fn take_up(&mut self, replay: Option<LineageId>, mint: Mint<'_>) -> Flow {
        if replay.is_some() {
            self.fork(replay, mint)?;
        }
        self.emit_values();
        self.emit_checkpoint();
        if self.frontier.start {
            return self.arrive_again(mint);
        }
        self.begin_step(Pass::Through, mint)
    }

    /// The lineage to open, if going on from here without an answer replays the checkpoint.
    fn replay_lineage(&self) -> Option<LineageId> {
        match self.basis {
            Basis::Head => None,
            Basis::Old { lineage } => Some(lineage),
            Basis::NamedHead { lineage } => {
                (!matches!(self.line.source, Source::Update | Source::Fork)).then_some(lineage)
            }
        }
    }

    pub(super) fn old_lineage(&self) -> Option<LineageId> {
        match self.basis {
            Basis::Old { lineage } => Some(lineage),
            _ => None,
        }
    }

    pub(super) fn open_lineage(&mut self, lineage: Option<LineageId>) {
        if let Some(lineage) = lineage {
            self.ledger.open_branch();
            self.set_turn(Turn { lineage, ..self.turn.clone() });
        }
    }

    pub(super) fn set_turn(&mut self, turn: Turn) {
        self.identity = TurnIdentity::new(&self.key, &turn);
        self.turn = turn;
    }

    // ---------------------------------------------------------------- forks

    fn fork_only(&mut self, mint: Mint<'_>) -> Result<Flow, Refusal> {
        if self.line.current.is_none() {
            return Err(Refusal::NothingToContinue);
        }
        let lineage = match self.basis {
            Basis::Head => None,
            Basis::Old { lineage } | Basis::NamedHead { lineage } => Some(lineage),
        };
        Ok(self.fork(lineage, mint).and_then(|()| Err(Box::new(End::Done))))
    }

    /// Makes the checkpoint in hand the head again, as a new one on a branch of its own. What tasks left on the old one
    /// stays there, but for an input that waits at the start.
    pub(super) fn fork(&mut self, lineage: Option<LineageId>, mint: Mint<'_>) -> Flow {
        let input = self.waiting_input();
        let encoded = input.as_deref().map(|input| self.encode_output(input)).transpose();
        let encoded = encoded.map_err(|error| Box::new(unencodable("input", error)))?;
        self.open_lineage(lineage);
        self.forget_step();
        self.frontier.pushes.iter_mut().for_each(|push| push.by_command = None); // the turn includes it now
        self.border(Source::Fork, PutNow::Always, mint)?;
        if let (Some(input), Some(encoded)) = (input, encoded) {
            self.keep_input(input, encoded);
        }
        Ok(())
    }

    /// The input, where the checkpoint in hand waits at the start.
    fn waiting_input(&self) -> Option<Arc<TaskOutput<S::Update>>> {
        let record = self.records.get(&self.start_id()).filter(|_| self.frontier.start);
        record.and_then(|record| record.result.clone())
    }

    fn keep_input(&mut self, input: Arc<TaskOutput<S::Update>>, encoded: Vec<u8>) {
        let id = self.start_id();
        self.put_result(id, self.topology.name_of(Place::Start).clone(), encoded);
        self.records.entry(id).or_default().result = Some(input);
    }

    // ---------------------------------------------------------------- commands beside the tasks

    pub(super) fn check_patch(&self, patch: &Patch<S::Update>) -> Result<(), Refusal> {
        self.check_given(&patch.output)
    }

    /// Takes a command on. Stored on the checkpoint in hand, unless that is about to be replayed as a new one, which
    /// then carries it.
    fn take_patch(&mut self, patch: Patch<S::Update>, replay: Option<LineageId>) -> Result<(), Refusal> {
        self.add_patch(patch);
        if replay.is_none() && self.settings.saving != Saving::Never {
            self.unput_patches += 1;
        }
        if self.settings.saving == Saving::EveryStep {
            self.put_patches().map_err(Refusal::Unencodable)?;
        }
        Ok(())
    }

    /// From here on the turn includes the commands given beside it.
    fn fold_patches(&mut self) {
        if self.patches.is_empty() {
            return;
        }
        let digest = self.patches.iter().fold(self.turn.digest, |digest, patch| extend(digest, patch.digest));
        self.set_turn(Turn { digest, ..self.turn.clone() });
    }

    // ---------------------------------------------------------------- borders

    /// The step is over: what is known of its tasks no longer counts, and commands belong to the turn.
    pub(super) fn forget_step(&mut self) {
        self.fold_patches();
        self.leave_step();
    }

    /// The checkpoint in hand is left behind, with what is known of its tasks and the commands on it.
    pub(super) fn leave_step(&mut self) {
        self.records.clear();
        if !self.answers.is_empty() {
            self.answers = Arc::default();
        }
        self.patches.clear();
        self.unput_patches = 0;
    }

    /// Applies a batch at a border and notes what changed.
    pub(super) fn apply_batch(&mut self, batch: SmallVec<[S::Update; 2]>) {
        let state = Arc::make_mut(&mut self.state);
        let applied = state.apply(&self.schema, batch, Moment::Step, WantUndo::No);
        self.ledger.note(S::channels(&self.schema), &applied.changes);
    }

    pub(super) fn emit_values(&mut self) {
        if self.settings.watch.values {
            let state = Arc::clone(&self.state);
            self.rest.push_back(Effect::Emit(Signal::Values { state, questions: Vec::new() }));
        }
    }
}
