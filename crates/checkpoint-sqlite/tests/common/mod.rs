//! What the tests of this crate share.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use superstep_checkpoint::{
    Branch, Change, ChannelName, Checkpoint, CheckpointId, Commit, Digest, Expect, GraphStamp, Guard, LineageId,
    Namespace, NamespaceKey, NewCheckpoint, NodeName, Op, PartKind, Plan, Seq, Source, Status, Step, TenantId,
    ThreadId, ThreadKey, Turn,
};

/// The root graph of a thread of the default tenant.
pub(crate) fn key(thread: &str) -> NamespaceKey {
    ThreadKey { tenant: TenantId::default(), thread: ThreadId::new(thread).unwrap() }.namespace(Namespace::root())
}

/// An id for each number.
pub(crate) fn id(n: u64) -> CheckpointId {
    let mut bytes = [0; 16];
    // Spread like random ids, so that indexes are hit as in real use.
    bytes[..8].copy_from_slice(&n.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    bytes[8..].copy_from_slice(&n.to_be_bytes());
    CheckpointId::from_bytes(bytes)
}

/// Checkpoint number `n`, from 1.
pub(crate) fn checkpoint(n: u64) -> Checkpoint {
    Checkpoint {
        format: Checkpoint::FORMAT,
        id: id(n),
        parent: (n > 1).then(|| id(n - 1)),
        seq: Seq(n),
        branch: Branch(1),
        step: Step(i64::try_from(n).unwrap() - 2),
        source: Source::Loop,
        plan: Plan::default(),
        turn: Turn { lineage: LineageId::from_bytes([7; 16]), digest: Digest::from_bytes([8; 16]), run: None },
        graph: GraphStamp { name: "g".into(), signature: Digest::from_bytes([9; 16]) },
        metadata: BTreeMap::new(),
        ancestors: Vec::new(),
        created_at: UNIX_EPOCH,
    }
}

/// A change of one channel.
pub(crate) fn change(channel: &str, kind: PartKind, bytes: impl Into<Vec<u8>>) -> Change {
    Change { channel: ChannelName::new(channel).unwrap(), kind, bytes: bytes.into().into() }
}

/// The op that puts checkpoint `n` with these changes.
pub(crate) fn put(n: u64, values: Vec<Change>) -> Op {
    Op::PutCheckpoint(Box::new(NewCheckpoint { checkpoint: checkpoint(n), args: Vec::new().into(), values }))
}

/// The guard of the commit that puts checkpoint `n` on a thread that was never deleted.
pub(crate) fn before(n: u64) -> Guard {
    Guard::head(match n {
        1 => Expect::Empty(superstep_checkpoint::Epoch(0)),
        n => Expect::Head(id(n - 1)),
    })
}

/// The commit of step `n`: a checkpoint with a counter, and how the thread stands.
pub(crate) fn step(thread: &str, n: u64) -> Commit {
    let values = vec![change("count", PartKind::Base, n.to_string())];
    let status = Op::SetStatus { status: Status::Ready, next: vec![NodeName::new("work").unwrap()] };
    Commit { key: key(thread), guard: before(n), ops: vec![put(n, values), status] }
}

/// The rows of a query on a file, seen by another connection, each as text with its columns between bars.
pub(crate) async fn rows(path: &std::path::Path, sql: &str) -> Vec<String> {
    use sqlx::{ConnectOptions, Connection, Row};
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(path).read_only(true);
    let mut connection = options.connect().await.unwrap();
    let rows = sqlx::raw_sql(sqlx::AssertSqlSafe(sql.to_owned())).fetch_all(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    let cell = |row: &sqlx::sqlite::SqliteRow, column| {
        let bytes: Option<Vec<u8>> = row.try_get_unchecked(column).unwrap();
        bytes.map_or("null".to_owned(), |bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    rows.iter().map(|row| (0..row.len()).map(|i| cell(row, i)).collect::<Vec<_>>().join("|")).collect()
}

/// The result of task number `n`.
pub(crate) fn write(n: u8, bytes: &'static str) -> superstep_checkpoint::Write {
    superstep_checkpoint::Write {
        task: superstep_checkpoint::TaskId::from_bytes([n; 16]),
        node: NodeName::new("work").unwrap(),
        kind: superstep_checkpoint::WriteKind::Result,
        path: superstep_checkpoint::CallPath::default(),
        bytes: bytes.into(),
    }
}
