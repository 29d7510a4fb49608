//! Effects as text. Ids become short names in the order in which they are first seen, so that an id that stays the
//! same, and one that does not, shows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use superstep_checkpoint::{CheckpointId, Digest, LineageId, PartKind, Plan, QuestionId, TaskId, Turn, WriteKind};
use superstep_pregel::{
    DraftCheckpoint, DraftWrite, DynState, End, Freshness, Machine, Progress, Put, Question, QuestionKey, Signal,
    Snapshot, TaskEnd, TaskIndex, TaskInfo, TaskInput, TaskOutput, TaskPath,
};
use superstep_pregel::{DynUpdate, State};

use super::call::Done;
use super::graph::Graph;

/// The short names of ids.
#[derive(Default)]
pub(crate) struct Names {
    tasks: BTreeMap<TaskId, usize>,
    questions: BTreeMap<QuestionId, usize>,
    digests: BTreeMap<Digest, usize>,
    lineages: BTreeMap<LineageId, usize>,
}

fn number<K: Ord>(known: &mut BTreeMap<K, usize>, key: K) -> usize {
    let next = known.len() + 1;
    *known.entry(key).or_insert(next)
}

impl Names {
    pub(crate) fn task(&mut self, id: TaskId) -> String {
        format!("t{}", number(&mut self.tasks, id))
    }

    pub(crate) fn question(&mut self, id: QuestionId) -> String {
        format!("q{}", number(&mut self.questions, id))
    }

    pub(crate) fn find_question(&self, name: &str) -> QuestionId {
        let found = self.questions.iter().find(|(_, number)| format!("q{number}") == name);
        found.map_or(QuestionId::from_bytes([0xff; 16]), |(id, _)| *id)
    }

    fn turn(&mut self, turn: &Turn) -> String {
        format!("turn {}/{}", number(&mut self.lineages, turn.lineage), number(&mut self.digests, turn.digest))
    }

    /// A text with ids in it.
    pub(crate) fn replace(&mut self, text: &str) -> String {
        let mut text = text.to_owned();
        for (id, number) in &self.questions {
            text = text.replace(&id.to_string(), &format!("q{number}"));
        }
        for (id, number) in &self.tasks {
            text = text.replace(&id.to_string(), &format!("t{number}"));
        }
        text
    }
}

/// The name of a checkpoint: its number.
pub(crate) fn checkpoint(id: CheckpointId) -> String {
    let mut number = [0; 8];
    number.copy_from_slice(&id.as_bytes()[8..]);
    format!("c{}", u64::from_be_bytes(number))
}

/// A task by its node and, if a Send started it, its position.
pub(crate) fn task_name(node: &str, path: TaskPath) -> String {
    match path {
        TaskPath::Pull => node.to_owned(),
        TaskPath::Push(index) => format!("{node}#{index}"),
    }
}

fn list<T: AsRef<str>>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.as_ref().to_owned()).collect();
    if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
}

fn envelope(bytes: &[u8]) -> String {
    String::from_utf8(bytes[3..].to_vec()).unwrap()
}

pub(crate) fn state(state: &DynState) -> String {
    Value::Object(state.to_object()).to_string()
}

/// Writes what was performed.
pub(crate) struct Teller<'a> {
    pub(crate) graph: &'a Graph,
    pub(crate) names: &'a mut Names,
    pub(crate) text: &'a mut String,
}

