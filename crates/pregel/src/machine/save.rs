//! What is stored, and when.

use std::sync::Arc;

use serde_json::Value;
use superstep_checkpoint::{
    AnswerToken, Arrivals, CallPath, ChannelName, NodeName, Plan, PlannedTask, SealError, Source, Status, TaskId,
    WriteKind,
};

use crate::effect::{DraftAnswer, DraftCheckpoint, DraftWrite, Effect, End, Put, Refusal};
use crate::identity::{TaskIdentity, TaskPath};
use crate::output::TaskOutput;
use crate::question::Question;
use crate::state::State;
use crate::stored::{StoredQuestion, encode_output, without_untracked};
use crate::topology::Place;

use super::slot::{Phase, PutState, Slot};
use super::{Flow, Machine, Mint, Purpose, Saving};

/// Whether a border is stored at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PutNow {
    /// As the call's saving says.
    BySaving,
    /// In any case, unless there is no store: an edit or a fork.
    Always,
}

/// A question of an old checkpoint on its way to the fork of it.
#[derive(Debug)]
pub(super) struct Carried {
    node: NodeName,
    path: TaskPath,
    by_command: Option<superstep_checkpoint::Digest>,
    question: Question,
    order: u32,
    answer: Option<(Arc<Value>, AnswerToken)>,
}

impl<S: State> Machine<S> {
    /// A new border.
    pub(super) fn border(&mut self, source: Source, put: PutNow, mint: Mint<'_>) -> Flow {
        self.step = self.step.next();
        if self.settings.saving == Saving::Never && !self.settings.watch.checkpoints {
            return Ok(());
        }
        self.line.advance(mint(), source);
        match (self.settings.saving, put) {
            (Saving::EveryStep, _) | (Saving::AtExit, PutNow::Always) => self.put_checkpoint(),
            _ => Ok(()),
        }
    }

    fn put_checkpoint(&mut self) -> Flow {
        let Some(id) = self.line.current else { return Ok(()) };
        let parent = self.line.parent;
        let opens = self.ledger.opens_branch();
        let values = self.ledger.settle(&*self.state, &self.schema, self.settings.codec)?;
        let args = self.encode_args()?;
        let (seq, branch) = self.line.store(opens);
        self.puts.push_back(Put::Checkpoint(Box::new(DraftCheckpoint {
            id,
            parent,
            seq,
            branch,
            step: self.step,
            source: self.line.source,
            plan: self.plan(),
            args,
            turn: self.turn.clone(),
            values,
        })));
        self.standing = Some(if self.frontier.is_idle() { Status::Done } else { Status::Ready });
        Ok(())
    }

    fn encode_args(&self) -> Result<Vec<u8>, Box<End>> {
        let pushes = &self.frontier.pushes;
        if pushes.is_empty() {
            return Ok(Vec::new());
        }
        let args: Vec<Arc<Value>> =
            pushes.iter().map(|push| without_untracked::<S>(&self.schema, &push.send.arg)).collect();
        self.settings.codec.encode(&args).map_err(|error| Box::new(unencodable("send", error)))
    }

    /// The frontier by names.
    fn plan(&self) -> Plan {
        let name = |node| self.topology.name_of(Place::Node(node)).clone();
        let frontier = &self.frontier;
        Plan {
            start: frontier.start,
            tasks: frontier
                .pulls
                .iter()
                .map(|pull| PlannedTask { node: name(pull.node), by_command: pull.by_command })
                .collect(),
            sends: frontier.pushes.iter().map(|push| name(push.send.node)).collect(),
            arrivals: frontier
                .arrivals
                .iter()
                .map(|(join, arrived)| {
                    let join = self.topology.join(*join);
                    Arrivals {
                        sources: join.sources.iter().map(|node| name(*node)).collect(),
                        target: name(join.target),
                        arrived: arrived.iter().map(|node| name(*node)).collect(),
                    }
                })
                .collect(),
            deferred: frontier.deferred.iter().map(|node| name(*node)).collect(),
            last: frontier.last.iter().map(|place| self.topology.name_of(*place).clone()).collect(),
        }
    }

    /// Encodes what a task wrote, if there is a store.
    pub(super) fn encode_output(&self, output: &TaskOutput<S::Update>) -> Result<Vec<u8>, SealError> {
        if self.settings.saving == Saving::Never {
            return Ok(Vec::new());
        }
        encode_output::<S>(&self.schema, &self.topology, output, None, self.settings.codec)
    }

    /// Puts one result on the checkpoint in hand.
    pub(super) fn put_result(&mut self, task: TaskId, node: NodeName, bytes: Vec<u8>) {
        if self.settings.saving != Saving::Never {
            let write = DraftWrite { task, node, kind: WriteKind::Result, path: CallPath::default(), bytes };
            self.put_writes(vec![write]);
        }
    }

