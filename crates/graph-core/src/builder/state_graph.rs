//! The builder.

use std::any::type_name;
use std::fmt::Display;
use std::sync::Arc;

use superstep_checkpoint::{Checkpointer, Sealer};
use superstep_pregel::State;

use super::NodeOptions;
use super::outline::{BranchOutline, NodeOutline, Outline, WaitingEdge};
use crate::config::{Durability, PauseAt};
use crate::node::{Contexts, IntoNode, IntoRouter, Need, Node, Router};

/// Describes a graph over a state: nodes, and what leads from one to the next.
///
/// No method fails. Everything that is wrong is said at once by [`compile`](Self::compile).
///
/// ```
/// use superstep_graph_core::{DynSchema, DynState, DynUpdate, END, START, StateGraph};
///
/// let schema = DynSchema::new().last("draft").append("log").build()?;
/// let graph = StateGraph::<DynState>::with_schema(schema)
///     .node("write", async || DynUpdate::new().set("draft", "..."))
///     .node("check", async |state: &DynState| DynUpdate::new().set("log", vec![state["draft"].clone()]))
///     .edge(START, "write")
///     .edge("write", "check")
///     .branch_map("check", |state: &DynState| state["draft"] == "...", [(true, "write"), (false, END)])
///     .compile()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a graph does nothing until it is compiled"]
pub struct StateGraph<S: State> {
    pub(super) outline: Outline,
    pub(super) schema: Arc<S::Schema>,
    /// By the order of the outline's nodes.
    pub(super) nodes: Vec<Arc<dyn Node<S>>>,
    /// By the order of the outline's branches.
    pub(super) routers: Vec<Arc<dyn Router<S>>>,
    pub(super) contexts: Contexts,
    pub(super) store: Option<Arc<dyn Checkpointer>>,
    pub(super) sealer: Sealer,
}

impl<S: State<Schema = ()>> StateGraph<S> {
    /// An empty graph over a state whose channels are fixed by its type.
    pub fn new() -> Self {
        Self::with_schema(())
    }
}

impl<S: State<Schema = ()>> Default for StateGraph<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: State> StateGraph<S> {
    /// An empty graph over a state whose channels are made at run time.
    pub fn with_schema(schema: S::Schema) -> Self {
        Self {
            outline: Outline::new(short_name(type_name::<S>()).to_owned()),
            schema: Arc::new(schema),
            nodes: Vec::new(),
            routers: Vec::new(),
            contexts: Contexts::default(),
            store: None,
            sealer: Sealer::default(),
        }
    }

