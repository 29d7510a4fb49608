//! Nodes and routers behind one face, and how plain functions become them.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use serde_json::Value;
use superstep_pregel::State;

use crate::driver::SharedBusy;
use crate::error::NodeError;
use crate::runtime::Runtime;

/// Calls a macro with the parameters of functions that take 0 to 6 of them.
macro_rules! up_to_six {
    ($macro:ident) => {
        $macro!();
        $macro!(A1 a1);
        $macro!(A1 a1, A2 a2);
        $macro!(A1 a1, A2 a2, A3 a3);
        $macro!(A1 a1, A2 a2, A3 a3, A4 a4);
        $macro!(A1 a1, A2 a2, A3 a3, A4 a4, A5 a5);
        $macro!(A1 a1, A2 a2, A3 a3, A4 a4, A5 a5, A6 a6);
    };
}

/// The same for the parameters that follow `&S`.
macro_rules! up_to_five {
    ($macro:ident) => {
        $macro!();
        $macro!(A1 a1);
        $macro!(A1 a1, A2 a2);
        $macro!(A1 a1, A2 a2, A3 a3);
        $macro!(A1 a1, A2 a2, A3 a3, A4 a4);
        $macro!(A1 a1, A2 a2, A3 a3, A4 a4, A5 a5);
    };
}

mod blocking;
mod context;
mod extract;
mod handler;
mod route;
mod router;

pub use blocking::{Blocking, blocking};
pub use context::{Context, Contexts, Need};
pub use extract::{Arg, FromRoute, FromTask};
pub use handler::IntoNode;
pub use route::{IntoRoutes, IntoRouting, Route};
pub use router::IntoRouter;

pub use crate::output::NodeOutput;

/// What one attempt of a node gets; extractors take their parts from it.
pub struct TaskContext<S: State> {
    pub(crate) state: Arc<S>,
    pub(crate) arg: Option<Arc<Value>>,
    pub(crate) runtime: Runtime,
    pub(crate) contexts: Arc<Contexts>,
    /// The right to run the thread, for work that cannot be called back.
    pub(crate) busy: Option<SharedBusy>,
}

/// What a router gets: the state with its own task's update, not those of its siblings.
pub struct RouteContext<S: State> {
    pub(crate) state: Arc<S>,
    pub(crate) arg: Option<Arc<Value>>,
    pub(crate) contexts: Arc<Contexts>,
}

/// A node behind one face. Made from functions by [`IntoNode`]. Implement it to put something around another node:
///
/// ```
/// # use std::future::Future;
/// # use std::pin::Pin;
/// # use std::sync::Arc;
/// use superstep_graph_core::{Need, Node, NodeError, NodeOutput, State, TaskContext};
///
/// struct Logged<S: State>(Arc<dyn Node<S>>);
///
/// impl<S: State> Node<S> for Logged<S> {
///     fn call(
///         &self,
///         task: TaskContext<S>,
///     ) -> Pin<Box<dyn Future<Output = Result<NodeOutput<S::Update>, NodeError>> + Send>> {
///         println!("attempt {} of {}", task.runtime().attempt(), task.runtime().node());
///         self.0.call(task)
///     }
///
///     fn needs(&self) -> Vec<Need> {
///         self.0.needs()
///     }
/// }
/// ```
pub trait Node<S: State>: Send + Sync + 'static {
    /// Runs one attempt.
    fn call(&self, task: TaskContext<S>) -> BoxFuture<'static, Result<NodeOutput<S::Update>, NodeError>>;

    /// The contexts it takes, checked before a run begins.
    fn needs(&self) -> Vec<Need>;
}

/// A router behind one face. Made from functions by [`IntoRouter`].
pub trait Router<S: State>: Send + Sync + 'static {
    /// Decides.
    fn call(&self, route: RouteContext<S>) -> BoxFuture<'static, Result<Vec<Route>, NodeError>>;

    /// The contexts it takes.
    fn needs(&self) -> Vec<Need>;
}
