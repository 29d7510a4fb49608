//! From the answer of the commit's trigger to a [`CommitError`].

use sqlx::Error;
use superstep_checkpoint::{CheckpointId, Commit, CommitError, Epoch, FoundHead, QuestionId, ThreadKey};

use crate::error::{is_in_doubt, is_unique_violation, raised, store_error};

/// Why a commit was not applied.
pub(crate) fn refusal(commit: &Commit, error: Error) -> CommitError {
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
