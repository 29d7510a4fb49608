//! A task of its own, with what it gets.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

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
#[derive(Clone, PartialEq)]
pub struct Dispatch {
    node: String,
    /// The text of the error, where the value has no JSON form.
    arg: Result<Value, String>,
}

impl Dispatch {
    /// A task at this node with this value.
    pub fn to(node: impl Into<String>, arg: impl Serialize) -> Self {
        let arg = serde_json::to_value(arg).map_err(|error| error.to_string());
        Self { node: node.into(), arg }
    }

    /// The node.
    pub fn node(&self) -> &str {
        &self.node
    }

    /// What it gets.
    ///
    /// # Errors
    /// If the value has no JSON form.
    pub(crate) fn into_arg(self) -> Result<Value, serde_json::Error> {
        self.arg.map_err(serde::ser::Error::custom)
    }

    /// What it gets; `None` if it has no JSON form.
    pub(crate) fn arg_json(&self) -> Option<&Value> {
        self.arg.as_ref().ok()
    }

    /// Why the value has no JSON form, if so.
    pub(crate) fn fault(&self) -> Option<&str> {
        self.arg.as_ref().err().map(String::as_str)
    }
}

impl fmt::Debug for Dispatch {
    /// Shows where it goes, not what it carries.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Dispatch({:?})", self.node)
    }
}
