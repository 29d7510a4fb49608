//! One namespace in memory: its checkpoints, their records, and the stored parts of its channels.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::Bytes;

use super::records::Records;
use crate::checkpoint::{Checkpoint, Metadata};
use crate::commit::{Answer, Change, NewCheckpoint, PartKind};
use crate::id::{Branch, CallPath, ChannelName, CheckpointId, QuestionId, Seq};
use crate::view::{At, ListQuery, NamespaceRow, Part, StoredCheckpoint, StoredValue};
use crate::write::{Write, WriteKind};

/// The checkpoints of one namespace. Positions only grow and the newest is the head, so the last entry is the head.
#[derive(Default)]
pub(super) struct Space {
    /// By `seq`, ascending.
    entries: Vec<Entry>,
    by_id: HashMap<CheckpointId, usize>,
    /// The newest entry on which a question stands, by the text of its id.
    questions: HashMap<CallPath, usize>,
    values: BTreeMap<Branch, Channels>,
}

struct Entry {
    checkpoint: Arc<Checkpoint>,
    args: Bytes,
    writes: Records,
}

/// The stored parts of the channels of one branch, each list by `seq`.
type Channels = BTreeMap<ChannelName, Vec<(Seq, Part)>>;

impl Space {
    pub(super) fn row(&self) -> Option<NamespaceRow> {
        let checkpoint = &self.entries.last()?.checkpoint;
        Some(NamespaceRow { head: checkpoint.id, last_seq: checkpoint.seq })
    }

    pub(super) fn contains(&self, id: CheckpointId) -> bool {
        self.by_id.contains_key(&id)
    }

    /// Whether the question of this answer, or an answer to it, stands on the checkpoint.
    pub(super) fn has_record(&self, answer: &Answer, kind: WriteKind) -> bool {
        let path = CallPath::from(answer.question);
        self.index(answer.checkpoint)
            .is_some_and(|index| self.entries[index].writes.contains(answer.task, kind, path.as_str()))
    }

    pub(super) fn put_checkpoint(&mut self, new: NewCheckpoint) {
        let NewCheckpoint { checkpoint, args, values } = new;
        let (id, seq) = (checkpoint.id, checkpoint.seq);
        if !values.is_empty() {
            put_values(self.values.entry(checkpoint.branch).or_default(), id, seq, values);
        }
        self.by_id.insert(id, self.entries.len());
        self.entries.push(Entry { checkpoint: Arc::new(checkpoint), args, writes: Records::default() });
    }

    pub(super) fn put_writes(&mut self, checkpoint: CheckpointId, writes: Vec<Write>) {
        let Some(index) = self.index(checkpoint) else { return };
        for write in writes {
            if write.kind == WriteKind::Question {
                let newest = self.questions.entry(write.path.clone()).or_insert(index);
                *newest = index.max(*newest);
            }
            self.entries[index].writes.put(write);
        }
    }

    pub(super) fn find(&self, at: At) -> Option<StoredCheckpoint> {
        let index = match at {
            At::Head => self.entries.len().checked_sub(1),
            At::Id(id) => self.index(id),
            At::Question(question) => self.question(question),
        };
        index.map(|index| self.stored(&self.entries[index]))
    }

    pub(super) fn list(&self, query: &ListQuery) -> Vec<StoredCheckpoint> {
        let end = match query.before {
            None => self.entries.len(),
            Some(before) => self.index(before).unwrap_or(0),
        };
        let limit = query.limit.map_or(usize::MAX, usize::from);
        let matching =
            self.entries[..end].iter().rev().filter(|entry| has(&entry.checkpoint.metadata, &query.metadata));
        matching.take(limit).map(|entry| self.stored(entry)).collect()
    }

    fn index(&self, id: CheckpointId) -> Option<usize> {
        match self.entries.last() {
            Some(head) if head.checkpoint.id == id => Some(self.entries.len() - 1),
            _ => self.by_id.get(&id).copied(),
        }
    }

    fn question(&self, question: QuestionId) -> Option<usize> {
        self.questions.get(question.to_string().as_str()).copied()
    }

    fn stored(&self, entry: &Entry) -> StoredCheckpoint {
        let checkpoint = &entry.checkpoint;
        StoredCheckpoint {
            checkpoint: Arc::clone(checkpoint),
            args: entry.args.clone(),
            values: self.values.get(&checkpoint.branch).map(|all| read(all, checkpoint.seq)).unwrap_or_default(),
            writes: entry.writes.to_vec(),
        }
    }
}

fn put_values(channels: &mut Channels, checkpoint: CheckpointId, seq: Seq, values: Vec<Change>) {
    for Change { channel, kind, bytes } in values {
        channels.entry(channel).or_default().push((seq, Part { checkpoint, kind, bytes }));
    }
}

/// The values of one branch as of `seq`.
fn read(channels: &Channels, seq: Seq) -> Vec<StoredValue> {
    let mut values = Vec::with_capacity(channels.len());
    for (channel, parts) in channels {
        if let Some(parts) = as_of(parts, seq) {
            values.push(StoredValue { channel: channel.clone(), parts });
        }
    }
    values
}

/// The latest base up to `seq` and the segments after it; `None` where the channel has no value.
fn as_of(parts: &[(Seq, Part)], seq: Seq) -> Option<Vec<Part>> {
    let until = &parts[..parts.partition_point(|(at, _)| *at <= seq)];
    let segments = until.iter().rev().take_while(|(_, part)| part.kind == PartKind::Segment).count();
    let first = until.len() - segments;
    let start = match first.checked_sub(1) {
        Some(base) if until[base].1.kind == PartKind::Base => base,
        _ => first,
    };
    let readable = &until[start..];
    (!readable.is_empty()).then(|| readable.iter().map(|(_, part)| part.clone()).collect())
}

fn has(metadata: &Metadata, wanted: &Metadata) -> bool {
    wanted.iter().all(|(key, value)| metadata.get(key) == Some(value))
}
