//! The parameters of nodes and routers.

use std::any::type_name;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;
use superstep_pregel::State;

use super::{Context, Contexts, Need, RouteContext, TaskContext};
use crate::error::NodeError;
use crate::runtime::Runtime;

/// What a [`Dispatch`](crate::Dispatch) gave the task. A node that is also started by edges cannot take it.
///
/// ```
/// # use superstep_graph_core::{Arg, DynUpdate};
/// # use serde::Deserialize;
/// #[derive(Deserialize)]
/// struct Topic { name: String }
///
/// async fn write(Arg(topic): Arg<Topic>) -> DynUpdate {
///     DynUpdate::new().set("text", format!("All about {}", topic.name))
/// }
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Arg<T>(pub T);

impl<T> std::fmt::Debug for Arg<T> {
    /// Shows its type, no value.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Arg<{}>", type_name::<T>())
    }
}

impl<T> Deref for Arg<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> DerefMut for Arg<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

/// A parameter of a node: the state as `Arc<S>`, `S` (a copy) or, as the first one, `&S`; then [`Runtime`],
/// [`Context<T>`] and [`Arg<T>`] in any order. Implement it for parameters of your own.
///
/// ```
/// use superstep_graph_core::{FromTask, Need, NodeError, State, TaskContext};
///
/// /// How many steps are left.
/// struct Budget(u64);
///
/// impl<S: State> FromTask<S> for Budget {
///     fn from_task(task: &TaskContext<S>) -> Result<Self, NodeError> {
///         Ok(Self(task.runtime().remaining_steps()))
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parameter of a node over `{S}`",
    label = "not a parameter of a node over `{S}`",
    note = "a node takes the state as `Arc<_>`, by value or (first) as `&_`, then any of `Runtime`, `Context<T>` and \
            `Arg<T>`"
)]
pub trait FromTask<S: State>: Sized + Send + 'static {
    /// Takes it from the task.
    ///
    /// # Errors
    /// If the task does not have it. The node is then not run, and the task fails with this error.
    fn from_task(task: &TaskContext<S>) -> Result<Self, NodeError>;

    /// Adds the contexts it takes, so that a run without them is refused before anything is written.
    fn needs(needs: &mut Vec<Need>) {
        let _ = needs;
    }
}

/// A parameter of a router: the state as `Arc<S>`, `S` (a copy) or, as the first one, `&S`; then [`Context<T>`] and
/// [`Arg<T>`]. Implement it for parameters of your own.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no parameter of a router over `{S}`",
    label = "not a parameter of a router over `{S}`",
    note = "a router takes the state as `Arc<_>`, by value or (first) as `&_`, then any of `Context<T>` and `Arg<T>`; it \
            has no `Runtime`: only nodes ask and act"
)]
pub trait FromRoute<S: State>: Sized + Send + 'static {
    /// Takes it from what the router gets.
    ///
    /// # Errors
    /// If it is not there. The router is then not run, and the task fails with this error.
    fn from_route(route: &RouteContext<S>) -> Result<Self, NodeError>;

    /// Adds the contexts it takes.
    fn needs(needs: &mut Vec<Need>) {
        let _ = needs;
    }
}

macro_rules! parts {
    ($context:ident) => {
        impl<S: State> $context<S> {
            /// The state.
            pub fn state(&self) -> &Arc<S> {
                &self.state
            }

            /// What a [`Dispatch`](crate::Dispatch) gave the task, if one started it.
            pub fn arg(&self) -> Option<&Value> {
                self.arg.as_deref()
            }

            /// The context of this type, if one was given.
            pub fn context<T: Send + Sync + 'static>(&self) -> Option<Context<T>> {
                self.contexts.get()
            }
        }

        impl<S: State> std::fmt::Debug for $context<S> {
            /// Shows no values.
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_struct(stringify!($context)).field("contexts", &self.contexts).finish_non_exhaustive()
            }
        }
    };
}

parts!(TaskContext);
parts!(RouteContext);

impl<S: State> TaskContext<S> {
    /// The engine, as this task sees it.
    pub fn runtime(&self) -> &Runtime {
        &self.runtime
    }
}

impl<S: State> FromTask<S> for Runtime {
    fn from_task(task: &TaskContext<S>) -> Result<Self, NodeError> {
        Ok(task.runtime.clone())
    }
}

/// Extractors that nodes and routers share.
macro_rules! shared_extractor {
    ([$($generics:tt)*] $extractor:ty, $from:ident => $take:expr $(, needs $need:expr)?) => {
        impl<S: State, $($generics)*> FromTask<S> for $extractor {
            fn from_task($from: &TaskContext<S>) -> Result<Self, NodeError> {
                $take
            }
            $(fn needs(needs: &mut Vec<Need>) {
                needs.push($need);
            })?
        }

        impl<S: State, $($generics)*> FromRoute<S> for $extractor {
            fn from_route($from: &RouteContext<S>) -> Result<Self, NodeError> {
                $take
            }
            $(fn needs(needs: &mut Vec<Need>) {
                needs.push($need);
            })?
        }
    };
}

shared_extractor!([] Arc<S>, from => Ok(Arc::clone(&from.state)));
shared_extractor!([] S, from => Ok(S::clone(&from.state)));
shared_extractor!([T: Send + Sync + 'static] Context<T>, from => take_context(&from.contexts), needs Need::of::<T>());
shared_extractor!([T: DeserializeOwned + Send + 'static] Arg<T>, from => take_arg(from.arg.as_deref()));

fn take_context<T: Send + Sync + 'static>(contexts: &Contexts) -> Result<Context<T>, NodeError> {
    let missing = || NodeError::msg(format!("no context of type {} was given", type_name::<T>()));
    contexts.get().ok_or_else(missing)
}

fn take_arg<T: DeserializeOwned>(arg: Option<&Value>) -> Result<Arg<T>, NodeError> {
    let wanted = type_name::<T>();
    let arg = arg.ok_or_else(|| NodeError::no_argument(wanted))?;
    T::deserialize(arg).map(Arg).map_err(|error| NodeError::argument(wanted, &error))
}
