//! From the answer of the commit's trigger to a [`CommitError`].

use std::sync::Arc;

use sqlx::Error;
use superstep_checkpoint::{
    CheckpointId, Commit, CommitError, Epoch, FoundHead, QuestionId, StoreError, StoreErrorKind, ThreadKey,
};

use crate::error::{is_in_doubt, is_unique_violation, raised, store_error};
use crate::line::Refused;

/// Why a commit was not applied.
pub(crate) fn refusal(commit: &Commit, refused: Refused) -> CommitError {
    match refused {
        Refused::Check(text) => parse(commit, &text).unwrap_or_else(|| unknown(&text)),
        Refused::NotSent(error) => CommitError::Store(store_error("commit", error)),
        Refused::Failed(error) => failure(commit, error),
    }
}

fn failure(commit: &Commit, error: Arc<Error>) -> CommitError {
    if let Some(known) = raised(&error).and_then(|text| parse(commit, text)) {
        return known;
    }
    if is_unique_violation(&error) {
        return commit.invalid("the id of a checkpoint is in use");
    }
    let in_doubt = is_in_doubt(&error);
    let source = store_error("commit", error);
    if in_doubt {
        CommitError::InDoubt { thread: commit.key.thread.clone(), source }
    } else {
        CommitError::Store(source)
    }
}

fn unknown(text: &str) -> CommitError {
    CommitError::Store(StoreError::new(
        StoreErrorKind::Other,
        "commit",
        format!("refused for an unknown reason: {text}"),
    ))
}

/// Reads what the trigger said: a word, and what it found.
fn parse(commit: &Commit, text: &str) -> Option<CommitError> {
    let (word, found) = text.split_once(' ')?;
    let thread = || -> ThreadKey { commit.key.thread.clone() };
    Some(match word {
        "answered" => CommitError::AlreadyAnswered { thread: thread(), question: QuestionId::parse(found).ok()? },
        "fenced" => CommitError::Fenced { thread: thread(), epoch: Epoch(found.parse().ok()?) },
        "moved" => CommitError::HeadMoved { thread: thread(), found: found_head(found)? },
        "position" => commit.invalid(format!("a position that is not after the last one, {found}")),
        "unasked" => commit.invalid(format!("there is no question {found} on the checkpoint that the answer names")),
        _ => return None,
    })
}

fn found_head(text: &str) -> Option<FoundHead> {
    Some(match text {
        "nothing" => FoundHead::Nothing,
        "deleted" => FoundHead::Deleted,
        id => FoundHead::Head(CheckpointId::parse(id).ok()?),
    })
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;
    use std::fmt;

    use sqlx::error::{DatabaseError, ErrorKind};
    use superstep_checkpoint::{Expect, Guard, Retry, StoreErrorKind, TenantId, ThreadId};

    use super::*;

    /// An error as SQLite gives it.
    #[derive(Debug)]
    struct Code(i32, &'static str);

    impl fmt::Display for Code {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str(self.1)
        }
    }

    impl std::error::Error for Code {}

    impl DatabaseError for Code {
        fn message(&self) -> &str {
            self.1
        }
        fn code(&self) -> Option<Cow<'_, str>> {
            Some(self.0.to_string().into())
        }
        fn kind(&self) -> ErrorKind {
            ErrorKind::Other
        }
        fn as_error(&self) -> &(dyn std::error::Error + Send + Sync + 'static) {
            self
        }
        fn as_error_mut(&mut self) -> &mut (dyn std::error::Error + Send + Sync + 'static) {
            self
        }
        fn into_error(self: Box<Self>) -> Box<dyn std::error::Error + Send + Sync + 'static> {
            self
        }
    }

    fn refused(code: i32, text: &'static str) -> CommitError {
        let thread = ThreadKey { tenant: TenantId::default(), thread: ThreadId::new("t").unwrap() };
        let commit = Commit { key: thread.root(), guard: Guard::head(Expect::Empty(Epoch(0))), ops: Vec::new() };
        refusal(&commit, Refused::Failed(Arc::new(Error::Database(Box::new(Code(code, text))))))
    }

    #[test]
    fn what_the_check_says() {
        let said = |text| refused(1811, text);
        assert!(matches!(said("fenced 7"), CommitError::Fenced { epoch: Epoch(7), .. }));
        assert!(matches!(said("moved nothing"), CommitError::HeadMoved { found: FoundHead::Nothing, .. }));
        assert!(matches!(said("moved deleted"), CommitError::HeadMoved { found: FoundHead::Deleted, .. }));
        let head = CheckpointId::from_bytes([0xab; 16]);
        let moved = said("moved ABABABABABABABABABABABABABABABAB");
        assert!(matches!(moved, CommitError::HeadMoved { found: FoundHead::Head(id), .. } if id == head));
        let answered = said("answered abababababababababababababababab");
        assert!(
            matches!(answered, CommitError::AlreadyAnswered { question, .. } if question.as_bytes() == &[0xab; 16])
        );
        assert!(matches!(said("position 4"), CommitError::Invalid { .. }));
        assert!(matches!(said("unasked x"), CommitError::Invalid { .. }));
        assert!(matches!(said("something else"), CommitError::Store(_)));
        assert!(matches!(refused(2067, "UNIQUE constraint failed"), CommitError::Invalid { .. }));
    }

    /// Codes from <https://sqlite.org/rescode.html>: the primary ones and some extended ones.
    #[test]
    fn what_sqlite_says() {
        use StoreErrorKind::*;
        let known = [
            (5, Locked),
            (261, Locked),
            (517, Locked),
            (6, Locked),
            (262, Locked),
            (15, Locked),
            (8, Denied),
            (776, Denied),
            (1032, Denied),
            (3, Denied),
            (14, Denied),
            (1038, Denied),
            (23, Denied),
            (13, Full),
            (11, Corrupt),
            (267, Corrupt),
            (26, NotOurs),
            (18, TooLarge),
            (1, Other),
            (7, Other),
            (21, Other),
        ];
        for (code, kind) in known {
            let CommitError::Store(error) = refused(code, "x") else { panic!("{code}") };
            assert_eq!(error.kind(), kind, "{code}");
            assert_eq!(error.retry() == Retry::MayHelp, kind == Locked, "{code}");
        }
    }

    #[test]
    fn a_broken_disk_or_worker_leaves_doubt() {
        for code in [10, 778, 1034, 4874] {
            assert!(matches!(refused(code, "disk I/O error"), CommitError::InDoubt { .. }), "{code}");
        }
        let thread = ThreadKey { tenant: TenantId::default(), thread: ThreadId::new("t").unwrap() };
        let commit = Commit { key: thread.root(), guard: Guard::head(Expect::Empty(Epoch(0))), ops: Vec::new() };
        let crashed = || Arc::new(Error::WorkerCrashed);
        assert!(matches!(refusal(&commit, Refused::Failed(crashed())), CommitError::InDoubt { .. }));
        assert!(matches!(refusal(&commit, Refused::NotSent(crashed())), CommitError::Store(_)));
    }
}
