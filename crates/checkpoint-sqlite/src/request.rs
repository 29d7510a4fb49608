//! A commit as the arguments of [`query::COMMIT`](crate::query::COMMIT).

use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use superstep_checkpoint::{
    Answer, Change, CheckpointId, Commit, CommitError, Epoch, Expect, NewCheckpoint, Op, Seq, Write, WriteKind,
};

use crate::row::metadata_entries;

/// A statement with its arguments.
pub(crate) type Bound = Query<'static, sqlx::Sqlite, SqliteArguments>;

/// What a commit writes, collected over its ops in their order.
#[derive(Default)]
pub(crate) struct Request {
    raises: i64,
    owner: Option<Option<Vec<u8>>>,
    releases: bool,
    status: Option<&'static str>,
    next: Option<String>,
    graph: Option<String>,
    first_seq: Option<i64>,
    checkpoints: Rows,
    parts: Rows,
    writes: Rows,
    answers: Rows,
    bytes: Vec<u8>,
}

impl Request {
    /// Collects the ops of a commit that is valid in itself.
    ///
    /// # Errors
    /// `Invalid` for positions that SQLite cannot count, `Unsupported` for ops of a newer contract.
    pub(crate) fn new(commit: &Commit) -> Result<Self, CommitError> {
        let mut request = Self::default();
        request.bytes.reserve(commit.ops.iter().map(bytes_of).sum());
        for (i, op) in commit.ops.iter().enumerate() {
            match op {
                Op::PutCheckpoint(new) => request.put_checkpoint(commit, new)?,
                Op::PutWrites { checkpoint, writes } => {
                    writes.iter().for_each(|write| request.put_write(*checkpoint, write));
                }
                Op::Answer(answer) => request.put_answer(answer, &commit.ops[..i]),
                Op::SetStatus { status, next } => {
                    request.status = Some(status.as_str());
                    request.next = Some(json(next));
                }
                Op::Claim { owner } => request.change_hands(Some(owner.as_bytes().to_vec())),
                Op::Release => {
                    request.releases = true;
                    request.change_hands(None);
                }
                other => return Err(CommitError::Unsupported { op: other.name() }),
            }
        }
        Ok(request)
    }

    /// The statement that applies it.
    pub(crate) fn bind(self, commit: &Commit, statement: Bound) -> Bound {
        let (head, epoch) = expected(Some(commit.guard.head));
        let (root_head, root_epoch) = expected(commit.guard.root);
        let fence = commit.guard.fence;
        statement
            .bind(commit.key.thread.tenant.as_str().to_owned())
            .bind(commit.key.thread.thread.as_str().to_owned())
            .bind(commit.key.namespace.as_str().to_owned())
            .bind(now())
            .bind(head)
            .bind(epoch)
            .bind(root_head)
            .bind(root_epoch)
            .bind(fence.map(|fence| fence.owner.as_bytes().to_vec()))
            .bind(fence.map(|fence| epoch_number(fence.epoch)))
            .bind(self.raises)
            .bind(self.owner.is_some())
            .bind(self.owner.flatten())
            .bind(self.releases)
            .bind(self.status)
            .bind(self.next)
            .bind(self.graph)
            .bind(self.first_seq)
            .bind(self.checkpoints.finish())
            .bind(self.parts.finish())
            .bind(self.writes.finish())
            .bind(self.answers.finish())
            .bind(self.bytes)
    }

