//! A state whose channels are made at run time, for graphs described by data.

mod fold;
mod order;
mod schema;
mod state;
mod storage;
mod update;

#[cfg(test)]
mod tests;

use std::fmt;
use std::ops::Index;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value};

pub use schema::{DynSchema, DynSchemaBuilder, InvalidSchema};
pub use state::DynUndo;
pub use update::{DynUpdate, NotAnObject};

/// Channels by name, each with a JSON value or without one.
///
/// Channels with a reducer begin as `[]`, `""`, `0` or `{}`, see [`DynSchemaBuilder`]; the others are absent until
/// written, which is not the same as null.
///
/// ```
/// use superstep_pregel::{DynSchema, DynState, State};
///
/// let schema = DynSchema::new().last("order").append("log").build()?;
/// let state = DynState::initial(&schema);
/// assert!(state.get("order").is_none());
/// assert!(state["log"].as_array().unwrap().is_empty());
/// # Ok::<(), superstep_pregel::InvalidSchema>(())
/// ```
#[derive(Clone)]
pub struct DynState {
    schema: DynSchema,
    values: Vec<Option<Value>>,
}

impl DynState {
    /// The value of a channel; `None` where it has none or there is no such channel.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.values[self.schema.index(name)?.get()].as_ref()
    }

    /// The channels that have a value, in the order of the schema.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        let named = self.schema.channels().iter().zip(&self.values);
        named.filter_map(|(spec, value)| Some((spec.name.as_str(), value.as_ref()?)))
    }

    /// The channels that have a value, as one object.
    pub fn to_object(&self) -> Map<String, Value> {
        self.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }

    /// The schema.
    pub fn schema(&self) -> &DynSchema {
        &self.schema
    }
}

/// The value of a channel, null where [`DynState::get`] gives `None`.
impl Index<&str> for DynState {
    type Output = Value;

    fn index(&self, name: &str) -> &Value {
        self.get(name).unwrap_or(&Value::Null)
    }
}

/// Two states are equal if the same channels have equal values.
impl PartialEq for DynState {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// The channels that have a value, as one object.
impl Serialize for DynState {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

/// Shows the channels and the kinds of their values, but no values.
impl fmt::Debug for DynState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = self.schema.channels().iter().zip(&self.values);
        f.debug_map().entries(named.map(|(spec, value)| (&spec.name, update::Shape(value.as_ref())))).finish()
    }
}
