//! The store.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use sqlx::Error;
use sqlx::sqlite::SqliteRow;
use superstep_checkpoint::{
    At, CallPath, Checkpointer, Commit, CommitError, Durable, Guarantees, ListQuery, NamespaceKey, OpenError,
    StoreError, StoreInstance, StoredCheckpoint, ThreadKey, View,
};

use crate::config::{SqliteOptions, Synchronous};
use crate::connect::{Readers, close};
use crate::error::store_error;
use crate::line::Line;
use crate::metadata;
use crate::query::{read, write};
use crate::refusal::refusal;
use crate::request::{Bound, Request, now};
use crate::row::Cells;
use crate::writer::Writer;

/// A store in a SQLite file. Clones share its connections.
#[derive(Clone)]
pub struct Sqlite {
    shared: Arc<Shared>,
}

struct Shared {
    instance: StoreInstance,
    synchronous: Synchronous,
    writer: Arc<Writer>,
    line: Line,
    readers: Readers,
}

impl Sqlite {
    /// Opens a file with the default settings, creating it where there is none; see [`SqliteOptions::open`].
    ///
    /// # Errors
    /// [`OpenError`]; the file is left as it was.
    pub async fn open(path: impl AsRef<std::path::Path>) -> Result<Self, OpenError> {
        SqliteOptions::new(path).open().await
    }

    /// Settings for a file, to be changed and [opened](SqliteOptions::open).
    pub fn options(path: impl AsRef<std::path::Path>) -> SqliteOptions {
        SqliteOptions::new(path)
    }

    pub(crate) fn new(writer: Writer, readers: Readers, synchronous: Synchronous) -> Self {
        let (instance, writer) = (StoreInstance::new(), Arc::new(writer));
        let line = Line::new(Arc::clone(&writer));
        Self { shared: Arc::new(Shared { instance, synchronous, writer, line, readers }) }
    }

    /// Closes all connections in order and waits for their threads. The store may be used again: connections are opened
    /// when needed. Dropping the last clone does the same without waiting.
    pub async fn close(&self) {
        if let Some(writer) = self.shared.writer.take_out().await {
            close(writer).await;
        }
        for reader in self.shared.readers.take_idle() {
            close(reader).await;
        }
    }

    /// The only row of a statement.
    async fn row(&self, statement: Bound) -> Result<Option<SqliteRow>, Error> {
        let mut reader = self.shared.readers.take().await?;
        let row = statement.fetch_optional(reader.connection()?).await;
        reader.keep_or_drop(row)
    }

    async fn rows(&self, statement: Bound) -> Result<Vec<SqliteRow>, Error> {
        let mut reader = self.shared.readers.take().await?;
        let rows = statement.fetch_all(reader.connection()?).await;
        reader.keep_or_drop(rows)
    }
}

fn of_namespace(sql: &'static str, key: &NamespaceKey) -> Bound {
    sqlx::query(sql)
        .bind(key.thread.tenant.as_str().to_owned())
        .bind(key.thread.thread.as_str().to_owned())
        .bind(key.namespace.as_str().to_owned())
}

#[async_trait]
impl Checkpointer for Sqlite {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        commit.check_alone()?;
        let request = Request::new(&commit)?;
        self.shared.line.commit(request).await.map_err(|refused| refusal(&commit, refused))
    }

    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        let statement = match at {
            At::Head => of_namespace(read::GET_HEAD, key),
            At::Id(id) => of_namespace(read::GET_ID, key).bind(id.as_bytes().to_vec()),
            At::Question(question) => {
                of_namespace(read::GET_QUESTION, key).bind(CallPath::from(question).as_str().to_owned())
            }
            _ => return Err(StoreError::unsupported("get", "a newer way to name a checkpoint")),
        };
        match self.row(statement).await.map_err(|error| store_error("get", error))? {
            Some(row) => Cells { operation: "get", row: &row }.view(),
            None => Ok(View::default()),
        }
    }

    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        let limit = query.limit.map_or(-1, |limit| i64::try_from(limit.get()).unwrap_or(-1));
        let entries = metadata::entries(&query.metadata);
        let wanted = (!entries.is_empty()).then(|| serde_json::Value::from(entries).to_string());
        let statement =
            of_namespace(read::LIST, key).bind(limit).bind(query.before.map(|id| id.as_bytes().to_vec())).bind(wanted);
        let rows = self.rows(statement).await.map_err(|error| store_error("list", error))?;
        rows.iter().map(|row| Cells { operation: "list", row }.stored()).collect()
    }

    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        let statement = sqlx::query(write::DELETE)
            .bind(key.tenant.as_str().to_owned())
            .bind(key.thread.as_str().to_owned())
            .bind(now());
        let fault = |error| store_error("delete_thread", error);
        self.shared.writer.take().await.map_err(fault)?.execute(statement).await.map_err(fault)
    }

    fn guarantees(&self) -> Guarantees {
        let durable = match self.shared.synchronous {
            Synchronous::Full => Durable::PowerLoss,
            Synchronous::Normal => Durable::ProcessCrash,
        };
        Guarantees::new(format!("sqlite (WAL, synchronous={})", self.shared.synchronous.word()), durable)
    }

    fn instance(&self) -> StoreInstance {
        self.shared.instance
    }
}

impl fmt::Debug for Sqlite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sqlite").field("instance", &self.shared.instance).finish_non_exhaustive()
    }
}