impl Teller<'_> {
    pub(crate) fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    pub(crate) fn tell(&mut self, machine: &Machine<DynState>, done: &Done) {
        match done {
            Done::Commit(puts) => {
                self.line("commit");
                for put in puts {
                    self.put(put);
                }
            }
            Done::Run(task) => self.run(machine, *task),
            Done::Route(task, on) => {
                let view = machine.task(*task);
                let name = task_name(self.graph.name(view.place), view.path);
                self.line(format!("route {name} on {}", state(on)));
            }
            Done::Emit(signal) => self.signal(signal),
            Done::Finish(end) => self.finish(machine, end),
        }
    }

    fn run(&mut self, machine: &Machine<DynState>, task: TaskIndex) {
        let view = machine.task(task);
        let name = task_name(self.graph.name(view.place), view.path);
        let mut line = format!("run {name} {}", self.names.task(view.identity.id()));
        if let Some(arg) = &view.arg {
            let _ = write!(line, " with {arg}");
        }
        let keys = (0..4).map(QuestionKey::Number).chain([QuestionKey::Name("name".to_owned())]);
        for id in keys.map(|key| view.identity.question(&key)) {
            if let Some(answer) = machine.answers().get(&id) {
                let _ = write!(line, " {}={answer}", self.names.question(id));
            }
        }
        self.line(line);
    }

    // ---------------------------------------------------------------- puts

    fn put(&mut self, put: &Put) {
        match put {
            Put::Checkpoint(draft) => self.checkpoint(draft),
            Put::Writes { on, writes } => writes.iter().for_each(|write| self.write(*on, write)),
            Put::Answers { on, answers } => {
                for answer in answers {
                    let question = self.names.question(answer.question.id);
                    let on = checkpoint(*on);
                    self.line(format!("  on {on}: {} answers {question}: {}", answer.node, answer.value));
                }
            }
            Put::Status { status, next } => self.line(format!("  {}, next {}", status.as_str(), list(next))),
            other => panic!("what is {other:?}?"),
        }
    }

    fn checkpoint(&mut self, draft: &DraftCheckpoint) {
        let parent = draft.parent.map_or("nothing".to_owned(), checkpoint);
        let turn = self.names.turn(&draft.turn);
        self.line(format!(
            "  {} {} {} after {parent}, seq {} branch {}, {turn}",
            checkpoint(draft.id),
            draft.source.as_str(),
            draft.step,
            draft.seq,
            draft.branch,
        ));
        self.line(format!("    next {}", plan(&draft.plan, &draft.args)));
        for value in &draft.values {
            let part = match value.kind {
                PartKind::Base => format!("= {}", envelope(&value.bytes)),
                PartKind::Segment => format!("+ {}", envelope(&value.bytes)),
                _ => "cleared".to_owned(),
            };
            self.line(format!("    {} {part}", value.channel));
        }
    }

    fn write(&mut self, on: CheckpointId, write: &DraftWrite) {
        let what = match write.kind {
            WriteKind::Question => {
                let id = QuestionId::parse(write.path.as_str()).unwrap();
                format!("asks {}: ", self.names.question(id))
            }
            WriteKind::Error => "failed: ".to_owned(),
            WriteKind::Patch => format!("patch {}: ", write.path.as_str().split('.').next().unwrap_or_default()),
            _ => String::new(),
        };
        let mut body = envelope(&write.bytes);
        if write.kind == WriteKind::Patch {
            // The digest is of no interest.
            body = body.split(",\"digest\"").next().unwrap_or_default().to_owned() + "}";
        }
        let task = if write.task == TaskId::from_bytes([0; 16]) {
            String::new()
        } else {
            format!(" {}", self.names.task(write.task))
        };
        self.line(format!("  on {}: {}{task} {what}{body}", checkpoint(on), write.node));
    }

    // ---------------------------------------------------------------- signals

    fn signal(&mut self, signal: &Signal<DynState>) {
        let line = match signal {
            Signal::Values { state: of, questions } => format!("values {}{}", state(of), self.asked(questions)),
            Signal::Update { task, output, freshness } => {
                let again = if *freshness == Freshness::Restored { " again" } else { "" };
                format!("updates{again} {} {}", info(task), written(output))
            }
            Signal::Asked { task, questions } => format!("asked {}{}", info(task), self.asked(questions)),
            Signal::Paused => "paused".to_owned(),
            Signal::TaskStarted { task, input } => match input {
                TaskInput::State(of) => format!("started {} on {}", info(task), state(of)),
                TaskInput::Arg(arg) => format!("started {} with {arg}", info(task)),
            },
            Signal::TaskEnded { task, end } => match end {
                TaskEnd::Finished(output) => format!("ended {} {}", info(task), written(output)),
                TaskEnd::Failed(text) => format!("ended {} failed: {text}", info(task)),
                TaskEnd::Asked(questions) => format!("ended {}{}", info(task), self.asked(questions)),
            },
            Signal::Checkpoint { id, parent, state: of, source, step, tasks } => {
                let parent = parent.map_or("nothing".to_owned(), checkpoint);
                let tasks: Vec<String> = tasks
                    .iter()
                    .map(|ahead| {
                        let failed = ahead.error.as_ref().map_or(String::new(), |text| format!(" failed: {text}"));
                        format!("{}{}{failed}", info(&ahead.task), self.asked(&ahead.questions))
                    })
                    .collect();
                let (id, source) = (checkpoint(*id), source.as_str());
                format!("checkpoint {id} {source} {step} after {parent}: {}; next {}", state(of), list(tasks))
            }
            other => panic!("what is {other:?}?"),
        };
        self.line(line);
    }

    fn asked(&mut self, questions: &[Question]) -> String {
        let asked = |question: &Question| format!(" {}: {}", self.names.question(question.id), question.payload);
        questions.iter().map(asked).collect()
    }

    // ---------------------------------------------------------------- ends

    fn finish(&mut self, machine: &Machine<DynState>, end: &End) {
        let how = match end {
            End::Done => "done".to_owned(),
            End::Interrupted => "interrupted".to_owned(),
            End::Paused { nodes } => format!("paused at {}", list(nodes)),
            End::Failed { tasks } => {
                let failed = tasks.iter().map(|task| match &task.fault {
                    Some(fault) => format!("{}: {fault}", task.node),
                    None => task.node.to_string(),
                });
                format!("failed: {}", failed.collect::<Vec<_>>().join("; "))
            }
            End::Clash(clash) => format!("clash: {clash}"),
            End::OutOfSteps { limit } => format!("out of steps, limit {limit}"),
            other => panic!("what is {other:?}?"),
        };
        self.line(format!("finish {how}; {}", state(machine.state())));
        for (task, question) in machine.asked() {
            let asked = self.asked(std::slice::from_ref(&question));
            self.line(format!("  {} asks{asked}", info(&task)));
        }
        for left in machine.abandoned() {
            let task = self.names.task(left.task);
            let asked = self.asked(&left.questions);
            let done = if left.progress == Progress::Finished { " (finished)" } else { "" };
            self.line(format!("  abandoned {} {task}{done}{asked}", left.node));
        }
        for (target, missing) in machine.waiting_edges() {
            self.line(format!("  {target} waits for {}", list(missing)));
        }
    }

    pub(crate) fn snapshot(&mut self, snapshot: &Snapshot<DynState, DynUpdate>) {
        let name = |id: Option<CheckpointId>| id.map_or("nothing".to_owned(), checkpoint);
        self.line(format!(
            "{} {} {} after {}: {}",
            name(snapshot.id),
            snapshot.source.as_str(),
            snapshot.step,
            name(snapshot.parent),
            state(&snapshot.state),
        ));
        self.line(format!("next {}", list(&snapshot.next)));
        for task in &snapshot.tasks {
            let mut line = format!("  {} {}", info(&task.task), self.names.task(task.task.id));
            if let Some(error) = &task.error {
                let _ = write!(line, " failed: {error}");
            }
            line += &self.asked(&task.questions);
            if let Some(result) = &task.result {
                let _ = write!(line, " wrote {}", written(result));
            }
            self.line(line);
        }
        if !snapshot.questions.is_empty() {
            let asked = self.asked(&snapshot.questions);
            self.line(format!("open{asked}"));
        }
        if let Some(clash) = &snapshot.clash {
            self.line(format!("clash: {clash}"));
        }
        for (target, missing) in &snapshot.waiting {
            self.line(format!("{target} waits for {}", list(missing)));
        }
    }
}

