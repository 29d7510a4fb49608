//! Opening a file: look first, write after.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::{Error, SqliteConnection};
use superstep_checkpoint::{OpenError, StoreError, StoreErrorKind};

use crate::config::SqliteOptions;
use crate::connect::{Connector, Readers, close};
use crate::error::{is_locked, store_error};
use crate::schema::{self, APPLICATION_ID, VERSION};
use crate::store::Sqlite;

const OPEN: &str = "open";

pub(crate) async fn open(options: SqliteOptions) -> Result<Sqlite, OpenError> {
    let what = options.path.display().to_string();
    open_file(options).await.map_err(|source| OpenError { what, source })
}

async fn open_file(options: SqliteOptions) -> Result<Sqlite, StoreError> {
    let path = checked(&options.path)?;
    let connector = Connector::new(&path, &options);
    let deadline = Instant::now() + options.busy_timeout;
    if is_empty(&path)? {
        create_file(&path)?;
    } else {
        refuse_foreign(&connector).await?;
    }
    prepare(&connector, deadline).await?;
    let writer = connector.writer().await.map_err(fault)?;
    let reader = connector.reader().await.map_err(fault)?;
    let readers = Readers::new(connector.clone(), options.readers.get(), reader);
    Ok(Sqlite::new(connector, writer, readers, options.synchronous))
}

/// The absolute path. SQLite takes some relative ones for something else than a file.
fn checked(path: &Path) -> Result<PathBuf, StoreError> {
    let path = std::path::absolute(path)
        .map_err(|error| StoreError::new(StoreErrorKind::Invalid, OPEN, "not a path").with_source(error))?;
    if path.is_dir() {
        return Err(StoreError::new(StoreErrorKind::Denied, OPEN, "it is a directory"));
    }
    if path.parent().is_some_and(|parent| !parent.is_dir()) {
        return Err(StoreError::new(StoreErrorKind::Denied, OPEN, "its directory does not exist; create it first"));
    }
    Ok(path)
}

/// Whether there is nothing yet. Asked of the file system: opening and closing a file oneself would drop the locks that
/// SQLite holds on it in this process.
fn is_empty(path: &Path) -> Result<bool, StoreError> {
    match path.metadata() {
        Ok(metadata) => Ok(metadata.len() == 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(denied(error)),
    }
}

/// Creates the file with mode 0600; SQLite gives the same mode to the files it makes beside it.
fn create_file(path: &Path) -> Result<(), StoreError> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(denied(error)),
    }
}

fn denied(error: io::Error) -> StoreError {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        _ => StoreErrorKind::Denied,
    };
    StoreError::new(kind, OPEN, error.to_string()).with_source(error)
}

/// Looks at the header before anything is opened for writing. It says whose the file is even where newer pages stand
/// in the write-ahead log only, since [`prepare`] marks a file before it gets a log.
async fn refuse_foreign(connector: &Connector) -> Result<(), StoreError> {
    let mut connection = connector.look().await.map_err(fault)?;
    let application = schema::application_id(&mut connection).await;
    close(connection).await;
    match application {
        Ok(APPLICATION_ID) => Ok(()),
        Ok(_) => Err(not_ours()),
        Err(error) => Err(fault(error)),
    }
}

fn not_ours() -> StoreError {
    StoreError::new(StoreErrorKind::NotOurs, OPEN, "it belongs to another application; choose another file")
}

/// Brings the tables up to date, waiting for others who do the same. SQLite does not wait everywhere: two who change the
/// journal mode at once are refused at once.
async fn prepare(connector: &Connector, deadline: Instant) -> Result<(), StoreError> {
    loop {
        match prepare_once(connector).await {
            Err(Refused::Failed(error)) if is_locked(&error) && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(Refused::Failed(error)) => return Err(fault(error)),
            Err(Refused::Unfit(error)) => return Err(error),
            Ok(()) => return Ok(()),
        }
    }
}

enum Refused {
    Failed(Error),
    Unfit(StoreError),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

async fn prepare_once(connector: &Connector) -> Result<(), Refused> {
    let mut connection = connector.plain_writer().await?;
    let done = update(&mut connection).await;
    close(connection).await;
    done
}

async fn update(connection: &mut SqliteConnection) -> Result<(), Refused> {
    // IMMEDIATE: the look and the change are one, whoever else opens the file.
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    let application = schema::application_id(connection).await?;
    let version = schema::version(connection).await?;
    if application != APPLICATION_ID && (application != 0 || version != 0 || schema::has_tables(connection).await?) {
        return Err(Refused::Unfit(not_ours()));
    }
    if version > VERSION {
        let detail = format!("its tables have version {version}, this code knows {VERSION}; upgrade");
        return Err(Refused::Unfit(StoreError::new(StoreErrorKind::TooNew, OPEN, detail)));
    }
    schema::migrate(connection, version).await?;
    sqlx::raw_sql("COMMIT").execute(&mut *connection).await?;
    // After the first tables: so the mark is in the file itself, not only in its log.
    schema::use_log(connection).await?;
    Ok(())
}

fn fault(error: Error) -> StoreError {
    store_error(OPEN, error)
}
