//! The one connection that writes.

use std::sync::Arc;

use futures_util::TryStreamExt;
use sqlx::{Error, Executor, SqliteConnection};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::connect::Connector;
use crate::error::is_broken;
use crate::open;
use crate::request::Bound;

/// Gives the writing connection to one task after the other, in the order in which they come.
#[derive(Debug)]
pub(crate) struct Writer {
    connector: Connector,
    /// Empty after the connection broke or was closed; the next task opens another.
    slot: Arc<Mutex<Option<SqliteConnection>>>,
}

impl Writer {
    pub(crate) fn new(connector: Connector, connection: SqliteConnection) -> Self {
        Self { connector, slot: Arc::new(Mutex::new(Some(connection))) }
    }

    /// The connection, once it is free. After an error nothing was sent.
    pub(crate) async fn take(&self) -> Result<Writing, Error> {
        let mut slot = Arc::clone(&self.slot).lock_owned().await;
        if slot.is_none() {
            *slot = Some(open::writer(&self.connector).await?);
        }
        Ok(Writing { slot })
    }

    /// Takes the connection out, to be closed.
    pub(crate) async fn take_out(&self) -> Option<SqliteConnection> {
        self.slot.lock().await.take()
    }
}

/// The writing connection in use.
#[derive(Debug)]
pub(crate) struct Writing {
    slot: OwnedMutexGuard<Option<SqliteConnection>>,
}

impl Writing {
    /// Runs one statement, which is a transaction of its own. If this future is dropped on the way, the connection's
    /// thread ends the statement all the same, and whoever comes next waits for it there.
    pub(crate) async fn execute(&mut self, statement: Bound) -> Result<(), Error> {
        // Its first result says that the transaction has ended; waiting for the end of the results would be another
        // message between the threads.
        let done = self.connection()?.fetch_many(statement).try_next().await;
        self.keep_or_drop(done).map(drop)
    }

    pub(crate) fn connection(&mut self) -> Result<&mut SqliteConnection, Error> {
        self.slot.as_mut().ok_or(Error::PoolClosed)
    }

    /// Passes a result on; drops the connection if it shows that this one is of no more use.
    pub(crate) fn keep_or_drop<T>(&mut self, done: Result<T, Error>) -> Result<T, Error> {
        if done.as_ref().is_err_and(is_broken) {
            *self.slot = None;
        }
        done
    }
}
