//! Reducers: how the writes of one step become one value.
//!
//! Each file is one reducer for typed fields. The rules that all share stand here: an [overwrite](crate::Write) wins
//! over every other write of its step, and whatever is done can be taken back.

pub(crate) mod batch;
mod messages;

pub use batch::Fault;
pub use messages::{Edit, Message};
pub(crate) use messages::{Edited, check_messages, fold_messages, unfold_messages};
