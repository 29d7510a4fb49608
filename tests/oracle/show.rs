//! Events and snapshots, as the recorder writes them.

use serde_json::{Map, Value, json};
use superstep::{
    DynState, DynUpdate, Event, Freshness, Interrupt, Question, StateSnapshot, TaskAhead, TaskEnd, TaskInfo, TaskInput,
    TaskOutput, TaskPath, TaskState, Write,
};

use crate::fault;
use crate::settle::in_order;

/// An event as `[mode, namespace, payload]`; none where the reference shows nothing.
pub(crate) fn event(event: &Event<DynState>) -> Option<Value> {
    let (mode, payload) = match event {
        Event::Values { state, interrupts } => ("values", values(state, interrupts)),
        Event::Update { task, output, freshness } => ("updates", updates(task, output, *freshness)),
        Event::Interrupted { interrupts: asked } => ("updates", json!({ "__interrupt__": interrupts(asked) })),
        Event::Paused => ("updates", json!({ "__interrupt__": [] })),
        Event::TaskStarted { task, input } => ("tasks", started(task, input)),
        Event::TaskEnded { task, end } => ("tasks", ended(task, end)),
        Event::Custom(custom) => ("custom", custom.value.clone()),
        Event::Checkpoint { .. } => ("checkpoints", checkpoint(event)?),
        _ => return None,
    };
    Some(json!([mode, [], payload]))
}

fn values(state: &DynState, asked: &[Interrupt]) -> Value {
    let mut values = state.to_object();
    if !asked.is_empty() {
        values.insert("__interrupt__".to_owned(), interrupts(asked));
    }
    Value::Object(values)
}

/// Questions with their ids, in an order of their own.
pub(crate) fn interrupts(asked: &[Interrupt]) -> Value {
    in_order(asked.iter().map(|asked| json!({ "value": *asked.payload, "id": asked.id.to_string() })).collect())
}

fn questions(asked: &[Question]) -> Value {
    in_order(asked.iter().map(|asked| json!({ "value": *asked.payload, "id": asked.id.to_string() })).collect())
}

/// Each write of a task to a channel.
fn writes(output: &TaskOutput<DynUpdate>) -> impl Iterator<Item = (&str, Value)> {
    output.updates.iter().flat_map(DynUpdate::iter).map(|(channel, write)| {
        let value = match write {
            Write::Put(value) => value.clone(),
            Write::Overwrite(value) => json!({ "$overwrite": value }),
        };
        (channel, value)
    })
}

/// What a task wrote, node by node: null for nothing, a list where it wrote to a channel more than once.
fn updates(task: &TaskInfo, output: &TaskOutput<DynUpdate>, freshness: Freshness) -> Value {
    let written: Vec<(&str, Value)> = writes(output).collect();
    let twice = (1..written.len()).any(|at| written[..at].iter().any(|(channel, _)| *channel == written[at].0));
    let update = if written.is_empty() {
        Value::Null
    } else if twice {
        written.into_iter().map(|(channel, value)| json!({ channel: value })).collect()
    } else {
        written.into_iter().map(|(channel, value)| (channel.to_owned(), value)).collect()
    };
    let mut shown = Map::from_iter([(task.node.to_string(), update)]);
    if freshness == Freshness::Restored {
        shown.insert("__metadata__".to_owned(), json!({ "cached": true }));
    }
    Value::Object(shown)
}

/// What a task wrote by channel; several writes to one under `$writes`.
fn result(output: &TaskOutput<DynUpdate>) -> Value {
    let mut by_channel: Map<String, Value> = Map::new();
    let mut several: Vec<String> = Vec::new();
    for (channel, value) in writes(output) {
        match by_channel.get_mut(channel) {
            None | Some(Value::Null) => drop(by_channel.insert(channel.to_owned(), value)),
            Some(before) if several.iter().any(|known| known == channel) => {
                before["$writes"].as_array_mut().into_iter().for_each(|list| list.push(value.clone()));
            }
            Some(before) => {
                *before = json!({ "$writes": [before.take(), value] });
                several.push(channel.to_owned());
            }
        }
    }
    Value::Object(by_channel)
}

fn started(task: &TaskInfo, input: &TaskInput<DynState>) -> Value {
    let input = match input {
        TaskInput::State(state) => Value::Object(state.to_object()),
        TaskInput::Arg(arg) => Value::clone(arg),
    };
    json!({ "id": task.id.to_string(), "name": task.node.as_str(), "input": input })
}

fn ended(task: &TaskInfo, end: &TaskEnd<DynUpdate>) -> Value {
    let (error, result, interrupts) = match end {
        TaskEnd::Finished(output) => (Value::Null, result(output), json!([])),
        TaskEnd::Failed(text) => (json!(fault::text(text)), json!({}), json!([])),
        TaskEnd::Asked(asked) => (Value::Null, json!({}), questions(asked)),
    };
    let (id, name) = (task.id.to_string(), task.node.as_str());
    json!({ "id": id, "name": name, "error": error, "result": result, "interrupts": interrupts })
}

fn checkpoint(event: &Event<DynState>) -> Option<Value> {
    let Event::Checkpoint { id, parent, state, source, step, tasks } = event else { return None };
    let place = |id: String| json!({ "configurable": { "checkpoint_ns": "", "checkpoint_id": id } });
    let next: Vec<&str> = tasks.iter().map(|ahead| ahead.task.node.as_str()).collect();
    Some(json!({
        "config": place(id.to_string()),
        "parent_config": parent.map(|parent| place(parent.to_string())),
        "values": state.to_object(),
        "metadata": { "source": source.as_str(), "step": step.0, "parents": {} },
        "next": next,
        "tasks": tasks.iter().map(ahead).collect::<Vec<_>>(),
    }))
}

fn ahead(ahead: &TaskAhead) -> Value {
    let (id, name) = (ahead.task.id.to_string(), ahead.task.node.as_str());
    match &ahead.error {
        Some(error) => json!({ "id": id, "name": name, "error": fault::text(error), "state": null }),
        None => json!({ "id": id, "name": name, "interrupts": questions(&ahead.questions), "state": null }),
    }
}

/// A checkpoint with its tasks.
pub(crate) fn snapshot(snapshot: &StateSnapshot<DynState>) -> Value {
    let mut next: Vec<&str> = snapshot.next.iter().map(superstep::NodeName::as_str).collect();
    next.sort_unstable();
    json!({
        "values": snapshot.state.to_object(),
        "next": next,
        "checkpoint": snapshot.checkpoint.to_string(),
        "parent": snapshot.parent.map(|parent| parent.to_string()),
        "source": snapshot.source.as_str(),
        "step": snapshot.step.0,
        "tasks": in_order(snapshot.tasks.iter().map(task).collect()),
        "interrupts": interrupts(&snapshot.interrupts),
    })
}

fn task(task: &TaskState<DynUpdate>) -> Value {
    json!({
        "name": task.node.as_str(),
        "path": match task.path {
            TaskPath::Pull => "__pregel_pull",
            TaskPath::Push(_) => "__pregel_push",
        },
        "error": task.error.as_deref().map(fault::text),
        "interrupts": interrupts(&task.interrupts),
        "result": task.result.as_deref().map(result),
    })
}
