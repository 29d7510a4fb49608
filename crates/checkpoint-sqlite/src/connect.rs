//! The connections of a store: one that writes, a few that read.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use sqlx::sqlite::{SqliteConnectOptions, SqliteSynchronous};
use sqlx::{ConnectOptions, Connection, Error, SqliteConnection};
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::config::{SqliteOptions, Synchronous};
use crate::query;

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

    /// A connection that may write, without the statements of a store.
    pub(crate) async fn plain_writer(&self) -> Result<SqliteConnection, Error> {
        let synchronous = match self.synchronous {
            Synchronous::Full => SqliteSynchronous::Full,
            Synchronous::Normal => SqliteSynchronous::Normal,
        };
        self.options.clone().synchronous(synchronous).connect().await
    }

    pub(crate) async fn writer(&self) -> Result<SqliteConnection, Error> {
        let mut connection = self.plain_writer().await?;
        sqlx::raw_sql(query::PREPARE_WRITER).execute(&mut connection).await?;
        if let Some(bytes) = self.max_bytes {
            limit_size(&mut connection, bytes).await?;
        }
        Ok(connection)
    }
}

async fn limit_size(connection: &mut SqliteConnection, bytes: u64) -> Result<(), Error> {
    let page: i64 = sqlx::query_scalar("PRAGMA page_size").fetch_one(&mut *connection).await?;
    let pages = (bytes / u64::try_from(page.max(1)).unwrap_or(4096)).max(1);
    let limit = sqlx::AssertSqlSafe(format!("PRAGMA max_page_count = {pages}"));
    sqlx::raw_sql(limit).execute(connection).await?;
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
    pub(crate) fn new(connector: Connector, most: usize, first: SqliteConnection) -> Self {
        Self { connector, permits: Semaphore::new(most), idle: Mutex::new(vec![first]) }
    }

    /// A connection of one's own; [give it back](Reader::give_back) unless it is broken.
    pub(crate) async fn take(&self) -> Result<Reader<'_>, Error> {
        let permit = self.permits.acquire().await.map_err(|_| Error::PoolClosed)?;
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let connection = match idle {
            Some(connection) => connection,
            None => self.connector.reader().await?,
        };
        Ok(Reader { readers: self, connection, _permit: permit })
    }

    pub(crate) fn take_idle(&self) -> Vec<SqliteConnection> {
        std::mem::take(&mut self.idle.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A reading connection in use.
#[derive(Debug)]
pub(crate) struct Reader<'p> {
    readers: &'p Readers,
    pub(crate) connection: SqliteConnection,
    _permit: SemaphorePermit<'p>,
}

impl Reader<'_> {
    pub(crate) fn give_back(self) {
        self.readers.idle.lock().unwrap_or_else(PoisonError::into_inner).push(self.connection);
    }
}

/// Waits until the connection's thread is gone, and with it its locks.
pub(crate) async fn close(connection: SqliteConnection) {
    // A connection that cannot be closed in order is closed by dropping it.
    let _ = connection.close().await;
}
