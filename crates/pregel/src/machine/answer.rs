//! Answers: which question they are for, and how a call goes on with them.

use std::sync::Arc;

use serde_json::Value;
use superstep_checkpoint::{AnswerToken, LineageId, QuestionId};

use crate::effect::{Answers, DraftAnswer, Put, Refusal};
use crate::position::Patch;
use crate::state::State;

use super::{Flow, Machine, Mint};

type NamedAnswer = (QuestionId, Arc<Value>, AnswerToken);

impl<S: State> Machine<S> {
    pub(super) fn answer(
        &mut self,
        answers: Answers,
        patch: Option<Patch<S::Update>>,
        mint: Mint<'_>,
    ) -> Result<Flow, Refusal> {
        let Some(on) = self.line.current else { return Err(Refusal::NothingToResume) };
        if let Some(patch) = &patch {
            self.check_patch(patch)?;
        }
        let replay = self.old_lineage();
        let answers = self.match_answers(answers, replay)?;
        if let Some(lineage) = replay {
            return self.answer_old(lineage, &answers, patch, mint);
        }
        if let Some(patch) = patch {
            // Stored with the answers: neither counts without the other.
            self.add_patch(patch);
            self.unput_patches += 1;
            self.put_patches().map_err(Refusal::Unencodable)?;
        }
        self.take_answers(&answers);
        self.puts.push_back(Put::Answers { on, answers });
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
        if let Some(patch) = patch {
            self.add_patch(patch);
        }
        if let Err(end) = self.fork(Some(lineage), mint) {
            return Ok(Err(end));
        }
        self.put_carried(carried)?;
        Ok(self.take_up(None, mint))
    }

    // ---------------------------------------------------------------- which question

    /// Finds the questions that answers are for. At an old checkpoint the questions shown there count as open.
    fn match_answers(&self, answers: Answers, replay: Option<LineageId>) -> Result<Vec<DraftAnswer>, Refusal> {
        match answers {
            Answers::Plain(value, token) => self.match_plain(value, token, replay).map(|draft| vec![draft]),
            Answers::Named(answers) if answers.is_empty() => Err(Refusal::EmptyAnswers),
            Answers::Named(answers) => self.match_named(answers, replay),
        }
    }

    fn match_plain(
        &self,
        value: Arc<Value>,
        token: AnswerToken,
        replay: Option<LineageId>,
    ) -> Result<DraftAnswer, Refusal> {
        let mut open = self.questions(replay);
        match open.len() {
            0 => Err(self.nothing_open()),
            1 => {
                let (task, node, question) = open.remove(0);
                Ok(DraftAnswer { task, node, question, value, token })
            }
            _ => Err(Refusal::AmbiguousAnswer { open: open.iter().map(|(_, _, question)| question.id).collect() }),
        }
    }

    fn match_named(&self, answers: Vec<NamedAnswer>, replay: Option<LineageId>) -> Result<Vec<DraftAnswer>, Refusal> {
        let mut open = self.questions(replay);
        let mut drafts = Vec::with_capacity(answers.len());
        for (id, value, token) in answers {
            let found = open.iter().position(|(_, _, question)| question.id == id);
            let (task, node, question) = open.swap_remove(found.ok_or_else(|| self.not_open(id))?);
            drafts.push(DraftAnswer { task, node, question, value, token });
        }
        Ok(drafts)
    }

    /// What to say of a plain answer where no question is open.
    fn nothing_open(&self) -> Refusal {
        let mut unfinished = self.planned().into_iter().filter(|task| self.finished(task).is_none());
        let asked = unfinished.find_map(|task| self.records.get(&task.id)?.questions.last());
        asked.map_or(Refusal::NothingToResume, |question| Refusal::AlreadyAnswered { question: question.id })
    }

    /// What to say of an answer to a question that is not open.
    fn not_open(&self, id: QuestionId) -> Refusal {
        let asked = self.records.values().any(|record| record.questions.iter().any(|question| question.id == id));
        if asked { Refusal::AlreadyAnswered { question: id } } else { Refusal::UnknownQuestion { question: id } }
    }
}
