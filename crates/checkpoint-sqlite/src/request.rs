//! A commit as the arguments of [`COMMIT`](crate::query::write::COMMIT).
//!
//! All content stands in one blob, `bytes`. The rows of the lists say where, counted from 1 as `substr` does:
//!
//! | list | numbers (digits) | text |
//! | --- | --- | --- |
//! | checkpoints | seq (19), branch (19), record (10), length of the body (10), of the args (10) | metadata |
//! | parts | branch (19), seq (19), kind (3), record of the checkpoint (10), position (10), length (10) | channel |
//! | writes | kind (3), record (10), length of the node (10), of the content (10) | path |
//! | answers | whether the question is put here (1), record of the write (10) | path |
//!
//! The record of a checkpoint is its id, body and args; that of a write the checkpoint's id, the task's, the node and
//! the content. SQLite takes no blob beyond 10^9 bytes, so ten digits do.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use superstep_checkpoint::{
    Answer, Change, CheckpointId, Commit, CommitError, Epoch, Expect, NewCheckpoint, Op, Write, WriteKind,
};

use crate::metadata;
use crate::rows::Rows;

/// A statement with its arguments.
pub(crate) type Bound = Query<'static, sqlx::Sqlite, SqliteArguments>;

/// A commit: where, what must be so, and what it writes, collected over its ops in their order.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    tenant: String,
    thread: String,
    namespace: String,
    head: Expected,
    root: Expected,
    fence: Option<(Vec<u8>, i64)>,
    raises: i64,
    /// The new holder, where `raises` is not 0.
    owner: Option<Vec<u8>>,
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
        let mut request = Self {
            tenant: commit.key.thread.tenant.as_str().to_owned(),
            thread: commit.key.thread.thread.as_str().to_owned(),
            namespace: commit.key.namespace.as_str().to_owned(),
            head: Expected::new(Some(commit.guard.head)),
            root: Expected::new(commit.guard.root),
            fence: commit.guard.fence.map(|fence| (fence.owner.as_bytes().to_vec(), epoch_number(fence.epoch))),
            bytes: Vec::with_capacity(commit.ops.iter().map(bytes_of).sum()),
            ..Self::default()
        };
        for (i, op) in commit.ops.iter().enumerate() {
            match op {
                Op::PutCheckpoint(new) => request.put_checkpoint(commit, new)?,
                Op::PutWrites { checkpoint, writes } => {
                    for write in writes {
                        request.put_write(*checkpoint, write);
                    }
                }
                Op::Answer(answer) => request.put_answer(answer, &commit.ops[..i]),
                Op::SetStatus { status, next } => {
                    request.status = Some(status.as_str());
                    request.next =
                        Some(serde_json::to_string(next).map_err(|_| commit.invalid("nodes without a text"))?);
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

    /// How many bytes of content it has.
    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Gives a statement its values, in the order of the columns of the view.
    pub(crate) fn bind(self, statement: Bound) -> Bound {
        let (fence_owner, fence_epoch) = self.fence.unzip();
        statement
            .bind(self.tenant)
            .bind(self.thread)
            .bind(self.namespace)
            .bind(now())
            .bind(self.head.id)
            .bind(self.head.epoch)
            .bind(self.root.id)
            .bind(self.root.epoch)
            .bind(fence_owner)
            .bind(fence_epoch)
            .bind(self.raises)
            .bind(self.owner)
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
        let (seq, branch) = (checkpoint.seq.0, checkpoint.branch.0);
        let first_seq = position(seq).ok_or_else(|| commit.invalid("a position beyond 2^63"))?;
        position(branch).ok_or_else(|| commit.invalid("a branch beyond 2^63"))?;
        self.first_seq = self.first_seq.or(Some(first_seq));
        if commit.key.namespace.is_root() {
            self.graph = Some(checkpoint.graph.name.clone());
        }
        let record = self.append(&[checkpoint.id.as_bytes()]);
        let body = self.bytes.len();
        serde_json::to_writer(&mut self.bytes, checkpoint)
            .map_err(|_| commit.invalid("a checkpoint without a text"))?;
        let body = self.bytes.len() - body;
        self.append(&[args]);
        let entries = metadata::entries(&checkpoint.metadata);
        let metadata = if entries.is_empty() { String::new() } else { Value::from(entries).to_string() };
        let numbers = [(seq, 19), (branch, 19), (record, 10), (size(body), 10), (size(args.len()), 10)];
        self.checkpoints.push(&numbers, &metadata);
        for Change { channel, kind, bytes } in values {
            let (at, len, kind) = (self.append(&[bytes]), size(bytes.len()), kind.code().into());
            let numbers = [(branch, 19), (seq, 19), (kind, 3), (record, 10), (at, 10), (len, 10)];
            self.parts.push(&numbers, channel.as_str());
        }
        Ok(())
    }

    /// Gives the position of its record: the id of the checkpoint, that of the task, the node, and the content.
    fn put_write(&mut self, checkpoint: CheckpointId, write: &Write) -> u64 {
        let (node, len, kind) = (write.node.as_str().as_bytes(), size(write.bytes.len()), write.kind.code().into());
        let at = self.append(&[checkpoint.as_bytes(), write.task.as_bytes(), node, &write.bytes]);
        self.writes.push(&[(kind, 3), (at, 10), (size(node.len()), 10), (len, 10)], write.path.as_str());
        at
    }

    fn put_answer(&mut self, answer: &Answer, before: &[Op]) {
        let write = answer.write();
        let asked = u64::from(is_asked(before, answer, &write));
        let at = self.put_write(answer.checkpoint, &write);
        self.answers.push(&[(asked, 1), (at, 10)], write.path.as_str());
    }

    fn change_hands(&mut self, owner: Option<Vec<u8>>) {
        self.owner = owner;
        self.raises += 1;
    }

    /// Adds content; gives its position for `substr`, which counts from 1.
    fn append(&mut self, content: &[&[u8]]) -> u64 {
        let at = size(self.bytes.len()) + 1;
        for part in content {
            self.bytes.extend_from_slice(part);
        }
        at
    }
}

/// The expected head, or the expected epoch where there is none; neither where nothing is expected.
#[derive(Clone, Debug, Default)]
struct Expected {
    id: Option<Vec<u8>>,
    epoch: Option<i64>,
}

impl Expected {
    fn new(expect: Option<Expect>) -> Self {
        let (id, epoch) = match expect {
            Some(Expect::Head(id)) => (Some(id.as_bytes().to_vec()), None),
            Some(Expect::Empty(epoch)) => (None, Some(epoch_number(epoch))),
            // An expectation that this version does not know is met by nothing.
            Some(_) => (None, Some(-1)),
            None => (None, None),
        };
        Self { id, epoch }
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

/// SQLite counts to 2^63; no stored epoch gets there, so a greater one matches none.
fn epoch_number(epoch: Epoch) -> i64 {
    i64::try_from(epoch.0).unwrap_or(-1)
}

/// SQLite counts to 2^63; its greatest number is kept free as the end of all positions.
fn position(number: u64) -> Option<i64> {
    i64::try_from(number).ok().filter(|number| *number < i64::MAX)
}

fn size(len: usize) -> u64 {
    u64::try_from(len).unwrap_or(u64::MAX)
}

/// Milliseconds since 1970.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
