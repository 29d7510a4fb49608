//! How a call begins: input, going on, answers, edits, forks.

use std::sync::Arc;

use smallvec::SmallVec;
use superstep_checkpoint::{LineageId, QuestionId, Source, Status, TaskId, Turn};

use crate::channel::{ChannelSet, Side};
use crate::effect::{Answers, Basis, DraftAnswer, Edit, Effect, End, Input, InvalidUpdate, Put, Refusal, Start};
use crate::identity::{TaskPath, TurnIdentity, extend};
use crate::output::TaskOutput;
use crate::position::Patch;
use crate::signal::Signal;
use crate::state::{Author, Moment, Rejection, State, WantUndo, Why};
use crate::topology::{Place, Routing};

use super::save::PutNow;
use super::slot::{Phase, PutState, Slot};
use super::step::Pass;
use super::{Flow, Machine, Mint, Purpose, Saving};

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
        self.check_own(&input.output, &[])?;
        self.check_input(&input.output)?;
        let encoded = self.encode_output(&input.output).map_err(Refusal::Unencodable)?;
        self.abandoned = self.unfinished();
        self.open_lineage(self.old_lineage());
        self.set_turn(Turn { lineage: self.turn.lineage, digest: input.digest, run: input.run });
        self.forget_step();
        self.frontier = std::mem::take(&mut self.frontier).begin_turn();
        self.apply_batch(SmallVec::new());
        Ok(self.arrive(input.output, encoded, mint))
    }

    /// The input is at the start: a border of its own, then the start's task.
    fn arrive(&mut self, output: TaskOutput<S::Update>, encoded: Vec<u8>, mint: Mint<'_>) -> Flow {
        self.border(Source::Input, PutNow::BySaving, mint)?;
        self.emit_checkpoint();
        self.seat_start(output, PutState::Due(encoded));
        self.put_results_of_start();
        self.run_start(mint)
    }

    /// Goes on with an input that had arrived when an earlier call ended.
    fn arrive_again(&mut self, mint: Mint<'_>) -> Flow {
        let id = self.identity.task(self.step.next(), crate::topology::START, TaskPath::Pull).id();
        let output = self.records.remove(&id).and_then(|record| record.result);
        self.seat_start(output.map(Arc::unwrap_or_clone).unwrap_or_default(), PutState::Done);
        self.run_start(mint)
    }

    fn seat_start(&mut self, output: TaskOutput<S::Update>, put: PutState) {
        let mut slot = Slot::new(Place::Start, TaskPath::Pull);
        slot.phase = Phase::Routing { output, ahead: None };
        slot.put = put;
        self.slots = vec![slot];
        self.running = 1;
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
        if let Some(patch) = &patch {
            self.check_patch(patch)?;
        }
        let replay = self.replay_lineage();
        let commanded = patch.is_some();
        self.take_patch(patch, replay)?;
        self.add_command_tasks();
        if !commanded && self.frontier.is_idle() {
            return Ok(self.stay());
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
    fn take_up(&mut self, replay: Option<LineageId>, mint: Mint<'_>) -> Flow {
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

    fn old_lineage(&self) -> Option<LineageId> {
        match self.basis {
            Basis::Old { lineage } => Some(lineage),
            _ => None,
        }
    }

    fn open_lineage(&mut self, lineage: Option<LineageId>) {
        if let Some(lineage) = lineage {
            self.ledger.open_branch();
            self.set_turn(Turn { lineage, ..self.turn.clone() });
        }
    }

    pub(super) fn set_turn(&mut self, turn: Turn) {
        self.identity = TurnIdentity::new(&self.key, &turn);
        self.turn = turn;
    }

    /// Makes the checkpoint in hand the head again, as a new one on a branch of its own. What tasks left on the old one
    /// stays there.
    fn fork(&mut self, lineage: Option<LineageId>, mint: Mint<'_>) -> Flow {
        let start = self.start_result();
        self.open_lineage(lineage);
        self.forget_step();
        self.unput_patches = 0;
        self.border(Source::Fork, PutNow::Always, mint)?;
        self.keep_start_result(start);
        Ok(())
    }

    /// The input at the start, where the checkpoint in hand waits there.
    fn start_result(&mut self) -> Option<Arc<TaskOutput<S::Update>>> {
        let id = self.identity.task(self.step.next(), crate::topology::START, TaskPath::Pull).id();
        self.frontier.start.then(|| self.records.get(&id).and_then(|record| record.result.clone())).flatten()
    }

    fn keep_start_result(&mut self, start: Option<Arc<TaskOutput<S::Update>>>) {
        let Some(output) = start else { return };
        let id = self.identity.task(self.step.next(), crate::topology::START, TaskPath::Pull).id();
        if let Ok(encoded) = self.encode_output(&output) {
            self.seat_start(TaskOutput::default(), PutState::Due(encoded));
            self.put_results_of_start();
            self.slots.clear();
        }
        self.records.entry(id).or_default().result = Some(output);
    }

    fn fork_only(&mut self, mint: Mint<'_>) -> Result<Flow, Refusal> {
        if self.line.current.is_none() {
            return Err(Refusal::NothingToContinue);
        }
        let lineage = match self.basis {
            Basis::Head => None,
            Basis::Old { lineage } | Basis::NamedHead { lineage } => Some(lineage),
        };
        self.add_command_tasks();
        Ok(self.fork(lineage, mint).and_then(|()| Err(Box::new(End::Done))))
    }

    // ---------------------------------------------------------------- commands beside the tasks

    fn check_patch(&self, patch: &Patch<S::Update>) -> Result<(), Refusal> {
        self.check_own(&patch.output, &[])?;
        self.check_input(&patch.output)
    }

    /// Takes a command on: its update now, its tasks with the step. Stored on the checkpoint in hand, unless that is
    /// about to be replayed as a new one, which then carries it.
    fn take_patch(&mut self, patch: Option<Patch<S::Update>>, replay: Option<LineageId>) -> Result<(), Refusal> {
        let Some(patch) = patch else { return Ok(()) };
        self.apply_patch(&patch);
        self.patches.push(patch);
        if replay.is_none() && self.settings.saving != Saving::Never {
            self.unput_patches += 1;
        }
        if self.settings.saving == Saving::EveryStep {
            self.put_patches().map_err(Refusal::Unencodable)?;
        }
        Ok(())
    }

    /// Starts what the commands on this checkpoint start.
    fn add_command_tasks(&mut self) {
        for patch in &self.patches {
            let by = extend(self.turn.digest, patch.digest);
            for node in &patch.output.goto {
                self.frontier.trigger(&self.topology, *node, Some(by));
            }
            if !patch.output.sends.is_empty() {
                self.frontier.sends = patch.output.sends.clone();
            }
        }
        self.frontier.settle();
    }

    // ---------------------------------------------------------------- answers

    fn answer(&mut self, answers: Answers, patch: Option<Patch<S::Update>>, mint: Mint<'_>) -> Result<Flow, Refusal> {
        let Some(on) = self.line.current else { return Err(Refusal::NothingToResume) };
        if let Some(patch) = &patch {
            self.check_patch(patch)?;
        }
        let replay = self.old_lineage();
        let drafts = self.match_answers(answers, replay)?;
        if let Some(lineage) = replay {
            return self.answer_old(lineage, &drafts, patch, mint);
        }
        self.take_answers(&drafts);
        self.puts.push_back(Put::Answers { on, answers: drafts });
        self.take_patch(patch, None)?;
        self.add_command_tasks();
        Ok(self.take_up(None, mint))
    }

    pub(super) fn take_answers(&mut self, drafts: &[DraftAnswer]) {
        let answers = Arc::make_mut(&mut self.answers);
        for draft in drafts {
            answers.insert(draft.question.id, Arc::clone(&draft.value));
            let record = self.records.entry(draft.task).or_default();
            record.answers.insert(draft.question.id, Arc::clone(&draft.value));
        }
    }

    /// Finds the questions that answers are for. At an old checkpoint the questions shown there count as open.
    fn match_answers(&self, answers: Answers, replay: Option<LineageId>) -> Result<Vec<DraftAnswer>, Refusal> {
        match answers {
            Answers::Plain(value, token) => {
                let mut open = self.questions(replay);
                match open.len() {
                    1 => {
                        let (task, node, question) = open.remove(0);
                        Ok(vec![DraftAnswer { task, node, question, value, token }])
                    }
                    0 => Err(self.nothing_open()),
                    _ => Err(Refusal::AmbiguousAnswer { open: open.iter().map(|(_, _, q)| q.id).collect() }),
                }
            }
            Answers::Named(answers) if answers.is_empty() => Err(Refusal::EmptyAnswers),
            Answers::Named(answers) => {
                let open = self.questions(replay);
                let find = |(id, value, token): (QuestionId, Arc<serde_json::Value>, _)| {
                    let found = open.iter().find(|(_, _, question)| question.id == id).cloned();
                    let (task, node, question) = found.ok_or_else(|| self.not_open(id))?;
                    Ok(DraftAnswer { task, node, question, value, token })
                };
                answers.into_iter().map(find).collect()
            }
        }
    }

    fn nothing_open(&self) -> Refusal {
        let unfinished = self.records.values().filter(|record| record.result.is_none());
        let answered = unfinished.filter_map(|record| record.questions.last()).next();
        answered.map_or(Refusal::NothingToResume, |question| Refusal::AlreadyAnswered { question: question.id })
    }

    fn not_open(&self, id: QuestionId) -> Refusal {
        let asked = self.records.values().any(|record| record.questions.iter().any(|question| question.id == id));
        if asked { Refusal::AlreadyAnswered { question: id } } else { Refusal::UnknownQuestion { question: id } }
    }

    /// Answers at an old checkpoint: it is forked, and the fork's questions are answered, with the answers that led to
    /// them.
    fn answer_old(
        &mut self,
        lineage: LineageId,
        drafts: &[DraftAnswer],
        patch: Option<Patch<S::Update>>,
        mint: Mint<'_>,
    ) -> Result<Flow, Refusal> {
        let carried = self.carry_questions(drafts);
        self.take_patch(patch, Some(lineage))?;
        self.add_command_tasks();
        if let Err(end) = self.fork(Some(lineage), mint) {
            return Ok(Err(end));
        }
        self.put_carried(carried)?;
        Ok(self.take_up(None, mint))
    }

    // ---------------------------------------------------------------- edits

    fn begin_edit(&mut self, edit: Edit<S::Update>, mint: Mint<'_>) -> Result<Flow, Refusal> {
        let place = self.edited_place(edit.as_node.as_deref())?;
        let mut output = TaskOutput::default();
        output.updates.extend(edit.update);
        self.check_own(&output, &[])?;
        let encoded = self.encode_output(&output).map_err(Refusal::Unencodable)?;
        self.put_edit_result(place, encoded);
        let lineage = self.old_lineage();
        self.open_lineage(lineage);
        self.set_turn(Turn { digest: edit.digest, ..self.turn.clone() });
        self.abandoned = self.unfinished();
        self.frontier = std::mem::take(&mut self.frontier).begin_edit();
        self.purpose = Purpose::Edit;
        let mut slot = Slot::new(place, TaskPath::Push(0));
        slot.phase = Phase::Routing { output, ahead: None };
        slot.put = PutState::Done;
        self.slots = vec![slot];
        self.running = 1;
        if self.topology.routing(place) == Routing::Routed {
            self.route(0);
            return Ok(Ok(()));
        }
        self.finish_slot(0, TaskOutput::default());
        Ok(self.end_step(mint))
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
            [place] => Ok(place),
            ref last => {
                let nodes = last.iter().map(|place| self.topology.name_of(*place).clone()).collect();
                Err(Refusal::AmbiguousEdit { nodes })
            }
        }
    }

    /// The edit stands for the node's pending task, if it has one on the head.
    fn put_edit_result(&mut self, place: Place, encoded: Vec<u8>) {
        let pending = match place {
            Place::Start => self.frontier.start,
            Place::Node(node) => self.frontier.pulls.iter().any(|pull| pull.node == node),
        };
        if pending && self.old_lineage().is_none() && self.settings.saving != Saving::Never {
            let name = self.topology.name_of(place).clone();
            let task = self.identity.task(self.step.next(), name.as_str(), TaskPath::Pull).id();
            self.put_result(task, name, encoded);
        }
    }

    // ---------------------------------------------------------------- discard

    fn discard(&mut self, task: TaskId) -> Result<Flow, Refusal> {
        let node = self.planned().into_iter().find(|info| info.id == task).map(|info| info.node);
        let result = self.records.get(&task).and_then(|record| record.result.clone());
        let (Some(node), Some(result)) = (node, result) else { return Err(Refusal::UnknownTask { task }) };
        let kept = TaskOutput { updates: SmallVec::new(), ..(*result).clone() };
        let encoded = self.encode_output(&kept).map_err(Refusal::Unencodable)?;
        self.put_result(task, node, encoded);
        if let Some(record) = self.records.get_mut(&task) {
            record.result = Some(Arc::new(kept));
        }
        self.standing = Some(Status::Ready);
        Ok(Err(Box::new(End::Done)))
    }

    // ---------------------------------------------------------------- checks

    /// Whether the updates of one task or caller can be applied by themselves.
    pub(super) fn check_own(
        &self,
        output: &TaskOutput<S::Update>,
        nodes: &[superstep_checkpoint::NodeName],
    ) -> Result<(), InvalidUpdate> {
        if output.updates.is_empty() {
            return Ok(());
        }
        let batch: SmallVec<[(Author, &S::Update); 2]> =
            output.updates.iter().map(|update| (Author(0), update)).collect();
        self.state.check(&self.schema, &batch).map_err(|rejection| invalid(rejection, nodes.to_vec()))
    }

    /// Whether callers may write these channels.
    fn check_input(&self, output: &TaskOutput<S::Update>) -> Result<(), Refusal> {
        let specs = S::channels(&self.schema);
        if specs.iter().all(|spec| spec.input == Side::Open) {
            return Ok(());
        }
        let mut written = ChannelSet::default();
        output.updates.iter().for_each(|update| S::written(&self.schema, update, &mut written));
        match written.iter().find(|channel| specs[channel.get()].input == Side::Closed) {
            None => Ok(()),
            Some(channel) => {
                let channel = specs[channel.get()].name.clone();
                Err(InvalidUpdate { channel, why: Why::NotInput, nodes: Vec::new() }.into())
            }
        }
    }

    /// Applies a batch at a border and notes what changed.
    pub(super) fn apply_batch(&mut self, batch: SmallVec<[S::Update; 2]>) {
        let state = Arc::make_mut(&mut self.state);
        let applied = state.apply(&self.schema, batch, Moment::Step, WantUndo::No);
        self.ledger.note(S::channels(&self.schema), &applied.changes);
    }

    /// The checkpoint in hand is left behind: what is known of its tasks no longer counts.
    pub(super) fn forget_step(&mut self) {
        self.records.clear();
        if !self.answers.is_empty() {
            self.answers = Arc::default();
        }
        self.fold_patches();
    }

    /// From here on the turn includes the commands given beside it.
    fn fold_patches(&mut self) {
        if self.patches.is_empty() {
            return;
        }
        let digest = self.patches.iter().fold(self.turn.digest, |digest, patch| extend(digest, patch.digest));
        self.patches.clear();
        self.unput_patches = 0;
        self.set_turn(Turn { digest, ..self.turn.clone() });
    }

    pub(super) fn emit_values(&mut self) {
        if self.settings.watch.values {
            let state = Arc::clone(&self.state);
            self.rest.push_back(Effect::Emit(Signal::Values { state, questions: Vec::new() }));
        }
    }
}

/// A rejection with the nodes' names.
pub(super) fn invalid(rejection: Rejection, nodes: Vec<superstep_checkpoint::NodeName>) -> InvalidUpdate {
    InvalidUpdate { channel: rejection.channel, why: rejection.why, nodes }
}
