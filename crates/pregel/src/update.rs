//! What a task writes to one channel.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// One write to one channel: put through the channel's reducer, or in place of what is there.
///
/// An `Overwrite` replaces what has gathered so far: of the writes of one step to a channel, plain ones before it in
/// task order are lost and plain ones after it are ignored. Two in one step are an error.
///
/// Its stored form is an object with one key, `{"put": value}` or `{"overwrite": value}`. So a written `None` is not
/// the same as nothing written, and no value of the user's can be taken for the one or the other:
///
/// ```
/// use superstep_pregel::Write;
///
/// let nothing: Option<Write<Option<u8>>> = None;
/// let null: Option<Write<Option<u8>>> = Some(Write::Put(None));
/// assert_eq!(serde_json::to_string(&nothing).unwrap(), "null");
/// assert_eq!(serde_json::to_string(&null).unwrap(), r#"{"put":null}"#);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(clippy::exhaustive_enums, reason = "there is no third way to write")]
pub enum Write<T> {
    /// Goes through the channel's reducer.
    Put(T),
    /// Replaces what is there.
    Overwrite(T),
}

impl<T> Write<T> {
    /// What is written.
    pub const fn value(&self) -> &T {
        match self {
            Self::Put(value) | Self::Overwrite(value) => value,
        }
    }

    /// What is written, by value.
    pub fn into_value(self) -> T {
        match self {
            Self::Put(value) | Self::Overwrite(value) => value,
        }
    }

    /// Whether it replaces.
    pub const fn is_overwrite(&self) -> bool {
        matches!(self, Self::Overwrite(_))
    }

    /// The same write of a reference.
    pub const fn as_ref(&self) -> Write<&T> {
        match self {
            Self::Put(value) => Write::Put(value),
            Self::Overwrite(value) => Write::Overwrite(value),
        }
    }

    /// The same write of another value.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Write<U> {
        match self {
            Self::Put(value) => Write::Put(f(value)),
            Self::Overwrite(value) => Write::Overwrite(f(value)),
        }
    }
}

impl Write<Value> {
    /// How a write is shown: a plain value as it is, unless it looks like one of the marks.
    pub(crate) fn into_json(self) -> Value {
        match self {
            Self::Put(value) if is_mark(&value) => json!({ "$put": value }),
            Self::Put(value) => value,
            Self::Overwrite(value) => json!({ "$overwrite": value }),
        }
    }
}

fn is_mark(value: &Value) -> bool {
    let key = value.as_object().filter(|object| object.len() == 1).and_then(|object| object.keys().next());
    key.is_some_and(|key| key == "$put" || key == "$overwrite")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn survives(write: Option<Write<Option<i64>>>, text: &str) {
        assert_eq!(serde_json::to_string(&write).unwrap(), text);
        assert_eq!(serde_json::from_str::<Option<Write<Option<i64>>>>(text).unwrap(), write);
    }

    #[test]
    fn the_stored_form_is_fixed_and_tells_null_from_absent() {
        survives(None, "null");
        survives(Some(Write::Put(None)), r#"{"put":null}"#);
        survives(Some(Write::Put(Some(-7))), r#"{"put":-7}"#);
        survives(Some(Write::Overwrite(None)), r#"{"overwrite":null}"#);
    }

    #[test]
    fn data_that_looks_like_a_marker_is_data() {
        let write = Write::Put(serde_json::json!({ "overwrite": 1, "$overwrite": 2 }));
        let text = serde_json::to_string(&write).unwrap();
        assert_eq!(text, r#"{"put":{"$overwrite":2,"overwrite":1}}"#);
        assert_eq!(serde_json::from_str::<Write<serde_json::Value>>(&text).unwrap(), write);
    }

    #[test]
    fn no_two_writes_look_the_same() {
        let (mark, put) = (json!({ "$overwrite": 1 }), json!({ "$put": 1 }));
        assert_eq!(Write::Overwrite(json!(1)).into_json(), mark);
        assert_eq!(Write::Put(mark.clone()).into_json(), json!({ "$put": mark }));
        assert_eq!(Write::Put(put.clone()).into_json(), json!({ "$put": put }));
        let two = json!({ "$overwrite": 1, "a": 2 });
        assert_eq!(Write::Put(two.clone()).into_json(), two);
    }
}
