//! Keeps superstep checkpoints in a SQLite file.
//!
//! ```no_run
//! # async fn example() -> Result<(), superstep_checkpoint::OpenError> {
//! use superstep_checkpoint_sqlite::{Sqlite, Synchronous};
//!
//! let store = Sqlite::open("refunds.db").await?;
//! let faster = Sqlite::options("drafts.db").synchronous(Synchronous::Normal).open().await?;
//! # Ok(()) }
//! ```
//!
//! # What it promises
//!
//! * An acknowledged commit is on the disk ([`Synchronous::Full`], the default), or at least with the operating system
//!   ([`Synchronous::Normal`]); `guarantees()` of the store says which.
//! * Several tasks and several processes of one host may use a file at once. Who waits for the write lock waits at most
//!   the [busy timeout](SqliteOptions::busy_timeout); nothing else is ever locked. A network file system is no place
//!   for the file.
//! * Files are readable by their owner only. A file that is not ours, damaged or written by a newer version is left as it
//!   was, byte for byte.
//! * A deleted thread leaves its tombstone: its name, an epoch and two times. Its content is overwritten in the file,
//!   when the write-ahead log is next copied into it.
//! * A commit may have up to 10^9 bytes of content, and so may the values that are readable at one checkpoint.
//!
//! # How it works
//!
//! One connection writes, a few others read; each has a thread of its own.
//!
//! A commit is **one statement**: an insert into a temporary view, whose triggers check the guard and write all rows. So it
//! costs one hop to the writing thread and one flush, no lock is held while a task waits to be scheduled, and a commit
//! whose future is dropped is either applied or not, with nothing left open. Commits that wait for the connection go to
//! the disk together. A read is one statement as well, so it sees one state of the file, with one row for each checkpoint.
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
