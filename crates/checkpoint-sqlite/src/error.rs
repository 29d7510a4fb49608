//! From SQLite's errors to the contract's.

use std::sync::Arc;

use sqlx::Error;
use sqlx::error::DatabaseError;
use superstep_checkpoint::{StoreError, StoreErrorKind};

/// SQLite's primary result codes that are told apart; see <https://sqlite.org/rescode.html>.
mod code {
    pub(super) const PERM: i32 = 3;
    pub(super) const BUSY: i32 = 5;
    pub(super) const LOCKED: i32 = 6;
    pub(super) const READONLY: i32 = 8;
    pub(super) const IOERR: i32 = 10;
    pub(super) const CORRUPT: i32 = 11;
    pub(super) const FULL: i32 = 13;
    pub(super) const CANTOPEN: i32 = 14;
    pub(super) const PROTOCOL: i32 = 15;
    pub(super) const TOOBIG: i32 = 18;
    pub(super) const AUTH: i32 = 23;
    pub(super) const NOTADB: i32 = 26;
}

/// A unique index refused a row.
const CONSTRAINT_UNIQUE: i32 = 2067;
/// A trigger of ours refused a row with `RAISE`.
const CONSTRAINT_TRIGGER: i32 = 1811;

/// The extended result code of a database error.
fn extended(error: &Error) -> Option<i32> {
    error.as_database_error().and_then(DatabaseError::code)?.parse().ok()
}

fn primary(error: &Error) -> Option<i32> {
    extended(error).map(|code| code & 0xff)
}

/// What a trigger of ours said.
pub(crate) fn raised(error: &Error) -> Option<&str> {
    (extended(error) == Some(CONSTRAINT_TRIGGER)).then(|| error.as_database_error().map(DatabaseError::message))?
}

/// Whether a row with this key was there already.
pub(crate) fn is_unique_violation(error: &Error) -> bool {
    extended(error) == Some(CONSTRAINT_UNIQUE)
}

/// Whether somebody else holds the lock.
pub(crate) fn is_locked(error: &Error) -> bool {
    kind(error) == StoreErrorKind::Locked
}

/// Whether the statement may have been applied all the same: a flush that failed, a worker that is gone.
pub(crate) fn is_in_doubt(error: &Error) -> bool {
    match error {
        Error::Database(_) => primary(error) == Some(code::IOERR),
        Error::WorkerCrashed | Error::Io(_) => true,
        _ => false,
    }
}

/// Whether the connection is of no more use.
pub(crate) fn is_broken(error: &Error) -> bool {
    is_in_doubt(error)
}

fn kind(error: &Error) -> StoreErrorKind {
    match error {
        Error::Database(_) => kind_of_code(primary(error).unwrap_or_default()),
        Error::WorkerCrashed => StoreErrorKind::Connection,
        Error::ColumnDecode { .. } | Error::Decode(_) | Error::RowNotFound => StoreErrorKind::Corrupt,
        Error::Io(_) | Error::Configuration(_) => StoreErrorKind::Denied,
        _ => StoreErrorKind::Other,
    }
}

fn kind_of_code(code: i32) -> StoreErrorKind {
    match code {
        code::BUSY | code::LOCKED | code::PROTOCOL => StoreErrorKind::Locked,
        code::FULL => StoreErrorKind::Full,
        code::CORRUPT => StoreErrorKind::Corrupt,
        code::NOTADB => StoreErrorKind::NotOurs,
        code::READONLY | code::PERM | code::CANTOPEN | code::AUTH => StoreErrorKind::Denied,
        code::TOOBIG => StoreErrorKind::TooLarge,
        code::IOERR => StoreErrorKind::Connection,
        _ => StoreErrorKind::Other,
    }
}

/// The fault of the store that this error stands for. Its text is SQLite's, which names tables and never values: all
/// values are bound.
pub(crate) fn store_error(operation: &'static str, error: impl Into<Arc<Error>>) -> StoreError {
    let error = error.into();
    let detail = match &*error {
        Error::Database(database) => database.message().to_owned(),
        other => other.to_string(),
    };
    StoreError::new(kind(&error), operation, detail).with_source(error)
}

/// What is stored does not have the form that this version writes.
pub(crate) fn damaged(operation: &'static str, what: &str) -> StoreError {
    StoreError::new(StoreErrorKind::Corrupt, operation, what)
}
