//! A node's command: updates and jumps in one.

use std::fmt;

use serde::Serialize;
use superstep_checkpoint::QuestionId;

use super::dispatch::Dispatch;
use super::resume::{NoUpdate, Resume};
use crate::input::ResumeAnswers;
use crate::node::{IntoRoutes, Route};

/// Updates and jumps in one: what a node returns to say where the run goes on. Edges of the node are followed beside it.
///
/// ```
/// use superstep_graph_core::{Command, DynUpdate, END};
///
/// # let approved = true;
/// let command: Command<DynUpdate> =
///     Command::goto(if approved { "pay" } else { END }).update(DynUpdate::new().set("approved", approved));
/// # let _: Command<DynUpdate> =
/// Command::goto(["pay", "notify"]).and_send("audit", "A-17");
/// ```
///
/// Callers give commands too, as input of [`invoke`](crate::CompiledGraph::invoke). To answer a question they use
/// [`Command::resume`], which makes a [`Resume`]; a node cannot return one.
#[derive(Clone, PartialEq)]
#[must_use = "a command does nothing until it is returned from a node or given to a graph"]
pub struct Command<U> {
    updates: Vec<U>,
    routes: Vec<Route>,
    scope: Scope,
}

/// Which graph a command is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The node's own.
    #[default]
    Here,
    /// The one around it.
    Parent,
}

impl<U> Command<U> {
    /// A command that does nothing yet.
    pub fn new() -> Self {
        Self { updates: Vec::new(), routes: Vec::new(), scope: Scope::Here }
    }

    /// Goes on at a node, at several (a list), at `END`, or at tasks of their own ([`Dispatch`]).
    pub fn goto(to: impl IntoRoutes) -> Self {
        Self::new().and_goto(to)
    }

    /// Starts a task of its own at a node and gives it a value; see [`Dispatch`].
    pub fn send(node: impl Into<String>, arg: impl Serialize) -> Self {
        Self::new().and_send(node, arg)
    }

    /// Writes to the state. Several updates are applied in order.
    pub fn update(mut self, update: U) -> Self {
        self.updates.push(update);
        self
    }

    /// Goes on there as well, see [`goto`](Self::goto).
    pub fn and_goto(mut self, to: impl IntoRoutes) -> Self {
        self.routes.extend(to.into_routes());
        self
    }

    /// Starts this task as well, see [`send`](Self::send).
    pub fn and_send(self, node: impl Into<String>, arg: impl Serialize) -> Self {
        self.and_goto(Dispatch::to(node, arg))
    }

    /// The same command for the graph around this subgraph. In a graph that is no subgraph the node fails with that.
    pub fn to_parent(mut self) -> Self {
        self.scope = Scope::Parent;
        self
    }

    pub(crate) fn scope(&self) -> Scope {
        self.scope
    }

    pub(crate) fn into_parts(self) -> (Vec<U>, Vec<Route>) {
        (self.updates, self.routes)
    }
}

impl<U> fmt::Debug for Command<U> {
    /// Shows where it leads, not what it writes.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Command")
            .field("updates", &self.updates.len())
            .field("routes", &self.routes)
            .field("scope", &self.scope)
            .finish()
    }
}

impl<U> Default for Command<U> {
    fn default() -> Self {
        Self::new()
    }
}

/// For callers: answers to questions.
impl Command<NoUpdate> {
    /// Answers the one open question. Where several are open the call is refused as ambiguous: name the question then,
    /// with [`answers`](Self::answers) or the interrupt's own `answer`. Anything a person clicks should name its
    /// question.
    pub fn resume(answer: impl Serialize) -> Resume {
        Resume::new(serde_json::to_value(answer).map(ResumeAnswers::Plain))
    }

    /// Answers questions by their ids.
    ///
    /// ```
    /// # use superstep_graph_core::{Command, Resume};
    /// # use superstep_checkpoint::QuestionId;
    /// # fn both(first: QuestionId, second: QuestionId) -> Resume {
    /// Command::answers([(first, "yes"), (second, "no")])
    /// # }
    /// ```
    pub fn answers<V: Serialize>(answers: impl IntoIterator<Item = (QuestionId, V)>) -> Resume {
        let values = answers.into_iter().map(|(id, value)| Ok((id, serde_json::to_value(value)?)));
        Resume::new(values.collect::<Result<_, _>>().map(ResumeAnswers::Named))
    }
}
