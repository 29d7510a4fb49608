//! Errors of nodes: what a node or router may fail with.

use std::any::Any;
use std::fmt;

use superstep_checkpoint::{QuestionId, masked};
use superstep_pregel::UnknownNode;

type BoxError = Box<dyn std::error::Error + Send + Sync + 'static>;

/// What a node returns: an output, or a [`NodeError`] which every error type converts into with `?`; for an error that is in
/// a box already say `.map_err(NodeError::new)?`, for a text [`NodeError::msg`].
pub type NodeResult<T, E = NodeError> = Result<T, E>;

/// Why a node or router failed. Made from any error with `?`, so it is no [`std::error::Error`] itself; in a
/// [`RunError`](crate::RunError) it stands behind one that is.
pub struct NodeError {
    cause: Cause,
}

enum Cause {
    Fault(BoxError),
    Interrupted,
    Panicked(String),
    UnknownNode(UnknownNode),
    Answer { question: QuestionId, reason: String },
    Payload(serde_json::Error),
    Argument { wanted: &'static str, reason: String },
    NoArgument { wanted: &'static str },
    Route(String),
}

/// What kind of failure a [`NodeError`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NodeErrorKind {
    /// The node's own error.
    Fault,
    /// The node asked a question: no failure, the run parks.
    Interrupted,
    /// The node panicked.
    Panicked,
    /// The node jumped or sent to a node that is not there.
    UnknownNode,
    /// A router answered what its paths do not have.
    UnknownRoute,
    /// Something does not have the form wanted: an argument, an answer, a payload.
    WrongForm,
}

impl NodeError {
    /// An error with this text.
    pub fn msg(text: impl Into<String>) -> Self {
        Self { cause: Cause::Fault(text.into().into()) }
    }

    /// An error that is in a box already, or converts into one: `.map_err(NodeError::new)?` for a
    /// `Box<dyn Error + Send + Sync>` or an `anyhow::Error`, which `?` alone does not take. The cause is kept.
    pub fn new(error: impl Into<BoxError>) -> Self {
        Self { cause: Cause::Fault(error.into()) }
    }

    /// What kind of failure it is.
    pub fn kind(&self) -> NodeErrorKind {
        match &self.cause {
            Cause::Fault(_) => NodeErrorKind::Fault,
            Cause::Interrupted => NodeErrorKind::Interrupted,
            Cause::Panicked(_) => NodeErrorKind::Panicked,
            Cause::UnknownNode(_) => NodeErrorKind::UnknownNode,
            Cause::Route(_) => NodeErrorKind::UnknownRoute,
            Cause::Answer { .. } | Cause::Payload(_) | Cause::Argument { .. } | Cause::NoArgument { .. } => {
                NodeErrorKind::WrongForm
            }
        }
    }

    /// The node's own error, if it is of this type. For retry rules.
    pub fn downcast_ref<E: std::error::Error + 'static>(&self) -> Option<&E> {
        match &self.cause {
            Cause::Fault(error) => error.downcast_ref(),
            _ => None,
        }
    }

    /// The error as one that can be a source.
    pub fn into_error(self) -> BoxError {
        match self.cause {
            Cause::Fault(error) => error,
            cause => Box::new(Opaque(cause)),
        }
    }

    pub(crate) fn interrupted() -> Self {
        Self { cause: Cause::Interrupted }
    }

    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Self {
        let text = payload.downcast_ref::<&str>().map(ToString::to_string);
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self { cause: Cause::Panicked(text.unwrap_or_else(|| "a value that is no text".to_owned())) }
    }

    pub(crate) fn answer(question: QuestionId, error: &serde_json::Error) -> Self {
        Self { cause: Cause::Answer { question, reason: masked(error) } }
    }

    pub(crate) fn payload(source: serde_json::Error) -> Self {
        Self { cause: Cause::Payload(source) }
    }

    pub(crate) fn argument(wanted: &'static str, error: &serde_json::Error) -> Self {
        Self { cause: Cause::Argument { wanted, reason: masked(error) } }
    }

    pub(crate) fn no_argument(wanted: &'static str) -> Self {
        Self { cause: Cause::NoArgument { wanted } }
    }

    pub(crate) fn unknown_route(answer: String) -> Self {
        Self { cause: Cause::Route(answer) }
    }
}

impl<E: std::error::Error + Send + Sync + 'static> From<E> for NodeError {
    fn from(error: E) -> Self {
        Self { cause: Cause::Fault(Box::new(error)) }
    }
}

impl NodeError {
    pub(crate) fn unknown_node(unknown: UnknownNode) -> Self {
        Self { cause: Cause::UnknownNode(unknown) }
    }
}

impl fmt::Display for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(f)
    }
}

impl fmt::Debug for NodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NodeError({:?}: {self})", self.kind())
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(error) => error.fmt(f),
            Self::Interrupted => f.write_str("the node asked a question"),
            Self::Panicked(text) => write!(f, "the node panicked: {text}"),
            Self::UnknownNode(unknown) => unknown.fmt(f),
            Self::Answer { question, reason } => {
                write!(f, "the answer to question {question} is not of the type asked for: {reason}")
            }
            Self::Payload(_) => f.write_str("the value given to the engine has no JSON form"),
            Self::Argument { wanted, reason } => write!(f, "what the Send carried is not a {wanted}: {reason}"),
            Self::NoArgument { wanted } => {
                write!(f, "the node wants a {wanted} from a Send, but an edge started it")
            }
            Self::Route(answer) => write!(f, "the router answered {answer:?}, which its paths do not have"),
        }
    }
}

/// A cause that is an error of its own.
struct Opaque(Cause);

impl fmt::Display for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for Opaque {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for Opaque {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0 {
            Cause::Fault(error) => Some(error.as_ref()),
            Cause::UnknownNode(unknown) => Some(unknown),
            Cause::Payload(source) => Some(source),
            _ => None,
        }
    }
}
