//! Short ways to use a derived state.

#![allow(dead_code, reason = "not every test uses all of it")]

use smallvec::SmallVec;
use superstep_checkpoint::Codec;
use superstep_pregel::{Applied, Author, ChannelChange, ChannelIndex, How, Moment, Rejection, State, WantUndo, Why};

pub(crate) fn new<S: State<Schema = ()>>() -> S {
    S::initial(&())
}

pub(crate) fn check<S: State<Schema = ()>>(state: &S, updates: &[S::Update]) -> Result<(), Rejection> {
    let batch: Vec<_> = (0..).map(Author).zip(updates).collect();
    state.check(&(), &batch)
}

pub(crate) fn step<S: State<Schema = ()>>(state: &mut S, updates: &[S::Update]) -> Applied<S::Undo> {
    check(state, updates).unwrap();
    state.apply(&(), SmallVec::from_vec(updates.to_vec()), Moment::Step, WantUndo::Yes)
}

/// The channel, what is wrong, whose fault it is.
pub(crate) fn refused<S: State<Schema = ()>>(state: &S, updates: &[S::Update]) -> (String, Why, Vec<u32>) {
    let rejection = check(state, updates).unwrap_err();
    (rejection.channel.to_string(), rejection.why, rejection.authors.iter().map(|author| author.0).collect())
}

pub(crate) fn changes<U>(applied: &Applied<U>) -> Vec<(u16, How)> {
    applied.changes.iter().map(|change| (change.channel.0, change.how)).collect()
}

/// The stored form of a channel's value.
pub(crate) fn body<S: State<Schema = ()>>(state: &S, channel: u16, how: How) -> Vec<u8> {
    let change = ChannelChange { channel: ChannelIndex(channel), how };
    state.encode(&(), change, Codec::Json).unwrap().split_off(3)
}

/// The state that the stored values of all channels of this one give.
pub(crate) fn reload<S: State<Schema = ()>>(state: &S) -> S {
    let mut loaded = new::<S>();
    for (channel, _) in (0..).zip(S::channels(&())) {
        let body = body(state, channel, How::Set);
        loaded.decode(&(), ChannelIndex(channel), &[(Codec::Json, &body)]).unwrap();
    }
    loaded
}

/// The update that the stored form of this one gives.
pub(crate) fn reload_update<S: State<Schema = ()>>(update: &S::Update) -> S::Update {
    let bytes = S::encode_update(&(), update, Codec::Json).unwrap();
    S::decode_update(&(), Codec::Json, &bytes[3..]).unwrap()
}
