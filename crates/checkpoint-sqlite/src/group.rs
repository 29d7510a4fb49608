//! Several commits in one transaction.

use std::sync::Arc;

use futures_util::TryStreamExt;
use sqlx::sqlite::SqliteRow;
use sqlx::{Either, Error, Executor, Row};

use crate::error::{is_in_doubt, is_locked};
use crate::line::{Refused, Waiting, answer_all};
use crate::query::write;
use crate::request::Bound;
use crate::writer::Writing;

/// Applies or refuses each of the commits and answers all.
pub(crate) async fn run(mut writing: Writing, group: Vec<Waiting>) {
    if group.len() < 2 {
        return one_by_one(&mut writing, group).await;
    }
    match together(&mut writing, &group).await {
        Ok(refused) => {
            for (waiting, refused) in group.into_iter().zip(refused) {
                waiting.answer(refused.map_or(Ok(()), |text| Err(Refused::Check(text))));
            }
        }
        Err(error) if is_locked(&error) || is_in_doubt(&error) => {
            answer_all(group, &Refused::Failed(Arc::new(error)));
        }
        // One of them is at fault, and nothing was written: each gets an answer of its own.
        Err(_) => one_by_one(&mut writing, group).await,
    }
}

async fn one_by_one(writing: &mut Writing, group: Vec<Waiting>) {
    for waiting in group {
        waiting.answer_with(|request| writing.execute(request.bind(sqlx::query(write::COMMIT)))).await;
    }
}

/// Applies those that pass the check; gives what speaks against the others.
///
/// Three statements in one message: the second is the transaction, the others concern a temporary table.
async fn together(writing: &mut Writing, group: &[Waiting]) -> Result<Vec<Option<String>>, Error> {
    let mut refused = vec![None; group.len()];
    let mut ended = 0;
    let done = {
        let mut results = writing.connection()?.fetch_many(statement(group));
        loop {
            match results.try_next().await {
                Ok(Some(Either::Left(_))) if ended == 2 => break Ok(refused),
                Ok(Some(Either::Left(_))) => ended += 1,
                Ok(Some(Either::Right(row))) => note(&mut refused, &row)?,
                Ok(None) => break Ok(refused),
                Err(error) => break Err(error),
            }
        }
    };
    let done = writing.keep_or_drop(done);
    // The transaction has ended, but what it refused is not known.
    if ended > 1 { done.map_err(|_| Error::WorkerCrashed) } else { done }
}

fn note(refused: &mut [Option<String>], row: &SqliteRow) -> Result<(), Error> {
    let slot: i64 = row.try_get(0)?;
    if let Some(refused) = usize::try_from(slot).ok().and_then(|slot| refused.get_mut(slot)) {
        *refused = Some(row.try_get(1)?);
    }
    Ok(())
}

/// The number of slots is rounded up to a power of two, so that there are few texts to compile.
fn statement(group: &[Waiting]) -> Bound {
    let slots = group.len().next_power_of_two();
    let mut statement = sqlx::query(write::commit_several(slots));
    for (slot, waiting) in (0_i64..).zip(group) {
        statement = waiting.request.clone().bind(statement.bind(slot));
    }
    for _ in 0..(slots - group.len()) * write::SLOT_VALUES {
        statement = statement.bind(None::<i64>);
    }
    statement
}
