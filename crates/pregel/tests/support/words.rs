//! The words of a script's command: what a task wrote, options, JSON.

use std::sync::Arc;

use serde_json::Value;
use superstep_pregel::{Dispatch, DynUpdate, Target, TaskOutput, Topology};

/// Splits at white space, but not inside brackets or quotes.
pub(crate) fn split(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let (mut depth, mut quoted) = (0_u32, false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            '[' | '{' if !quoted => depth += 1,
            ']' | '}' if !quoted => depth -= 1,
            _ => {}
        }
        if c.is_whitespace() && depth == 0 && !quoted {
            words.push(String::new());
        } else if let Some(word) = words.last_mut() {
            word.push(c);
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

pub(crate) fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text:?} is no JSON: {error}"))
}

/// What words say was written: `x=1`, `log:=[]` (overwrites), `->node`, `=>node:arg` (sends), `;` (another update).
pub(crate) fn output(topology: &Topology, words: &[String]) -> TaskOutput<DynUpdate> {
    let mut output = TaskOutput::default();
    for update in words.split(|word| word == ";") {
        let update = update.iter().fold(DynUpdate::new(), |update, word| write(topology, update, word, &mut output));
        if !update.is_empty() {
            output.updates.push(update);
        }
    }
    output
}

fn write(topology: &Topology, update: DynUpdate, word: &str, output: &mut TaskOutput<DynUpdate>) -> DynUpdate {
    if let Some(name) = word.strip_prefix("->") {
        if let Target::Node(node) = topology.target(if name == "END" { "__end__" } else { name }).unwrap() {
            output.goto.push(node);
        }
        return update;
    }
    if let Some(send) = word.strip_prefix("=>") {
        let (name, arg) = send.split_once(':').unwrap();
        output.sends.push(Dispatch { node: topology.node(name).unwrap(), arg: Arc::new(json(arg)) });
        return update;
    }
    let (name, value) = word.split_once('=').unwrap_or_else(|| panic!("what is {word:?}?"));
    match name.strip_suffix(':') {
        Some(name) => update.overwrite(name, json(value)),
        None => update.set(name, json(value)),
    }
}

/// The words before the first option (`--name=value`), and the options.
pub(crate) fn options(words: &[String]) -> (Vec<String>, Vec<(String, String)>) {
    let (options, words): (Vec<_>, Vec<_>) = words.iter().cloned().partition(|word| word.starts_with("--"));
    let option = |word: String| {
        let (name, value) = word[2..].split_once('=').unwrap_or((&word[2..], ""));
        (name.to_owned(), value.to_owned())
    };
    (words, options.into_iter().map(option).collect())
}
