//! How a run ended, where it did not fail.

use std::sync::Arc;

use serde_json::Value;
use superstep_checkpoint::{CheckpointId, NodeName, QuestionId, TaskId};
use superstep_pregel::{Abandoned, Question, TaskInfo};

use crate::output::{Command, NoUpdate, Resume};

/// How a run ended: stopping is a value, failing is a [`RunError`](crate::RunError).
#[non_exhaustive]
pub enum Outcome<S> {
    /// Nothing is left to do.
    Done(Done<S>),
    /// Tasks wait for answers.
    Interrupted(Pause<S>),
    /// Stopped before or after a node by choice; call again to go on.
    Paused(Stop<S>),
    /// Stopped at a step's border because the process is to end; call again, anywhere, to go on.
    Drained(Done<S>),
}

/// What every outcome knows.
struct Facts<S> {
    state: Arc<S>,
    checkpoint: Option<CheckpointId>,
    abandoned: Vec<Abandoned>,
    waiting: Vec<(NodeName, Vec<NodeName>)>,
}

/// A run that ended.
pub struct Done<S>(Facts<S>);

/// A run that waits for answers.
pub struct Pause<S> {
    facts: Facts<S>,
    interrupts: Vec<Interrupt>,
    company: Company,
}

/// Whether the step that waits for answers has other tasks than those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Company {
    Alone,
    Others,
}

/// A run that stopped by choice.
pub struct Stop<S> {
    facts: Facts<S>,
    nodes: Vec<NodeName>,
}

/// A question that waits for an answer.
#[derive(Clone, PartialEq)]
#[non_exhaustive]
pub struct Interrupt {
    /// Its id, by which an answer names it.
    pub id: QuestionId,
    /// The task that asks.
    pub task: TaskId,
    /// Its node.
    pub node: NodeName,
    /// What is asked.
    pub payload: Arc<Value>,
    /// The JSON Schema that an answer must fit.
    pub schema: Option<Arc<Value>>,
}

impl std::fmt::Debug for Interrupt {
    /// Shows who asks, not what: the payload may quote the state.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Interrupt({} of {:?})", self.id, self.node)
    }
}

impl Interrupt {
    pub(crate) fn new(task: &TaskInfo, question: Question) -> Self {
        let Question { id, payload, schema, .. } = question;
        Self { id, task: task.id, node: task.node.clone(), payload, schema }
    }

    /// An answer that names this question: give it to `invoke`.
    pub fn answer(&self, value: impl serde::Serialize) -> Resume<NoUpdate> {
        Command::answers([(self.id, value)])
    }
}

/// What a run left, before it is known how it ended.
pub(crate) struct Remains<S> {
    pub(crate) state: Arc<S>,
    pub(crate) checkpoint: Option<CheckpointId>,
    pub(crate) abandoned: Vec<Abandoned>,
    pub(crate) waiting: Vec<(NodeName, Vec<NodeName>)>,
}

impl<S> From<Remains<S>> for Facts<S> {
    fn from(remains: Remains<S>) -> Self {
        let Remains { state, checkpoint, abandoned, waiting } = remains;
        Self { state, checkpoint, abandoned, waiting }
    }
}

impl<S> Outcome<S> {
    pub(crate) fn done(remains: Remains<S>) -> Self {
        Self::Done(Done(remains.into()))
    }

    pub(crate) fn interrupted(remains: Remains<S>, interrupts: Vec<Interrupt>, company: Company) -> Self {
        Self::Interrupted(Pause { facts: remains.into(), interrupts, company })
    }

    /// Whether it waits for answers in a step of several tasks.
    pub(crate) fn waits_in_company(&self) -> bool {
        matches!(self, Self::Interrupted(pause) if pause.company == Company::Others)
    }

    pub(crate) fn paused(remains: Remains<S>, nodes: Vec<NodeName>) -> Self {
        Self::Paused(Stop { facts: remains.into(), nodes })
    }

    fn facts(&self) -> &Facts<S> {
        match self {
            Self::Done(done) | Self::Drained(done) => &done.0,
            Self::Interrupted(pause) => &pause.facts,
            Self::Paused(stop) => &stop.facts,
        }
    }

    /// The state: what finished tasks wrote is in it, also where their step has not ended.
    pub fn state(&self) -> &S {
        &self.facts().state
    }

