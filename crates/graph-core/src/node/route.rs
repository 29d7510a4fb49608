//! Where commands and routers lead.

use superstep_checkpoint::NodeName;

use crate::error::NodeError;
use crate::output::Dispatch;

/// Where a command or a router leads.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Route {
    /// To a node, or to `END`. For a router with paths, a key of them.
    Node(String),
    /// To a task of its own.
    Send(Dispatch),
}

/// What says where to go on: node names, [`Dispatch`]es, lists of them. Taken by [`Command::goto`](crate::Command::goto)
/// and returned by routers. Implement it for an enum of yours, and a router cannot misspell a name:
///
/// ```
/// use superstep_graph_core::{END, IntoRoutes, Route};
///
/// enum Next { Pay, Stop }
///
/// impl IntoRoutes for Next {
///     fn into_routes(self) -> Vec<Route> {
///         match self {
///             Self::Pay => "pay".into_routes(),
///             Self::Stop => END.into_routes(),
///         }
///     }
/// }
/// ```
///
/// An empty list and `None` lead nowhere: only the edges are followed.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say where to go on",
    label = "no node names, no `Dispatch`",
    note = "give a node name (`&str`, `String`, `NodeName`), a `Dispatch`, a `Route`, or an `Option`, a `Vec` or an array \
            of those",
    note = "or implement `IntoRoutes` for a type of your own"
)]
pub trait IntoRoutes {
    /// All routes, in order.
    fn into_routes(self) -> Vec<Route>;
}

impl IntoRoutes for Route {
    fn into_routes(self) -> Vec<Route> {
        vec![self]
    }
}

impl IntoRoutes for Dispatch {
    fn into_routes(self) -> Vec<Route> {
        vec![Route::Send(self)]
    }
}

macro_rules! names {
    ($($name:ty),*) => {
        $(impl IntoRoutes for $name {
            fn into_routes(self) -> Vec<Route> {
                vec![Route::Node(self.into())]
            }
        })*
    };
}

names!(&str, String, &String, NodeName);

impl IntoRoutes for &NodeName {
    fn into_routes(self) -> Vec<Route> {
        self.as_str().into_routes()
    }
}

impl<T: IntoRoutes> IntoRoutes for Option<T> {
    fn into_routes(self) -> Vec<Route> {
        self.map(T::into_routes).unwrap_or_default()
    }
}

impl<T: IntoRoutes> IntoRoutes for Vec<T> {
    fn into_routes(self) -> Vec<Route> {
        self.into_iter().flat_map(T::into_routes).collect()
    }
}

impl<T: IntoRoutes, const N: usize> IntoRoutes for [T; N] {
    fn into_routes(self) -> Vec<Route> {
        self.into_iter().flat_map(T::into_routes).collect()
    }
}

/// What a router may return: [routes](IntoRoutes), a `bool` (with [`branch_map`](crate::StateGraph::branch_map), the keys
/// `true` and `false`), or a `Result` of those with any error.
#[diagnostic::on_unimplemented(
    message = "a router cannot return `{Self}`",
    label = "not an answer of a router",
    note = "return a node name (`&str`, `String`, `NodeName`), a `Dispatch`, a `Route`, an `Option`, a `Vec` or an array of \
            those, a type of your own that implements `IntoRoutes`, or a `bool` for `branch_map`",
    note = "or a `Result` of those: `NodeResult<..>` takes any error with `?`"
)]
pub trait IntoRouting {
    /// All routes, in order.
    ///
    /// # Errors
    /// The router's own error. It fails the task.
    fn into_routing(self) -> Result<Vec<Route>, NodeError>;
}

impl<T: IntoRoutes> IntoRouting for T {
    fn into_routing(self) -> Result<Vec<Route>, NodeError> {
        Ok(self.into_routes())
    }
}

impl IntoRouting for bool {
    fn into_routing(self) -> Result<Vec<Route>, NodeError> {
        Ok(vec![Route::Node(self.to_string())])
    }
}

impl<T: IntoRouting, E: Into<NodeError>> IntoRouting for Result<T, E> {
    fn into_routing(self) -> Result<Vec<Route>, NodeError> {
        self.map_err(Into::into)?.into_routing()
    }
}
