//! One commit, and what to do if its outcome is in doubt.

use std::sync::Arc;

use superstep_checkpoint::{
    Answer, AnswerToken, At, CheckpointId, Checkpointer, Commit, CommitError, NamespaceKey, Op, QuestionId, StoreError,
    Write, WriteKind,
};

/// What shows, in the store, that a commit was applied.
enum Proof {
    /// This checkpoint exists.
    Checkpoint(CheckpointId),
    /// The answer to this question carries this token.
    Answer(QuestionId, AnswerToken),
    /// These records stand on this checkpoint.
    Writes(CheckpointId, Vec<Write>),
    /// Nothing: it only said how the thread stands, which may be said again.
    Nothing,
}

impl Proof {
    fn of(ops: &[Op]) -> Self {
        let checkpoint = ops.iter().find_map(|op| match op {
            Op::PutCheckpoint(new) => Some(Self::Checkpoint(new.checkpoint.id)),
            _ => None,
        });
        checkpoint.unwrap_or_else(|| Self::of_records(ops))
    }

    fn of_records(ops: &[Op]) -> Self {
        let answer = ops.iter().find_map(|op| match op {
            Op::Answer(answer) => Some(Self::Answer(answer.question, answer.token)),
            _ => None,
        });
        answer.unwrap_or_else(|| Self::of_writes(ops))
    }

    fn of_writes(ops: &[Op]) -> Self {
        let mut proof = Self::Nothing;
        for op in ops {
            if let Op::PutWrites { checkpoint, writes } = op {
                match &mut proof {
                    Self::Writes(_, all) => all.extend_from_slice(writes),
                    _ => proof = Self::Writes(*checkpoint, writes.clone()),
                }
            }
        }
        proof
    }

    async fn holds(&self, store: &dyn Checkpointer, key: &NamespaceKey) -> Result<bool, StoreError> {
        let at = match self {
            Self::Checkpoint(id) | Self::Writes(id, _) => At::Id(*id),
            Self::Answer(question, _) => At::Question(*question),
            Self::Nothing => return Ok(false),
        };
        let Some(found) = store.get(key, at).await?.found else { return Ok(false) };
        Ok(match self {
            Self::Answer(question, token) => has_answer(&found.writes, *question, *token),
            Self::Writes(_, writes) => writes.iter().all(|write| found.writes.contains(write)),
            _ => true,
        })
    }
}

fn has_answer(writes: &[Write], question: QuestionId, token: AnswerToken) -> bool {
    let path = question.to_string();
    let answers = writes.iter().filter(|write| write.kind == WriteKind::Answer && write.path == path.as_str());
    answers.filter_map(|write| Answer::split_record(&write.bytes)).any(|(found, _)| found == token)
}

/// Commits. If it is not known whether the store applied it, the store is asked: the random ids in the commit tell.
pub(crate) async fn commit(store: Arc<dyn Checkpointer>, commit: Commit) -> Result<(), CommitError> {
    let (proof, key) = (Proof::of(&commit.ops), commit.key.clone());
    let again = matches!(proof, Proof::Nothing).then(|| commit.clone());
    match (store.commit(commit).await, again) {
        (Err(CommitError::InDoubt { .. }), Some(again)) => store.commit(again).await,
        (Err(CommitError::InDoubt { source, .. }), None) => match proof.holds(&*store, &key).await {
            Ok(true) => Ok(()),
            Ok(false) => Err(CommitError::Store(source)),
            Err(_) => Err(CommitError::InDoubt { thread: key.thread, source }),
        },
        (known, _) => known,
    }
}
