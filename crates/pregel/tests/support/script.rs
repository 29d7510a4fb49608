//! Scripts: a graph in a few lines, then what happens to it, each time followed by what the machine wants done.
//!
//! ```text
//! graph [OPTION…]         the lines below it describe the graph, see `graph.rs`; a thread of its own
//! input WORD…             a new turn
//! continue [with WORD…]   goes on, perhaps with a command beside the tasks
//! answer JSON [with …]    answers the one open question; `answer q1=JSON …` names them, `answer nothing` none
//! edit WORD… [as NODE]    changes the state by hand; `edit nothing` writes nothing
//! fork                    makes the checkpoint of `--at` the head again
//! discard TASK            drops what a finished task wrote to the state
//! end TASK WORD…          a node ended: `x=1` writes, `log:=[]` overwrites, `->b` jumps, `=>w:1` sends, `;` is between
//!                         updates
//! routes TASK WORD…       the routers of a task (or of START) ended
//! retry TASK              they failed, and the node runs again
//! fail TASK TEXT          a task failed
//! ask TASK [KEY:]JSON…    a task asks; the key is a number (0 unless said) or `name`
//! crash                   the process dies
//! state [CHECKPOINT]      the thread as the present, or a checkpoint as a record
//! history                 all checkpoints
//! stored [CHECKPOINT]     the stored parts of the channels
//! ```
//!
//! Options are `--at=c1`, `--limit=3`, `--before=a,b` (`*` for all), `--after=a`, `--saving=exit`, `--run=name`,
//! `--watch=values,updates,tasks,checkpoints` and `--dies-after=3` (effects). Those of `graph` hold for all calls.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use superstep_checkpoint::{AnswerToken, At, CheckpointId, Codec, RunId, RunStamp};
use superstep_pregel::{
    Answers, Edit, Ended, Event, Input, Machine, Patch, Pauses, Question, QuestionKey, Routing, Saving, Settings,
    SnapshotKind, Start, TaskIndex, Topology, Watch, digest,
};
use superstep_pregel::{DynState, DynUpdate};

use super::call::{Call, Done};
use super::graph::Graph;
use super::text::{Names, Teller, task_name};
use super::thread::{Thread, checkpoint_id};
use super::words::{self, json};

/// Runs a script; gives it back with what was really answered.
pub(crate) fn run(script: &str) -> String {
    let mut told = Vec::new();
    let mut world: Option<World> = None;
    for block in script.trim().split("\n\n") {
        let command = block.split("----").next().unwrap().trim_end();
        if command.lines().all(|line| line.starts_with('#')) {
            told.push(command.to_owned());
            continue;
        }
        let mut lines = command.lines().skip_while(|line| line.starts_with('#'));
        let words = words::split(lines.next().unwrap());
        let answer = if words[0] == "graph" {
            world = Some(World::new(&lines.collect::<Vec<_>>().join("\n"), &words));
            "ok\n".to_owned()
        } else {
            world.as_mut().expect("a script begins with a graph").command(&words)
        };
        told.push(format!("{command}\n----\n{}", answer.trim_end()));
    }
    told.join("\n\n") + "\n"
}

struct World {
    thread: Thread,
    call: Option<Call>,
    names: Names,
    defaults: Vec<(String, String)>,
}

type Options = BTreeMap<String, String>;

impl World {
    fn new(graph: &str, words: &[String]) -> Self {
        let graph = Arc::new(Graph::parse(graph));
        Self { thread: Thread::new(&graph), call: None, names: Names::default(), defaults: words::options(words).1 }
    }

    fn command(&mut self, words: &[String]) -> String {
        let (words, options) = words::options(words);
        let options: Options = self.defaults.iter().cloned().chain(options).collect();
        let mut text = String::new();
        match (words[0].as_str(), &words[1..]) {
            ("crash", _) => self.call = None,
            ("state", rest) => self.state(rest, &mut text),
            ("history", _) => self.history(&mut text),
            ("stored", rest) => self.stored(rest, &mut text),
            (verb @ ("end" | "routes" | "retry" | "fail" | "ask"), rest) => match self.event(verb, rest) {
                Some(event) => self.tell(event, &mut text),
                None => text.push_str("MISTAKE: no such task runs"),
            },
            _ if self.call.is_some() => text.push_str("MISTAKE: a call is under way"),
            (verb, rest) => self.start(verb, rest, &options, &mut text),
        }
        if text.is_empty() { "ok".to_owned() } else { text }
    }

    // ---------------------------------------------------------------- calls

