//! Calls as numbers, for gates on cost.

use super::call::{Call, OpSummary};

/// How often a store was called, and what was handed over to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Commits.
    pub commits: usize,
    /// Looks at one checkpoint.
    pub gets: usize,
    /// Listings.
    pub lists: usize,
    /// Deletions.
    pub deletes: usize,
    /// Checkpoints put.
    pub checkpoints: usize,
    /// Records put, without answers.
    pub records: usize,
    /// Parts of channels put.
    pub parts: usize,
    /// Answers put.
    pub answers: usize,
    /// Bytes of values.
    pub value_bytes: usize,
    /// Bytes of arguments of Sends.
    pub args_bytes: usize,
    /// Bytes of records and answers.
    pub record_bytes: usize,
}

impl Counts {
    pub(super) fn of(calls: &[Call]) -> Self {
        let mut counts = Self::default();
        for call in calls {
            counts.add(call);
        }
        counts
    }

    /// Waits for the store: commits, looks and listings.
    pub const fn round_trips(&self) -> usize {
        self.commits + self.gets + self.lists
    }

    /// All bytes handed over.
    pub const fn bytes(&self) -> usize {
        self.value_bytes + self.args_bytes + self.record_bytes
    }

    fn add(&mut self, call: &Call) {
        match call {
            Call::Commit(commit) => {
                self.commits += 1;
                commit.ops.iter().for_each(|op| self.add_op(op));
            }
            Call::Get { .. } => self.gets += 1,
            Call::List { .. } => self.lists += 1,
            Call::Delete { .. } => self.deletes += 1,
        }
    }

    fn add_op(&mut self, op: &OpSummary) {
        match op {
            OpSummary::Checkpoint { values, args, .. } => {
                self.checkpoints += 1;
                self.parts += values.len();
                self.value_bytes += op.bytes() - args;
                self.args_bytes += args;
            }
            OpSummary::Writes { records, .. } => {
                self.records += records.len();
                self.record_bytes += op.bytes();
            }
            OpSummary::Answer { .. } => {
                self.answers += 1;
                self.record_bytes += op.bytes();
            }
            _ => {}
        }
    }
}
