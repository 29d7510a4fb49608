//! The tables, and how older files get them.

use sqlx::{AssertSqlSafe, Error, SqliteConnection};

use crate::request::now;

/// Marks our files: `sstp` in the header's application id.
pub(crate) const APPLICATION_ID: i64 = 0x7373_7470;

/// The version of the tables that this code writes: the number of [`MIGRATIONS`].
pub(crate) const VERSION: i64 = 1;

/// Each brings the tables from version `index` to `index + 1`. Never changed once released; new ones are added below.
pub(crate) const MIGRATIONS: [&str; 1] = [V1];

/// Names and ids come first in every key, so that what belongs together lies together. `WITHOUT ROWID` keeps a table in
/// the order of its key, so that a step touches one page of each table. There is no table of namespaces: positions only
/// grow, so the head is the last checkpoint.
const V1: &str = "
CREATE TABLE superstep_migration (
    version INTEGER PRIMARY KEY,
    applied_at INTEGER NOT NULL
) STRICT;

CREATE TABLE superstep_thread (
    tenant TEXT NOT NULL,
    thread TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    owner BLOB,
    status TEXT NOT NULL,
    next TEXT NOT NULL,
    graph TEXT NOT NULL,
    deleted INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, thread)
) STRICT, WITHOUT ROWID;

CREATE TABLE superstep_checkpoint (
    tenant TEXT NOT NULL,
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    seq INTEGER NOT NULL,
    id BLOB NOT NULL,
    branch INTEGER NOT NULL,
    metadata TEXT,
    body TEXT NOT NULL,
    args BLOB NOT NULL,
    PRIMARY KEY (tenant, thread, namespace, seq)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX superstep_checkpoint_id ON superstep_checkpoint (tenant, thread, namespace, id);

CREATE TABLE superstep_value (
    tenant TEXT NOT NULL,
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    branch INTEGER NOT NULL,
    channel TEXT NOT NULL,
    seq INTEGER NOT NULL,
    kind INTEGER NOT NULL,
    checkpoint BLOB NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (tenant, thread, namespace, branch, channel, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE superstep_write (
    tenant TEXT NOT NULL,
    thread TEXT NOT NULL,
    namespace TEXT NOT NULL,
    seq INTEGER NOT NULL,
    task BLOB NOT NULL,
    kind INTEGER NOT NULL,
    path TEXT NOT NULL,
    node TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (tenant, thread, namespace, seq, task, kind, path)
) STRICT, WITHOUT ROWID;

CREATE INDEX superstep_question ON superstep_write (tenant, thread, namespace, path, seq) WHERE kind = 3;
";

/// Whose file it is, by its header; 0 where nobody says.
pub(crate) async fn application_id(connection: &mut SqliteConnection) -> Result<i64, Error> {
    sqlx::query_scalar("PRAGMA application_id").fetch_one(connection).await
}

/// The version of the tables; 0 before the first migration.
pub(crate) async fn version(connection: &mut SqliteConnection) -> Result<i64, Error> {
    sqlx::query_scalar("PRAGMA user_version").fetch_one(connection).await
}

pub(crate) async fn has_tables(connection: &mut SqliteConnection) -> Result<bool, Error> {
    sqlx::query_scalar("SELECT count(*) > 0 FROM sqlite_schema").fetch_one(connection).await
}

/// Runs what is missing, in the transaction that is open: the version in the header is never ahead of the tables.
pub(crate) async fn migrate(connection: &mut SqliteConnection, version: i64) -> Result<(), Error> {
    for (number, migration) in (1..).zip(MIGRATIONS).filter(|(number, _)| *number > version) {
        sqlx::raw_sql(migration).execute(&mut *connection).await?;
        sqlx::query("INSERT INTO superstep_migration (version, applied_at) VALUES (?1, ?2)")
            .bind(number)
            .bind(now())
            .execute(&mut *connection)
            .await?;
        mark(connection, number).await?;
    }
    Ok(())
}

/// Pragmas take no bound values; these are numbers of ours.
async fn mark(connection: &mut SqliteConnection, version: i64) -> Result<(), Error> {
    let mark = format!("PRAGMA application_id = {APPLICATION_ID}; PRAGMA user_version = {version}");
    sqlx::raw_sql(AssertSqlSafe(mark)).execute(connection).await?;
    Ok(())
}

/// Turns the write-ahead log on. The file remembers it.
pub(crate) async fn use_log(connection: &mut SqliteConnection) -> Result<(), Error> {
    let mode: String = sqlx::query_scalar("PRAGMA journal_mode = WAL").fetch_one(connection).await?;
    if mode == "wal" {
        return Ok(());
    }
    let detail = format!("the file system does not support the write-ahead log (journal mode {mode})");
    Err(Error::Configuration(detail.into()))
}
