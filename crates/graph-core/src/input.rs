//! Everything a caller may give to a run.

use std::fmt;

use serde_json::{Map, Value};
use superstep_checkpoint::QuestionId;
use superstep_pregel::{DynState, DynUpdate, State};

use crate::node::Route;
use crate::output::{Command, NoUpdate, Resume, Scope};

/// What [`invoke`](crate::CompiledGraph::invoke) takes: the update type of the state (a new turn), `()` (go on with
/// what is unfinished), a [`Command`], or a [`Resume`] (answers).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no input of a graph over `{S}`",
    label = "not an input over `{S}`",
    note = "give the update of the state (the type that `#[derive(State)]` makes, `DynUpdate` for `DynState`) to begin a \
            turn, `()` to go on, `Command::resume(answer)` to answer, or a `Command`"
)]
pub trait IntoInput<S: State> {
    /// What the driver begins with.
    ///
    /// # Errors
    /// [`InvalidInput`] if it has no form in which it can be stored, or is not for callers.
    #[doc(hidden)]
    fn into_input(self) -> Result<CallInput<S::Update>, InvalidInput>;
}

/// An input that no run can begin with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct InvalidInput {
    reason: String,
}

impl InvalidInput {
    fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// An input, taken apart.
#[doc(hidden)]
#[non_exhaustive]
pub enum CallInput<U> {
    /// A new turn begins with this update.
    Update(U),
    /// Go on with what is unfinished.
    Continue,
    /// Updates and jumps.
    Command { updates: Vec<U>, routes: Vec<Route> },
    /// Answers, with updates and jumps beside them.
    Resume { answers: ResumeAnswers, updates: Vec<U>, routes: Vec<Route> },
}

/// What is answered.
#[derive(Clone, PartialEq)]
#[doc(hidden)]
#[non_exhaustive]
pub enum ResumeAnswers {
    /// The one open question.
    Plain(Value),
    /// Questions by their ids.
    Named(Vec<(QuestionId, Value)>),
}

impl fmt::Debug for ResumeAnswers {
    /// Shows which questions are answered, not how.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(_) => f.write_str("Plain"),
            Self::Named(answers) => f.debug_set().entries(answers.iter().map(|(id, _)| id)).finish(),
        }
    }
}

impl<U> fmt::Debug for CallInput<U> {
    /// Shows what kind of input it is, no values.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Update(_) => "Update",
            Self::Continue => "Continue",
            Self::Command { .. } => "Command",
            Self::Resume { .. } => "Resume",
        })
    }
}

/// Says that a type is the update of a state, or [`NoUpdate`].
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the update of `{S}`",
    note = "a `Resume` carries the update of the graph's own state"
)]
pub trait UpdateOf<S: State> {
    /// The update, if there is one.
    fn into_update(self) -> Option<S::Update>;
}

impl<S: State> UpdateOf<S> for NoUpdate {
    fn into_update(self) -> Option<S::Update> {
        match self {}
    }
}

impl UpdateOf<DynState> for DynUpdate {
    fn into_update(self) -> Option<DynUpdate> {
        Some(self)
    }
}

impl<S: State> IntoInput<S> for () {
    fn into_input(self) -> Result<CallInput<S::Update>, InvalidInput> {
        Ok(CallInput::Continue)
    }
}

impl<S: State> IntoInput<S> for Command<S::Update> {
    fn into_input(self) -> Result<CallInput<S::Update>, InvalidInput> {
        if self.scope() == Scope::Parent {
            return Err(InvalidInput::new("`to_parent` is for nodes of subgraphs, not for callers"));
        }
        let (updates, routes) = self.into_parts();
        Ok(CallInput::Command { updates, routes: checked(routes)? })
    }
}

impl<S: State, U: UpdateOf<S>> IntoInput<S> for Resume<U> {
    fn into_input(self) -> Result<CallInput<S::Update>, InvalidInput> {
        let unfit = |error: serde_json::Error| InvalidInput::new(format!("the answer has no JSON form: {error}"));
        let answers = self.answers.map_err(unfit)?;
        let updates = self.update.and_then(U::into_update).into_iter().collect();
        Ok(CallInput::Resume { answers, updates, routes: checked(self.routes)? })
    }
}

/// Refuses what has no JSON form before anything is stored.
fn checked(routes: Vec<Route>) -> Result<Vec<Route>, InvalidInput> {
    let fault = routes.iter().find_map(|route| match route {
        Route::Send(dispatch) => Some((dispatch.node(), dispatch.fault()?)),
        Route::Node(_) => None,
    });
    match fault {
        Some((node, fault)) => Err(InvalidInput::new(format!("what is sent to {node:?} has no JSON form: {fault}"))),
        None => Ok(routes),
    }
}

impl IntoInput<DynState> for DynUpdate {
    fn into_input(self) -> Result<CallInput<DynUpdate>, InvalidInput> {
        Ok(CallInput::Update(self))
    }
}

impl IntoInput<DynState> for Map<String, Value> {
    fn into_input(self) -> Result<CallInput<DynUpdate>, InvalidInput> {
        Ok(CallInput::Update(self.into()))
    }
}

/// An object of channels and values; anything else is refused.
impl IntoInput<DynState> for Value {
    fn into_input(self) -> Result<CallInput<DynUpdate>, InvalidInput> {
        let update = DynUpdate::try_from(self).map_err(|error| InvalidInput::new(error.to_string()))?;
        Ok(CallInput::Update(update))
    }
}
