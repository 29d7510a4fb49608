//! The line of checkpoints that a call extends.

use superstep_checkpoint::{Branch, CheckpointId, Seq, Source};

use crate::position::Position;
use crate::state::State;

/// Whether the border in hand is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    Stored,
    InMemory,
}

/// Where on its line a call stands.
#[derive(Debug)]
pub(super) struct Line {
    /// The border in hand.
    pub(super) current: Option<CheckpointId>,
    /// The stored checkpoint before it.
    pub(super) parent: Option<CheckpointId>,
    /// What made it.
    pub(super) source: Source,
    pub(super) kept: Kept,
    pub(super) branch: Branch,
    pub(super) last_seq: Seq,
}

impl Line {
    pub(super) fn new(last_seq: Seq) -> Self {
        Self { current: None, parent: None, source: Source::Input, kept: Kept::Stored, branch: Branch(0), last_seq }
    }

    pub(super) fn stand_at<S: State>(&mut self, position: &Position<S>) {
        self.current = Some(position.id);
        self.parent = position.parent;
        self.source = position.source;
        self.branch = position.branch;
    }

    /// A new border. Its parent is the last one stored.
    pub(super) fn advance(&mut self, id: CheckpointId, source: Source) {
        if self.kept == Kept::Stored {
            self.parent = self.current;
        }
        self.current = Some(id);
        self.source = source;
        self.kept = Kept::InMemory;
    }

    /// The place of the border in hand, now that it is to be stored.
    pub(super) fn store(&mut self, opens_branch: OpensBranch) -> (Seq, Branch) {
        self.last_seq = self.last_seq.next();
        self.kept = Kept::Stored;
        if opens_branch == OpensBranch::Yes {
            self.branch = Branch(self.last_seq.0);
        }
        (self.last_seq, self.branch)
    }
}

/// Whether a checkpoint is the first of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OpensBranch {
    Yes,
    No,
}
