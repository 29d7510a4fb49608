//! The reducers of dynamic channels.

use serde_json::{Map, Number, Value};
use smallvec::SmallVec;

use super::order;
use crate::channel::{How, Reducer};
use crate::reduce::batch::{self, Fault};
use crate::reduce::{MessageLog, check_messages, fold_messages, unfold_messages, unite};
use crate::state::{Author, WantUndo, Why};
use crate::update::Write;

/// How a dynamic channel combines writes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Fold {
    Last,
    List,
    Text,
    Add,
    Max,
    Min,
    Merge,
    Union,
    Messages,
    With(&'static str, fn(&mut Value, Value)),
}

/// What takes a change of one channel back.
#[derive(Debug)]
pub(super) enum Undone {
    Whole(Option<Value>),
    Truncate(usize),
    Entries(Vec<(String, Option<Value>)>),
    Members(Vec<usize>),
    Messages(MessageLog<Value>),
}

impl Fold {
    pub(super) fn reducer(self) -> Reducer {
        match self {
            Self::Last => Reducer::Last,
            Self::List | Self::Text => Reducer::Append,
            Self::Add => Reducer::Add,
            Self::Max => Reducer::Max,
            Self::Min => Reducer::Min,
            Self::Merge => Reducer::Merge,
            Self::Union => Reducer::Union,
            Self::Messages => Reducer::Messages,
            Self::With(path, _) => Reducer::With(path),
        }
    }

    /// The value before anything is written.
    pub(super) fn initial(self) -> Option<Value> {
        match self {
            Self::List | Self::Union | Self::Messages => Some(Value::Array(Vec::new())),
            Self::Text => Some(Value::String(String::new())),
            Self::Add | Self::Max => Some(Value::from(0)),
            Self::Merge => Some(Value::Object(Map::new())),
            Self::Last | Self::Min | Self::With(..) => None,
        }
    }

    /// Whether this is the value before anything is written.
    pub(super) fn is_initial(self, value: Option<&Value>) -> bool {
        match value {
            None => self.initial().is_none(),
            Some(value) => self.initial().as_ref() == Some(value),
        }
    }

    /// What it takes, in words.
    pub(super) fn expected(self) -> &'static str {
        match self {
            Self::Last | Self::With(..) => "any value",
            Self::List | Self::Union => "a list",
            Self::Messages => "a list of objects",
            Self::Text => "a text",
            Self::Add | Self::Max | Self::Min => "a number",
            Self::Merge => "an object",
        }
    }

    /// Whether it takes such a value.
    pub(super) fn takes(self, value: &Value) -> bool {
        match self {
            Self::Last | Self::With(..) => true,
            Self::List | Self::Union => value.is_array(),
            Self::Messages => value.as_array().is_some_and(|items| items.iter().all(Value::is_object)),
            Self::Text => value.is_string(),
            Self::Add | Self::Max | Self::Min => value.is_number(),
            Self::Merge => value.is_object(),
        }
    }

    /// Whether values of the right type can be folded onto the current one.
    pub(super) fn check(self, current: Option<&Value>, puts: &[(Author, &Value)]) -> Result<(), Fault> {
        match self {
            Self::Add => check_sum(current, puts),
            Self::Messages => check_messages(items(current), puts.iter().map(|(by, value)| (*by, items(Some(value))))),
            _ => Ok(()),
        }
    }

    /// Whether a value of the right type can replace the current one.
    pub(super) fn check_replacement(self, by: Author, value: &Value) -> Result<(), Fault> {
        match self {
            Self::Messages => check_messages(&[], [(by, items(Some(value)))]),
            _ => Ok(()),
        }
    }

    /// Folds checked values onto the current one.
    pub(super) fn fold(self, current: &mut Option<Value>, puts: SmallVec<[Value; 2]>, undo: WantUndo) -> (How, Undone) {
        match (self, current.as_mut()) {
            (Self::List, Some(Value::Array(list))) => append(list, puts),
            (Self::Text, Some(Value::String(text))) => concat(text, &puts),
            (Self::Merge, Some(Value::Object(object))) => merge(object, puts),
            (Self::Union, Some(Value::Array(list))) => union(list, puts),
            (Self::Messages, Some(Value::Array(list))) => messages(list, puts),
            (Self::Add, Some(Value::Number(_))) => replace_each(current, puts, total),
            (Self::Max, Some(Value::Number(_))) => replace_each(current, puts, greater),
            (Self::Min, Some(Value::Number(_))) => replace_each(current, puts, lesser),
            (Self::With(_, reduce), Some(_)) => with(current, puts, reduce, undo),
            (_, _) => first(self, current, puts),
        }
    }

    /// What an overwrite by a checked value leaves.
    pub(super) fn replacement(self, value: Value) -> Value {
        let mut current = Some(Value::Array(Vec::new()));
        match self {
            Self::Union | Self::Messages => {
                self.fold(&mut current, SmallVec::from_iter([value]), WantUndo::No);
                current.unwrap_or_default()
            }
            _ => value,
        }
    }
}

impl Undone {
    /// Takes the change back.
    pub(super) fn undo(self, current: &mut Option<Value>) {
        match (self, current.as_mut()) {
            (Self::Whole(old), _) => *current = old,
            (Self::Truncate(len), Some(Value::Array(list))) => list.truncate(len),
            (Self::Truncate(len), Some(Value::String(text))) => text.truncate(len),
            (Self::Entries(old), Some(Value::Object(object))) => unmerge(object, old),
            (Self::Members(added), Some(Value::Array(list))) => {
                added.into_iter().rev().for_each(|at| drop(list.remove(at)));
            }
            (Self::Messages(log), Some(Value::Array(list))) => unfold_messages(list, log),
            (_, _) => {}
        }
    }
}