    pub(super) fn put_writes(&mut self, writes: Vec<DraftWrite>) {
        if let (Some(on), false) = (self.line.current, writes.is_empty()) {
            self.puts.push_back(Put::Writes { on, writes });
        }
    }

    /// Puts the results that ride in the commit of the next border.
    pub(super) fn put_results(&mut self) {
        match self.purpose {
            Purpose::Run if self.settings.saving == Saving::EveryStep => self.flush_writes(),
            Purpose::Run => {}
            Purpose::Edit { stands_for } => self.put_edit(stands_for),
        }
    }

    /// An edit that does something is recorded as the result of the task it stands for.
    fn put_edit(&mut self, stands_for: Option<TaskId>) {
        let stands_for = stands_for.filter(|_| self.edit_does_something());
        let Some(slot) = self.slots.first_mut() else { return };
        let put = std::mem::replace(&mut slot.put, PutState::Done);
        let node = self.topology.name_of(slot.place).clone();
        if let (Some(task), PutState::Due(bytes)) = (stands_for, put) {
            self.put_result(task, node, bytes);
        }
    }

    fn edit_does_something(&self) -> bool {
        let leads = |slot: &Slot<S>| {
            let (exits, output) = (self.topology.exits(slot.place), slot.output());
            let jumps = output.is_some_and(|output| !output.goto.is_empty() || !output.sends.is_empty());
            jumps || !exits.edges.is_empty() || !exits.joins.is_empty()
        };
        self.wrote_something() || self.slots.first().is_some_and(leads)
    }

    /// Puts the commands given on this checkpoint that are not stored yet.
    pub(super) fn put_patches(&mut self) -> Result<(), SealError> {
        let stored = self.patches.len() - std::mem::take(&mut self.unput_patches);
        let mut writes = Vec::new();
        for (number, patch) in self.patches.iter().enumerate().skip(stored) {
            let (topology, codec) = (&self.topology, self.settings.codec);
            let bytes = encode_output::<S>(&self.schema, topology, &patch.output, Some(patch.digest), codec)?;
            writes.push(DraftWrite {
                task: TaskId::from_bytes([0; 16]),
                node: topology.name_of(Place::Start).clone(),
                kind: WriteKind::Patch,
                path: path_of(&format!("{number}.{}", patch.mark)),
                bytes,
            });
        }
        self.put_writes(writes);
        Ok(())
    }

    /// Puts what the tasks of the step in hand left and is not on its way yet.
    pub(super) fn flush_writes(&mut self) {
        if self.settings.saving == Saving::Never {
            return;
        }
        let mut writes = Vec::new();
        for index in 0..self.slots.len() {
            self.take_writes(index, &mut writes);
        }
        self.put_writes(writes);
    }

    /// What one task left and is not on its way yet.
    pub(super) fn take_writes(&mut self, index: usize, writes: &mut Vec<DraftWrite>) {
        let put = std::mem::replace(&mut self.slots[index].put, PutState::Done);
        if put == PutState::Done {
            return;
        }
        let slot = &self.slots[index];
        let node = self.topology.name_of(slot.place).clone();
        let task = self.identity_of_slot(slot).id();
        let mut add = |kind, path, bytes| writes.push(DraftWrite { task, node: node.clone(), kind, path, bytes });
        if let PutState::Due(bytes) = put {
            add(WriteKind::Result, CallPath::default(), bytes);
        }
        match &slot.phase {
            Phase::Failed { text, .. } => {
                if let Ok(bytes) = self.settings.codec.encode(text) {
                    add(WriteKind::Error, CallPath::default(), bytes);
                }
            }
            Phase::Asked(questions) => {
                for (order, question) in self.new_questions(task, questions) {
                    if let Ok(bytes) = encode_question(question, order, self.settings.codec) {
                        add(WriteKind::Question, path_of(&question.id.to_string()), bytes);
                    }
                }
            }
            _ => {}
        }
    }

