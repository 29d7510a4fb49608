//! Everything a node may return.

use std::fmt;

use serde_json::{Map, Value};
use smallvec::{SmallVec, smallvec};
use superstep_pregel::{DynState, DynUpdate, State};

use super::command::{Command, Scope};
use crate::error::NodeError;
use crate::node::Route;

/// What a node gave back, names not resolved yet.
pub struct NodeOutput<U> {
    pub(crate) updates: SmallVec<[U; 1]>,
    pub(crate) routes: Vec<Route>,
}

impl<U> Default for NodeOutput<U> {
    fn default() -> Self {
        Self { updates: SmallVec::new(), routes: Vec::new() }
    }
}

impl<U> fmt::Debug for NodeOutput<U> {
    /// Shows where it leads, not what it writes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeOutput").field("updates", &self.updates.len()).field("routes", &self.routes).finish()
    }
}

/// An update and nothing else.
impl<U> From<U> for NodeOutput<U> {
    fn from(update: U) -> Self {
        Self { updates: smallvec![update], routes: Vec::new() }
    }
}

/// What a node may return: the update type of its state, `()`, a [`Command`], an `Option` or `Vec` of those, or a
/// `Result` of those with any error.
///
/// Of a `Vec` all updates are applied, in order. `None` and `()` write nothing.
#[diagnostic::on_unimplemented(
    message = "a node of a graph over `{S}` cannot return `{Self}`",
    label = "not an output of a node over `{S}`",
    note = "return the update of the state (the type that `#[derive(State)]` makes, `DynUpdate` for `DynState`), `()`, \
            a `Command` of that update, or an `Option` or a `Vec` of those",
    note = "or a `Result` of those: `NodeResult<..>` takes any error with `?`",
    note = "a `Resume` is for callers: a node goes on with `Command::goto(..)`"
)]
pub trait IntoOutput<S: State> {
    /// What the engine does with it.
    ///
    /// # Errors
    /// The node's own error, or what is wrong with its output.
    fn into_output(self) -> Result<NodeOutput<S::Update>, NodeError>;
}

impl<S: State> IntoOutput<S> for () {
    fn into_output(self) -> Result<NodeOutput<S::Update>, NodeError> {
        Ok(NodeOutput::default())
    }
}

impl<S: State> IntoOutput<S> for Command<S::Update> {
    fn into_output(self) -> Result<NodeOutput<S::Update>, NodeError> {
        if self.scope() == Scope::Parent {
            return Err(NodeError::msg("the command is for the graph around this one, but this one is no subgraph"));
        }
        let (updates, routes) = self.into_parts();
        Ok(NodeOutput { updates: updates.into(), routes })
    }
}

impl<S: State, T: IntoOutput<S>> IntoOutput<S> for Option<T> {
    fn into_output(self) -> Result<NodeOutput<S::Update>, NodeError> {
        self.map_or_else(|| Ok(NodeOutput::default()), T::into_output)
    }
}

impl<S: State, T: IntoOutput<S>, E: Into<NodeError>> IntoOutput<S> for Result<T, E> {
    fn into_output(self) -> Result<NodeOutput<S::Update>, NodeError> {
        self.map_err(Into::into)?.into_output()
    }
}

impl<S: State, T: IntoOutput<S>> IntoOutput<S> for Vec<T> {
    fn into_output(self) -> Result<NodeOutput<S::Update>, NodeError> {
        let mut all = NodeOutput::default();
        for part in self {
            let part = part.into_output()?;
            all.updates.extend(part.updates);
            all.routes.extend(part.routes);
        }
        Ok(all)
    }
}

impl IntoOutput<DynState> for DynUpdate {
    fn into_output(self) -> Result<NodeOutput<DynUpdate>, NodeError> {
        Ok(self.into())
    }
}

impl IntoOutput<DynState> for Map<String, Value> {
    fn into_output(self) -> Result<NodeOutput<DynUpdate>, NodeError> {
        DynUpdate::from(self).into_output()
    }
}

/// An object of channels and values; anything else fails the node.
impl IntoOutput<DynState> for Value {
    fn into_output(self) -> Result<NodeOutput<DynUpdate>, NodeError> {
        DynUpdate::try_from(self)?.into_output()
    }
}
