//! The super-step machine of superstep: pure decisions, events in and effects out.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod channel;
mod state;

pub use channel::{Changes, ChannelChange, ChannelIndex, ChannelSet, ChannelSpec, How, Kind, Reducer, Side};
pub use state::{Applied, Author, Face, Moment, Rejection, State, WantUndo, Why};
