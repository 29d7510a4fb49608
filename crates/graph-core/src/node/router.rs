//! How functions and closures, synchronous or async, become routers.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use superstep_pregel::State;

use super::handler::{ByRef, ByValue, Ready};
use super::{FromRoute, IntoRouting, Need, Route, RouteContext, Router};
use crate::error::NodeError;

/// What a graph takes as a router: a function or closure, synchronous or async, of up to six [parameters](FromRoute)
/// that returns [where to go on](IntoRouting); or a finished [`Router`] in an `Arc`.
///
/// ```
/// # use superstep_graph_core::{Dispatch, DynState, END, IntoRouter};
/// # fn branch<M>(f: impl IntoRouter<DynState, M>) {}
/// branch(|state: &DynState| if state["approved"] == true { "pay" } else { END });
/// branch(async |state: &DynState| {
///     let topics = state["topics"].as_array().into_iter().flatten();
///     topics.map(|topic| Dispatch::to("write", topic)).collect::<Vec<_>>()
/// });
/// ```
///
/// `M` only tells the implementations apart. It is always inferred.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a router of a graph over `{S}`",
    label = "not a router over `{S}`",
    note = "a router is a function, synchronous or async: it takes the state as `Arc<_>`, by value or (first) as `&_`, then \
            any of `Context<T>` and `Arg<T>`, up to six parameters in all; it has no `Runtime`: only nodes ask and act",
    note = "it returns a node name (`&str`, `String`, `NodeName`), a `Dispatch`, an `Option`, a `Vec` or an array of those, a \
            type of your own that implements `IntoRoutes`, a `bool` for `branch_map`, or a `Result` of those"
)]
pub trait IntoRouter<S: State, M>: Sized {
    /// The router.
    fn into_router(self) -> Arc<dyn Router<S>>;
}

impl<S: State> IntoRouter<S, Ready> for Arc<dyn Router<S>> {
    fn into_router(self) -> Self {
        self
    }
}

/// A closure that decides, with the contexts it takes.
struct FnRouter<C> {
    call: C,
    needs: Vec<Need>,
}

impl<C> FnRouter<C> {
    fn shared<S: State>(needs: Vec<Need>, call: C) -> Arc<dyn Router<S>>
    where
        C: Fn(RouteContext<S>) -> BoxFuture<'static, Result<Vec<Route>, NodeError>> + Send + Sync + 'static,
    {
        Arc::new(Self { call, needs })
    }
}

impl<S: State, C> Router<S> for FnRouter<C>
where
    C: Fn(RouteContext<S>) -> BoxFuture<'static, Result<Vec<Route>, NodeError>> + Send + Sync + 'static,
{
    fn call(&self, route: RouteContext<S>) -> BoxFuture<'static, Result<Vec<Route>, NodeError>> {
        (self.call)(route)
    }

    fn needs(&self) -> Vec<Need> {
        self.needs.clone()
    }
}

/// Marks functions that answer at once.
#[doc(hidden)]
#[derive(Debug)]
pub struct Now<M>(M);

/// Marks async functions.
#[doc(hidden)]
#[derive(Debug)]
pub struct Later<M>(M);

/// A function of `&S` and `A` that answers at once. Its answer may borrow from the state.
#[doc(hidden)]
pub trait RefRouter<'a, S: State, A>: Send + Sync {
    fn route(&'a self, state: &'a S, args: A) -> Result<Vec<Route>, NodeError>;
}

/// An async function of `&S` and `A`. The lifetime lets its future hold the borrow over an await.
#[doc(hidden)]
pub trait RefAsyncRouter<'a, S: State, A>: Send + Sync {
    type Output: IntoRouting;
    type Future: Future<Output = Self::Output> + Send + 'a;

    fn call_router(&'a self, state: &'a S, args: A) -> Self::Future;
}

macro_rules! route_needs {
    ($($A:ident),*) => {{
        #[allow(unused_mut, reason = "there may be no parameters")]
        let mut needs = Vec::new();
        $(<$A as FromRoute<S>>::needs(&mut needs);)*
        needs
    }};
}