    fn start(&mut self, verb: &str, words: &[String], options: &Options, text: &mut String) {
        let start = self.parse_start(verb, words, options);
        let at = options.get("at").map(|name| checkpoint(name));
        if at.is_some_and(|id| self.thread.view(At::Id(id)).found.is_none()) {
            return text.push_str("MISTAKE: no such checkpoint");
        }
        let mut call = Call::new(&self.thread, settings(&self.thread.graph.topology, options), at);
        call.dies_after = options.get("dies-after").map(|effects| effects.parse().unwrap());
        self.call = Some(call);
        self.tell(Event::Start(start), text);
    }

    fn tell(&mut self, event: Event<DynUpdate>, text: &mut String) {
        let call = self.call.as_mut().expect("no call is under way");
        let performed = call.tell(&mut self.thread, event);
        let graph = Arc::clone(&self.thread.graph);
        let mut teller = Teller { graph: &graph, names: &mut self.names, text };
        match performed {
            Ok(performed) => {
                for done in &performed {
                    teller.tell(&call.machine, done);
                }
                if call.is_dead() {
                    teller.line("dead");
                }
                if call.is_dead() || performed.iter().any(|done| matches!(done, Done::Finish(_))) {
                    self.call = None;
                }
            }
            Err(refusal) => {
                let refusal = teller.names.replace(&refusal.to_string());
                teller.line(format!("refused: {refusal}"));
                self.call = None;
            }
        }
    }

    fn parse_start(&self, verb: &str, words: &[String], options: &Options) -> Start<DynUpdate> {
        let topology = &self.thread.graph.topology;
        let text = words.join(" ");
        match verb {
            "input" => {
                let digest = digest("input", &text.into());
                let run = options.get("run").map(|name| RunStamp { id: RunId::new(name).unwrap(), input: digest });
                Start::Input(Input { output: words::output(topology, words), digest, run })
            }
            "continue" => Start::Continue { patch: patch(topology, words) },
            "answer" => {
                let own = words.iter().position(|word| word == "with").unwrap_or(words.len());
                Start::Answer { answers: self.answers(&words[..own]), patch: patch(topology, &words[own..]) }
            }
            "edit" => {
                let own = words.iter().position(|word| word == "as").unwrap_or(words.len());
                let update = words::output(topology, if words[0] == "nothing" { &[] } else { &words[..own] }).updates;
                let as_node = words.get(own + 1).map(|name| place_name(name));
                Start::Edit(Edit { update: update.into_iter().next(), as_node, digest: digest("edit", &text.into()) })
            }
            "fork" => Start::Fork,
            "discard" => Start::Discard { task: self.planned(&words[0]) },
            other => panic!("what is {other:?}?"),
        }
    }

    fn answers(&self, words: &[String]) -> Answers {
        let token = AnswerToken::from_bytes([1; 16]);
        let named = |word: &String| {
            let (name, value) = word.split_once('=')?;
            name.starts_with('q').then(|| (self.names.find_question(name), Arc::new(json(value)), token))
        };
        match words {
            [word] if word == "nothing" => Answers::Named(Vec::new()),
            [word] if named(word).is_none() => Answers::Plain(Arc::new(json(word)), token),
            words => Answers::Named(words.iter().map(|word| named(word).unwrap()).collect()),
        }
    }

    /// The id of a task that comes next.
    fn planned(&self, name: &str) -> superstep_checkpoint::TaskId {
        let tasks = self.head().snapshot(SnapshotKind::Record).tasks;
        let named = |task: &&superstep_pregel::TaskSnapshot<DynUpdate>| {
            task_name(task.task.node.as_str(), task.task.path) == place_name(name)
        };
        let none = superstep_checkpoint::TaskId::from_bytes([0xff; 16]);
        tasks.iter().find(named).map_or(none, |task| task.task.id)
    }

    // ---------------------------------------------------------------- events

    fn event(&self, verb: &str, words: &[String]) -> Option<Event<DynUpdate>> {
        let call = self.call.as_ref()?;
        let topology = &self.thread.graph.topology;
        let task = task(&self.thread.graph, &call.machine, &words[0])?;
        let rest = &words[1..];
        let view = call.machine.task(task);
        Some(match verb {
            "end" if topology.routing(view.place) == Routing::Routed => {
                Event::Returned { task, output: words::output(topology, rest) }
            }
            "end" | "routes" => Event::TaskEnded { task, ended: Ended::Finished(words::output(topology, rest)) },
            "retry" => Event::Retried { task },
            "fail" => Event::TaskEnded { task, ended: Ended::Failed(rest.join(" ")) },
            _ => {
                let question = |word: &String| {
                    let (key, payload) = key(word);
                    let payload = Arc::new(json(payload));
                    Question { id: view.identity.question(&key), key, payload, schema: None }
                };
                Event::TaskEnded { task, ended: Ended::Asked(rest.iter().map(question).collect()) }
            }
        })
    }