    /// The questions that are not stored as they are, with their places among all that their task asked.
    fn new_questions<'q>(
        &self,
        task: TaskId,
        questions: &'q [Question],
    ) -> impl Iterator<Item = (u32, &'q Question)> + use<'_, 'q, S> {
        let known = self.records.get(&task).map_or(&[][..], |record| &record.questions);
        let before = u32::try_from(known.len()).unwrap_or(u32::MAX);
        (before..).zip(questions).filter(|(_, question)| !known.contains(question))
    }

    // ---------------------------------------------------------------- questions carried to a fork

    /// The questions of the tasks that are answered at an old checkpoint, with the answers that led to them.
    pub(super) fn carry_questions(&self, drafts: &[DraftAnswer]) -> Vec<Carried> {
        let mut carried = Vec::new();
        for task in self.planned_tasks() {
            let identity = self.identity_of(task.place, task.path, task.by_command);
            let Some(record) = self.records.get(&identity.id()) else { continue };
            if !drafts.iter().any(|draft| draft.task == identity.id()) {
                continue;
            }
            for (order, question) in (0_u32..).zip(&record.questions) {
                let given = drafts.iter().find(|draft| draft.question.id == question.id);
                let earlier = record.answers.get(&question.id);
                let answer = match (given, earlier) {
                    (Some(draft), _) => Some((Arc::clone(&draft.value), draft.token)),
                    (None, Some(value)) => drafts.first().map(|draft| (Arc::clone(value), draft.token)),
                    (None, None) => None,
                };
                carried.push(Carried {
                    node: self.topology.name_of(task.place).clone(),
                    path: task.path,
                    by_command: task.by_command,
                    question: question.clone(),
                    order,
                    answer,
                });
            }
        }
        carried
    }

    /// Puts carried questions and their answers on the fork in hand.
    pub(super) fn put_carried(&mut self, carried: Vec<Carried>) -> Result<(), Refusal> {
        let Some(on) = self.line.current else { return Ok(()) };
        let (mut writes, mut answers) = (Vec::new(), Vec::new());
        for item in carried {
            let place = self.topology.place(item.node.as_str())?;
            let identity = self.identity_of(place, item.path, item.by_command);
            let question = self.carry_one(&identity, item.question);
            let bytes = encode_question(&question, item.order, self.settings.codec).map_err(Refusal::Unencodable)?;
            let path = path_of(&question.id.to_string());
            let (task, node) = (identity.id(), item.node);
            writes.push(DraftWrite { task, node: node.clone(), kind: WriteKind::Question, path, bytes });
            if let Some((value, token)) = item.answer {
                answers.push(DraftAnswer { task, node, question, value, token });
            }
        }
        self.put_writes(writes);
        self.take_answers(&answers);
        self.puts.push_back(Put::Answers { on, answers });
        Ok(())
    }

    fn carry_one(&mut self, identity: &TaskIdentity, question: Question) -> Question {
        let question = Question { id: identity.question(&question.key), ..question };
        self.records.entry(identity.id()).or_default().questions.push(question.clone());
        question
    }

    // ---------------------------------------------------------------- the end

    /// Ends the call: what is not stored yet is put, the thread's standing is told.
    pub(super) fn finish(&mut self, end: End) {
        if self.purpose != Purpose::Run && !matches!(end, End::Done) {
            return self.undo_edit(end);
        }
        // What cannot be encoded would fail again, or worse, be left out of the checkpoint.
        let end = match end {
            End::Unencodable { .. } => end,
            end => self.put_rest().err().map_or(end, |fault| *fault),
        };
        let standing = match &end {
            End::Interrupted => Some(Status::Waiting),
            End::Paused { .. } => Some(Status::Paused),
            End::Failed { .. } | End::Clash(_) | End::Unencodable { .. } => Some(Status::Failed),
            End::OutOfSteps { .. } => Some(Status::Ready),
            End::Done => self.standing,
        };
        if let (Some(status), true) = (standing, self.settings.saving != Saving::Never) {
            self.puts.push_back(Put::Status { status, next: self.next_names() });
        }
        self.rest.push_back(Effect::Finish(end));
    }

    /// Ends an edit that did not come about: it leaves nothing.
    fn undo_edit(&mut self, end: End) {
        self.puts.clear();
        self.abandoned.clear();
        self.rest.push_back(Effect::Finish(end));
    }

    /// Says that there is work to do, with whatever else a call stores as it begins: so that one left by a dead process
    /// can be told from one that waits. First, since answers are stored as soon as they are put.
    pub(super) fn put_ready(&mut self) {
        if !self.puts.is_empty() {
            self.puts.push_front(Put::Status { status: Status::Ready, next: self.next_names() });
        }
    }

    /// Puts what is not stored yet.
    pub(super) fn put_rest(&mut self) -> Flow {
        if self.settings.saving == Saving::AtExit && self.line.kept == super::line::Kept::InMemory {
            self.put_checkpoint()?;
        }
        if self.unput_patches > 0 {
            self.put_patches().map_err(|error| Box::new(unencodable("command", error)))?;
        }
        self.flush_writes();
        Ok(())
    }
}

fn encode_question(question: &Question, order: u32, codec: superstep_checkpoint::Codec) -> Result<Vec<u8>, SealError> {
    codec.encode(&StoredQuestion {
        key: question.key.clone(),
        order,
        payload: Arc::clone(&question.payload),
        schema: question.schema.clone(),
    })
}

/// The end of a call in which something else than a channel cannot be encoded.
pub(super) fn unencodable(what: &'static str, error: SealError) -> End {
    let channel = ChannelName::new(what).unwrap_or_else(|_| unreachable!("a valid name"));
    End::Unencodable { channel, error }
}

/// A path made of digits and dots.
fn path_of(text: &str) -> CallPath {
    CallPath::new(text).unwrap_or_else(|_| unreachable!("it is a valid path"))
}
