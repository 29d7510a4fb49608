//! The checks of a commit against what is stored, in the order that the contract gives. Nothing is changed here.

use super::space::Space;
use super::thread::Thread;
use crate::commit::{Answer, Commit, Expect, Fence, Op};
use crate::error::{CommitError, FoundHead};
use crate::id::{CallPath, CheckpointId, Epoch, OwnerId};
use crate::write::{Write, WriteKind};

impl Thread {
    /// Whether the commit may be applied.
    pub(super) fn check(&self, commit: &Commit) -> Result<(), CommitError> {
        let space = self.spaces.get(&commit.key.namespace);
        check_answered(commit, space)?;
        self.check_fence(commit)?;
        self.check_head(commit, space, commit.guard.head)?;
        if let Some(root) = commit.guard.root {
            self.check_head(commit, self.spaces.get(""), root)?;
        }
        check_stored(commit, space)
    }

    /// The epoch and the holder; without a row 0 and nobody.
    fn held(&self) -> (Epoch, Option<OwnerId>) {
        self.row.as_ref().map(|row| (row.epoch, row.owner)).unwrap_or_default()
    }

    fn check_fence(&self, commit: &Commit) -> Result<(), CommitError> {
        let (epoch, owner) = self.held();
        let fence = commit.guard.fence;
        let allowed = match owner {
            Some(owner) => fence == Some(Fence { epoch, owner }),
            None => fence.is_none() && !commit.ops.iter().any(|op| matches!(op, Op::Release)),
        };
        if allowed { Ok(()) } else { Err(CommitError::Fenced { thread: commit.key.thread.clone(), epoch }) }
    }

    fn check_head(&self, commit: &Commit, space: Option<&Space>, expected: Expect) -> Result<(), CommitError> {
        let head = space.and_then(Space::row).map(|row| row.head);
        let as_expected = match expected {
            Expect::Head(id) => head == Some(id),
            Expect::Empty(epoch) => head.is_none() && epoch == self.call_epoch(),
        };
        if as_expected {
            return Ok(());
        }
        Err(CommitError::HeadMoved { thread: commit.key.thread.clone(), found: self.found(head) })
    }

    /// The epoch that a commit to a namespace without checkpoints must name.
    fn call_epoch(&self) -> Epoch {
        self.row.as_ref().map(crate::thread::ThreadRow::next_call_epoch).unwrap_or_default()
    }

    fn found(&self, head: Option<CheckpointId>) -> FoundHead {
        match head {
            Some(id) => FoundHead::Head(id),
            None if self.row.as_ref().is_some_and(|row| row.deleted) => FoundHead::Deleted,
            None => FoundHead::Nothing,
        }
    }
}

fn check_answered(commit: &Commit, space: Option<&Space>) -> Result<(), CommitError> {
    let Some(space) = space else { return Ok(()) };
    for op in &commit.ops {
        if let Op::Answer(answer) = op
            && space.has_record(answer, WriteKind::Answer)
        {
            return Err(CommitError::AlreadyAnswered { thread: commit.key.thread.clone(), question: answer.question });
        }
    }
    Ok(())
}

/// What only the store can know: positions and ids in use, questions that exist. After the guard, so that a stale
/// commit is called stale and not wrong.
fn check_stored(commit: &Commit, space: Option<&Space>) -> Result<(), CommitError> {
    let last_seq = space.and_then(Space::row).map(|row| row.last_seq).unwrap_or_default();
    for (i, op) in commit.ops.iter().enumerate() {
        match op {
            Op::PutCheckpoint(new) => {
                let (id, seq) = (new.checkpoint.id, new.checkpoint.seq);
                if seq <= last_seq {
                    return Err(commit.invalid(format!("position {seq} is not after the last one, {last_seq}")));
                }
                if space.is_some_and(|space| space.contains(id)) {
                    return Err(commit.invalid(format!("there is a checkpoint {id} already")));
                }
            }
            Op::Answer(answer) => {
                let stands = space.is_some_and(|space| space.has_record(answer, WriteKind::Question));
                if !stands && !asked(&commit.ops[..i], answer) {
                    let Answer { question, checkpoint, .. } = answer;
                    return Err(commit.invalid(format!("there is no question {question} on checkpoint {checkpoint}")));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// Whether the question is put by one of these ops: a fork takes its questions along and answers one in one commit.
fn asked(before: &[Op], answer: &Answer) -> bool {
    let path = CallPath::from(answer.question);
    let is_it = |write: &Write| write.kind == WriteKind::Question && write.task == answer.task && write.path == path;
    before.iter().any(|op| match op {
        Op::PutWrites { checkpoint, writes } => *checkpoint == answer.checkpoint && writes.iter().any(is_it),
        _ => false,
    })
}