    // ---------------------------------------------------------------- looking

    fn head(&self) -> Machine<DynState> {
        Call::new(&self.thread, settings(&self.thread.graph.topology, &Options::new()), None).machine
    }

    fn state(&mut self, words: &[String], text: &mut String) {
        let at = words.first().map(|name| checkpoint(name));
        let kind = if at.is_some() { SnapshotKind::Record } else { SnapshotKind::Live };
        let settings = settings(&self.thread.graph.topology, &Options::new());
        let snapshot = Call::new(&self.thread, settings, at).machine.snapshot(kind);
        let graph = Arc::clone(&self.thread.graph);
        let mut teller = Teller { graph: &graph, names: &mut self.names, text };
        teller.snapshot(&snapshot);
        if let (None, Some(row)) = (at, self.thread.row()) {
            let next: Vec<&str> = row.next.iter().map(superstep_checkpoint::NodeName::as_str).collect();
            teller.line(format!("row: {} {}", row.status.as_str(), next.join(", ")).trim_end());
        }
    }

    fn history(&mut self, text: &mut String) {
        for stored in self.thread.stored() {
            let at = super::text::checkpoint(stored.checkpoint.id);
            self.state(&[at], text);
        }
    }

    fn stored(&mut self, words: &[String], text: &mut String) {
        let at = words.first().map_or(At::Head, |name| At::Id(checkpoint(name)));
        for value in self.thread.view(at).found.map(|found| found.values).unwrap_or_default() {
            let parts = value.parts.iter().map(|part| String::from_utf8(part.bytes[3..].to_vec()).unwrap());
            let _ = writeln!(text, "{}: {}", value.channel, parts.collect::<Vec<_>>().join(" + "));
        }
    }
}

fn place_name(name: &str) -> String {
    if name == "START" { superstep_pregel::START.to_owned() } else { name.to_owned() }
}

fn checkpoint(name: &str) -> CheckpointId {
    checkpoint_id(name[1..].parse().unwrap())
}

fn task(graph: &Graph, machine: &Machine<DynState>, name: &str) -> Option<TaskIndex> {
    let named = |index: &TaskIndex| {
        let view = machine.task(*index);
        task_name(graph.name(view.place), view.path) == place_name(name)
    };
    let count = u32::try_from(machine.task_count()).unwrap();
    // An edit has one task, which only its routers need.
    let only = (count == 1).then_some(TaskIndex(0));
    (0..count).map(TaskIndex).find(named).or(only)
}

/// A question's key and payload.
fn key(word: &str) -> (QuestionKey, &str) {
    match word.split_once(':') {
        Some((key, payload)) if !key.contains(['"', '{', '[']) => match key.parse() {
            Ok(number) => (QuestionKey::Number(number), payload),
            Err(_) => (QuestionKey::Name(key.to_owned()), payload),
        },
        _ => (QuestionKey::Number(0), word),
    }
}

fn patch(topology: &Topology, words: &[String]) -> Option<Patch<DynUpdate>> {
    let words = words.split_first()?.1;
    let digest = digest("input", &words.join(" ").into());
    Some(Patch { output: words::output(topology, words), digest, mark: AnswerToken::from_bytes([2; 16]) })
}

fn settings(topology: &Topology, options: &Options) -> Settings {
    let get = |name: &str| options.get(name).map(String::as_str);
    let saving = match get("saving") {
        None => Saving::EveryStep,
        Some("exit") => Saving::AtExit,
        Some("never") => Saving::Never,
        Some(other) => panic!("no saving {other}"),
    };
    let pauses = |names: Option<&str>| match names {
        None => Pauses::Never,
        Some("*") => Pauses::Everywhere,
        Some(names) => Pauses::At(names.split(',').map(|name| topology.node(name).unwrap()).collect()),
    };
    let watched = |mode: &str| get("watch").is_some_and(|modes| modes.split(',').any(|word| word == mode));
    Settings {
        saving,
        before: pauses(get("before")),
        after: pauses(get("after")),
        limit: get("limit").map_or(100, |limit| limit.parse().unwrap()),
        codec: Codec::Json,
        watch: Watch {
            values: watched("values"),
            updates: watched("updates"),
            tasks: watched("tasks"),
            checkpoints: watched("checkpoints"),
        },
    }
}
