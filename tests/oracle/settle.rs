//! The order of what has none: parallel events, tasks and questions are put in an order that says nothing of when
//! they happened.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::python::dumps;

/// The modes of a stream, in the order of their events within a step.
const MODES: [&str; 6] = ["tasks", "custom", "messages", "updates", "values", "checkpoints"];

/// A value as text in which all ids are alike.
pub(crate) fn mask(value: &Value) -> String {
    pieces(&dumps(value)).iter().map(|piece| if piece.is_id { "#" } else { piece.text }).collect()
}

/// Tasks or questions in an order of their own.
pub(crate) fn in_order(mut items: Vec<Value>) -> Value {
    items.sort_by_cached_key(mask);
    Value::Array(items)
}

/// A part of a text: an id, or what stands between ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Piece<'a> {
    pub(crate) text: &'a str,
    pub(crate) is_id: bool,
}

/// Takes a text apart. Ids are 32 hexadecimal digits, no word character beside them.
pub(crate) fn pieces(text: &str) -> Vec<Piece<'_>> {
    split(text, |rest, before| {
        let digits = rest.bytes().take_while(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')).count();
        let after = rest[digits..].chars().next();
        (digits == 32 && !before.is_some_and(is_word) && !after.is_some_and(is_word)).then_some(32)
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Cuts a text at what `find` finds: it gets the rest of the text and the character before it, and gives the length of
/// an id that stands there.
pub(crate) fn split(text: &str, find: impl Fn(&str, Option<char>) -> Option<usize>) -> Vec<Piece<'_>> {
    let (mut pieces, mut begin, mut at, mut before) = (Vec::new(), 0, 0, None);
    while let Some(c) = text[at..].chars().next() {
        let Some(len) = find(&text[at..], before) else {
            before = Some(c);
            at += c.len_utf8();
            continue;
        };
        if begin < at {
            pieces.push(Piece { text: &text[begin..at], is_id: false });
        }
        pieces.push(Piece { text: &text[at..at + len], is_id: true });
        at += len;
        (begin, before) = (at, text[..at].chars().next_back());
    }
    if begin < text.len() {
        pieces.push(Piece { text: &text[begin..], is_id: false });
    }
    pieces
}

/// Events `[mode, namespace, payload]` in an order that does not depend on which parallel task finished first.
///
/// They are cut into super-steps: one begins at the first start of a task (at this depth of namespace) after something
/// else. In a super-step the events of subgraphs come first, each namespace settled by itself; then the graph's own by
/// mode, sorted within it where parallel tasks make them.
pub(crate) fn settle(events: Vec<Value>, depth: usize) -> Vec<Value> {
    cut(events, depth).into_iter().flat_map(|step| settle_step(step, depth)).collect()
}

fn cut(events: Vec<Value>, depth: usize) -> Vec<Vec<Value>> {
    let (mut steps, mut busy) = (vec![Vec::new()], false);
    for event in events {
        if namespace(&event).len() == depth {
            let starts = is_start(&event);
            if starts && busy {
                steps.push(Vec::new());
            }
            busy = !starts;
        }
        if let Some(step) = steps.last_mut() {
            step.push(event);
        }
    }
    steps
}

fn settle_step(step: Vec<Value>, depth: usize) -> Vec<Value> {
    let (own, inner): (Vec<Value>, Vec<Value>) = step.into_iter().partition(|event| namespace(event).len() == depth);
    let mut groups: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for event in inner {
        let group = namespace(&event).get(depth).map(dumps).unwrap_or_default();
        groups.entry(group).or_default().push(event);
    }
    let mut groups: Vec<Vec<Value>> = groups.into_values().map(|group| settle(group, depth + 1)).collect();
    groups.sort_by_cached_key(|group| mask(&Value::Array(group.clone())));
    let mut settled: Vec<Value> = groups.into_iter().flatten().collect();
    for mode in MODES {
        let mut events: Vec<Value> = own.iter().filter(|event| event[0] == mode).cloned().collect();
        if !matches!(mode, "values" | "checkpoints") {
            events.sort_by_cached_key(mask);
        }
        settled.extend(events);
    }
    settled
}

fn namespace(event: &Value) -> &[Value] {
    event[1].as_array().map_or(&[], Vec::as_slice)
}

fn is_start(event: &Value) -> bool {
    event[0] == "tasks" && event[2].get("input").is_some()
}
