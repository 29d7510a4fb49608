//! How SQLite runs the statements: by index, never through a whole table, never sorting.

use sqlx::{AssertSqlSafe, ConnectOptions, Row, SqliteConnection};

use super::read::{GET_HEAD, GET_ID, GET_QUESTION, LIST};
use super::write::{COMMIT, DELETE, PREPARE, SLOT_VALUES, commit_several};
use crate::schema::MIGRATIONS;

async fn prepared() -> SqliteConnection {
    let mut connection = sqlx::sqlite::SqliteConnectOptions::new().filename(":memory:").connect().await.unwrap();
    for migration in MIGRATIONS {
        sqlx::raw_sql(migration).execute(&mut connection).await.unwrap();
    }
    sqlx::raw_sql(PREPARE).execute(&mut connection).await.unwrap();
    connection
}

async fn plan(sql: &str) -> Vec<String> {
    let explain = AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
    let rows = sqlx::raw_sql(explain).fetch_all(&mut prepared().await).await.unwrap();
    rows.iter().map(|row| row.get("detail")).collect()
}

#[tokio::test]
async fn b112_reads_go_through_indexes() {
    for sql in [GET_HEAD, GET_ID, GET_QUESTION, LIST] {
        let plan = plan(sql).await;
        for step in &plan {
            let by_index = step.starts_with("SEARCH ") && step.contains("tenant=? AND thread=?");
            let of_no_table = ["SCAN CONSTANT", "SCAN (subquery", "SCAN channel", "SCAN wanted", "SCAN found"];
            let scans_no_table = of_no_table.iter().any(|start| step.starts_with(start));
            let frame = ["CO-ROUTINE", "SETUP", "RECURSIVE STEP", "CORRELATED", "SCALAR"];
            assert!(by_index || scans_no_table || frame.iter().any(|word| step.starts_with(word)), "{step}\n{plan:#?}");
        }
    }
    assert!(plan(GET_ID).await.iter().any(|step| step.contains("superstep_checkpoint_id")));
    assert!(plan(GET_QUESTION).await.iter().any(|step| step.contains("superstep_question")));
}

/// A list to be inserted is not buffered first (see `write.rs`), except where it is joined with checkpoints.
#[tokio::test]
async fn a_commit_uses_one_buffer_at_most() {
    let rows =
        sqlx::raw_sql(AssertSqlSafe(format!("EXPLAIN {COMMIT}"))).fetch_all(&mut prepared().await).await.unwrap();
    let buffers = rows.iter().filter(|row| row.get::<String, _>("opcode") == "OpenEphemeral").count();
    assert!(buffers <= 1, "{buffers}");
}

/// Neither goes through a whole table: that begins with one of these.
#[tokio::test]
async fn writes_go_through_indexes() {
    for sql in [COMMIT, DELETE] {
        let rows =
            sqlx::raw_sql(AssertSqlSafe(format!("EXPLAIN {sql}"))).fetch_all(&mut prepared().await).await.unwrap();
        assert!(rows.len() > 50, "the triggers' steps are among them");
        assert!(rows.iter().all(|row| !["Rewind", "Last"].contains(&row.get("opcode"))), "{sql}");
    }
}

#[test]
fn a_slot_has_as_many_places_as_values() {
    assert_eq!(commit_several(3).0.matches('?').count(), 3 * SLOT_VALUES);
}
