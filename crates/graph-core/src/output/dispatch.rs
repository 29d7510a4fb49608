//! A task of its own, with what it gets.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use crate::error::NodeError;

/// Starts a task of its own at a node and gives it a value, taken there as [`Arg<T>`](crate::Arg). Made by routers, by
/// [`Command::send`](crate::Command::send) and by [`Command::goto`](crate::Command::goto).
///
/// The value is turned into JSON at once. If it has no JSON form, the task that made the `Dispatch` fails with that.
///
/// ```
/// use superstep_graph_core::Dispatch;
///
/// let work: Vec<_> = ["cats", "dogs"].iter().map(|topic| Dispatch::to("write", topic)).collect();
/// assert_eq!(work[1].node(), "write");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Dispatch {
    node: String,
    /// The text of the error, where the value has no JSON form.
    arg: Result<Arc<Value>, String>,
}

impl Dispatch {
    /// A task at this node with this value.
    pub fn to(node: impl Into<String>, arg: impl Serialize) -> Self {
        let arg = serde_json::to_value(arg).map(Arc::new).map_err(|error| error.to_string());
        Self { node: node.into(), arg }
    }

    /// The node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// Node and value.
    ///
    /// # Errors
    /// If the value has no JSON form.
    pub(crate) fn into_parts(self) -> Result<(String, Arc<Value>), NodeError> {
        match self.arg {
            Ok(arg) => Ok((self.node, arg)),
            Err(text) => Err(NodeError::payload(serde::ser::Error::custom(text))),
        }
    }

    /// Why the value has no JSON form, if so.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.arg.as_ref().err().map(String::as_str)
    }
}
