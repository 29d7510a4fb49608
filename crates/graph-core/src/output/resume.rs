//! A caller's answer to what a run asked.

use std::fmt;

use serde::Serialize;

use super::dispatch::Dispatch;
use crate::input::ResumeAnswers;
use crate::node::{IntoRoutes, Route};

/// Answers to open questions, made by [`Command::resume`](crate::Command::resume) and
/// [`Command::answers`](crate::Command::answers), perhaps with a command beside them. Give it to
/// [`invoke`](crate::CompiledGraph::invoke).
///
/// ```
/// use superstep_graph_core::{Command, DynUpdate};
///
/// let resume = Command::resume(true).update(DynUpdate::new().set("seen_by", "Ann")).goto("notify");
/// # let _ = resume;
/// ```
///
/// It is for callers. A node goes on with [`Command::goto`](crate::Command::goto); one that returns a `Resume` does not
/// compile:
///
/// ```compile_fail,E0277
/// # use superstep_graph_core::{Command, DynState, IntoNode};
/// # fn node<M>(f: impl IntoNode<DynState, M>) {}
/// node(async || Command::resume(true));
/// ```
#[must_use = "a resume does nothing until it is given to a graph"]
pub struct Resume<U = NoUpdate> {
    pub(crate) answers: Result<ResumeAnswers, serde_json::Error>,
    pub(crate) update: Option<U>,
    pub(crate) routes: Vec<Route>,
}

/// Stands where a [`Resume`] has no update. It has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoUpdate {}

impl Resume {
    pub(crate) fn new(answers: Result<ResumeAnswers, serde_json::Error>) -> Self {
        Self { answers, update: None, routes: Vec::new() }
    }

    /// Writes to the state before the run goes on.
    pub fn update<U>(self, update: U) -> Resume<U> {
        Resume { answers: self.answers, update: Some(update), routes: self.routes }
    }
}

impl<U> Resume<U> {
    /// Starts these nodes beside the tasks that go on.
    pub fn goto(mut self, to: impl IntoRoutes) -> Self {
        self.routes.extend(to.into_routes());
        self
    }

    /// Starts a task of its own at a node beside the tasks that go on; see [`Dispatch`].
    pub fn send(self, node: impl Into<String>, arg: impl Serialize) -> Self {
        self.goto(Dispatch::to(node, arg))
    }
}

impl<U> fmt::Debug for Resume<U> {
    /// Shows which questions are answered and where it leads, no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Resume")
            .field("answers", &self.answers)
            .field("updates", &usize::from(self.update.is_some()))
            .field("routes", &self.routes)
            .finish()
    }
}
