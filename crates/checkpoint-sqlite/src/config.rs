//! The settings of a store.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use superstep_checkpoint::OpenError;

use crate::open;
use crate::store::Sqlite;

/// When a commit counts as done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Synchronous {
    /// When the disk has it: acknowledged commits survive a power loss. One flush a commit.
    #[default]
    Full,
    /// When the operating system has it: acknowledged commits survive the death of the process, and the last ones may be
    /// missing after a power loss. Several times faster.
    Normal,
}

impl Synchronous {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Normal => "NORMAL",
        }
    }
}

/// How to open a store; made by [`Sqlite::options`].
#[derive(Clone, Debug)]
pub struct SqliteOptions {
    pub(crate) path: PathBuf,
    pub(crate) synchronous: Synchronous,
    pub(crate) busy_timeout: Duration,
    pub(crate) readers: NonZeroUsize,
    pub(crate) max_bytes: Option<u64>,
}

impl SqliteOptions {
    /// The defaults: flush every commit, wait up to 5 seconds for a lock, read with up to 4 connections.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            synchronous: Synchronous::Full,
            busy_timeout: Duration::from_secs(5),
            readers: NonZeroUsize::MIN.saturating_add(3),
            max_bytes: None,
        }
    }

    /// When a commit counts as done. [`Synchronous::Full`] unless changed.
    #[must_use]
    pub fn synchronous(mut self, synchronous: Synchronous) -> Self {
        self.synchronous = synchronous;
        self
    }

    /// How long to wait for a lock that another process or store holds, before the answer is `Locked`. 5 seconds unless
    /// changed; more than 24 days count as 24 days.
    #[must_use]
    pub fn busy_timeout(mut self, timeout: Duration) -> Self {
        self.busy_timeout = timeout.min(Duration::from_hours(24 * 24));
        self
    }

    /// How many connections may read at once, each with a thread of its own, opened when needed. 4 unless changed.
    #[must_use]
    pub fn readers(mut self, readers: NonZeroUsize) -> Self {
        self.readers = readers;
        self
    }

    /// The greatest size of the database in bytes, rounded down to whole pages; commits beyond it are answered with
    /// `Full`. The write-ahead log beside it is not counted. No limit unless set.
    #[must_use]
    pub fn max_bytes(mut self, bytes: u64) -> Self {
        self.max_bytes = Some(bytes);
        self
    }

    /// Opens the store, creating the file (mode 0600 on Unix) or bringing its tables up to date where needed.
    ///
    /// # Errors
    /// [`OpenError`]; its [kind](OpenError::kind) says why:
    /// `NotOurs` (no SQLite file, or one of another application), `TooNew`, `Locked`, `Denied` (a directory, a missing
    /// directory, no permission), `Full`, `Corrupt`. The file is left as it was.
    pub async fn open(self) -> Result<Sqlite, OpenError> {
        open::open(self).await
    }
}
