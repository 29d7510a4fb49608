//! How async functions and closures become nodes.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use superstep_pregel::State;

use super::{FromTask, Need, Node, NodeOutput, TaskContext};
use crate::error::NodeError;
use crate::output::IntoOutput;

/// What a graph takes as a node: an async function or closure of up to six [parameters](FromTask) that returns
/// [an output](IntoOutput); a synchronous one in [`blocking`](crate::blocking); or a finished [`Node`] in an `Arc`.
///
/// ```
/// # use std::sync::Arc;
/// # use superstep_graph_core::{Context, DynState, DynUpdate, IntoNode, NodeResult, Runtime};
/// # struct Mailer;
/// # fn node<M>(f: impl IntoNode<DynState, M>) {}
/// async fn greet(state: Arc<DynState>, mailer: Context<Mailer>, rt: Runtime) -> NodeResult<DynUpdate> {
///     let name: String = rt.interrupt("What is your name?")?;
///     Ok(DynUpdate::new().set("name", name))
/// }
/// node(greet);
/// ```
///
/// # Closures
///
/// An async closure may hold the borrow of the state over an await. Where it uses `?`, write its return type:
///
/// ```
/// # use superstep_graph_core::{DynState, DynUpdate, IntoNode, NodeResult, Runtime};
/// # fn node<M>(f: impl IntoNode<DynState, M>) {}
/// node(async |state: &DynState| DynUpdate::new().set("seen", state["name"].clone()));
/// node(async |state: &DynState, rt: Runtime| -> NodeResult<_> {
///     let yes: bool = rt.interrupt(&state["name"])?;
///     Ok(DynUpdate::new().set("known", yes))
/// });
/// ```
///
/// A closure that uses captured values in its future clones them for each run, so it is a plain closure around an async
/// block. Things that many nodes share are better a [`Context`](crate::Context).
///
/// ```
/// # use std::sync::Arc;
/// # use superstep_graph_core::{DynState, DynUpdate, IntoNode};
/// # fn node<M>(f: impl IntoNode<DynState, M>) {}
/// # let greeting = String::from("hello");
/// node(move |_: Arc<DynState>| {
///     let greeting = greeting.clone();
///     async move { DynUpdate::new().set("text", greeting) }
/// });
/// ```
///
/// `M` only tells the implementations apart. It is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a node of a graph over `{S}`",
    label = "not a node over `{S}`",
    note = "a node is an async function: it takes the state as `Arc<_>`, by value or (first) as `&_`, then any of \
            `Runtime`, `Context<T>` and `Arg<T>`, up to six parameters in all",
    note = "it returns the update of the state, `()`, a `Command` of that update, an `Option` or a `Vec` of those, or a \
            `Result` of those",
    note = "its future is `Send`: no `Rc` and no lock guard lives across an `.await`",
    note = "a synchronous function becomes a node with `blocking(f)`",
    note = "put `#[node({S})]` on the function to learn which part does not fit"
)]
pub trait IntoNode<S: State, M>: Sized {
    /// The node.
    fn into_node(self) -> Arc<dyn Node<S>>;
}

/// Marks what is a node already.
#[doc(hidden)]
#[derive(Debug)]
pub struct Ready;

impl<S: State> IntoNode<S, Ready> for Arc<dyn Node<S>> {
    fn into_node(self) -> Self {
        self
    }
}

/// A closure that runs an attempt, with the contexts it takes.
pub(super) struct FnNode<C> {
    call: C,
    needs: Vec<Need>,
}

impl<C> FnNode<C> {
    pub(super) fn shared<S: State>(needs: Vec<Need>, call: C) -> Arc<dyn Node<S>>
    where
        C: Fn(TaskContext<S>) -> BoxFuture<'static, Result<NodeOutput<S::Update>, NodeError>> + Send + Sync + 'static,
    {
        Arc::new(Self { call, needs })
    }
}

impl<S: State, C> Node<S> for FnNode<C>
where
    C: Fn(TaskContext<S>) -> BoxFuture<'static, Result<NodeOutput<S::Update>, NodeError>> + Send + Sync + 'static,
{
    fn call(&self, task: TaskContext<S>) -> BoxFuture<'static, Result<NodeOutput<S::Update>, NodeError>> {
        (self.call)(task)
    }

    fn needs(&self) -> Vec<Need> {
        self.needs.clone()
    }
}

/// Marks functions whose parameters are all [`FromTask`].
#[doc(hidden)]
#[derive(Debug)]
pub struct ByValue<A>(A);

/// Marks functions that take `&S` first.
#[doc(hidden)]
#[derive(Debug)]
pub struct ByRef<A>(A);

/// An async function of `&S` and `A`. The lifetime lets its future hold the borrow over an await.
#[doc(hidden)]
pub trait RefNode<'a, S: State, A>: Send + Sync {
    type Output: IntoOutput<S>;
    type Future: Future<Output = Self::Output> + Send + 'a;

    fn call_node(&'a self, state: &'a S, args: A) -> Self::Future;
}

/// The contexts that the parameters of a function take.
macro_rules! task_needs {
    ($($A:ident),*) => {{
        #[allow(unused_mut, reason = "there may be no parameters")]
        let mut needs = Vec::new();
        $(<$A as FromTask<S>>::needs(&mut needs);)*
        needs
    }};
}
pub(super) use task_needs;

macro_rules! by_value {
    ($($A:ident $a:ident),*) => {
        impl<S, F, Fut, R, $($A,)*> IntoNode<S, ByValue<($($A,)*)>> for F
        where
            S: State,
            F: Fn($($A),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = R> + Send + 'static,
            R: IntoOutput<S>,
            $($A: FromTask<S>,)*
        {
            fn into_node(self) -> Arc<dyn Node<S>> {
                let f = Arc::new(self);
                FnNode::shared(task_needs!($($A),*), move |task: TaskContext<S>| {
                    let f = Arc::clone(&f);
                    Box::pin(async move {
                        $(let $a = $A::from_task(&task)?;)*
                        drop(task);
                        f($($a),*).await.into_output()
                    })
                })
            }
        }
    };
}

macro_rules! by_ref {
    ($($A:ident $a:ident),*) => {
        impl<'a, S, F, Fut, R, $($A,)*> RefNode<'a, S, ($($A,)*)> for F
        where
            S: State,
            F: Fn(&'a S, $($A),*) -> Fut + Send + Sync,
            Fut: Future<Output = R> + Send + 'a,
            R: IntoOutput<S>,
        {
            type Output = R;
            type Future = Fut;

            fn call_node(&'a self, state: &'a S, ($($a,)*): ($($A,)*)) -> Fut {
                self(state, $($a),*)
            }
        }

        impl<S, F, $($A,)*> IntoNode<S, ByRef<($($A,)*)>> for F
        where
            S: State,
            F: for<'a> RefNode<'a, S, ($($A,)*)> + 'static,
            $($A: FromTask<S>,)*
        {
            fn into_node(self) -> Arc<dyn Node<S>> {
                let f = Arc::new(self);
                FnNode::shared(task_needs!($($A),*), move |task: TaskContext<S>| {
                    let f = Arc::clone(&f);
                    Box::pin(async move {
                        $(let $a = $A::from_task(&task)?;)*
                        let state = Arc::clone(&task.state);
                        drop(task);
                        f.call_node(&state, ($($a,)*)).await.into_output()
                    })
                })
            }
        }
    };
}

up_to_six!(by_value);
up_to_five!(by_ref);
