//! Values of expressions, with the arithmetic of the language the scenarios were recorded in.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use serde_json::{Map, Number, Value, json};

use crate::python;

/// A value: JSON, and two things that JSON has no word for.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Term {
    /// Null, a boolean, a number or a text.
    Plain(Value),
    /// A list.
    List(Vec<Term>),
    /// An object.
    Map(BTreeMap<String, Term>),
    /// A task to start.
    Send {
        /// Its node.
        node: String,
        /// What it gets.
        arg: Box<Term>,
    },
    /// A value that replaces what a channel holds.
    Overwrite(Box<Term>),
}

/// Why an expression has no value.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct NoValue(pub(crate) String);

pub(crate) type Computed = Result<Term, NoValue>;

impl Term {
    pub(crate) const NULL: Self = Self::Plain(Value::Null);

    /// The JSON of it; sends and overwrites as the recorder writes them.
    pub(crate) fn to_json(&self) -> Value {
        match self {
            Self::Plain(value) => value.clone(),
            Self::List(items) => items.iter().map(Self::to_json).collect(),
            Self::Map(entries) => {
                Value::Object(entries.iter().map(|(key, value)| (key.clone(), value.to_json())).collect())
            }
            Self::Send { node, arg } => json!({ "$send": { "node": node, "arg": arg.to_json() } }),
            Self::Overwrite(value) => json!({ "$overwrite": value.to_json() }),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Plain(Value::Null))
    }

    /// Whether a condition takes it for true.
    pub(crate) fn truth(&self) -> bool {
        match self {
            Self::Plain(Value::Bool(value)) => *value,
            Self::Plain(Value::Number(number)) => number.as_f64() != Some(0.0),
            Self::Plain(Value::String(text)) => !text.is_empty(),
            Self::Plain(_) => false,
            Self::List(items) => !items.is_empty(),
            Self::Map(entries) => !entries.is_empty(),
            Self::Send { .. } | Self::Overwrite(_) => true,
        }
    }

    /// The number it counts as: booleans are 0 and 1.
    fn number(&self) -> Option<Number> {
        match self {
            Self::Plain(Value::Number(number)) => Some(number.clone()),
            Self::Plain(Value::Bool(value)) => Some(Number::from(u8::from(*value))),
            _ => None,
        }
    }

    /// The integer it counts as.
    pub(crate) fn integer(&self) -> Option<i128> {
        integer(&self.number()?)
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Plain(Value::Null) => "null",
            Self::Plain(Value::Bool(_)) => "a boolean",
            Self::Plain(Value::Number(_)) => "a number",
            Self::Plain(_) => "a text",
            Self::List(_) => "a list",
            Self::Map(_) => "an object",
            Self::Send { .. } => "a Send",
            Self::Overwrite(_) => "an Overwrite",
        }
    }

    /// The sum of numbers, or both texts or lists one after the other; null is neutral.
    pub(crate) fn add(self, other: Self) -> Computed {
        match (self, other) {
            (Self::Plain(Value::Null), other) => Ok(other),
            (one, Self::Plain(Value::Null)) => Ok(one),
            (Self::Plain(Value::String(a)), Self::Plain(Value::String(b))) => Ok(Self::Plain(Value::from(a + &b))),
            (Self::List(mut a), Self::List(b)) => {
                a.extend(b);
                Ok(Self::List(a))
            }
            (a, b) => {
                let sum = a.number().zip(b.number()).and_then(|(a, b)| sum(&a, &b));
                let fault = || NoValue(format!("{} and {} have no sum", a.kind(), b.kind()));
                sum.map(|sum| Self::Plain(Value::Number(sum))).ok_or_else(fault)
            }
        }
    }

    /// How many items or characters; none for null.
    pub(crate) fn len(&self) -> Result<usize, NoValue> {
        match self {
            Self::Plain(Value::Null) => Ok(0),
            Self::Plain(Value::String(text)) => Ok(text.chars().count()),
            Self::List(items) => Ok(items.len()),
            Self::Map(entries) => Ok(entries.len()),
            other => Err(NoValue(format!("{} has no length", other.kind()))),
        }
    }

    /// Whether both are equal; numbers by value, whatever their type.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::List(a), Self::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Self::Map(a), Self::Map(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|((k, a), (l, b))| k == l && a.same(b))
            }
            (a, b) => match (a.number(), b.number()) {
                (Some(a), Some(b)) => compare(&a, &b) == Some(Ordering::Equal),
                _ => a == b,
            },
        }
    }

    /// Whether it is less; what is false counts as 0.
    pub(crate) fn less(self, other: Self) -> Result<bool, NoValue> {
        let or_zero = |term: Self| if term.truth() { term } else { Self::Plain(Value::from(0)) };
        let (a, b) = (or_zero(self), or_zero(other));
        let order = a.order(&b);
        order.map(Ordering::is_lt).ok_or_else(|| NoValue(format!("{} and {} have no order", a.kind(), b.kind())))
    }

    fn order(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Plain(Value::String(a)), Self::Plain(Value::String(b))) => Some(a.cmp(b)),
            (Self::List(a), Self::List(b)) => {
                let first = a.iter().zip(b).find(|(a, b)| !a.same(b));
                first.map_or_else(|| Some(a.len().cmp(&b.len())), |(a, b)| a.order(b))
            }
            (a, b) => compare(&a.number()?, &b.number()?),
        }
    }

    /// Its items, one by one: of a text the characters, of an object the keys.
    pub(crate) fn items(self) -> Result<Vec<Self>, NoValue> {
        let text = |text: String| Self::Plain(Value::from(text));
        match self {
            Self::List(items) => Ok(items),
            Self::Map(entries) => Ok(entries.into_keys().map(text).collect()),
            Self::Plain(Value::String(all)) => Ok(all.chars().map(|c| text(c.to_string())).collect()),
            other if !other.truth() => Ok(Vec::new()),
            other => Err(NoValue(format!("{} has no items", other.kind()))),
        }
    }

    /// It as text.
    pub(crate) fn text(&self) -> String {
        python::text(&self.to_json())
    }
}

impl From<Value> for Term {
    fn from(value: Value) -> Self {
        match value {
            Value::Array(items) => Self::List(items.into_iter().map(Self::from).collect()),
            Value::Object(entries) => entries.into(),
            plain => Self::Plain(plain),
        }
    }
}

impl From<Map<String, Value>> for Term {
    fn from(entries: Map<String, Value>) -> Self {
        Self::Map(entries.into_iter().map(|(key, value)| (key, Self::from(value))).collect())
    }
}

fn integer(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn sum(a: &Number, b: &Number) -> Option<Number> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Number::from_i128(a.checked_add(b)?),
        _ => Number::from_f64(a.as_f64()? + b.as_f64()?),
    }
}

fn compare(a: &Number, b: &Number) -> Option<Ordering> {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => Some(a.cmp(&b)),
        _ => a.as_f64()?.partial_cmp(&b.as_f64()?),
    }
}
