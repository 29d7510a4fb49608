//! Keeps superstep checkpoints in a SQLite file.
//!
//! ```no_run
//! # async fn example() -> Result<(), superstep_checkpoint::OpenError> {
//! use superstep_checkpoint_sqlite::Sqlite;
//!
//! let store = Sqlite::open("refunds.db").await?;
//! # Ok(()) }
//! ```
//!
//! # What it promises
//!
//! * Every commit is flushed to the disk before it is acknowledged ([`Synchronous::Full`], the default), or at the next
//!   checkpoint of the write-ahead log ([`Synchronous::Normal`]).
//! * Several tasks and several processes of one host may use one file at once; who waits for the write lock waits at
//!   most the [busy timeout](SqliteOptions::busy_timeout). A network file system is no place for the file.
//! * A file that is not ours, damaged, or written by a newer version is left as it was, byte for byte.
//!
//! # How it works
//!
//! One connection writes, a few others read; each has a thread of its own. A commit is **one SQL statement**: an
//! insert into a temporary view, whose trigger checks the guard and writes all rows (see [`query`](crate) in the
//! source). So a commit costs one hop to the writing thread and one flush, no lock is held while a task waits to be
//! scheduled, and a commit whose future is dropped is either applied or not, with nothing left open. A read is one
//! statement as well, and so sees one state of the file.
#![cfg_attr(docsrs, feature(doc_cfg))]
#![allow(clippy::doc_markdown, reason = "SQLite is a name, not code")]
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used))]

mod config;
mod connect;
mod error;
mod group;
mod line;
mod look;
mod metadata;
mod open;
mod packed;
mod query;
mod refusal;
mod request;
mod row;
mod rows;
mod schema;
mod store;
mod writer;

pub use config::{SqliteOptions, Synchronous};
pub use store::Sqlite;