    fn put_checkpoint(&mut self, commit: &Commit, new: &NewCheckpoint) -> Result<(), CommitError> {
        let NewCheckpoint { checkpoint, args, values } = new;
        let seq = seq_number(checkpoint.seq).ok_or_else(|| commit.invalid("a position beyond 2^63"))?;
        let branch = i64::try_from(checkpoint.branch.0).map_err(|_| commit.invalid("a branch beyond 2^63"))?;
        self.first_seq = self.first_seq.or(Some(seq));
        if commit.key.namespace.is_root() {
            self.graph = Some(checkpoint.graph.name.clone());
        }
        let metadata = (!checkpoint.metadata.is_empty()).then(|| json(&metadata_entries(&checkpoint.metadata)));
        let (body_at, body_len) = self.append(json(checkpoint).as_bytes());
        let (args_at, args_len) = self.append(args);
        self.checkpoints.push(&(seq, checkpoint.id, branch, metadata, body_at, body_len, args_at, args_len));
        for Change { channel, kind, bytes } in values {
            let (at, len) = self.append(bytes);
            self.parts.push(&(branch, channel, seq, kind.code(), checkpoint.id, at, len));
        }
        Ok(())
    }

    fn put_write(&mut self, checkpoint: CheckpointId, write: &Write) {
        let (at, len) = self.append(&write.bytes);
        self.writes.push(&(checkpoint, write.task, write.kind.code(), &write.path, &write.node, at, len));
    }

    fn put_answer(&mut self, answer: &Answer, before: &[Op]) {
        let write = answer.write();
        self.answers.push(&(answer.checkpoint, answer.task, &write.path, is_asked(before, answer, &write)));
        self.put_write(answer.checkpoint, &write);
    }

    fn change_hands(&mut self, owner: Option<Vec<u8>>) {
        self.owner = Some(owner);
        self.raises += 1;
    }

    /// Adds content; gives its position for `substr`, which counts from 1, and its length.
    fn append(&mut self, content: &[u8]) -> (usize, usize) {
        let at = self.bytes.len() + 1;
        self.bytes.extend_from_slice(content);
        (at, content.len())
    }
}

/// A JSON array of rows, or nothing.
#[derive(Default)]
struct Rows(String);

impl Rows {
    fn push<T: Serialize>(&mut self, row: &T) {
        self.0.push(if self.0.is_empty() { '[' } else { ',' });
        self.0.push_str(&json(row));
    }

    fn finish(mut self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        self.0.push(']');
        Some(self.0)
    }
}

/// Whether the question is put by one of the ops before: a fork takes its questions along and answers one in one commit.
fn is_asked(before: &[Op], answer: &Answer, record: &Write) -> bool {
    let asks =
        |write: &Write| write.kind == WriteKind::Question && write.task == answer.task && write.path == record.path;
    before.iter().any(|op| match op {
        Op::PutWrites { checkpoint, writes } => *checkpoint == answer.checkpoint && writes.iter().any(asks),
        _ => false,
    })
}

/// About how many bytes an op puts into the list of contents.
fn bytes_of(op: &Op) -> usize {
    match op {
        Op::PutCheckpoint(new) => 1024 + new.args.len() + new.values.iter().map(|v| v.bytes.len()).sum::<usize>(),
        Op::PutWrites { writes, .. } => writes.iter().map(|write| write.bytes.len()).sum(),
        Op::Answer(answer) => 16 + answer.bytes.len(),
        _ => 0,
    }
}

/// The expected head, or the expected epoch.
fn expected(expect: Option<Expect>) -> (Option<Vec<u8>>, Option<i64>) {
    match expect {
        Some(Expect::Head(id)) => (Some(id.as_bytes().to_vec()), None),
        Some(Expect::Empty(epoch)) => (None, Some(epoch_number(epoch))),
        // An expectation that this version does not know is met by nothing.
        Some(_) => (None, Some(-1)),
        None => (None, None),
    }
}

/// SQLite counts to 2^63; no stored epoch gets there, so a greater one matches none.
fn epoch_number(epoch: Epoch) -> i64 {
    i64::try_from(epoch.0).unwrap_or(-1)
}

/// SQLite counts to 2^63; its greatest number is kept free as the end of all positions.
fn seq_number(seq: Seq) -> Option<i64> {
    i64::try_from(seq.0).ok().filter(|seq| *seq < i64::MAX)
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

/// JSON of plain data with text keys, which always has one.
fn json<T: Serialize + ?Sized>(value: &T) -> String {
    serde_json::to_string(value).unwrap_or_default()
}
