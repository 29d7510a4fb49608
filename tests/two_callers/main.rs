//! Several callers on one thread: of one process, of two, and callers that went away.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../support/children.rs"]
mod children;
#[path = "../support/gated.rs"]
mod gated;
#[path = "../support/history.rs"]
mod history;
#[path = "../support/polls.rs"]
mod polls;

mod answers;
mod busy;
mod deleted;
mod dropped;
mod hammer;
mod rounds;
mod two_questions;
