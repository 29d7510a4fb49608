//! Random graphs: edges, waiting edges, routers, jumps, Sends, deferred nodes, failures, questions, static pauses.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use superstep_pregel::{QuestionKey, Saving};

use super::graph::Graph;
use super::model::{Channel, Model, Program, Route, Turn, What};
use super::rng::Rng;

const CHANNELS: &str =
    "items: append\nn: add\nm: max\nx: last\nd: merge\ntext: concat\nany: any\nonce: ephemeral\nmine: untracked\n";

/// The model of this seed.
pub(crate) fn model(seed: u64) -> Model {
    let mut rng = Rng::new(seed);
    let names: Vec<String> = (0..3 + rng.below(6)).map(|i| format!("n{i}")).collect();
    let mut text = CHANNELS.to_owned();
    let start = start(&mut rng, &names, &mut text);
    let mut programs = BTreeMap::new();
    for (i, name) in names.iter().enumerate() {
        let program = program(&mut rng, &names, i);
        node(&mut rng, &names, i, &program, &mut text);
        programs.insert(name.clone(), program);
    }
    let saving = if rng.chance(20) { Saving::AtExit } else { Saving::EveryStep };
    let turns = turns(&mut rng, &names, saving);
    let limit = if rng.chance(20) { 2 } else { 100 };
    let pauses = (some(&mut rng, &names, 6), some(&mut rng, &names, 6));
    let graph = Arc::new(Graph::parse(&text));
    Model { seed, graph, programs, start, turns, saving, limit, pauses, text }
}

/// Two of three graphs begin with several nodes at once.
fn start(rng: &mut Rng, names: &[String], text: &mut String) -> Option<Route> {
    let width = if rng.chance(66) { 2 + rng.below(2) } else { 1 };
    let first = &names[..width.min(names.len())];
    if rng.chance(80) {
        let _ = writeln!(text, "START -> {}", first.join(", "));
        return None;
    }
    text.push_str("START routed\n");
    Some(Route::To(first.to_vec()))
}

fn program(rng: &mut Rng, names: &[String], i: usize) -> Program {
    let later = &names[i + 1..];
    let mut program = Program { writes: writes(rng, i), ..Program::default() };
    if rng.chance(15) {
        program.fails = 1 + u32::from(rng.chance(30));
    }
    if rng.chance(20) {
        program.asks = vec![QuestionKey::Number(0)];
        if rng.chance(40) {
            program.asks.push(if rng.chance(50) { QuestionKey::Number(1) } else { QuestionKey::Name("who".into()) });
            program.asks_at_once = rng.chance(50);
        }
    }
    if !later.is_empty() && rng.chance(20) {
        program.jumps = Some(forward(rng, later));
    }
    if rng.chance(25) && i > 0 {
        program.routes = Some(Route::Back(rng.pick(&names[..=i]).clone(), 1 + i64::try_from(rng.below(4)).unwrap()));
        program.writes.push(Channel::Count);
    } else if !later.is_empty() && rng.chance(30) {
        program.routes = Some(forward(rng, later));
    }
    program
}

fn writes(rng: &mut Rng, i: usize) -> Vec<Channel> {
    let mut writes = Vec::new();
    let mut maybe = |percent, channel| {
        if rng.chance(percent) {
            writes.push(channel);
        }
    };
    maybe(70, Channel::Items);
    maybe(10, Channel::TwiceItems);
    maybe(30, Channel::Max);
    maybe(8, Channel::Last);
    maybe(30, Channel::Map);
    maybe(30, Channel::Text);
    maybe(20, Channel::Any);
    maybe(if i == 0 { 30 } else { 0 }, Channel::Mine); // two writers of an untracked channel clash only until a restart
    if rng.chance(5) {
        writes.push(Channel::Overwrite);
    }
    writes.dedup_by_key(|channel| matches!(channel, Channel::Items | Channel::TwiceItems | Channel::Overwrite));
    writes
}

fn forward(rng: &mut Rng, later: &[String]) -> Route {
    match rng.below(4) {
        0 => Route::To(vec![rng.pick(later).clone(), rng.pick(later).clone()]),
        1 => Route::Either(rng.pick(later).clone(), "__end__".to_owned()),
        2 => Route::Either(rng.pick(later).clone(), rng.pick(later).clone()),
        _ => Route::Send(rng.pick(later).clone(), 1 + rng.below(3)),
    }
}

/// Edges and kind of a node.
fn node(rng: &mut Rng, names: &[String], i: usize, program: &Program, text: &mut String) {
    let (name, later) = (&names[i], &names[i + 1..]);
    let deferred = if i > 1 && rng.chance(15) { " deferred" } else { "" };
    let routed = if program.routes.is_some() { " routed" } else { "" };
    let _ = writeln!(text, "{name}{deferred}{routed}");
    if !later.is_empty() && rng.chance(75) {
        let _ = writeln!(text, "{name} -> {}", rng.pick(later));
        if rng.chance(30) {
            let _ = writeln!(text, "{name} -> {}", rng.pick(later));
        }
    }
    if i >= 1 && !later.is_empty() && rng.chance(25) {
        let other = rng.pick(&names[..i]);
        let _ = writeln!(text, "{other}, {name} => {}", rng.pick(later));
    }
}

fn turns(rng: &mut Rng, names: &[String], saving: Saving) -> Vec<Turn> {
    let mut turns = vec![Turn { what: What::Input, at: None }];
    for _ in 0..rng.below(3) {
        // Saved at exit, which checkpoints there are is chance.
        let at = (saving == Saving::EveryStep && rng.chance(50)).then(|| rng.below(1_000));
        let what = match rng.below(if at.is_some() { 7 } else { 4 }) {
            0 => What::Edit(rng.chance(70).then(|| rng.pick(names).clone())),
            1 => What::Command(forward(rng, &names[1..])),
            2 | 3 => What::Input,
            4 => What::Continue,
            5 => What::Fork,
            _ => What::Answer,
        };
        turns.push(Turn { what, at });
    }
    turns
}

fn some(rng: &mut Rng, names: &[String], percent: usize) -> Vec<String> {
    names.iter().filter(|_| rng.chance(percent)).cloned().collect()
}
