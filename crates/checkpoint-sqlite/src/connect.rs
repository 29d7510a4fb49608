//! The connections of a store: one that writes, a few that read.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection, Error, SqliteConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::{SqliteOptions, Synchronous};
use crate::error::is_broken;

/// After how many pages (of 4 KiB) the write-ahead log is copied into the file. More than SQLite's 1,000: each copy costs
/// two flushes, and a page that changes with every step is then copied once in so many.
const LOG_PAGES: &str = "4000";

/// Opens connections to one file.
#[derive(Clone, Debug)]
pub(crate) struct Connector {
    options: SqliteConnectOptions,
    synchronous: Synchronous,
    max_bytes: Option<u64>,
}

impl Connector {
    /// `path` is absolute: SQLite gives a meaning of its own to some relative ones (`:memory:`, `file:…`).
    pub(crate) fn new(path: &Path, options: &SqliteOptions) -> Self {
        let connect = SqliteConnectOptions::new()
            .filename(path)
            .busy_timeout(options.busy_timeout)
            .disable_statement_logging()
            .pragma("temp_store", "MEMORY");
        Self { options: connect, synchronous: options.synchronous, max_bytes: options.max_bytes }
    }

    /// Looks at the main file alone, as it is on the disk: takes no lock, makes no file beside it, changes nothing.
    pub(crate) async fn look(&self) -> Result<SqliteConnection, Error> {
        self.options.clone().read_only(true).immutable(true).connect().await
    }

    pub(crate) async fn reader(&self) -> Result<SqliteConnection, Error> {
        self.options.clone().read_only(true).connect().await
    }

    pub(crate) async fn writer(&self) -> Result<SqliteConnection, Error> {
        // What is deleted is overwritten, so that a deleted thread does not stay readable in the file.
        let options = self.options.clone().pragma("wal_autocheckpoint", LOG_PAGES).pragma("secure_delete", "ON");
        let options = match self.synchronous {
            // Where the system's flush does not reach the disk (macOS), the one that does is asked for.
            Synchronous::Full => options.synchronous(SqliteSynchronous::Full).pragma("fullfsync", "ON"),
            Synchronous::Normal => options.synchronous(SqliteSynchronous::Normal),
        };
        let mut connection = options.connect().await?;
        if let Some(bytes) = self.max_bytes {
            limit_size(&mut connection, bytes).await?;
        }
        Ok(connection)
    }
}

async fn limit_size(connection: &mut SqliteConnection, bytes: u64) -> Result<(), Error> {
    let page: i64 = sqlx::query_scalar("PRAGMA page_size").fetch_one(&mut *connection).await?;
    let pages = bytes / u64::try_from(page).unwrap_or_default().max(1);
    let limit = format!("PRAGMA max_page_count = {}", pages.clamp(1, u64::from(u32::MAX) - 1));
    sqlx::raw_sql(AssertSqlSafe(limit)).execute(connection).await?;
    Ok(())
}

/// Connections that read. At most so many as there are permits; opened when needed, kept when idle.
#[derive(Debug)]
pub(crate) struct Readers {
    connector: Connector,
    permits: Semaphore,
    idle: Mutex<Vec<SqliteConnection>>,
}

impl Readers {
    pub(crate) fn new(connector: Connector, most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self { connector, permits: Semaphore::new(most), idle: Mutex::default() }
    }

    /// A connection of one's own, until it is dropped.
    pub(crate) async fn take(&self) -> Result<Reader<'_>, Error> {
        let permit = self.permits.acquire().await.map_err(|_| Error::PoolClosed)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connector.reader().await?,
        };
        Ok(Reader { readers: self, connection: Some(connection), _permit: permit })
    }

    /// Takes in a connection that is open already.
    pub(crate) fn keep(&self, connection: SqliteConnection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }

    pub(crate) fn take_idle(&self) -> Vec<SqliteConnection> {
        std::mem::take(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A reading connection in use. Goes back when dropped, also in the middle of a read: each is one statement, and the
/// connection's thread ends it before it takes the next.
#[derive(Debug)]
pub(crate) struct Reader<'p> {
    readers: &'p Readers,
    connection: Option<SqliteConnection>,
    _permit: SemaphorePermit<'p>,
}

impl Reader<'_> {
    pub(crate) fn connection(&mut self) -> Result<&mut SqliteConnection, Error> {
        self.connection.as_mut().ok_or(Error::PoolClosed)
    }

    /// Passes a result on; drops the connection if it shows that this one is of no more use.
    pub(crate) fn keep_or_drop<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        if done.as_ref().is_err_and(is_broken) {
            self.connection = None;
        }
        done
    }
}

impl Drop for Reader<'_> {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            self.readers.keep(connection);
        }
    }
}

/// Waits until the connection's thread is gone, and with it its locks.
pub(crate) async fn close(connection: SqliteConnection) {
    // A connection that cannot be closed in order is closed by dropping it.
    let _ = connection.close().await;
}
