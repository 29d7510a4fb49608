//! What nodes give back and what callers answer with.

mod command;
mod dispatch;
mod into_output;
mod resume;

pub use command::Command;
pub(crate) use command::Scope;
pub use dispatch::Dispatch;
pub use into_output::{IntoOutput, NodeOutput};
pub use resume::{NoUpdate, Resume};
