//! Nodes and routers behind one face, and how plain functions become them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use smallvec::SmallVec;
use superstep_pregel::State;

use crate::error::NodeError;
use crate::runtime::Runtime;

mod context;

pub use context::{Context, Contexts, Need};

/// What one attempt of a node gets; extractors take their parts from it.
pub struct TaskContext<S: State> {
    pub(crate) state: Arc<S>,
    pub(crate) arg: Option<Arc<Value>>,
    pub(crate) runtime: Runtime,
    pub(crate) contexts: Arc<Contexts>,
}

/// What a router gets: the state with its own task's update.
pub struct RouteContext<S: State> {
    pub(crate) state: Arc<S>,
    pub(crate) arg: Option<Arc<Value>>,
    pub(crate) contexts: Arc<Contexts>,
}

/// What a node gave back, names not resolved yet.
#[derive(Debug)]
pub struct NodeOutput<U> {
    pub(crate) updates: SmallVec<[U; 1]>,
    pub(crate) routes: Vec<Route>,
}

impl<U> Default for NodeOutput<U> {
    fn default() -> Self {
        Self { updates: SmallVec::new(), routes: Vec::new() }
    }
}

/// Where a node's command or a router leads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Route {
    /// To a node, or to `END`.
    Node(String),
    /// To a task of its own.
    Send(crate::output::Dispatch),
}

/// A node behind one face. Made from functions by [`IntoNode`](crate::IntoNode).
pub trait Node<S: State>: Send + Sync + 'static {
    /// Runs one attempt.
    fn call(&self, task: TaskContext<S>) -> BoxFuture<'static, Result<NodeOutput<S::Update>, NodeError>>;

    /// The contexts it takes, checked before a run begins.
    fn needs(&self) -> Vec<Need>;
}

/// A router behind one face. Made from functions by [`IntoRouter`](crate::IntoRouter).
pub trait Router<S: State>: Send + Sync + 'static {
    /// Decides.
    fn call(&self, route: RouteContext<S>) -> BoxFuture<'static, Result<Vec<Route>, NodeError>>;

    /// The contexts it takes.
    fn needs(&self) -> Vec<Need>;
}