/// A channel that has no value yet, or has no reducer: the first value is taken as it is.
fn first(fold: Fold, current: &mut Option<Value>, mut puts: SmallVec<[Value; 2]>) -> (How, Undone) {
    if matches!(fold, Fold::Last) {
        return (How::Set, Undone::Whole(std::mem::replace(current, puts.pop())));
    }
    if puts.is_empty() {
        return (How::Set, Undone::Whole(current.clone()));
    }
    let old = current.replace(puts.remove(0));
    fold.fold(current, puts, WantUndo::No);
    (How::Set, Undone::Whole(old))
}

fn append(list: &mut Vec<Value>, puts: SmallVec<[Value; 2]>) -> (How, Undone) {
    let from = list.len();
    for put in puts {
        if let Value::Array(items) = put {
            list.extend(items);
        }
    }
    (How::Appended { from }, Undone::Truncate(from))
}

fn concat(text: &mut String, puts: &[Value]) -> (How, Undone) {
    let from = text.len();
    puts.iter().filter_map(Value::as_str).for_each(|put| text.push_str(put));
    (How::Appended { from }, Undone::Truncate(from))
}

fn merge(object: &mut Map<String, Value>, puts: SmallVec<[Value; 2]>) -> (How, Undone) {
    let mut old = Vec::new();
    for put in puts {
        if let Value::Object(entries) = put {
            old.extend(entries.into_iter().map(|(key, value)| {
                let before = object.insert(key.clone(), value);
                (key, before)
            }));
        }
    }
    (How::Set, Undone::Entries(old))
}

fn unmerge(object: &mut Map<String, Value>, old: Vec<(String, Option<Value>)>) {
    for (key, before) in old.into_iter().rev() {
        match before {
            Some(value) => drop(object.insert(key, value)),
            None => drop(object.remove(&key)),
        }
    }
}

fn union(list: &mut Vec<Value>, puts: SmallVec<[Value; 2]>) -> (How, Undone) {
    let mut added = Vec::new();
    for put in puts {
        if let Value::Array(items) = put {
            unite(list, items, order::compare, &mut added);
        }
    }
    (How::Set, Undone::Members(added))
}

fn messages(list: &mut Vec<Value>, puts: SmallVec<[Value; 2]>) -> (How, Undone) {
    let writes = puts.into_iter().filter_map(|put| if let Value::Array(items) = put { Some(items) } else { None });
    let (how, log) = fold_messages(list, writes);
    (how, Undone::Messages(log))
}

fn replace_each(
    current: &mut Option<Value>,
    puts: SmallVec<[Value; 2]>,
    choose: fn(Value, Value) -> Value,
) -> (How, Undone) {
    let old = current.clone();
    *current = current.take().into_iter().chain(puts).reduce(choose);
    (How::Set, Undone::Whole(old))
}

fn with(
    current: &mut Option<Value>,
    puts: SmallVec<[Value; 2]>,
    reduce: fn(&mut Value, Value),
    undo: WantUndo,
) -> (How, Undone) {
    let old = current.as_ref().filter(|_| undo == WantUndo::Yes).cloned();
    if let Some(value) = current {
        puts.into_iter().for_each(|put| reduce(value, put));
    }
    (How::Set, Undone::Whole(old))
}

fn greater(old: Value, new: Value) -> Value {
    if order::compare(&new, &old).is_gt() { new } else { old }
}

fn lesser(old: Value, new: Value) -> Value {
    if order::compare(&new, &old).is_lt() { new } else { old }
}

/// The sum; checking has made sure that there is one.
#[expect(clippy::needless_pass_by_value, reason = "one signature with the other two")]
fn total(old: Value, new: Value) -> Value {
    let sum = old.as_number().zip(new.as_number()).and_then(|(a, b)| sum(a, b));
    sum.map_or(Value::Null, Value::Number)
}

/// Exact for integers; `None` where the sum fits no JSON number.
fn sum(a: &Number, b: &Number) -> Option<Number> {
    match (order::integer(a), order::integer(b)) {
        (Some(a), Some(b)) => Number::from_i128(a.checked_add(b)?),
        _ => Number::from_f64(a.as_f64()? + b.as_f64()?),
    }
}

/// Once the sum overflows, all who added are to blame: none of them can know which one is too many.
fn check_sum(current: Option<&Value>, puts: &[(Author, &Value)]) -> Result<(), Fault> {
    let mut total = current.and_then(Value::as_number).cloned().unwrap_or_else(|| Number::from(0));
    for (at, (_, put)) in puts.iter().enumerate() {
        let next = put.as_number().and_then(|number| sum(&total, number));
        total = next.ok_or_else(|| Fault::of(puts[..=at].iter().map(|(by, _)| *by), Why::Overflow))?;
    }
    Ok(())
}

fn items(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// The kind of a value, in words.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Sorts out which writes count, and folds or replaces.
pub(super) fn apply(
    fold: Fold,
    current: &mut Option<Value>,
    writes: impl IntoIterator<Item = Write<Value>>,
    undo: WantUndo,
) -> (How, Undone) {
    match batch::gather(writes) {
        batch::Gathered::Fold(puts) => fold.fold(current, puts, undo),
        batch::Gathered::Replace(value) => (How::Set, Undone::Whole(current.replace(fold.replacement(value)))),
    }
}
