//! Builds a scenario's graph.

use std::sync::Arc;

use superstep::{
    Checkpointer, CompiledGraph, DynSchema, DynSchemaBuilder, DynState, Jitter, NodeError, NodeOptions, PauseAt,
    RetryPolicy, Route, StateGraph,
};

use crate::expr::{Env, eval, name, routes};
use crate::node::{Fault, Given, World, run};
use crate::scenario::{BranchSpec, GraphSpec, Names, NodeSpec, Paths, Sources, Star};
use crate::term::NoValue;

type Graph = StateGraph<DynState>;

/// The graph, with this store unless it says that it has none; the error is what is wrong with it.
pub(crate) fn build(
    spec: &GraphSpec,
    store: Arc<dyn Checkpointer>,
    world: &Arc<World>,
) -> Result<CompiledGraph<DynState>, Box<dyn std::error::Error>> {
    let mut graph = Graph::with_schema(schema(spec)?).name("scenario");
    if !spec.is_without_store() {
        graph = graph.checkpointer(store);
    }
    for (key, node) in &spec.nodes {
        graph = add_node(graph, key, node, world);
    }
    for (from, to) in &spec.edges {
        graph = match from {
            Sources::One(from) => graph.edge(name(from), name(to)),
            Sources::All(from) => graph.waiting_edge(from.iter().map(|from| name(from)), name(to)),
        };
    }
    for branch in &spec.branches {
        graph = add_branch(graph, branch);
    }
    if let Some(at) = &spec.interrupt_before {
        graph = graph.interrupt_before(pause_at(at));
    }
    if let Some(at) = &spec.interrupt_after {
        graph = graph.interrupt_after(pause_at(at));
    }
    Ok(graph.compile()?)
}

impl GraphSpec {
    pub(crate) fn is_without_store(&self) -> bool {
        self.checkpointer.as_ref().is_some_and(|wish| wish == false)
    }
}

fn schema(spec: &GraphSpec) -> Result<DynSchema, Box<dyn std::error::Error>> {
    let mut schema = DynSchema::new();
    for (channel, reducer) in &spec.state {
        schema = add_channel(schema, channel, reducer)?;
    }
    if let Some(input) = &spec.input {
        schema = schema.input(input);
    }
    if let Some(output) = &spec.output {
        schema = schema.output(output);
    }
    Ok(schema.build()?)
}

fn add_channel(schema: DynSchemaBuilder, channel: &str, reducer: &str) -> Result<DynSchemaBuilder, NoValue> {
    Ok(match reducer {
        "last" => schema.last(channel),
        "append" => schema.append(channel),
        "add" => schema.add(channel),
        "concat" => schema.concat(channel),
        "max" => schema.max(channel),
        "merge" => schema.merge(channel),
        "union" => schema.union(channel),
        "any" => schema.any(channel),
        "untracked" => schema.untracked(channel),
        "ephemeral" => schema.ephemeral(channel),
        other => return Err(NoValue(format!("there is no reducer {other:?}"))),
    })
}

fn add_node(graph: Graph, key: &str, spec: &NodeSpec, world: &Arc<World>) -> Graph {
    let mut options = NodeOptions::new();
    if spec.defer {
        options = options.deferred();
    }
    if let Some(attempts) = spec.retry {
        options = options.retry(retry(attempts));
    }
    let (key, ops, world) = (Arc::<str>::from(key), Arc::new(spec.run.clone()), Arc::clone(world));
    let name = key.to_string();
    let node = move |given: Given| run(Arc::clone(&key), Arc::clone(&ops), Arc::clone(&world), given);
    graph.node_with(name, node, options)
}

/// Tries again at once, and only what a `fail` raised.
fn retry(attempts: u32) -> RetryPolicy {
    let interval = std::time::Duration::from_millis(1);
    let policy = RetryPolicy::attempts(attempts).initial_interval(interval).jitter(Jitter::None);
    policy.when(|error| error.downcast_ref::<Fault>().is_some())
}

fn add_branch(graph: Graph, spec: &BranchSpec) -> Graph {
    let route = spec.route.clone();
    let router = move |state: Arc<DynState>| -> Result<Vec<Route>, NodeError> {
        let env = Env::of(state.to_object().into());
        Ok(routes(eval(&route, &env)?)?)
    };
    let from = name(&spec.from);
    match &spec.paths {
        None => graph.branch(from, router),
        Some(Paths::List(nodes)) => graph.branch_to(from, router, nodes.iter().map(|node| name(node))),
        Some(Paths::Map(paths)) => {
            graph.branch_map(from, router, paths.iter().map(|(key, node)| (key.clone(), name(node))))
        }
    }
}

pub(crate) fn pause_at(names: &Names) -> PauseAt {
    match names {
        Names::Every(Star::Star) => PauseAt::All,
        Names::These(nodes) => PauseAt::from(nodes.clone()),
    }
}