    /// The state, shared.
    pub fn shared_state(&self) -> Arc<S> {
        Arc::clone(&self.facts().state)
    }

    /// The checkpoint from which the thread goes on; none for a run without a thread.
    pub fn checkpoint(&self) -> Option<CheckpointId> {
        self.facts().checkpoint
    }

    /// Unfinished work of an earlier turn that this call's input left behind.
    pub fn abandoned(&self) -> &[Abandoned] {
        &self.facts().abandoned
    }

    /// Waiting edges at which only some sources arrived: where they lead, and who is missing.
    pub fn waiting_edges(&self) -> &[(NodeName, Vec<NodeName>)] {
        &self.facts().waiting
    }

    /// The questions that wait for answers, in task order.
    pub fn interrupts(&self) -> &[Interrupt] {
        match self {
            Self::Interrupted(pause) => &pause.interrupts,
            _ => &[],
        }
    }

    /// The end of a run that is done.
    ///
    /// # Errors
    /// The outcome itself, if the run stopped for another reason.
    #[allow(clippy::result_large_err, reason = "the caller gets its outcome back")]
    pub fn into_done(self) -> Result<Done<S>, NotDone<S>> {
        match self {
            Self::Done(done) => Ok(done),
            other => Err(NotDone(other)),
        }
    }
}

impl<S> std::fmt::Debug for Outcome<S> {
    /// Shows how the run ended, no values of the state.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Done(done) => done.fmt(f),
            Self::Drained(_) => f.write_str("Drained"),
            Self::Interrupted(pause) => pause.fmt(f),
            Self::Paused(stop) => stop.fmt(f),
        }
    }
}

impl<S> std::fmt::Debug for Done<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Done").field("checkpoint", &self.0.checkpoint).finish_non_exhaustive()
    }
}

impl<S> std::fmt::Debug for Pause<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pause").field("interrupts", &self.interrupts).finish_non_exhaustive()
    }
}

impl<S> std::fmt::Debug for Stop<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stop").field("nodes", &self.nodes).finish_non_exhaustive()
    }
}

/// A run that stopped before it was done.
pub struct NotDone<S>(pub Outcome<S>);

impl<S> std::fmt::Debug for NotDone<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "NotDone({self})")
    }
}

impl<S> std::fmt::Display for NotDone<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Outcome::Done(_) => f.write_str("the run is done"),
            Outcome::Interrupted(pause) => write!(f, "the run waits for {} answers", pause.interrupts.len()),
            Outcome::Paused(stop) => write!(f, "the run stopped at {:?}", stop.nodes),
            Outcome::Drained(_) => f.write_str("the run was drained"),
        }
    }
}

impl<S> std::error::Error for NotDone<S> {}

macro_rules! facts {
    ($of:ident, $($field:tt)+) => {
        impl<S> $of<S> {
            /// The state.
            pub fn state(&self) -> &S {
                &self.$($field)+.state
            }

            /// The state, taken out; copied only if somebody else still holds it.
            pub fn into_state(self) -> S
            where
                S: Clone,
            {
                Arc::unwrap_or_clone(self.$($field)+.state)
            }

            /// The checkpoint from which the thread goes on; none for a run without a thread.
            pub fn checkpoint(&self) -> Option<CheckpointId> {
                self.$($field)+.checkpoint
            }

            /// Unfinished work of an earlier turn that this call's input left behind.
            pub fn abandoned(&self) -> &[Abandoned] {
                &self.$($field)+.abandoned
            }
        }
    };
}

facts!(Done, 0);
facts!(Pause, facts);
facts!(Stop, facts);

impl<S> Pause<S> {
    /// The open questions, in task order.
    pub fn interrupts(&self) -> &[Interrupt] {
        &self.interrupts
    }

    /// An answer to the only open question, naming it. Where several are open, use [`Interrupt::answer`] of the one you
    /// mean: without a name the call is refused as ambiguous.
    pub fn answer(&self, value: impl serde::Serialize) -> Resume<NoUpdate> {
        match &self.interrupts[..] {
            [interrupt] => interrupt.answer(value),
            _ => Command::resume(value),
        }
    }
}

impl<S> Stop<S> {
    /// The nodes before or after which the run stopped.
    pub fn nodes(&self) -> &[NodeName] {
        &self.nodes
    }
}
