//! What `#[node]` asserts, each part of a function by itself, so that an error stands at that part.

use superstep_pregel::State;

use crate::node::FromTask;
use crate::output::IntoOutput;

/// The type is a parameter of a node over `S`.
pub const fn assert_extractor<S: State, T: FromTask<S>>() {}

/// The type may be returned by a node over `S`.
pub const fn assert_output<S: State, T: IntoOutput<S>>() {}

/// The type behind a first parameter `&T` is the state.
pub const fn assert_state<S: State, T: Is<S> + ?Sized>() {}

/// The future of a node may move between threads.
pub const fn assert_future<F: Future + Send>(_: &F) {}

/// Two types are one.
#[diagnostic::on_unimplemented(
    message = "a node over `{S}` cannot take `&{Self}`",
    label = "not the state `{S}`",
    note = "of references a node takes only `&{S}`, and only as its first parameter"
)]
pub trait Is<S> {}

impl<S> Is<S> for S {}
