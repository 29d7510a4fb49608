//! What can go wrong in a store: one enum per operation, and one struct for faults of the store itself.

use std::fmt;

use crate::id::{CheckpointId, Epoch, QuestionId, ThreadKey};

type Source = Box<dyn std::error::Error + Send + Sync + 'static>;

/// Whether doing it again may help.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Retry {
    /// It may: a lock, a connection, a time limit.
    MayHelp,
    /// It will not, until somebody changes something.
    Useless,
}

/// What kind of fault it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// The store could not be reached, or the connection broke.
    Connection,
    /// The store is locked by somebody else for too long.
    Locked,
    /// A time limit passed.
    Timeout,
    /// There is no space left, or a quota is used up.
    Full,
    /// A value is larger than the store takes.
    TooLarge,
    /// What is stored is damaged.
    Corrupt,
    /// What is stored was written by something else.
    NotOurs,
    /// What is stored was written by a newer version.
    TooNew,
    /// The store does not allow it.
    Denied,
    /// The caller asked for something that makes no sense.
    Invalid,
    /// The store does not have this ability.
    Unsupported,
    /// Anything else.
    Other,
}

impl StoreErrorKind {
    const fn text(self) -> &'static str {
        match self {
            Self::Connection => "the store cannot be reached",
            Self::Locked => "the store is locked",
            Self::Timeout => "the store did not answer in time",
            Self::Full => "the store is full",
            Self::TooLarge => "a value is too large for the store",
            Self::Corrupt => "what is stored is damaged",
            Self::NotOurs => "what is stored there is not ours",
            Self::TooNew => "what is stored there was written by a newer version",
            Self::Denied => "the store refused access",
            Self::Invalid => "the request makes no sense",
            Self::Unsupported => "the store cannot do this",
            Self::Other => "the store failed",
        }
    }
}

/// A fault of a store. Its text never shows a password, a key or a value of the state.
#[derive(Debug)]
pub struct StoreError {
    kind: StoreErrorKind,
    operation: &'static str,
    detail: String,
    retry: Retry,
    source: Option<Source>,
}

impl StoreError {
    /// A fault of this kind in this operation (`commit`, `get`, …).
    pub fn new(kind: StoreErrorKind, operation: &'static str, detail: impl Into<String>) -> Self {
        let retry = match kind {
            StoreErrorKind::Connection | StoreErrorKind::Locked | StoreErrorKind::Timeout => Retry::MayHelp,
            _ => Retry::Useless,
        };
        Self { kind, operation, detail: detail.into(), retry, source: None }
    }

    /// The same fault, with what caused it.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Source>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same fault, with another answer to whether a retry may help.
    #[must_use]
    pub fn with_retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// The answer of a store that lacks an ability.
    pub fn unsupported(operation: &'static str, what: impl Into<String>) -> Self {
        Self::new(StoreErrorKind::Unsupported, operation, what)
    }

    /// What kind of fault it is.
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }

    /// Whether doing it again may help.
    pub fn retry(&self) -> Retry {
        self.retry
    }

    /// Which operation failed.
    pub fn operation(&self) -> &'static str {
        self.operation
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.kind.text(), self.operation)?;
        if self.detail.is_empty() { Ok(()) } else { write!(f, ": {}", self.detail) }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as &(dyn std::error::Error + 'static))
    }
}

/// Why a commit was not applied, or may not have been.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommitError {
    /// Somebody else moved the thread on (or deleted it). Nothing was written.
    #[error("thread {thread} has moved on: {found} instead of what this call started from; read it again")]
    HeadMoved {
        /// The thread.
        thread: ThreadKey,
        /// What is there now.
        found: FoundHead,
    },
    /// Somebody else holds the thread. Nothing was written.
    #[error("thread {thread} is held by somebody else (epoch {epoch}); stop, or claim it first")]
    Fenced {
        /// The thread.
        thread: ThreadKey,
        /// Its present epoch.
        epoch: Epoch,
    },
    /// The question has its answer already. Nothing was written.
    #[error("question {question} of thread {thread} is answered already; the first answer counts")]
    AlreadyAnswered {
        /// The thread.
        thread: ThreadKey,
        /// The question.
        question: QuestionId,
    },
    /// The commit contradicts itself or names a checkpoint that does not exist. Nothing was written.
    #[error("the commit to thread {thread} is not valid: {reason}")]
    Invalid {
        /// The thread.
        thread: ThreadKey,
        /// What is wrong.
        reason: String,
    },
    /// The store does not know an op of the commit. Nothing was written.
    #[error("the store does not support {op}")]
    Unsupported {
        /// The op's name.
        op: &'static str,
    },
    /// The connection or the process broke while the commit was on its way: it may have been applied. Read the head to know.
    #[error("it is not known whether the commit to thread {thread} was applied")]
    InDoubt {
        /// The thread.
        thread: ThreadKey,
        /// What broke.
        source: StoreError,
    },
    /// The store failed. Nothing was written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a commit found instead of what it expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FoundHead {
    /// This checkpoint is the head.
    Head(CheckpointId),
    /// There is no checkpoint.
    Nothing,
    /// The thread was deleted.
    Deleted,
}

impl fmt::Display for FoundHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head(id) => write!(f, "its head is {id}"),
            Self::Nothing => f.write_str("it has no checkpoint"),
            Self::Deleted => f.write_str("it was deleted"),
        }
    }
}

/// Why a store could not be opened. The file or server is left as it was.
#[derive(Debug, thiserror::Error)]
#[error("cannot open {what}")]
pub struct OpenError {
    /// What was to be opened, without password.
    pub what: String,
    /// Why not.
    #[source]
    pub source: StoreError,
}

impl OpenError {
    /// What kind of fault it is.
    pub fn kind(&self) -> StoreErrorKind {
        self.source.kind()
    }
}
