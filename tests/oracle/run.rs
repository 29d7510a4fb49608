//! Runs one scenario on one store.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use serde_json::{Value, json};
use superstep::Checkpointer;

use crate::call::{Answer, Bench};
use crate::declared::{Line, symbolic};
use crate::graph::build;
use crate::ids::Ids;
use crate::matching::{Difference, compare};
use crate::node::World;
use crate::scenario::{Instead, Scenario};

/// How a scenario went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Every call was answered as by the reference.
    Passed,
    /// Where it was not, that is declared.
    Declared,
    /// Why not.
    Failed(String),
}

/// What is known of a scenario beside its file.
pub(crate) struct Known {
    /// Its declared differences, by call.
    pub(crate) lines: BTreeMap<usize, Line>,
    /// Whether its file is one of ours: then every difference is to be declared.
    pub(crate) origin: Origin,
    /// Declare what differs, as this number: print the lines.
    pub(crate) declare: Option<u32>,
}

/// Where a scenario comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The folder beside this file.
    Ours,
    /// Another folder: what the reference does wrong is not compared there.
    Foreign,
}

/// Runs a scenario.
pub(crate) async fn run(scenario: &Scenario, known: &Known, store: Arc<dyn Checkpointer>) -> Verdict {
    let world = Arc::new(World::default());
    let refused = json!({ "compile_error": true });
    match build(&scenario.graph, store, &world) {
        Err(_) if scenario.expect[..] == [refused] => Verdict::Passed,
        Err(error) => Verdict::Failed(format!("the graph does not compile: {error}")),
        Ok(_) if scenario.expect.len() != scenario.calls.len() => Verdict::Failed("the graph compiles".to_owned()),
        Ok(graph) => {
            let bench = Bench { spec: &scenario.graph, graph, world };
            Run { scenario, known, ids: Ids::default(), compares: true, verdict: Verdict::Passed }.run(&bench).await
        }
    }
}

/// A scenario under way.
struct Run<'a> {
    scenario: &'a Scenario,
    known: &'a Known,
    ids: Ids,
    /// Whether calls are compared with the record at this point.
    compares: bool,
    verdict: Verdict,
}

/// Nothing more is to be compared.
struct Over;

impl Run<'_> {
    async fn run(mut self, bench: &Bench<'_>) -> Verdict {
        for (number, call) in self.scenario.calls.iter().enumerate() {
            let answer = bench.call(call, &mut self.ids).await;
            if self.judge(number, &answer).is_err() {
                break;
            }
        }
        self.verdict
    }

    fn judge(&mut self, number: usize, answer: &Answer) -> Result<(), Over> {
        if let Some(instead) = self.scenario.instead.as_ref().filter(|instead| instead.call == number) {
            return self.judge_instead(instead, answer);
        }
        if let Some(line) = self.known.lines.get(&number) {
            return self.judge_declared(line, answer);
        }
        if !self.compares {
            return Ok(());
        }
        let recorded = &self.scenario.expect[number];
        match compare(recorded, &answer.shown, &mut self.ids) {
            Ok(()) => Ok(()),
            Err(difference) => self.differs(number, answer, &difference),
        }
    }

    fn judge_declared(&mut self, line: &Line, answer: &Answer) -> Result<(), Over> {
        let recorded = &self.scenario.expect[line.call];
        if compare(recorded, &answer.shown, &mut self.ids.clone()).is_ok() {
            return self.fails(format!("call {} is declared, but answers as the reference does", line.call));
        }
        if let Err(difference) = compare(&line.expect, &answer.shown, &mut self.ids) {
            let text = report(line.call, "declared", &line.expect, answer, &difference);
            return self.fails(text);
        }
        self.compares &= !line.rest;
        self.verdict = Verdict::Declared;
        Ok(())
    }

    /// The reference is wrong here: this call fails with a typed error. What comes after it is another story, which only
    /// our own files tell.
    fn judge_instead(&mut self, instead: &Instead, answer: &Answer) -> Result<(), Over> {
        if answer.error.as_ref().map(|error| &error.name) != Some(&instead.error) {
            let Instead { call, error } = instead;
            return self.fails(format!("call {call} is to fail with {error}, but gives {}", pretty(&answer.shown)));
        }
        self.compares = self.known.origin == Origin::Ours;
        self.verdict = Verdict::Declared;
        Ok(())
    }

    fn differs(&mut self, number: usize, answer: &Answer, difference: &Difference) -> Result<(), Over> {
        let recorded = &self.scenario.expect[number];
        if let Some(reason) = self.known.declare {
            let expect = symbolic(recorded, &answer.shown, self.scenario, &mut self.ids);
            let scenario = self.scenario.name.clone();
            let line = Line { scenario, call: number, number: reason, expect, rest: false };
            println!("{}", serde_json::to_string(&line).unwrap_or_default());
            return Ok(());
        }
        if self.known.origin == Origin::Foreign && self.scenario.reference_fault.is_some() {
            self.verdict = Verdict::Declared;
            return Err(Over);
        }
        self.fails(report(number, "recorded", recorded, answer, difference))
    }

    fn fails(&mut self, text: String) -> Result<(), Over> {
        self.verdict = Verdict::Failed(text);
        Err(Over)
    }
}

fn report(number: usize, what: &str, expected: &Value, answer: &Answer, difference: &Difference) -> String {
    let mut text = format!("call {number} differs {difference}");
    let _ = write!(text, "\n    {what}: {}\n    ours: {}", pretty(expected), pretty(&answer.shown));
    if let Some(error) = &answer.error {
        let _ = write!(text, "\n    our error: {}: {}", error.name, error.text);
    }
    text
}

/// One line for each event, checkpoint or part of an answer.
fn pretty(answer: &Value) -> String {
    let mut text = String::new();
    for (key, value) in answer.as_object().into_iter().flatten() {
        match value {
            Value::Array(items) if key != "ran" => {
                let _ = write!(text, "\n      {key}:");
                for item in items {
                    let _ = write!(text, "\n        {item}");
                }
            }
            value => {
                let _ = write!(text, "\n      {key}: {value}");
            }
        }
    }
    text
}
