//! From the rows of a read to what the contract gives back.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use serde_json::Value;
use sqlx::sqlite::SqliteRow;
use sqlx::{Decode, Row, Type, ValueRef};
use superstep_checkpoint::{
    ChannelName, Checkpoint, CheckpointId, Epoch, NamespaceRow, OwnerId, Part, PartKind, Seq, Status, StoreError,
    StoreErrorKind, StoredCheckpoint, StoredValue, TaskId, ThreadRow, View, Write, WriteKind,
};

use crate::error::{damaged, store_error};
use crate::packed::Packed;

/// The columns of a row: all of `get`, the first four of `list`.
mod column {
    pub(super) const BODY: usize = 0;
    pub(super) const ARGS: usize = 1;
    pub(super) const VALUES: usize = 2;
    pub(super) const WRITES: usize = 3;
    pub(super) const HEAD: usize = 4;
    pub(super) const LAST_SEQ: usize = 5;
    pub(super) const EPOCH: usize = 6;
    pub(super) const OWNER: usize = 7;
    pub(super) const STATUS: usize = 8;
    pub(super) const NEXT: usize = 9;
    pub(super) const GRAPH: usize = 10;
    pub(super) const DELETED: usize = 11;
    pub(super) const CREATED_AT: usize = 12;
    pub(super) const UPDATED_AT: usize = 13;
}

/// A row, with errors that say in which operation it was read.
pub(crate) struct Cells<'r> {
    pub(crate) operation: &'static str,
    pub(crate) row: &'r SqliteRow,
}

impl<'r> Cells<'r> {
    /// The row of a `get`.
    ///
    /// # Errors
    /// `Corrupt` if it is none of ours, `TooNew` if a newer version wrote it.
    pub(crate) fn view(&self) -> Result<View, StoreError> {
        Ok(View {
            thread: self.if_there(column::EPOCH, Self::thread)?,
            namespace: self.if_there(column::HEAD, Self::namespace)?,
            found: self.if_there(column::BODY, Self::stored)?,
        })
    }

    /// A checkpoint with its values and records.
    ///
    /// # Errors
    /// `Corrupt` if it is none of ours, `TooNew` if a newer version wrote it.
    pub(crate) fn stored(&self) -> Result<StoredCheckpoint, StoreError> {
        Ok(StoredCheckpoint {
            checkpoint: Arc::new(self.checkpoint()?),
            args: self.bytes(column::ARGS)?,
            values: self.values()?,
            writes: self.writes()?,
        })
    }

    fn if_there<T>(&self, column: usize, read: fn(&Self) -> Result<T, StoreError>) -> Result<Option<T>, StoreError> {
        let cell = self.row.try_get_raw(column).map_err(|error| store_error(self.operation, error))?;
        if cell.is_null() { Ok(None) } else { read(self).map(Some) }
    }

    fn thread(&self) -> Result<ThreadRow, StoreError> {
        let owner = self.get::<Option<&[u8]>>(column::OWNER)?.map(|id| self.id(id)).transpose()?;
        let status = Status::parse(self.get(column::STATUS)?);
        Ok(ThreadRow {
            epoch: Epoch(self.count(column::EPOCH)?),
            owner: owner.map(OwnerId::from_bytes),
            status: status.ok_or_else(|| self.too_new("the status of the thread"))?,
            next: serde_json::from_str(self.get(column::NEXT)?).map_err(|_| self.damaged("the list of next nodes"))?,
            graph: self.get(column::GRAPH)?,
            deleted: self.count(column::DELETED)? != 0,
            created_at: self.time(column::CREATED_AT)?,
            updated_at: self.time(column::UPDATED_AT)?,
        })
    }

    fn namespace(&self) -> Result<NamespaceRow, StoreError> {
        let head = CheckpointId::from_bytes(self.id(self.get(column::HEAD)?)?);
        Ok(NamespaceRow { head, last_seq: Seq(self.count(column::LAST_SEQ)?) })
    }

    fn checkpoint(&self) -> Result<Checkpoint, StoreError> {
        let body: &str = self.get(column::BODY)?;
        match serde_json::from_str::<Checkpoint>(body) {
            Ok(checkpoint) if checkpoint.format <= Checkpoint::FORMAT => Ok(checkpoint),
            Err(_) if format(body) <= u64::from(Checkpoint::FORMAT) => Err(self.damaged("the text of a checkpoint")),
            // serde's error is left out: it quotes from the text, and metadata may be private.
            _ => Err(self.too_new("a checkpoint")),
        }
    }

