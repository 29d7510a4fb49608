//! The declared differences: where this library answers otherwise than the reference, on purpose.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ids::Ids;
use crate::matching::recorded_pieces;
use crate::scenario::Scenario;
use crate::settle::{Piece, mask, pieces};

/// The reasons there are: the rows of the table in `README.md`.
const NUMBERS: &[u32] = &[
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 26, 27, 29, 33, 37, 38, 40, 41,
    42,
];

/// One call that is answered otherwise.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    pub(crate) scenario: String,
    pub(crate) call: usize,
    pub(crate) number: u32,
    /// Our answer. Ids that the record has too are named as there.
    pub(crate) expect: Value,
    /// The calls after it are not compared, unless declared themselves.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) rest: bool,
}

/// All lines, by scenario and call.
#[derive(Debug, Default)]
pub(crate) struct Declared(BTreeMap<String, BTreeMap<usize, Line>>);

impl Declared {
    /// Reads the lines; every line must make sense by itself.
    pub(crate) fn read(file: &Path) -> Result<Self, String> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
        let mut declared = Self::default();
        for (number, line) in (1..).zip(text.lines()) {
            declared.add(line).map_err(|problem| format!("{}:{number}: {problem}", file.display()))?;
        }
        Ok(declared)
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        let line: Line = serde_json::from_str(line).map_err(|error| error.to_string())?;
        if !NUMBERS.contains(&line.number) {
            return Err(format!("there is no reason number {}", line.number));
        }
        let lines = self.0.entry(line.scenario.clone()).or_default();
        match lines.insert(line.call, line) {
            Some(twice) => Err(format!("call {} is declared twice", twice.call)),
            None => Ok(()),
        }
    }

    /// The lines of a scenario, by call.
    pub(crate) fn of(&self, scenario: &str) -> BTreeMap<usize, Line> {
        self.0.get(scenario).cloned().unwrap_or_default()
    }

    /// Lines of no scenario, or of no call of theirs.
    pub(crate) fn strays(&self, scenarios: &[Scenario]) -> Vec<String> {
        let calls: BTreeMap<&str, usize> = scenarios.iter().map(|s| (s.name.as_str(), s.calls.len())).collect();
        let lines = self.0.values().flat_map(BTreeMap::values);
        let stray = lines.filter(|line| calls.get(line.scenario.as_str()).is_none_or(|calls| line.call >= *calls));
        stray.map(|line| format!("{}: no call {} to be declared", line.scenario, line.call)).collect()
    }
}

/// Our answer, its ids named as in the record where they stand in the same place, else with names of their own.
pub(crate) fn symbolic(recorded: &Value, actual: &Value, scenario: &Scenario, ids: &mut Ids) -> Value {
    align(recorded, actual, ids);
    let mut used = BTreeSet::new();
    scenario.expect.iter().for_each(|expect| collect(expect, &mut used));
    rename(actual, ids, &mut used)
}

/// Learns the ids that stand in the same places of answers that differ.
fn align(recorded: &Value, actual: &Value, ids: &mut Ids) {
    match (recorded, actual) {
        (Value::Object(a), Value::Object(b)) => {
            a.iter().filter_map(|(key, value)| Some((value, b.get(key)?))).for_each(|(a, b)| align(a, b, ids));
        }
        (Value::Array(a), Value::Array(b)) => align_lists(a, b, ids),
        (Value::String(a), Value::String(b)) => {
            let (a, b) = (recorded_pieces(a), pieces(b));
            for (a, b) in a.iter().zip(&b).filter(|(a, b)| a.is_id && b.is_id) {
                ids.bind(a.text, b.text);
            }
        }
        _ => {}
    }
}

fn align_lists(recorded: &[Value], actual: &[Value], ids: &mut Ids) {
    let masked = |value: &Value| {
        let text = serde_json::to_string(value).unwrap_or_default();
        let pieces = recorded_pieces(&text);
        pieces.iter().map(|piece| if piece.is_id { "#" } else { piece.text }).collect::<String>()
    };
    let as_ours = |value: &Value| serde_json::from_str::<Value>(&masked(value)).map(|value| mask(&value));
    let masks: Vec<_> = recorded.iter().map(as_ours).collect();
    let mut from = 0;
    for (at, value) in actual.iter().enumerate() {
        let mask = mask(value);
        let found = (from..recorded.len()).find(|at| masks[*at].as_ref().is_ok_and(|known| *known == mask));
        if let Some(found) = found {
            align(&recorded[found], value, ids);
            from = found + 1;
        } else if recorded.len() == actual.len() {
            align(&recorded[at], value, ids);
        }
    }
}

fn collect(value: &Value, used: &mut BTreeSet<u64>) {
    match value {
        Value::String(text) => {
            let ids = recorded_pieces(text).into_iter().filter(|piece| piece.is_id);
            used.extend(ids.filter_map(|piece| piece.text[1..].parse::<u64>().ok()));
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, used)),
        Value::Object(entries) => entries.values().for_each(|entry| collect(entry, used)),
        _ => {}
    }
}

fn rename(value: &Value, ids: &mut Ids, used: &mut BTreeSet<u64>) -> Value {
    match value {
        Value::String(text) => {
            let renamed = |piece: Piece<'_>| if piece.is_id { name(piece.text, ids, used) } else { piece.text.into() };
            Value::String(pieces(text).into_iter().map(renamed).collect())
        }
        Value::Array(items) => items.iter().map(|item| rename(item, ids, used)).collect(),
        Value::Object(entries) => {
            Value::Object(entries.iter().map(|(key, entry)| (key.clone(), rename(entry, ids, used))).collect())
        }
        plain => plain.clone(),
    }
}

fn name(actual: &str, ids: &mut Ids, used: &mut BTreeSet<u64>) -> String {
    if let Some(symbol) = ids.symbol(actual) {
        return symbol.to_owned();
    }
    let mut next = used.last().map_or(0, |last| last + 1);
    while !ids.bind(&format!("#{next}"), actual) {
        next += 1;
    }
    used.insert(next);
    format!("#{next}")
}
