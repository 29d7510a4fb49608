//! How a derived state checks and applies batches.

use std::fmt;
use std::marker::PhantomData;

use smallvec::SmallVec;
use superstep_checkpoint::ChannelName;

use super::row::{Row, Undone};
use super::{Fresh, Typed};
use crate::channel::{ChannelChange, ChannelIndex, ChannelSet, How};
use crate::state::{Applied, Author, Moment, Rejection, WantUndo};

/// What takes a batch of a derived state back.
pub struct Undo<S> {
    changes: Vec<(ChannelIndex, Undone)>,
    state: PhantomData<fn(S)>,
}

impl<S> fmt::Debug for Undo<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.changes.iter().map(|(channel, _)| channel)).finish()
    }
}

fn row<S: Typed>(channel: ChannelIndex) -> &'static Row<S> {
    &S::ROWS[channel.get()]
}

/// Adds the channels that an update writes.
pub fn written<S: Typed>(update: &S::Update, set: &mut ChannelSet) {
    for (channel, row) in (0..).map(ChannelIndex).zip(S::ROWS) {
        if (row.is_written)(update) {
            set.insert(channel);
        }
    }
}

fn written_by_all<'a, S: Typed>(updates: impl IntoIterator<Item = &'a S::Update>) -> ChannelSet {
    let mut set = ChannelSet::default();
    updates.into_iter().for_each(|update| written::<S>(update, &mut set));
    set
}

/// Whether a batch can be applied.
///
/// # Errors
/// [`Rejection`] of the first channel with a fault.
pub fn check<S: Typed>(state: &S, batch: &[(Author, &S::Update)]) -> Result<(), Rejection> {
    let mut fresh = Fresh::new();
    for channel in written_by_all::<S>(batch.iter().map(|(_, update)| *update)).iter() {
        (row::<S>(channel).check)(state, batch, &mut fresh).map_err(|fault| Rejection {
            channel: name::<S>(channel),
            why: fault.why,
            authors: fault.authors,
        })?;
    }
    Ok(())
}

fn name<S: Typed>(channel: ChannelIndex) -> ChannelName {
    S::specs()[channel.get()].name.clone()
}

/// Applies a checked batch.
pub fn apply<S: Typed>(
    state: &mut S,
    mut batch: SmallVec<[S::Update; 2]>,
    moment: Moment,
    undo: WantUndo,
) -> Applied<Undo<S>> {
    let mut done = Done { fresh: Fresh::new(), changes: SmallVec::new(), undone: Vec::new() };
    let written = written_by_all::<S>(&batch);
    for channel in touched::<S>(&written, moment).iter() {
        if written.contains(channel) {
            let (how, undone) = (row::<S>(channel).apply)(state, &mut batch, &mut done.fresh, undo);
            done.push(channel, how, undone);
        } else {
            done.clear(state, channel);
        }
    }
    let changes = done.undone;
    let undo = (undo == WantUndo::Yes).then_some(Undo { changes, state: PhantomData });
    Applied { changes: done.changes, undo }
}

/// The channels written, and at the end of a step those which go if they are not.
fn touched<S: Typed>(written: &ChannelSet, moment: Moment) -> ChannelSet {
    let mut set = written.clone();
    if moment == Moment::Step {
        for channel in S::FLEETING {
            set.insert(ChannelIndex(*channel));
        }
    }
    set
}

struct Done<S> {
    fresh: Fresh<S>,
    changes: SmallVec<[ChannelChange; 4]>,
    undone: Vec<(ChannelIndex, Undone)>,
}

impl<S: Typed> Done<S> {
    fn push(&mut self, channel: ChannelIndex, how: How, undone: Option<Undone>) {
        self.changes.push(ChannelChange { channel, how });
        self.undone.extend(undone.map(|undone| (channel, undone)));
    }

    fn clear(&mut self, state: &mut S, channel: ChannelIndex) {
        let row = row::<S>(channel);
        if row.is_fresh.is_some_and(|is_fresh| !is_fresh(state, &mut self.fresh)) {
            let undone = (row.clear)(state, &mut self.fresh);
            self.push(channel, How::Cleared, Some(undone));
        }
    }
}

/// Takes a batch back.
pub fn undo<S: Typed>(state: &mut S, undo: Undo<S>) {
    for (channel, undone) in undo.changes {
        (row::<S>(channel).undo)(state, undone);
    }
}