    /// Names the graph; the name of the state's type unless called. The name is stored with every thread, and a thread
    /// belongs to one graph: give the graph a name of its own before two graphs over one state share a store, or before
    /// you rename the type.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.outline.name = name.into();
        self
    }

    /// Adds a node: an async function or closure, see [`IntoNode`], or a synchronous one in
    /// [`blocking`](crate::blocking).
    pub fn node<M>(self, name: impl Into<String>, node: impl IntoNode<S, M>) -> Self {
        self.node_with(name, node, NodeOptions::new())
    }

    /// Adds a node with settings of its own.
    pub fn node_with<M>(mut self, name: impl Into<String>, node: impl IntoNode<S, M>, options: NodeOptions) -> Self {
        self.outline.nodes.push(NodeOutline { name: name.into(), options });
        self.nodes.push(node.into_node());
        self
    }

    /// Whenever `from` has run, `to` runs in the next step. A turn begins at `START`; at `END` a path ends. Several
    /// edges from one node start several nodes, side by side; a node reached by several in one step runs once.
    pub fn edge(mut self, from: impl Into<String>, to: impl Into<String>) -> Self {
        self.outline.edges.push((from.into(), to.into()));
        self
    }

    /// Once all of `sources` have run, in whatever steps, `to` runs. Then it waits for all of them anew.
    ///
    /// An [`edge`](Self::edge) from each source would start `to` each time one of them has run.
    pub fn waiting_edge<N: Into<String>>(
        mut self,
        sources: impl IntoIterator<Item = N>,
        to: impl Into<String>,
    ) -> Self {
        let sources = sources.into_iter().map(Into::into).collect();
        self.outline.waiting.push(WaitingEdge { sources, to: to.into() });
        self
    }

    /// After `from` (a node or `START`) a router decides: its answers are node names, `END`, or
    /// [`Dispatch`](crate::Dispatch)es. See [`IntoRouter`]. Edges of `from` are followed beside it.
    ///
    /// The router is a part of its node's task: it sees the state with that task's update, and if it fails the task
    /// fails.
    pub fn branch<M>(self, from: impl Into<String>, router: impl IntoRouter<S, M>) -> Self {
        self.add_branch(from.into(), router.into_router(), None)
    }

    /// A [`branch`](Self::branch) whose router answers with keys, each of which stands for a node. An answer that is no
    /// key fails the task. A [`Dispatch`](crate::Dispatch) passes as it is.
    pub fn branch_map<M, K: Display, N: Into<String>>(
        self,
        from: impl Into<String>,
        router: impl IntoRouter<S, M>,
        paths: impl IntoIterator<Item = (K, N)>,
    ) -> Self {
        let paths = paths.into_iter().map(|(key, node)| (key.to_string(), node.into())).collect();
        self.add_branch(from.into(), router.into_router(), Some(paths))
    }

    /// A [`branch`](Self::branch) that leads to these nodes only: they are checked when the graph is compiled, and drawn.
    /// Another answer fails the task. A [`Dispatch`](crate::Dispatch) passes as it is.
    pub fn branch_to<M, N: Into<String>>(
        self,
        from: impl Into<String>,
        router: impl IntoRouter<S, M>,
        nodes: impl IntoIterator<Item = N>,
    ) -> Self {
        let nodes = nodes.into_iter().map(Into::into);
        let paths = nodes.map(|node: String| (node.clone(), node)).collect();
        self.add_branch(from.into(), router.into_router(), Some(paths))
    }

    fn add_branch(mut self, from: String, router: Arc<dyn Router<S>>, paths: Option<Vec<(String, String)>>) -> Self {
        self.outline.branches.push(BranchOutline { from, paths });
        self.routers.push(router);
        self
    }

    /// Gives a thing to all nodes and routers that take [`Context<T>`](crate::Context): a client, settings, a handle.
    /// One of each type; a single call may have another ([`RunConfig::context`](crate::RunConfig::context)).
    pub fn context<T: Send + Sync + 'static>(mut self, thing: T) -> Self {
        if self.contexts.has(Need::of::<T>()) {
            self.outline.doubled_contexts.push(type_name::<T>());
        }
        self.contexts.insert(thing);
        self
    }

    /// The store in which threads are kept. Without one, only calls without a thread can be made.
    pub fn checkpointer(mut self, store: impl Checkpointer + 'static) -> Self {
        self.store = Some(Arc::new(store));
        self
    }

    /// How what is stored is encoded, compressed and encrypted; plain JSON unless called.
    pub fn sealer(mut self, sealer: Sealer) -> Self {
        self.sealer = sealer;
        self
    }

    /// How soon results reach the store, where a call does not say; [`Durability::Sync`] unless called.
    pub fn durability(mut self, durability: Durability) -> Self {
        self.outline.durability = durability;
        self
    }

    /// The most super-steps of a call, where it does not say; 1,000 unless called.
    pub fn limit(mut self, steps: u64) -> Self {
        self.outline.limit = steps;
        self
    }

    /// Stops before these nodes (a list, or [`PauseAt::All`]), where a call does not say otherwise.
    pub fn interrupt_before(mut self, nodes: impl Into<PauseAt>) -> Self {
        self.outline.before = Some(both(self.outline.before.take(), nodes.into()));
        self
    }

    /// Stops after these nodes (a list, or [`PauseAt::All`]), where a call does not say otherwise.
    pub fn interrupt_after(mut self, nodes: impl Into<PauseAt>) -> Self {
        self.outline.after = Some(both(self.outline.after.take(), nodes.into()));
        self
    }
}

/// The nodes of two calls together.
fn both(first: Option<PauseAt>, second: PauseAt) -> PauseAt {
    match (first, second) {
        (None, pause) => pause,
        (Some(PauseAt::Nodes(mut nodes)), PauseAt::Nodes(more)) => {
            nodes.extend(more);
            PauseAt::Nodes(nodes)
        }
        (Some(_), _) => PauseAt::All,
    }
}

/// The name of a type without its path and parameters.
fn short_name(full: &str) -> &str {
    let plain = full.split_once('<').map_or(full, |(plain, _)| plain);
    plain.rsplit_once("::").map_or(plain, |(_, name)| name)
}

impl<S: State> std::fmt::Debug for StateGraph<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StateGraph")
            .field("name", &self.outline.name)
            .field("nodes", &self.outline.nodes.iter().map(|node| &node.name).collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_name_loses_its_path_and_parameters() {
        assert_eq!(short_name("app::flows::Refund"), "Refund");
        assert_eq!(short_name("app::Chat<app::Message, alloc::vec::Vec<u8>>"), "Chat");
        assert_eq!(short_name("Plain"), "Plain");
    }

    #[test]
    fn pauses_add_up() {
        let nodes = |names: &[&str]| PauseAt::Nodes(names.iter().map(ToString::to_string).collect());
        assert_eq!(both(None, nodes(&["a"])), nodes(&["a"]));
        assert_eq!(both(Some(nodes(&["a"])), nodes(&["b"])), nodes(&["a", "b"]));
        assert_eq!(both(Some(PauseAt::All), nodes(&["b"])), PauseAt::All);
    }
}
