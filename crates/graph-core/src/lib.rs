//! State graphs: builder, nodes, driver, streams, state API.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod answer;
mod assert;
mod builder;
mod config;
mod driver;
mod error;
mod graph;
mod input;
mod node;
mod outcome;
mod output;
mod program;
mod retry;
mod run_error;
mod runtime;
mod state;
mod stream;

pub use builder::{InvalidGraph, NodeOptions, Problem, Site, StateGraph};
pub use config::{Durability, PauseAt, RunConfig, StreamMode, WhenBusy};
pub use error::{NodeError, NodeErrorKind, NodeResult};
pub use graph::CompiledGraph;
pub use input::{IntoInput, InvalidInput};
pub use node::{
    Arg, Blocking, Context, Contexts, FromRoute, FromTask, IntoNode, IntoRouter, IntoRoutes, IntoRouting, Need, Node,
    NodeOutput, Route, RouteContext, Router, TaskContext, blocking,
};
pub use outcome::{Done, Interrupt, NotDone, Outcome, Pause, Stop};
pub use output::{Command, Dispatch, IntoOutput, NoUpdate, Resume};
pub use retry::{Jitter, RetryPolicy};
pub use run_error::{NoStore, NodeFailure, NodeFault, RunError, RunErrorKind};
pub use runtime::Runtime;
pub use state::{HistoryQuery, ReadError, StateEdit, StateSnapshot, TaskState};
pub use stream::{CustomEvent, Event, RunStream};
pub use superstep_pregel::{
    Abandoned, DynSchema, DynState, DynUpdate, END, Face, Freshness, START, State, TaskAhead, TaskEnd, TaskInfo,
    TaskInput, TaskOutput, TaskPath,
};

/// What macros refer to. Not public API.
#[doc(hidden)]
pub mod __private {
    pub use crate::assert::{Is, assert_extractor, assert_future, assert_output, assert_state};
    pub use crate::input::{CallInput, UpdateOf};
}

/// What `derive(State)` needs to say beyond [`State`]: that its update is an output of its nodes and an input of its
/// callers. Not public API.
#[doc(hidden)]
#[macro_export]
macro_rules! __state_glue {
    ($state:ty, $update:ty) => {
        impl $crate::IntoOutput<$state> for $update {
            fn into_output(self) -> ::core::result::Result<$crate::NodeOutput<$update>, $crate::NodeError> {
                ::core::result::Result::Ok(::core::convert::From::from(self))
            }
        }

        impl $crate::IntoInput<$state> for $update {
            fn into_input(self) -> ::core::result::Result<$crate::__private::CallInput<$update>, $crate::InvalidInput> {
                ::core::result::Result::Ok($crate::__private::CallInput::Update(self))
            }
        }

        impl $crate::__private::UpdateOf<$state> for $update {
            fn into_update(self) -> ::core::option::Option<$update> {
                ::core::option::Option::Some(self)
            }
        }
    };
}
