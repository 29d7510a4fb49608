//! Compares a recorded answer with ours. Ids differ, so both are walked side by side with a one-to-one map of ids.

use std::collections::HashMap;
use std::fmt;

use serde_json::{Map, Value};

use crate::settle::{Piece, mask, pieces, split};
use crate::term::NoValue;

/// Which of our ids each recorded one is: `#0`, `#1`, …
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    actual: HashMap<String, String>,
    recorded: HashMap<String, String>,
}

impl Ids {
    /// Our id for a recorded one.
    pub(crate) fn actual(&self, symbol: &str) -> Result<&str, NoValue> {
        self.actual.get(symbol).map(String::as_str).ok_or_else(|| NoValue(format!("no answer has shown {symbol} yet")))
    }

    /// The recorded id for one of ours.
    pub(crate) fn symbol(&self, actual: &str) -> Option<&str> {
        self.recorded.get(actual).map(String::as_str)
    }

    /// Takes both for the same, unless one is known to be another.
    pub(crate) fn bind(&mut self, symbol: &str, actual: &str) -> bool {
        match (self.actual.get(symbol), self.recorded.get(actual)) {
            (None, None) => {
                self.actual.insert(symbol.to_owned(), actual.to_owned());
                self.recorded.insert(actual.to_owned(), symbol.to_owned());
                true
            }
            (Some(known), Some(_)) => known == actual,
            _ => false,
        }
    }
}

/// Where two answers differ first.
#[derive(Debug)]
pub(crate) struct Difference {
    at: String,
    recorded: Value,
    actual: Value,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { at, recorded, actual } = self;
        write!(f, "at {at}:\n      recorded {recorded}\n      ours     {actual}")
    }
}

/// Takes a recorded text apart at its ids.
pub(crate) fn recorded_pieces(text: &str) -> Vec<Piece<'_>> {
    split(text, |rest, _| {
        let digits = rest.strip_prefix('#')?.bytes().take_while(u8::is_ascii_digit).count();
        (digits > 0).then_some(digits + 1)
    })
}

/// Compares; learns which ids are the same.
pub(crate) fn compare(recorded: &Value, actual: &Value, ids: &mut Ids) -> Result<(), Difference> {
    Walk { at: Vec::new(), ids }.walk(recorded, actual)
}

/// Two answers being compared.
struct Walk<'a> {
    at: Vec<String>,
    ids: &'a mut Ids,
}

impl Walk<'_> {
    fn walk(&mut self, recorded: &Value, actual: &Value) -> Result<(), Difference> {
        match (recorded, actual) {
            (Value::Object(a), Value::Object(b)) if same_keys(a, b) => {
                a.iter().try_for_each(|(key, value)| self.inside(key, |walk| walk.walk(value, &b[key])))
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => self.walk_list(a, b),
            (Value::String(a), Value::String(b)) if a == b || self.same_text(a, b) => Ok(()),
            (a, b) if a == b => Ok(()),
            (a, b) => Err(self.difference(a, b)),
        }
    }

    fn inside<T>(&mut self, key: &str, then: impl FnOnce(&mut Self) -> T) -> T {
        self.at.push(key.to_owned());
        let result = then(self);
        self.at.pop();
        result
    }

    fn difference(&self, recorded: &Value, actual: &Value) -> Difference {
        let at = if self.at.is_empty() { "the top".to_owned() } else { self.at.join(".") };
        Difference { at, recorded: recorded.clone(), actual: actual.clone() }
    }

    fn same_text(&mut self, recorded: &str, actual: &str) -> bool {
        let (a, b) = (recorded_pieces(recorded), pieces(actual));
        a.len() == b.len()
            && a.iter().zip(&b).all(|(a, b)| {
                a.is_id == b.is_id && if a.is_id { self.ids.bind(a.text, b.text) } else { a.text == b.text }
            })
    }

    /// Neighbours that differ in nothing but ids may stand in any order.
    fn walk_list(&mut self, recorded: &[Value], actual: &[Value]) -> Result<(), Difference> {
        let masks: Vec<String> = actual.iter().map(mask).collect();
        let mut from = 0;
        for run in masks.chunk_by(|a, b| a == b) {
            let mut open: Vec<usize> = (from..from + run.len()).collect();
            for (at, one) in recorded.iter().enumerate().skip(from).take(run.len()) {
                self.inside(&at.to_string(), |walk| walk.walk_one_of(one, actual, &mut open))?;
            }
            from += run.len();
        }
        Ok(())
    }

    fn walk_one_of(&mut self, recorded: &Value, actual: &[Value], open: &mut Vec<usize>) -> Result<(), Difference> {
        let mut first = None;
        for at in 0..open.len() {
            let before = self.ids.clone();
            match self.walk(recorded, &actual[open[at]]) {
                Ok(()) => {
                    open.remove(at);
                    return Ok(());
                }
                Err(difference) => {
                    *self.ids = before;
                    first.get_or_insert(difference);
                }
            }
        }
        first.map_or(Ok(()), Err)
    }
}

fn same_keys(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len() && a.keys().all(|key| b.contains_key(key))
}
