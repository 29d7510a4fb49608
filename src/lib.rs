//! Durable state graphs for agents: typed state with reducers, a super-step scheduler that runs nodes in parallel,
//! checkpoints per thread, questions that park a run for days. No finished step is run or paid for twice.
//!
//! This crate only re-exports; the parts live in crates of their own.
//!
//! # Features
//!
//! | feature | brings | default |
//! | --- | --- | --- |
//! | `macros` | `#[derive(State)]` and `#[node]` | yes |
//! | `sqlite` | [`Sqlite`]: one file, several processes of one host | yes |
//!
//! Without any of them there is still [`Memory`], and [`DynState`] for channels made at run time.
#![cfg_attr(docsrs, feature(doc_cfg))]

pub use superstep_checkpoint::{
    CheckpointId, Checkpointer, CheckpointerExt, Digest, Durable, Guarantees, InvalidId, Memory, Metadata, Namespace,
    NodeName, QuestionId, RunId, Sealer, Source, Step, StoreError, StoreErrorKind, TaskId, TenantId, ThreadId,
};
#[cfg(feature = "sqlite")]
#[cfg_attr(docsrs, doc(cfg(feature = "sqlite")))]
pub use superstep_checkpoint_sqlite::{Sqlite, SqliteOptions, Synchronous};
pub use superstep_graph_core::{
    Abandoned, Arg, Blocking, Command, CompiledGraph, Context, Contexts, CustomEvent, Dispatch, Done, Durability,
    Event, Face, Freshness, FromRoute, FromTask, HistoryQuery, Interrupt, IntoInput, IntoNode, IntoOutput, IntoRouter,
    IntoRoutes, IntoRouting, InvalidGraph, InvalidInput, Jitter, Need, NoStore, NoUpdate, Node, NodeError,
    NodeErrorKind, NodeFailure, NodeFault, NodeOptions, NodeOutput, NodeResult, NotDone, Outcome, Pause, PauseAt,
    Problem, ReadError, Resume, RetryPolicy, Route, RouteContext, Router, RunConfig, RunError, RunErrorKind, RunStream,
    Runtime, Site, StateEdit, StateGraph, StateSnapshot, Stop, StreamMode, TaskAhead, TaskContext, TaskEnd, TaskInfo,
    TaskInput, TaskOutput, TaskPath, TaskState, WhenBusy, blocking,
};
#[cfg(feature = "macros")]
#[cfg_attr(docsrs, doc(cfg(feature = "macros")))]
pub use superstep_graph_macros::{State, node};
pub use superstep_pregel::{
    DynSchema, DynSchemaBuilder, DynState, DynUpdate, END, InvalidSchema, InvalidUpdate, LoadError, LoadReason,
    NotAnObject, Question, QuestionKey, START, State, Why, Write, reduce,
};

/// The storage contract, for authors of stores.
pub mod checkpoint {
    pub use superstep_checkpoint::*;
}

/// What the macros refer to. Not public API.
#[doc(hidden)]
pub mod __macro {
    pub use superstep_graph_core::__private as assert;
    pub use superstep_graph_core::__state_glue as state_glue;
    pub use superstep_pregel as pregel;
}

/// The README's code is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
