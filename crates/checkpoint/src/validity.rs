//! What makes a commit invalid in itself, whatever is stored. One rule for all stores.

use std::collections::HashSet;

use crate::commit::{Answer, Change, Commit, Expect, NewCheckpoint, Op, PartKind};
use crate::error::CommitError;
use crate::id::{ChannelName, CheckpointId, Seq};
use crate::write::{Write, WriteKind};

/// Up to so many channels, comparing each with each is cheaper than a set.
const FEW: usize = 12;

impl Commit {
    /// Whether the commit contradicts itself. Stores call this before they look at anything stored; what only the
    /// store can know (whether a question exists, whether a position is free) they check after the guard.
    ///
    /// # Errors
    /// [`CommitError::Invalid`] with the reason.
    pub fn check_alone(&self) -> Result<(), CommitError> {
        for (i, op) in self.ops.iter().enumerate() {
            let before = &self.ops[..i];
            match op {
                Op::PutCheckpoint(new) => self.check_checkpoint(new, before)?,
                Op::PutWrites { checkpoint, writes } => self.check_writes(*checkpoint, writes, before)?,
                Op::Answer(answer) => self.check_answer(answer, before)?,
                Op::SetStatus { .. } | Op::Claim { .. } | Op::Release => {}
            }
        }
        Ok(())
    }

    /// The answer to a commit that makes no sense.
    pub fn invalid(&self, reason: impl Into<String>) -> CommitError {
        CommitError::Invalid { thread: self.key.thread.clone(), reason: reason.into() }
    }

    fn check_checkpoint(&self, new: &NewCheckpoint, before: &[Op]) -> Result<(), CommitError> {
        let (id, seq) = (new.checkpoint.id, new.checkpoint.seq);
        if seq == Seq(0) {
            return Err(self.invalid(format!("checkpoint {id} has position 0; they are counted from 1")));
        }
        if self.guard.head == Expect::Head(id) || puts(before).any(|earlier| earlier.checkpoint.id == id) {
            return Err(self.invalid(format!("checkpoint {id} is put twice")));
        }
        if puts(before).any(|earlier| earlier.checkpoint.seq >= seq) {
            return Err(self.invalid(format!("checkpoint {id} has position {seq}, not after the one before it")));
        }
        if let Some(channel) = twice(&new.values) {
            return Err(self.invalid(format!("checkpoint {id} gives channel {channel:?} twice")));
        }
        match new.values.iter().find(|change| change.kind == PartKind::Cleared && !change.bytes.is_empty()) {
            Some(change) => Err(self.invalid(format!("channel {:?} is cleared and has bytes", change.channel))),
            None => Ok(()),
        }
    }

    fn check_writes(&self, checkpoint: CheckpointId, writes: &[Write], before: &[Op]) -> Result<(), CommitError> {
        let known = self.guard.head == Expect::Head(checkpoint)
            || puts(before).any(|earlier| earlier.checkpoint.id == checkpoint);
        if !known {
            let reason =
                format!("records for checkpoint {checkpoint}, which is neither the expected head nor put here");
            return Err(self.invalid(reason));
        }
        if writes.iter().any(|write| write.kind == WriteKind::Answer) {
            return Err(self.invalid("an answer among the records; it has an op of its own"));
        }
        Ok(())
    }

    fn check_answer(&self, answer: &Answer, before: &[Op]) -> Result<(), CommitError> {
        let again = |op: &Op| matches!(op, Op::Answer(other) if other.same_question(answer));
        if before.iter().any(again) {
            return Err(self.invalid(format!("question {} is answered twice", answer.question)));
        }
        Ok(())
    }
}

impl Answer {
    fn same_question(&self, other: &Self) -> bool {
        (self.checkpoint, self.task, self.question) == (other.checkpoint, other.task, other.question)
    }
}

fn puts(ops: &[Op]) -> impl Iterator<Item = &NewCheckpoint> {
    ops.iter().filter_map(|op| match op {
        Op::PutCheckpoint(new) => Some(&**new),
        _ => None,
    })
}

/// A channel that stands twice among the changes.
fn twice(values: &[Change]) -> Option<&ChannelName> {
    if values.len() <= FEW {
        let again = |(i, change): &(usize, &Change)| values[..*i].iter().any(|other| other.channel == change.channel);
        return values.iter().enumerate().find(again).map(|(_, change)| &change.channel);
    }
    let mut seen = HashSet::with_capacity(values.len());
    values.iter().map(|change| &change.channel).find(|channel| !seen.insert(*channel))
}
