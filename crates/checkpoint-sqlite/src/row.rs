//! From the rows of a read to what the contract gives back.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row, Type};
use superstep_checkpoint::{
    CallPath, ChannelName, Checkpoint, CheckpointId, Epoch, Metadata, NamespaceRow, NodeName, OwnerId, Part, PartKind,
    Seq, Status, StoreError, StoreErrorKind, StoredCheckpoint, StoredValue, TaskId, ThreadRow, View, Write, WriteKind,
};

use crate::error::{damaged, store_error};

/// The columns that all rows of a read have.
mod column {
    pub(super) const WHAT: usize = 0;
    pub(super) const AT: usize = 1;
    pub(super) const NUMBERS: usize = 2;
    pub(super) const TEXT: usize = 6;
    pub(super) const NAME: usize = 7;
    pub(super) const ID: usize = 8;
    pub(super) const BYTES: usize = 9;
}

/// What the rows of one read have given so far.
#[derive(Default)]
pub(crate) struct Reading {
    operation: &'static str,
    thread: Option<ThreadRow>,
    namespace: Option<NamespaceRow>,
    checkpoints: Vec<(i64, StoredCheckpoint)>,
    parts: Vec<FoundPart>,
    writes: Vec<(i64, Write)>,
}

/// A part of a channel's value: the position of the checkpoint it is read at, and its own.
struct FoundPart {
    at: i64,
    seq: i64,
    channel: ChannelName,
    part: Part,
}

impl Reading {
    pub(crate) fn new(operation: &'static str) -> Self {
        Self { operation, ..Self::default() }
    }

    /// Takes in one row.
    ///
    /// # Errors
    /// `Corrupt` if it is none of ours, `TooNew` if a newer version wrote it.
    pub(crate) fn add(&mut self, row: &SqliteRow) -> Result<(), StoreError> {
        let row = Cells { operation: self.operation, row };
        let at = row.get::<i64>(column::AT)?;
        match row.get::<i64>(column::WHAT)? {
            0 => self.thread = Some(row.thread()?),
            1 => self.namespace = Some(row.namespace()?),
            2 => self.checkpoints.push((at, row.checkpoint()?)),
            3 => self.parts.push(row.part(at)?),
            4 => self.writes.push((at, row.write()?)),
            _ => return Err(damaged(self.operation, "a row of an unknown kind")),
        }
        Ok(())
    }

    /// What a look at one checkpoint gives.
    pub(crate) fn into_view(mut self) -> View {
        let (thread, namespace) = (self.thread.take(), self.namespace.take());
        View { thread, namespace, found: self.into_list().pop() }
    }

    /// The checkpoints, newest first, each with its values and records.
    pub(crate) fn into_list(mut self) -> Vec<StoredCheckpoint> {
        self.checkpoints.sort_by_key(|(at, _)| *at);
        self.parts.sort_by(|a, b| (a.at, &a.channel, a.seq).cmp(&(b.at, &b.channel, b.seq)));
        self.writes.sort_by(|(at, a), (other, b)| (at, a.task, a.kind, &a.path).cmp(&(other, b.task, b.kind, &b.path)));
        // From the back, newest first: what belongs to a checkpoint is then at the end of each list.
        let (mut parts, mut writes) = (self.parts, self.writes);
        let mut list = Vec::with_capacity(self.checkpoints.len());
        while let Some((at, mut stored)) = self.checkpoints.pop() {
            let first = parts.partition_point(|part| part.at < at);
            stored.values = values(parts.split_off(first));
            let first = writes.partition_point(|(of, _)| *of < at);
            stored.writes = writes.split_off(first).into_iter().map(|(_, write)| write).collect();
            list.push(stored);
        }
        list
    }
}

/// Groups sorted parts by channel.
fn values(parts: Vec<FoundPart>) -> Vec<StoredValue> {
    let mut values: Vec<StoredValue> = Vec::new();
    for FoundPart { channel, part, .. } in parts {
        match values.last_mut() {
            Some(value) if value.channel == channel => value.parts.push(part),
            _ => values.push(StoredValue { channel, parts: vec![part] }),
        }
    }
    values
}

/// One row, with errors that say in which operation it was read.
struct Cells<'r> {
    operation: &'static str,
    row: &'r SqliteRow,
}

