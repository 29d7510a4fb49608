//! Errors, in the recorder's words.

use std::fmt::Debug;

use serde_json::{Value, json};
use superstep::{NodeFailure, NodeFault, NotAnObject, RunError, RunErrorKind};

use crate::node::{Fault, MARK};

/// What the recorder writes of this error. `continued`: the call had no input.
pub(crate) fn shown(error: &RunError, continued: bool) -> Value {
    match error.kind() {
        RunErrorKind::Node { failures } => failures.first().map_or(json!({ "kind": "Other" }), shown_failure),
        kind => json!({ "kind": kind_of(kind, continued) }),
    }
}

fn shown_failure(failure: &NodeFailure) -> Value {
    if let Some(Fault(message)) = failure.error.downcast_ref() {
        return json!({ "kind": "Fault", "message": message });
    }
    let unfit = failure.fault == NodeFault::InvalidUpdate || failure.error.is::<NotAnObject>();
    json!({ "kind": if unfit { "InvalidUpdateError" } else { "Other" } })
}

fn kind_of(kind: &RunErrorKind, continued: bool) -> &'static str {
    match kind {
        RunErrorKind::OutOfSteps { .. } => "GraphRecursionError",
        RunErrorKind::InvalidUpdate(_)
        | RunErrorKind::Clash(_)
        | RunErrorKind::UnknownNode(_)
        | RunErrorKind::AmbiguousEdit { .. } => "InvalidUpdateError",
        RunErrorKind::UnknownThread if continued => "EmptyInputError",
        _ => "Other",
    }
}

/// The name of the kind of error; for a failed node the name of its fault.
pub(crate) fn name(error: &RunError) -> String {
    match error.kind() {
        RunErrorKind::Node { failures } => failures.first().map_or_else(String::new, |failure| word(&failure.fault)),
        kind => word(kind),
    }
}

/// The first word of how a value debugs: the name of its variant.
pub(crate) fn word(value: &impl Debug) -> String {
    format!("{value:?}").chars().take_while(|c| c.is_alphanumeric()).collect()
}

/// What the recorder shows of the text of a task's error: a node's own message, else only that there was one.
pub(crate) fn text(stored: &str) -> &str {
    stored.strip_prefix(MARK).unwrap_or("error")
}
