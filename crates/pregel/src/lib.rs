//! The super-step machine of superstep: pure decisions, events in and effects out.
//!
//! A run changes only through [`Machine::handle`]: input, answers, edits, forks and replays go through the same door.
//! What it wants done comes out as [`Effect`]s. The same machine serves every [`State`].
//!
//! # What is deliberately absent
//!
//! No async, no clock, no randomness, no file, no socket. Ids of new checkpoints are given by the caller of `handle`.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod channel;
mod dyn_state;
mod effect;
mod faithful;
mod frontier;
mod identity;
mod machine;
mod output;
mod position;
mod question;
pub mod reduce;
mod signal;
mod snapshot;
mod state;
mod stored;
mod topology;
#[doc(hidden)]
pub mod typed;
mod update;

pub use channel::{Changes, ChannelChange, ChannelIndex, ChannelSet, ChannelSpec, How, Kind, Reducer, Side};
pub use dyn_state::{DynSchema, DynSchemaBuilder, DynState, DynUndo, DynUpdate, InvalidSchema, NotAnObject};
pub use effect::{
    Answers, Basis, DraftAnswer, DraftCheckpoint, DraftValue, DraftWrite, Edit, Effect, End, Event, FailedTask, Input,
    InvalidUpdate, Put, Refusal, Start, TaskFault, TaskIndex,
};
pub use frontier::{Frontier, Passed, Pull, Pulled, Push};
pub use identity::{TaskIdentity, TaskPath, TurnIdentity, digest, first_lineage};
pub use machine::{Abandoned, Ground, Machine, Mint, Pauses, Progress, Saving, Settings, TaskView};
pub use output::{Dispatch, Ended, TaskOutput};
pub use position::{LoadError, LoadReason, Patch, Position, Reader, Record, StoredSize};
pub use question::{Question, QuestionKey};
pub use signal::{Freshness, Signal, TaskAhead, TaskEnd, TaskInfo, TaskInput, Watch};
pub use snapshot::{Snapshot, SnapshotKind, TaskSnapshot};
pub use state::{Applied, Author, Face, Moment, Rejection, State, WantUndo, Why};
pub use topology::{Draft, END, NodeDraft, NodeIndex, Place, Routing, START, Target, Timing, Topology, UnknownNode};
pub use update::Write;

/// What the macros of this crate refer to. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use std::vec::Vec;

    pub use schemars::Schema;
    pub use serde::de::MapAccess;
    pub use serde::ser::SerializeMap;
    pub use serde_json::Value;
    pub use smallvec::SmallVec;
    pub use superstep_checkpoint::{Codec, SealError};
}