fn info(task: &TaskInfo) -> String {
    task_name(task.node.as_str(), task.path)
}

fn written(output: &TaskOutput<DynUpdate>) -> String {
    let schema = superstep_pregel::DynSchema::new().build().unwrap();
    let shown = |update: &DynUpdate| DynState::update_json(&schema, update).unwrap().to_string();
    let updates: Vec<String> = output.updates.iter().map(shown).collect();
    if updates.is_empty() { "nothing".to_owned() } else { updates.join(" ") }
}

/// What comes next: tasks, Sends, half-filled waiting edges, deferred nodes that wait, and who ran last.
fn plan(plan: &Plan, args: &[u8]) -> String {
    let start = plan.start.then(|| "START".to_owned());
    let command = |by: Option<Digest>| if by.is_some() { " by command" } else { "" };
    let tasks = plan.tasks.iter().map(|task| format!("{}{}", task.node, command(task.by_command)));
    let args: Vec<Value> = if args.is_empty() { Vec::new() } else { serde_json::from_slice(&args[3..]).unwrap() };
    assert_eq!(args.len(), plan.sends.len());
    let sends = plan.sends.iter().zip(args).map(|(node, arg)| format!("{node} with {arg}"));
    let mut text = list(start.into_iter().chain(tasks).chain(sends));
    for edge in &plan.arrivals {
        let (sources, arrived) = (list(&edge.sources), list(&edge.arrived));
        let _ = write!(text, "; {sources} => {}: {arrived} arrived", edge.target);
    }
    if !plan.deferred.is_empty() {
        let _ = write!(text, "; deferred {}", list(&plan.deferred));
    }
    if !plan.last.is_empty() {
        let _ = write!(text, "; last {}", list(&plan.last));
    }
    text
}