impl<'r> Cells<'r> {
    fn get<T: Decode<'r, sqlx::Sqlite> + Type<sqlx::Sqlite>>(&self, column: usize) -> Result<T, StoreError> {
        self.row.try_get(column).map_err(|error| store_error(self.operation, error))
    }

    fn number(&self, index: usize) -> Result<i64, StoreError> {
        self.get(column::NUMBERS + index)
    }

    fn count(&self, index: usize) -> Result<u64, StoreError> {
        u64::try_from(self.number(index)?).map_err(|_| self.damaged("a negative number"))
    }

    fn id(&self) -> Result<[u8; 16], StoreError> {
        self.get::<&[u8]>(column::ID)?.try_into().map_err(|_| self.damaged("an id that has not 16 bytes"))
    }

    fn bytes(&self) -> Result<Bytes, StoreError> {
        self.get::<&[u8]>(column::BYTES).map(Bytes::copy_from_slice)
    }

    fn time(&self, index: usize) -> Result<SystemTime, StoreError> {
        let time = UNIX_EPOCH.checked_add(Duration::from_millis(self.count(index)?));
        time.ok_or_else(|| self.damaged("a time out of range"))
    }

    fn thread(&self) -> Result<ThreadRow, StoreError> {
        let owner = match self.get::<Option<&[u8]>>(column::ID)? {
            Some(_) => Some(OwnerId::from_bytes(self.id()?)),
            None => None,
        };
        Ok(ThreadRow {
            epoch: Epoch(self.count(0)?),
            owner,
            status: Status::parse(self.get(column::TEXT)?).ok_or_else(|| self.too_new("the status of the thread"))?,
            next: serde_json::from_slice(self.get(column::BYTES)?)
                .map_err(|error| self.damaged("the list of the nodes that come next").with_source(error))?,
            graph: self.get(column::NAME)?,
            deleted: self.number(1)? != 0,
            created_at: self.time(2)?,
            updated_at: self.time(3)?,
        })
    }

    fn namespace(&self) -> Result<NamespaceRow, StoreError> {
        Ok(NamespaceRow { head: CheckpointId::from_bytes(self.id()?), last_seq: Seq(self.count(0)?) })
    }

    fn checkpoint(&self) -> Result<StoredCheckpoint, StoreError> {
        let body: &str = self.get(column::TEXT)?;
        let checkpoint: Checkpoint = match serde_json::from_str(body) {
            Ok(checkpoint) => checkpoint,
            Err(_) if format(body) > u64::from(Checkpoint::FORMAT) => return Err(self.too_new("a checkpoint")),
            // Not as its source: serde quotes from the text, and metadata may be private.
            Err(_) => return Err(self.damaged("the text of a checkpoint")),
        };
        if checkpoint.format > Checkpoint::FORMAT {
            return Err(self.too_new("a checkpoint"));
        }
        Ok(StoredCheckpoint {
            checkpoint: Arc::new(checkpoint),
            args: self.bytes()?,
            values: Vec::new(),
            writes: Vec::new(),
        })
    }

    fn part(&self, at: i64) -> Result<FoundPart, StoreError> {
        let kind = u8::try_from(self.number(1)?).ok().and_then(PartKind::from_code);
        Ok(FoundPart {
            at,
            seq: self.number(0)?,
            channel: self.name(column::TEXT, "the name of a channel")?,
            part: Part {
                checkpoint: CheckpointId::from_bytes(self.id()?),
                kind: kind.ok_or_else(|| self.too_new("a part of a channel"))?,
                bytes: self.bytes()?,
            },
        })
    }

    fn write(&self) -> Result<Write, StoreError> {
        let kind = u8::try_from(self.number(0)?).ok().and_then(WriteKind::from_code);
        Ok(Write {
            task: TaskId::from_bytes(self.id()?),
            node: self.name::<NodeName>(column::NAME, "the name of a node")?,
            kind: kind.ok_or_else(|| self.too_new("a record"))?,
            path: self.name::<CallPath>(column::TEXT, "the path of a record")?,
            bytes: self.bytes()?,
        })
    }

    fn name<N: TryFrom<&'r str>>(&self, column: usize, what: &'static str) -> Result<N, StoreError> {
        N::try_from(self.get(column)?).map_err(|_| self.damaged(what))
    }

    fn damaged(&self, what: &str) -> StoreError {
        damaged(self.operation, what)
    }

    fn too_new(&self, what: &str) -> StoreError {
        StoreError::new(StoreErrorKind::TooNew, self.operation, what)
    }
}

/// The format of a checkpoint that could not be read.
fn format(body: &str) -> u64 {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    body.get("format").and_then(Value::as_u64).unwrap_or_default()
}

/// The entries of metadata as texts that are equal where the entries are: `["key",value]`, objects in the order of their
/// keys. What is stored and what is asked for pass through here, so SQL compares whole texts and knows no key.
pub(crate) fn metadata_entries(metadata: &Metadata) -> Vec<String> {
    metadata.iter().map(|(key, value)| format!("[{},{}]", Value::from(key.as_str()), canonical(value))).collect()
}

fn canonical(value: &Value) -> String {
    match value {
        Value::Object(entries) => {
            let mut texts: Vec<(&String, &Value)> = entries.iter().collect();
            texts.sort_by_key(|(key, _)| *key);
            let texts =
                texts.into_iter().map(|(key, value)| format!("{}:{}", Value::from(key.as_str()), canonical(value)));
            format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(canonical).collect::<Vec<_>>().join(",")),
        plain => plain.to_string(),
    }
}
