//! What is stored of each channel, and what is still to be.

use std::collections::BTreeMap;

use smallvec::SmallVec;
use superstep_checkpoint::{Codec, PartKind};

use crate::channel::{Changes, ChannelChange, ChannelIndex, ChannelSet, ChannelSpec, How, Kind};
use crate::effect::{DraftValue, End};
use crate::position::StoredSize;
use crate::state::State;

use super::line::OpensBranch;

/// Bytes of an envelope before its body.
const HEADER: usize = 3;

/// The books of a call about its channels.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// Channels that have a value in a store or will have one.
    written: ChannelSet,
    /// What is stored on the branch in hand.
    sizes: BTreeMap<ChannelIndex, StoredSize>,
    /// What changed since the last stored border.
    changed: BTreeMap<ChannelIndex, How>,
    branch: BranchState,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum BranchState {
    /// The next stored border opens a branch and carries every channel.
    #[default]
    New,
    Going,
}

impl Ledger {
    pub(super) fn new(written: ChannelSet, sizes: BTreeMap<ChannelIndex, StoredSize>) -> Self {
        Self { written, sizes, changed: BTreeMap::new(), branch: BranchState::Going }
    }

    /// The next stored border opens a branch.
    pub(super) fn open_branch(&mut self) {
        self.branch = BranchState::New;
    }

    pub(super) fn opens_branch(&self) -> OpensBranch {
        if self.branch == BranchState::New { OpensBranch::Yes } else { OpensBranch::No }
    }

    /// Notes what a batch changed.
    pub(super) fn note(&mut self, specs: &[ChannelSpec], changes: &Changes) {
        for change in changes {
            if specs[change.channel.get()].kind != Kind::Untracked {
                self.note_one(*change);
            }
        }
    }

    fn note_one(&mut self, change: ChannelChange) {
        if change.how == How::Cleared {
            self.written.remove(change.channel);
        } else {
            self.written.insert(change.channel);
        }
        let how = match (self.changed.get(&change.channel), change.how) {
            // Something was added after something added: the stored part still ends where it ended.
            (Some(before @ How::Appended { .. }), How::Appended { .. }) => *before,
            (Some(How::Set | How::Cleared), How::Appended { .. }) => How::Set,
            (_, now) => now,
        };
        self.changed.insert(change.channel, how);
    }

    /// Encodes what the next stored border carries, and takes it as stored.
    pub(super) fn settle<S: State>(
        &mut self,
        state: &S,
        schema: &S::Schema,
        codec: Codec,
    ) -> Result<SmallVec<[DraftValue; 4]>, Box<End>> {
        let mut values = SmallVec::new();
        let changed = self.due();
        for (channel, how) in changed {
            let spec = &S::channels(schema)[channel.get()];
            let fault = |error| Box::new(End::Unencodable { channel: spec.name.clone(), error });
            if let Some((kind, bytes)) = self.encode(state, schema, codec, channel, how).map_err(fault)? {
                values.push(DraftValue { channel: spec.name.clone(), kind, bytes });
            }
        }
        self.branch = BranchState::Going;
        self.changed.clear();
        Ok(values)
    }

    fn due(&mut self) -> Vec<(ChannelIndex, How)> {
        if self.branch == BranchState::Going {
            return self.changed.iter().map(|(channel, how)| (*channel, *how)).collect();
        }
        self.sizes.clear();
        self.written.iter().map(|channel| (channel, How::Set)).collect()
    }

    fn encode<S: State>(
        &mut self,
        state: &S,
        schema: &S::Schema,
        codec: Codec,
        channel: ChannelIndex,
        how: How,
    ) -> Result<Option<(PartKind, Vec<u8>)>, superstep_checkpoint::SealError> {
        if how == How::Cleared {
            return Ok(self.sizes.remove(&channel).map(|_| (PartKind::Cleared, Vec::new())));
        }
        if let How::Appended { .. } = how
            && let Some(size) = self.sizes.get_mut(&channel)
        {
            let segment = state.encode(schema, ChannelChange { channel, how }, codec)?;
            let segments = size.segments + segment.len() - HEADER;
            // A base once the segments outweigh the last one: bytes stay proportional to what was added, and a read
            // takes at most twice the value.
            if segments <= size.base {
                size.segments = segments;
                return Ok(Some((PartKind::Segment, segment)));
            }
        }
        let base = state.encode(schema, ChannelChange { channel, how: How::Set }, codec)?;
        self.sizes.insert(channel, StoredSize { base: base.len() - HEADER, segments: 0 });
        Ok(Some((PartKind::Base, base)))
    }
}
