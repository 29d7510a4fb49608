//! Names that nodes and routers gave become nodes of the graph.

use smallvec::SmallVec;
use std::sync::Arc;
use superstep_pregel::{Dispatch, State, Target, TaskOutput, Topology};

use crate::error::NodeError;
use crate::node::{NodeOutput, Route};
use crate::program::RouterEntry;

/// What a task wrote, names resolved.
pub(crate) fn output<U>(topology: &Topology, given: NodeOutput<U>) -> Result<TaskOutput<U>, NodeError> {
    let mut output = TaskOutput { updates: given.updates, goto: SmallVec::new(), sends: Vec::new() };
    for route in given.routes {
        add(topology, route, &mut output)?;
    }
    Ok(output)
}

/// What routers add, names resolved: each answer through its router's paths.
pub(crate) fn routes<S: State>(
    topology: &Topology,
    answers: Vec<(&RouterEntry<S>, Vec<Route>)>,
) -> Result<TaskOutput<S::Update>, NodeError> {
    let mut output = TaskOutput::default();
    for (entry, routes) in answers {
        for route in routes {
            add(topology, through(entry.paths.as_deref(), route)?, &mut output)?;
        }
    }
    Ok(output)
}

fn through(paths: Option<&[(String, String)]>, route: Route) -> Result<Route, NodeError> {
    match (paths, route) {
        (Some(paths), Route::Node(answer)) => {
            let found = paths.iter().find(|(key, _)| *key == answer);
            found.map(|(_, node)| Route::Node(node.clone())).ok_or_else(|| NodeError::unknown_route(answer))
        }
        (_, route) => Ok(route),
    }
}

fn add<U>(topology: &Topology, route: Route, output: &mut TaskOutput<U>) -> Result<(), NodeError> {
    match route {
        Route::Node(name) => {
            if let Target::Node(node) = topology.target(&name).map_err(NodeError::unknown_node)? {
                output.goto.push(node);
            }
        }
        Route::Send(send) => {
            let node = topology.node(send.node()).map_err(NodeError::unknown_node)?;
            let arg = send.into_arg().map_err(NodeError::payload)?;
            output.sends.push(Dispatch { node, arg: Arc::new(arg) });
        }
    }
    Ok(())
}