    /// Parts come by channel and position: that is the order of the table's key, in which they are read.
    fn values(&self) -> Result<Vec<StoredValue>, StoreError> {
        let mut list = Packed::new(self.list(column::VALUES)?);
        let mut values: Vec<StoredValue> = Vec::new();
        while !list.is_empty() {
            let found = part(&mut list).ok_or_else(|| self.damaged("a part of a channel"))?;
            let kind = PartKind::from_code(found.kind).ok_or_else(|| self.too_new("a part of a channel"))?;
            let part = Part { checkpoint: found.checkpoint, kind, bytes: found.bytes };
            match values.last_mut() {
                Some(value) if value.channel == found.channel => value.parts.push(part),
                _ => values.push(StoredValue { channel: found.channel, parts: vec![part] }),
            }
        }
        Ok(values)
    }

    fn writes(&self) -> Result<Vec<Write>, StoreError> {
        let mut list = Packed::new(self.list(column::WRITES)?);
        let mut writes = Vec::new();
        while !list.is_empty() {
            let (code, write) = write(&mut list).ok_or_else(|| self.damaged("a record"))?;
            let kind = WriteKind::from_code(code).ok_or_else(|| self.too_new("a record"))?;
            writes.push(Write { kind, ..write });
        }
        Ok(writes)
    }

    fn get<T: Decode<'r, sqlx::Sqlite> + Type<sqlx::Sqlite>>(&self, column: usize) -> Result<T, StoreError> {
        self.row.try_get(column).map_err(|error| store_error(self.operation, error))
    }

    fn bytes(&self, column: usize) -> Result<Bytes, StoreError> {
        self.get::<&[u8]>(column).map(Bytes::copy_from_slice)
    }

    /// A packed list; null stands for an empty one.
    fn list(&self, column: usize) -> Result<Bytes, StoreError> {
        Ok(self.get::<Option<&[u8]>>(column)?.map(Bytes::copy_from_slice).unwrap_or_default())
    }

    fn count(&self, column: usize) -> Result<u64, StoreError> {
        u64::try_from(self.get::<i64>(column)?).map_err(|_| self.damaged("a negative number"))
    }

    fn id(&self, bytes: &[u8]) -> Result<[u8; 16], StoreError> {
        bytes.try_into().map_err(|_| self.damaged("an id that has not 16 bytes"))
    }

    fn time(&self, column: usize) -> Result<SystemTime, StoreError> {
        let time = UNIX_EPOCH.checked_add(Duration::from_millis(self.count(column)?));
        time.ok_or_else(|| self.damaged("a time out of range"))
    }

    fn damaged(&self, what: &str) -> StoreError {
        damaged(self.operation, what)
    }

    fn too_new(&self, what: &str) -> StoreError {
        StoreError::new(StoreErrorKind::TooNew, self.operation, what)
    }
}

/// A part as packed.
struct PackedPart {
    kind: u8,
    channel: ChannelName,
    checkpoint: CheckpointId,
    bytes: Bytes,
}

fn part(list: &mut Packed) -> Option<PackedPart> {
    let kind = list.number()?;
    let (channel, bytes) = (list.number()?, list.number()?);
    let checkpoint = CheckpointId::from_bytes(list.id()?);
    Some(PackedPart { kind, checkpoint, channel: list.name(channel)?, bytes: list.bytes(bytes)? })
}

/// A record as packed, beside the code of its kind.
fn write(list: &mut Packed) -> Option<(u8, Write)> {
    let code = list.number()?;
    let (path, node, bytes) = (list.number()?, list.number()?, list.number()?);
    let write = Write {
        kind: WriteKind::Result,
        task: TaskId::from_bytes(list.id()?),
        path: list.name(path)?,
        node: list.name(node)?,
        bytes: list.bytes(bytes)?,
    };
    Some((code, write))
}

/// The format of a checkpoint that could not be read.
fn format(body: &str) -> u64 {
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    body.get("format").and_then(Value::as_u64).unwrap_or_default()
}
