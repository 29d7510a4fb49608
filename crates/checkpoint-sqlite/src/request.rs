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

use std::fmt::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::Serialize;
use sqlx::query::Query;
use sqlx::sqlite::SqliteArguments;
use superstep_checkpoint::{
    Answer, Change, CheckpointId, Commit, CommitError, Epoch, Expect, NewCheckpoint, Op, Seq, Write, WriteKind,
};

use crate::metadata;

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
        let seq = seq_number(checkpoint.seq).ok_or_else(|| commit.invalid("a position beyond 2^63"))?;
        let branch = i64::try_from(checkpoint.branch.0).map_err(|_| commit.invalid("a branch beyond 2^63"))?;
        self.first_seq = self.first_seq.or(Some(seq));
        if commit.key.namespace.is_root() {
            self.graph = Some(checkpoint.graph.name.clone());
        }
        let metadata = match &checkpoint.metadata {
            none if none.is_empty() => String::new(),
            some => json(&metadata::entries(some)),
        };
        let body = json(checkpoint);
        let record = self.append(&[checkpoint.id.as_bytes(), body.as_bytes(), args]);
        let (body, args) = (body.len(), args.len());
        self.checkpoints.push(format_args!("{seq:019}{branch:019}{record:010}{body:010}{args:010}"), &metadata);
        for Change { channel, kind, bytes } in values {
            let (at, len, kind) = (self.append(&[bytes]), bytes.len(), kind.code());
            let row = format_args!("{branch:019}{seq:019}{kind:03}{record:010}{at:010}{len:010}");
            self.parts.push(row, channel.as_str());
        }
        Ok(())
    }

    /// Gives the position of its record: the id of the checkpoint, that of the task, the node, and the content.
    fn put_write(&mut self, checkpoint: CheckpointId, write: &Write) -> usize {
        let (node, len, kind) = (write.node.as_str().as_bytes(), write.bytes.len(), write.kind.code());
        let at = self.append(&[checkpoint.as_bytes(), write.task.as_bytes(), node, &write.bytes]);
        let node = node.len();
        self.writes.push(format_args!("{kind:03}{at:010}{node:010}{len:010}"), write.path.as_str());
        at
    }

    fn put_answer(&mut self, answer: &Answer, before: &[Op]) {
        let write = answer.write();
        let asked = u8::from(is_asked(before, answer, &write));
        let at = self.put_write(answer.checkpoint, &write);
        self.answers.push(format_args!("{asked}{at:010}"), write.path.as_str());
    }

    fn change_hands(&mut self, owner: Option<Vec<u8>>) {
        self.owner = owner;
        self.raises += 1;
    }

    /// Adds content; gives its position for `substr`, which counts from 1.
    fn append(&mut self, content: &[&[u8]]) -> usize {
        let at = self.bytes.len() + 1;
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

/// A JSON array of texts, or nothing. Each text is a row: numbers with a fixed width, then one text of any length.
#[derive(Clone, Debug, Default)]
struct Rows(String);

impl Rows {
    fn push(&mut self, numbers: fmt::Arguments<'_>, text: &str) {
        self.0.push_str(if self.0.is_empty() { "[\"" } else { ",\"" });
        // Writing to a text cannot fail, and digits need no escapes.
        let _ = self.0.write_fmt(numbers);
        self.0.push_str(json(text).get(1..).unwrap_or_default());
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
