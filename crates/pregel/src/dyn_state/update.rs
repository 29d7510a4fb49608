//! An update of a state made at run time.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::fold::type_name;
use crate::update::Write;

/// What a node of a dynamic graph writes: a [`Write`] by channel name.
///
/// No value means anything but itself: whether it overwrites is said by the method, never by a key of an object.
///
/// ```
/// use serde_json::json;
/// use superstep_pregel::{DynUpdate, Write};
///
/// let update = DynUpdate::new().set("approved", true).overwrite("log", json!(["cut"]));
/// assert_eq!(update.get("log"), Some(&Write::Overwrite(json!(["cut"]))));
/// assert_eq!(DynUpdate::try_from(json!({ "approved": true }))?, DynUpdate::new().set("approved", true));
/// # Ok::<(), superstep_pregel::NotAnObject>(())
/// ```
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct DynUpdate(BTreeMap<String, Write<Value>>);

impl DynUpdate {
    /// An update that writes nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts the values of an object.
    pub fn from_object(object: Map<String, Value>) -> Self {
        Self(object.into_iter().map(|(name, value)| (name, Write::Put(value))).collect())
    }

    /// Writes a value to a channel, through its reducer. A second write of the same update to a channel replaces the
    /// first.
    #[must_use]
    pub fn set(self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.write(name, Write::Put(value.into()))
    }

    /// Replaces the value of a channel.
    #[must_use]
    pub fn overwrite(self, name: impl Into<String>, value: impl Into<Value>) -> Self {
        self.write(name, Write::Overwrite(value.into()))
    }

    /// Writes to a channel.
    #[must_use]
    pub fn write(mut self, name: impl Into<String>, write: Write<Value>) -> Self {
        self.0.insert(name.into(), write);
        self
    }

    /// What is written to a channel.
    pub fn get(&self, name: &str) -> Option<&Write<Value>> {
        self.0.get(name)
    }

    /// Whether nothing is written.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The writes, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Write<Value>)> {
        self.0.iter().map(|(name, write)| (name.as_str(), write))
    }

    pub(super) fn into_writes(self) -> impl Iterator<Item = (String, Write<Value>)> {
        self.0.into_iter()
    }
}

/// Shows which channels are written and how, but no values.
impl fmt::Debug for DynUpdate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let writes = self.iter().map(|(name, write)| (name, write.as_ref().map(|value| Shape(Some(value)))));
        f.debug_map().entries(writes).finish()
    }
}

/// A value of which only the kind is shown.
pub(super) struct Shape<'a>(pub(super) Option<&'a Value>);

impl fmt::Debug for Shape<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(Value::Array(items)) => write!(f, "list of {}", items.len()),
            Some(value) => f.write_str(type_name(value)),
            None => f.write_str("absent"),
        }
    }
}

impl From<Map<String, Value>> for DynUpdate {
    fn from(object: Map<String, Value>) -> Self {
        Self::from_object(object)
    }
}

impl TryFrom<Value> for DynUpdate {
    type Error = NotAnObject;

    fn try_from(value: Value) -> Result<Self, NotAnObject> {
        match value {
            Value::Object(object) => Ok(Self::from_object(object)),
            other => Err(NotAnObject { found: type_name(&other) }),
        }
    }
}

/// A JSON value that is no object cannot be an update.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an update is an object of channels and values, not {found}")]
#[non_exhaustive]
pub struct NotAnObject {
    /// What kind of value it is.
    pub found: &'static str,
}
