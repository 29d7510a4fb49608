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

/// Changes nothing, but finds out whether one may write: SQLite lets a transaction begin on a file that may only be read.
///
/// And it makes the connection read the tables' definitions again. It may have read them while another process was just
/// creating them. SQLite finds that out by itself for the tables a statement names, but not for those that only its
/// triggers name: there it says that there is no such table.
pub(crate) async fn touch(connection: &mut SqliteConnection) -> Result<(), Error> {
    sqlx::raw_sql("UPDATE superstep_migration SET applied_at = 0 WHERE version = 0").execute(connection).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use sqlx::{ConnectOptions, Connection};
    use superstep_checkpoint::{Checkpointer, TenantId, ThreadId, ThreadKey};

    use super::*;
    use crate::Sqlite;

    async fn connect(path: &std::path::Path) -> SqliteConnection {
        sqlx::sqlite::SqliteConnectOptions::new().filename(path).create_if_missing(true).connect().await.unwrap()
    }

    #[test]
    fn each_version_has_its_migration() {
        assert_eq!(i64::try_from(MIGRATIONS.len()), Ok(VERSION));
    }

    /// Whatever statement is the last that ran, nothing of it is there: the migrations and their record are one transaction.
    #[tokio::test]
    async fn b090_a_migration_that_ends_after_any_statement_is_done_again() {
        let statements: Vec<&str> = V1.split_inclusive(";\n").collect();
        assert!(statements.len() > 6);
        for ran in 0..=statements.len() {
            let dir = tempfile::tempdir().unwrap();
            let path = dir.path().join("a.db");
            let mut died = connect(&path).await;
            let text = format!("BEGIN IMMEDIATE; {}", statements[..ran].concat());
            sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut died).await.unwrap();
            drop(died);
            let store = Sqlite::open(&path).await.unwrap();
            let key = ThreadKey { tenant: TenantId::default(), thread: ThreadId::new("t").unwrap() };
            store.delete_thread(&key).await.unwrap();
            assert_eq!(version(&mut connect(&path).await).await.unwrap(), VERSION, "{ran}");
        }
    }

    #[tokio::test]
    async fn b088_tables_made_in_a_transaction_go_with_it() {
        let dir = tempfile::tempdir().unwrap();
        let mut connection = connect(&dir.path().join("a.db")).await;
        sqlx::raw_sql("BEGIN").execute(&mut connection).await.unwrap();
        migrate(&mut connection, 0).await.unwrap();
        assert_eq!(version(&mut connection).await.unwrap(), VERSION);
        sqlx::raw_sql("ROLLBACK").execute(&mut connection).await.unwrap();
        assert_eq!(version(&mut connection).await.unwrap(), 0);
        assert_eq!(application_id(&mut connection).await.unwrap(), 0);
        assert!(!has_tables(&mut connection).await.unwrap());
        connection.close().await.unwrap();
    }
}
