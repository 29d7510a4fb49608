//! Opening a file: look first, write after.

use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use sqlx::{Error, SqliteConnection};
use superstep_checkpoint::{OpenError, StoreError, StoreErrorKind};
use tokio::sync::Mutex;

use crate::config::SqliteOptions;
use crate::connect::{Connector, Readers, close};
use crate::error::{is_locked, store_error};
use crate::look::{Found, io_fault, look};
use crate::query::write;
use crate::schema::{self, APPLICATION_ID, VERSION};
use crate::store::Sqlite;
use crate::writer::Writer;

/// The operation that errors name.
pub(crate) const OPEN: &str = "open";

/// Files are created one after the other. Whoever closes a file drops all locks of the process on it, also those that
/// SQLite took meanwhile; so nobody opens a file with SQLite while it is being created here.
static CREATING: Mutex<()> = Mutex::const_new(());

pub(crate) async fn open(options: SqliteOptions) -> Result<Sqlite, OpenError> {
    let what = options.path.display().to_string();
    open_file(options).await.map_err(|source| OpenError { what, source })
}

async fn open_file(options: SqliteOptions) -> Result<Sqlite, StoreError> {
    let path = checked(&options.path)?;
    let connector = Connector::new(&path, &options);
    let deadline = Instant::now() + options.busy_timeout;
    match look(&path, &connector).await? {
        Found::Nothing => create_file(&path).await?,
        Found::Ours => refuse_newer(&connector).await?,
        Found::Unclear => {}
        Found::Foreign => return Err(not_ours()),
    }
    let writer = prepare(&connector, deadline).await?;
    let readers = Readers::new(connector.clone(), options.readers.get());
    readers.keep(connector.reader().await.map_err(fault)?);
    Ok(Sqlite::new(Writer::new(connector, writer), readers, options.synchronous))
}

/// A connection for the store's writes, to a file that is known to be ours.
pub(crate) async fn writer(connector: &Connector) -> Result<SqliteConnection, Error> {
    let mut connection = connector.writer().await?;
    prepare_writer(&mut connection).await?;
    Ok(connection)
}

async fn prepare_writer(connection: &mut SqliteConnection) -> Result<(), Error> {
    schema::touch(connection).await?;
    sqlx::raw_sql(write::PREPARE).execute(connection).await?;
    Ok(())
}

/// The absolute path. SQLite takes some relative ones for something else than a file.
fn checked(path: &Path) -> Result<PathBuf, StoreError> {
    let path = std::path::absolute(path)
        .map_err(|error| StoreError::new(StoreErrorKind::Invalid, OPEN, "this is not a path").with_source(error))?;
    if path.parent().is_some_and(|parent| !parent.is_dir()) {
        return Err(StoreError::new(StoreErrorKind::Denied, OPEN, "its directory does not exist; create it first"));
    }
    Ok(path)
}

/// Creates the file with mode 0600; SQLite gives the same mode to the files it makes beside it.
async fn create_file(path: &Path) -> Result<(), StoreError> {
    let _alone = CREATING.lock().await;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(io_fault(error)),
    }
}

/// Looks at the version with a connection that cannot write: as the last one to close it leaves the log as it is.
async fn refuse_newer(connector: &Connector) -> Result<(), StoreError> {
    let mut connection = connector.reader().await.map_err(fault)?;
    let version = schema::version(&mut connection).await;
    close(connection).await;
    match version {
        Ok(version) if version > VERSION => Err(too_new(version)),
        Err(error) if is_locked(&error) => Err(fault(error)),
        // What cannot be read without writing (after a crash, say) is left to the one who may write.
        _ => Ok(()),
    }
}

fn not_ours() -> StoreError {
    StoreError::new(StoreErrorKind::NotOurs, OPEN, "it belongs to another application; choose another file")
}

fn too_new(version: i64) -> StoreError {
    let detail = format!("its tables have version {version}, this code knows {VERSION}; upgrade");
    StoreError::new(StoreErrorKind::TooNew, OPEN, detail)
}

/// Brings the tables up to date and gives the store's writer. Waits for others who do the same: SQLite itself does not
/// wait everywhere, of two who turn the log on at once one is refused at once.
async fn prepare(connector: &Connector, deadline: Instant) -> Result<SqliteConnection, StoreError> {
    loop {
        match prepare_once(connector).await {
            Err(Refused::Failed(error)) if is_locked(&error) && Instant::now() < deadline => {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            Err(Refused::Failed(error)) => return Err(fault(error)),
            Err(Refused::Unfit(error)) => return Err(error),
            Ok(writer) => return Ok(writer),
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

async fn prepare_once(connector: &Connector) -> Result<SqliteConnection, Refused> {
    let mut connection = connector.writer().await?;
    match update(&mut connection).await {
        Ok(()) => Ok(connection),
        Err(refused) => {
            close(connection).await;
            Err(refused)
        }
    }
}

async fn update(connection: &mut SqliteConnection) -> Result<(), Refused> {
    // IMMEDIATE: the look and the change are one, whoever else opens the file; and who may not write learns it here.
    sqlx::raw_sql("BEGIN IMMEDIATE").execute(&mut *connection).await?;
    let version = ours(connection).await?;
    schema::migrate(connection, version).await?;
    sqlx::raw_sql("COMMIT").execute(&mut *connection).await?;
    // After the first tables: so our mark is in the file itself, not only in its log.
    schema::use_log(connection).await?;
    prepare_writer(connection).await?;
    Ok(())
}

/// The version of the tables, 0 where there are none.
async fn ours(connection: &mut SqliteConnection) -> Result<i64, Refused> {
    let application = schema::application_id(connection).await?;
    let version = schema::version(connection).await?;
    let blank = application == 0 && version == 0 && !schema::has_tables(connection).await?;
    if application != APPLICATION_ID && !blank {
        return Err(Refused::Unfit(not_ours()));
    }
    if version > VERSION {
        return Err(Refused::Unfit(too_new(version)));
    }
    Ok(version)
}

fn fault(error: Error) -> StoreError {
    store_error(OPEN, error)
}
