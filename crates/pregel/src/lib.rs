//! The super-step machine of superstep: pure decisions, events in and effects out.
#![cfg_attr(docsrs, feature(doc_cfg))]

mod channel;
mod dyn_state;
pub mod reduce;
mod state;
mod update;

pub use channel::{Changes, ChannelChange, ChannelIndex, ChannelSet, ChannelSpec, How, Kind, Reducer, Side};
pub use dyn_state::{DynSchema, DynSchemaBuilder, DynState, DynUndo, DynUpdate, InvalidSchema, NotAnObject};
pub use state::{Applied, Author, Face, Moment, Rejection, State, WantUndo, Why};
pub use update::Write;
