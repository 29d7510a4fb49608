//! The async driver: tells the machine what happens, and does what it wants done.
//!
//! An `if` about the meaning of a graph does not belong here; it belongs into the machine.

pub(crate) mod busy;
pub(crate) mod call;
mod commit;
mod drive;
mod open;
mod resolve;
pub(crate) mod seal;
mod tasks;
mod writer;

pub(crate) use busy::SharedBusy;
pub(crate) use drive::{Drive, Parts};
pub(crate) use open::{Opened, open, read};
pub(crate) use writer::Writer;
