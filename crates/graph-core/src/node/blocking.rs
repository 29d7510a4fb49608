//! Synchronous functions as nodes.

use std::sync::Arc;

use superstep_pregel::State;
use tokio::runtime::Handle;
use tracing::Span;

use super::handler::{ByRef, ByValue, FnNode, IntoNode, task_needs};
use super::{FromTask, Node, TaskContext};
use crate::driver::SharedBusy;
use crate::error::NodeError;
use crate::output::IntoOutput;

/// A synchronous function that becomes a node; made by [`blocking`].
#[derive(Clone, Copy)]
pub struct Blocking<F>(F);

impl<F> std::fmt::Debug for Blocking<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Blocking")
    }
}

/// Makes a node of a synchronous function, with the same parameters and outputs as an async one. It runs on tokio's pool
/// of blocking threads, so it may compute for long or use blocking calls without holding up other nodes.
///
/// It cannot be cancelled: if the run is dropped, it works on to its end, and what it returns is lost.
///
/// ```
/// # use superstep_graph_core::{DynState, DynUpdate, IntoNode, blocking};
/// # fn node<M>(f: impl IntoNode<DynState, M>) {}
/// node(blocking(|state: &DynState| DynUpdate::new().set("size", state["text"].to_string().len())));
/// ```
///
/// Without it, a synchronous function is no node:
///
/// ```compile_fail,E0277
/// # use superstep_graph_core::{DynState, DynUpdate, IntoNode};
/// # fn node<M>(f: impl IntoNode<DynState, M>) {}
/// node(|state: &DynState| DynUpdate::new());
/// ```
pub fn blocking<F>(f: F) -> Blocking<F> {
    Blocking(f)
}

/// Marks blocking functions.
#[doc(hidden)]
#[derive(Debug)]
pub struct OnPool<M>(M);

macro_rules! by_value {
    ($($A:ident $a:ident),*) => {
        #[diagnostic::do_not_recommend]
        impl<S, F, R, $($A,)*> IntoNode<S, OnPool<ByValue<($($A,)*)>>> for Blocking<F>
        where
            S: State,
            F: Fn($($A),*) -> R + Send + Sync + 'static,
            R: IntoOutput<S>,
            $($A: FromTask<S>,)*
        {
            fn into_node(self) -> Arc<dyn Node<S>> {
                let f = Arc::new(self.0);
                FnNode::shared(task_needs!($($A),*), move |task: TaskContext<S>| {
                    let f = Arc::clone(&f);
                    Box::pin(async move {
                        $(let $a = $A::from_task(&task)?;)*
                        let busy = task.busy.clone();
                        drop(task);
                        on_pool(busy, move || f($($a),*).into_output()).await
                    })
                })
            }
        }
    };
}

macro_rules! by_ref {
    ($($A:ident $a:ident),*) => {
        #[diagnostic::do_not_recommend]
        impl<S, F, R, $($A,)*> IntoNode<S, OnPool<ByRef<($($A,)*)>>> for Blocking<F>
        where
            S: State,
            F: Fn(&S, $($A),*) -> R + Send + Sync + 'static,
            R: IntoOutput<S>,
            $($A: FromTask<S>,)*
        {
            fn into_node(self) -> Arc<dyn Node<S>> {
                let f = Arc::new(self.0);
                FnNode::shared(task_needs!($($A),*), move |task: TaskContext<S>| {
                    let f = Arc::clone(&f);
                    Box::pin(async move {
                        $(let $a = $A::from_task(&task)?;)*
                        let state = Arc::clone(&task.state);
                        let busy = task.busy.clone();
                        drop(task);
                        on_pool(busy, move || f(&state, $($a),*).into_output()).await
                    })
                })
            }
        }
    };
}

up_to_six!(by_value);
up_to_five!(by_ref);

/// Runs it on the blocking pool. A panic there is an error here. Work on the pool cannot be called back: if the call is
/// dropped, the thread stays taken until the work is done.
async fn on_pool<T: Send + 'static>(
    busy: Option<SharedBusy>,
    work: impl FnOnce() -> Result<T, NodeError> + Send + 'static,
) -> Result<T, NodeError> {
    let span = Span::current();
    let handle = Handle::try_current()?.spawn_blocking(move || {
        let result = span.in_scope(work);
        drop(busy);
        result
    });
    handle.await.unwrap_or_else(|error| Err(join_error(error)))
}

fn join_error(error: tokio::task::JoinError) -> NodeError {
    match error.try_into_panic() {
        Ok(payload) => NodeError::panicked(&*payload),
        Err(cancelled) => cancelled.into(),
    }
}
