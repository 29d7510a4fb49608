//! Drafts of the machine become ops of a commit: sealed, named, dated.

use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use superstep_checkpoint::{
    Answer, Change, Checkpoint, CheckpointId, GraphStamp, Metadata, NamespaceKey, NewCheckpoint, Op, PartKind, Place,
    SealError, Sealer, TaskId, ValueKind, Write, WriteKind,
};
use superstep_pregel::{DraftAnswer, DraftCheckpoint, DraftWrite, Put};

/// What sealing needs to know of a call.
pub(crate) struct Desk {
    pub(crate) key: NamespaceKey,
    pub(crate) sealer: Arc<Sealer>,
    pub(crate) graph: GraphStamp,
    pub(crate) metadata: Metadata,
}

impl Desk {
    /// Seals a put; adds its ops.
    pub(crate) fn seal(&self, put: Put, ops: &mut Vec<Op>) -> Result<(), SealError> {
        match put {
            Put::Checkpoint(draft) => ops.push(Op::PutCheckpoint(Box::new(self.checkpoint(*draft)?))),
            Put::Writes { on, writes } => {
                let writes = writes.into_iter().map(|write| self.write(on, write)).collect::<Result<_, _>>()?;
                ops.push(Op::PutWrites { checkpoint: on, writes });
            }
            Put::Answers { on, answers } => {
                for answer in answers {
                    ops.push(Op::Answer(self.answer(on, answer)?));
                }
            }
            Put::Status { status, next } => ops.push(Op::SetStatus { status, next }),
            _ => return Err(SealError::Damaged("it is a kind of put that this driver does not know")),
        }
        Ok(())
    }

    fn checkpoint(&self, draft: DraftCheckpoint) -> Result<NewCheckpoint, SealError> {
        let id = draft.id;
        let mut values = Vec::with_capacity(draft.values.len());
        for value in draft.values {
            let bytes = match value.kind {
                PartKind::Cleared => Bytes::new(),
                _ => self.sealer.seal(self.place(id, value.channel.as_str(), ValueKind::Channel), value.bytes)?,
            };
            values.push(Change { channel: value.channel, kind: value.kind, bytes });
        }
        let args = match draft.args {
            args if args.is_empty() => Bytes::new(),
            args => self.sealer.seal(self.place(id, "", ValueKind::Args), args)?,
        };
        let checkpoint = Checkpoint {
            format: Checkpoint::FORMAT,
            id,
            parent: draft.parent,
            seq: draft.seq,
            branch: draft.branch,
            step: draft.step,
            source: draft.source,
            plan: draft.plan,
            turn: draft.turn,
            graph: self.graph.clone(),
            metadata: self.metadata.clone(),
            ancestors: Vec::new(),
            created_at: SystemTime::now(),
        };
        Ok(NewCheckpoint { checkpoint, args, values })
    }

    fn write(&self, on: CheckpointId, draft: DraftWrite) -> Result<Write, SealError> {
        let DraftWrite { task, node, kind, path, bytes } = draft;
        let place = self.record(on, task, path.as_str(), value_kind(kind));
        let bytes = self.sealer.seal(place, bytes)?;
        Ok(Write { task, node, kind, path, bytes })
    }

    fn answer(&self, on: CheckpointId, draft: DraftAnswer) -> Result<Answer, SealError> {
        let question = draft.question.id;
        let path = question.to_string();
        let place = self.record(on, draft.task, &path, ValueKind::Answer);
        let bytes = self.sealer.seal_value(place, &*draft.value)?;
        Ok(Answer { checkpoint: on, task: draft.task, node: draft.node, question, token: draft.token, bytes })
    }

    fn place<'p>(&'p self, checkpoint: CheckpointId, slot: &'p str, kind: ValueKind) -> Place<'p> {
        Place { key: &self.key, checkpoint, task: None, slot, kind }
    }

    fn record<'p>(&'p self, checkpoint: CheckpointId, task: TaskId, slot: &'p str, kind: ValueKind) -> Place<'p> {
        Place { task: Some(task), ..self.place(checkpoint, slot, kind) }
    }
}

fn value_kind(kind: WriteKind) -> ValueKind {
    match kind {
        WriteKind::Error => ValueKind::Error,
        WriteKind::Question => ValueKind::Question,
        WriteKind::Answer => ValueKind::Answer,
        WriteKind::Patch => ValueKind::Patch,
        WriteKind::Journal => ValueKind::Journal,
        _ => ValueKind::Result,
    }
}
