//! Values as Python prints them: what `str` and `json.dumps(.., sort_keys=True)` give.

use std::fmt::Write;

use serde_json::{Number, Value};

/// What `str(value)` gives.
pub(crate) fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => shown(other),
    }
}

/// What `repr(value)` gives.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => digits(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => format!("[{}]", joined(items.iter().map(shown))),
        Value::Object(entries) => {
            format!("{{{}}}", joined(entries.iter().map(|(key, value)| format!("{}: {}", quoted(key), shown(value)))))
        }
    }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(", ")
}

fn quoted(text: &str) -> String {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    let mut out = String::from(quote);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote || c == '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out.push(quote);
    out
}

/// A number: floats from 1e16 on, and below 1e-4, with an exponent of at least two digits.
fn digits(number: &Number) -> String {
    let Some(float) = number.as_f64().filter(|_| number.is_f64()) else { return number.to_string() };
    if float == 0.0 || (1e-4..1e16).contains(&float.abs()) {
        return format!("{float:?}");
    }
    let text = format!("{float:e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |rest| ('-', rest));
    format!("{mantissa}e{sign}{exponent:0>2}")
}

/// What `json.dumps(value, sort_keys=True)` gives.
pub(crate) fn dumps(value: &Value) -> String {
    let mut out = String::new();
    dump(value, &mut out);
    out
}

fn dump(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Value::Number(number) => out.push_str(&digits(number)),
        Value::String(text) => dump_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                dump(item, out);
            }
            out.push(']');
        }
        Value::Object(entries) => {
            let mut entries: Vec<_> = entries.iter().collect();
            entries.sort_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                out.push_str(if at == 0 { "" } else { ", " });
                dump_text(key, out);
                out.push_str(": ");
                dump(value, out);
            }
            out.push('}');
        }
    }
}

fn dump_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            c => c.encode_utf16(&mut [0; 2]).iter().for_each(|unit| {
                let _ = write!(out, "\\u{unit:04x}");
            }),
        }
    }
    out.push('"');
}
