//! Compares a recorded answer with ours. Ids differ, so both are walked side by side with a one-to-one map of ids.

use std::fmt;

use serde_json::{Map, Value};

use crate::ids::{Ids, Standing};
use crate::settle::{Piece, mask, pieces, split};

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
    let mut pairs = Walk { at: Vec::new(), met: Meet::Bind(ids) };
    pairs.walk(recorded, actual)
}

/// Two answers being compared.
struct Walk<'a> {
    at: Vec<String>,
    met: Meet<'a>,
}

/// What is done where ids meet.
enum Meet<'a> {
    /// They are to be the same.
    Bind(&'a mut Ids),
    /// They are written down, whatever they are.
    Note(Vec<(String, String)>),
}

impl Meet<'_> {
    fn meet(&mut self, symbol: &str, actual: &str) -> bool {
        match self {
            Self::Bind(ids) => ids.bind(symbol, actual),
            Self::Note(pairs) => {
                pairs.push((symbol.to_owned(), actual.to_owned()));
                true
            }
        }
    }
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
                a.is_id == b.is_id && if a.is_id { self.met.meet(a.text, b.text) } else { a.text == b.text }
            })
    }

    fn walk_list(&mut self, recorded: &[Value], actual: &[Value]) -> Result<(), Difference> {
        let masks: Vec<String> = actual.iter().map(mask).collect();
        let mut from = 0;
        for run in masks.chunk_by(|a, b| a == b) {
            let to = from + run.len();
            match (run.len(), &self.met) {
                (1, _) | (_, Meet::Note(_)) => self.walk_in_order(&recorded[from..to], &actual[from..to], from)?,
                _ => self.walk_alike(&recorded[from..to], &actual[from..to], from)?,
            }
            from = to;
        }
        Ok(())
    }

    fn walk_in_order(&mut self, recorded: &[Value], actual: &[Value], from: usize) -> Result<(), Difference> {
        let both = (from..).zip(recorded.iter().zip(actual));
        both.into_iter().try_for_each(|(at, (a, b))| self.inside(&at.to_string(), |walk| walk.walk(a, b)))
    }

    /// Neighbours that differ in nothing but ids may stand in any order.
    fn walk_alike(&mut self, recorded: &[Value], actual: &[Value], from: usize) -> Result<(), Difference> {
        let (mut theirs, mut ours) = (Vec::new(), Vec::new());
        for (at, (a, b)) in (from..).zip(recorded.iter().zip(actual)) {
            let mut noted = Walk { at: self.at.clone(), met: Meet::Note(Vec::new()) };
            noted.inside(&at.to_string(), |walk| walk.walk(a, b))?;
            if let Meet::Note(pairs) = noted.met {
                let (symbols, ids): (Vec<String>, Vec<String>) = pairs.into_iter().unzip();
                theirs.push(symbols);
                ours.push(ids);
            }
        }
        let Meet::Bind(ids) = &mut self.met else { return Ok(()) };
        if match_alike(theirs, ours, ids) {
            return Ok(());
        }
        Err(self.difference(&Value::Array(recorded.to_vec()), &Value::Array(actual.to_vec())))
    }
}

/// Finds, for things of which each has some ids, which is which.
fn match_alike(theirs: Vec<Vec<String>>, mut ours: Vec<Vec<String>>, ids: &mut Ids) -> bool {
    let is_known = |symbols: &Vec<String>| symbols.iter().any(|id| ids.standing_of_symbol(id) == Standing::Known);
    let (known, open): (Vec<_>, Vec<_>) = theirs.into_iter().partition(is_known);
    for symbols in known {
        let fits = |actual: &Vec<String>| {
            let mut trial = ids.clone();
            symbols.iter().zip(actual).all(|(symbol, actual)| trial.bind(symbol, actual))
        };
        let Some(at) = ours.iter().position(fits) else { return false };
        let actual = ours.remove(at);
        symbols.iter().zip(&actual).for_each(|(symbol, actual)| {
            ids.bind(symbol, actual);
        });
    }
    open.iter().all(Vec::is_empty) || ids.group(open, ours)
}

fn same_keys(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len() && a.keys().all(|key| b.contains_key(key))
}