macro_rules! by_value {
    ($($A:ident $a:ident),*) => {
        impl<S, F, R, $($A,)*> IntoRouter<S, Now<ByValue<($($A,)*)>>> for F
        where
            S: State,
            F: Fn($($A),*) -> R + Send + Sync + 'static,
            R: IntoRouting,
            $($A: FromRoute<S>,)*
        {
            fn into_router(self) -> Arc<dyn Router<S>> {
                let f = Arc::new(self);
                FnRouter::shared(route_needs!($($A),*), move |route: RouteContext<S>| {
                    let f = Arc::clone(&f);
                    Box::pin(async move {
                        $(let $a = $A::from_route(&route)?;)*
                        drop(route);
                        f($($a),*).into_routing()
                    })
                })
            }
        }

        impl<S, F, Fut, R, $($A,)*> IntoRouter<S, Later<ByValue<($($A,)*)>>> for F
        where
            S: State,
            F: Fn($($A),*) -> Fut + Send + Sync + 'static,
            Fut: Future<Output = R> + Send + 'static,
            R: IntoRouting,
            $($A: FromRoute<S>,)*
        {
            fn into_router(self) -> Arc<dyn Router<S>> {
                let f = Arc::new(self);
                FnRouter::shared(route_needs!($($A),*), move |route: RouteContext<S>| {
                    let f = Arc::clone(&f);
                    Box::pin(async move {
                        $(let $a = $A::from_route(&route)?;)*
                        drop(route);
                        f($($a),*).await.into_routing()
                    })
                })
            }
        }
    };
}

macro_rules! by_ref {
    ($($A:ident $a:ident),*) => {
        impl<'a, S, F, R, $($A,)*> RefRouter<'a, S, ($($A,)*)> for F
        where
            S: State,
            F: Fn(&'a S, $($A),*) -> R + Send + Sync,
            R: IntoRouting,
        {
            fn route(&'a self, state: &'a S, ($($a,)*): ($($A,)*)) -> Result<Vec<Route>, NodeError> {
                self(state, $($a),*).into_routing()
            }
        }

        impl<S, F, $($A,)*> IntoRouter<S, Now<ByRef<($($A,)*)>>> for F
        where
            S: State,
            F: for<'a> RefRouter<'a, S, ($($A,)*)> + 'static,
            $($A: FromRoute<S>,)*
        {
            fn into_router(self) -> Arc<dyn Router<S>> {
                let f = Arc::new(self);
                FnRouter::shared(route_needs!($($A),*), move |route: RouteContext<S>| {
                    let f = Arc::clone(&f);
                    Box::pin(async move {
                        $(let $a = $A::from_route(&route)?;)*
                        f.route(&route.state, ($($a,)*))
                    })
                })
            }
        }

        impl<'a, S, F, Fut, R, $($A,)*> RefAsyncRouter<'a, S, ($($A,)*)> for F
        where
            S: State,
            F: Fn(&'a S, $($A),*) -> Fut + Send + Sync,
            Fut: Future<Output = R> + Send + 'a,
            R: IntoRouting,
        {
            type Output = R;
            type Future = Fut;

            fn call_router(&'a self, state: &'a S, ($($a,)*): ($($A,)*)) -> Fut {
                self(state, $($a),*)
            }
        }

        impl<S, F, $($A,)*> IntoRouter<S, Later<ByRef<($($A,)*)>>> for F
        where
            S: State,
            F: for<'a> RefAsyncRouter<'a, S, ($($A,)*)> + 'static,
            $($A: FromRoute<S>,)*
        {
            fn into_router(self) -> Arc<dyn Router<S>> {
                let f = Arc::new(self);
                FnRouter::shared(route_needs!($($A),*), move |route: RouteContext<S>| {
                    let f = Arc::clone(&f);
                    Box::pin(async move {
                        $(let $a = $A::from_route(&route)?;)*
                        f.call_router(&route.state, ($($a,)*)).await.into_routing()
                    })
                })
            }
        }
    };
}

up_to_six!(by_value);
up_to_five!(by_ref);
