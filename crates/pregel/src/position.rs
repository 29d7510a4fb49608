//! A checkpoint read back: where a run can go on.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::SystemTime;

use serde_json::Value;
use smallvec::SmallVec;
use superstep_checkpoint::{
    Answer, AnswerToken, Arrivals, Branch, ChannelName, CheckpointId, Codec, Digest, Metadata, NamespaceKey,
    Place as SealPlace, Plan, QuestionId, SealError, Sealer, Seq, Source, Step, StoredCheckpoint, StoredValue, TaskId,
    Turn, ValueKind, Write, WriteKind,
};

use crate::channel::{ChannelIndex, ChannelSet};
use crate::frontier::{Frontier, Pull, Push};
use crate::output::{Dispatch, TaskOutput};
use crate::question::Question;
use crate::state::State;
use crate::stored::{OutputError, StoredQuestion, decode_output};
use crate::topology::{Topology, UnknownNode};

/// A checkpoint with names resolved and values decoded.
#[derive(Clone)]
pub struct Position<S: State> {
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint before it.
    pub parent: Option<CheckpointId>,
    /// Its place in the namespace.
    pub seq: Seq,
    /// Whose values it reads.
    pub branch: Branch,
    /// Its step.
    pub step: Step,
    /// What made it.
    pub source: Source,
    /// The turn it belongs to.
    pub turn: Turn,
    /// The caller's facts.
    pub metadata: Metadata,
    /// When it was made.
    pub created_at: SystemTime,
    /// The state as stored: no patch applied.
    pub state: S,
    /// What comes next.
    pub frontier: Frontier,
    /// The channels that have a stored value.
    pub written: ChannelSet,
    /// The stored size of append channels, in encoded bytes.
    pub sizes: BTreeMap<ChannelIndex, StoredSize>,
    /// What tasks left on it.
    pub records: BTreeMap<TaskId, Record<S::Update>>,
    /// Callers' commands on it, in order.
    pub patches: Vec<Patch<S::Update>>,
}

impl<S: State> std::fmt::Debug for Position<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Position").field("id", &self.id).field("step", &self.step).finish_non_exhaustive()
    }
}

/// How many encoded bytes of a channel are stored on the branch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoredSize {
    /// Of the last base.
    pub base: usize,
    /// Of the segments after it.
    pub segments: usize,
}

/// What a task left on the checkpoint that scheduled it.
#[derive(Clone, Debug)]
pub struct Record<U> {
    /// What it wrote, if it finished.
    pub result: Option<Arc<TaskOutput<U>>>,
    /// Why it failed last, if it did.
    pub error: Option<String>,
    /// What it asked, in the order asked.
    pub questions: Vec<Question>,
    /// The answers so far.
    pub answers: BTreeMap<QuestionId, Arc<Value>>,
}

impl<U> Default for Record<U> {
    fn default() -> Self {
        Self { result: None, error: None, questions: Vec::new(), answers: BTreeMap::new() }
    }
}

impl<U> Record<U> {
    /// The questions that wait for an answer: none of a finished task.
    pub fn open(&self) -> impl Iterator<Item = &Question> {
        let open = self.result.is_none();
        self.questions.iter().filter(move |question| open && !self.answers.contains_key(&question.id))
    }

    /// The questions to show: the open ones, or else the last one asked.
    pub fn shown(&self) -> Vec<Question> {
        let open: Vec<Question> =
            self.questions.iter().filter(|question| !self.answers.contains_key(&question.id)).cloned().collect();
        if open.is_empty() { self.questions.last().cloned().into_iter().collect() } else { open }
    }
}

/// A caller's command beside the tasks.
#[derive(Clone, Debug)]
pub struct Patch<U> {
    /// What it writes and starts.
    pub output: TaskOutput<U>,
    /// Its digest.
    pub digest: Digest,
    /// Tells it from commands that others give at the same time: 128 random bits.
    pub mark: AnswerToken,
}

/// Why a stored checkpoint cannot be read by this graph. The thread is untouched.
#[derive(Debug, thiserror::Error)]
#[error("checkpoint {checkpoint} cannot be read: {reason}")]
pub struct LoadError {
    /// The checkpoint.
    pub checkpoint: CheckpointId,
    /// Why.
    #[source]
    pub reason: LoadReason,
}

/// What is wrong with a stored checkpoint.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadReason {
    /// The value of a channel does not decode.
    #[error("the value of channel {channel:?} does not decode as its type")]
    Channel {
        /// The channel.
        channel: ChannelName,
        /// Why.
        source: SealError,
    },
    /// The graph has no such channel any more.
    #[error("it has a value for channel {channel:?}, which the graph's state does not have")]
    UnknownChannel {
        /// The channel.
        channel: ChannelName,
    },
    /// The graph has no such node any more.
    #[error("it waits at a node that is not there")]
    UnknownNode(#[from] UnknownNode),
    /// A task's record does not decode.
    #[error("the {kind:?} record of node {node:?} does not decode")]
    Record {
        /// What kind of record.
        kind: WriteKind,
        /// The node.
        node: String,
        /// Why.
        source: SealError,
    },
    /// The arguments of Sends do not decode or do not fit their number.
    #[error("the arguments of its Sends do not decode")]
    Args(#[source] SealError),
    /// Its format is newer than this version.
    #[error("it has format {found}, this version reads up to {}; upgrade", superstep_checkpoint::Checkpoint::FORMAT)]
    Format {
        /// The format found.
        found: u16,
    },
    /// A waiting edge at which sources have arrived is not in the graph any more.
    #[error("it waits at an edge into {target:?} that is not there any more")]
    UnknownEdge {
        /// Where the edge led.
        target: String,
    },
}

/// What reading needs to know.
#[derive(Debug)]
pub struct Reader<'a, S: State> {
    /// The graph.
    pub topology: &'a Topology,
    /// The channels.
    pub schema: &'a S::Schema,
    /// The sealer.
    pub sealer: &'a Sealer,
    /// Where the checkpoint stands.
    pub key: &'a NamespaceKey,
}

impl<S: State> Reader<'_, S> {
    /// Reads a stored checkpoint.
    ///
    /// # Errors
    /// [`LoadError`] if something does not decode or names what the graph does not have.
    pub fn read(&self, stored: &StoredCheckpoint) -> Result<Position<S>, LoadError> {
        self.try_read(stored).map_err(|reason| LoadError { checkpoint: stored.checkpoint.id, reason })
    }

    fn try_read(&self, stored: &StoredCheckpoint) -> Result<Position<S>, LoadReason> {
        let checkpoint = &*stored.checkpoint;
        if checkpoint.format > superstep_checkpoint::Checkpoint::FORMAT {
            return Err(LoadReason::Format { found: checkpoint.format });
        }
        let (state, written, sizes) = self.values(&stored.values)?;
        let (records, patches) = self.records(checkpoint.id, &stored.writes)?;
        Ok(Position {
            id: checkpoint.id,
            parent: checkpoint.parent,
            seq: checkpoint.seq,
            branch: checkpoint.branch,
            step: checkpoint.step,
            source: checkpoint.source,
            turn: checkpoint.turn.clone(),
            metadata: checkpoint.metadata.clone(),
            created_at: checkpoint.created_at,
            state,
            frontier: self.frontier(stored)?,
            written,
            sizes,
            records,
            patches,
        })
    }

    fn values(
        &self,
        values: &[StoredValue],
    ) -> Result<(S, ChannelSet, BTreeMap<ChannelIndex, StoredSize>), LoadReason> {
        let index: BTreeMap<&str, ChannelIndex> =
            (0_u16..).zip(S::channels(self.schema)).map(|(i, spec)| (spec.name.as_str(), ChannelIndex(i))).collect();
        let (mut state, mut written, mut sizes) = (S::initial(self.schema), ChannelSet::default(), BTreeMap::new());
        for value in values {
            let channel = *index
                .get(value.channel.as_str())
                .ok_or_else(|| LoadReason::UnknownChannel { channel: value.channel.clone() })?;
            let size = self
                .channel(&mut state, channel, value)
                .map_err(|source| LoadReason::Channel { channel: value.channel.clone(), source })?;
            written.insert(channel);
            sizes.insert(channel, size);
        }
        Ok((state, written, sizes))
    }

    fn channel(&self, state: &mut S, channel: ChannelIndex, value: &StoredValue) -> Result<StoredSize, SealError> {
        let mut parts: SmallVec<[(Codec, &[u8]); 2]> = SmallVec::new();
        let mut size = StoredSize::default();
        for part in &value.parts {
            let place = self.place(part.checkpoint, value.channel.as_str(), ValueKind::Channel);
            let (codec, body) = self.sealer.open(place, &part.bytes)?;
            if parts.is_empty() {
                size.base = body.len();
            } else {
                size.segments += body.len();
            }
            parts.push((codec, body));
        }
        state.decode(self.schema, channel, &parts)?;
        Ok(size)
    }

    fn frontier(&self, stored: &StoredCheckpoint) -> Result<Frontier, LoadReason> {
        let plan = &stored.checkpoint.plan;
        let mut frontier = Frontier { start: plan.start, ..Frontier::default() };
        for task in &plan.tasks {
            frontier.pulls.push(Pull { node: self.topology.node(task.node.as_str())?, by_command: task.by_command });
        }
        frontier.sort();
        frontier.pushes = self.pushes(stored)?;
        for arrivals in &plan.arrivals {
            let join = match self.join(arrivals) {
                Ok(join) => join,
                // It did its part already.
                Err(_) if is_behind(plan, arrivals) => continue,
                Err(gone) => return Err(gone),
            };
            for node in &arrivals.arrived {
                frontier.arrivals.entry(join).or_default().push(self.topology.node(node.as_str())?);
            }
        }
        for node in &plan.deferred {
            frontier.deferred.insert(self.topology.node(node.as_str())?);
        }
        // A node that is gone since only means that an edit cannot speak for it.
        let last = plan.last.iter().filter_map(|node| self.topology.place(node.as_str()).ok());
        frontier.last.extend(last);
        Ok(frontier)
    }

    fn pushes(&self, stored: &StoredCheckpoint) -> Result<Vec<Push>, LoadReason> {
        let names = &stored.checkpoint.plan.sends;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let place = self.place(stored.checkpoint.id, "", ValueKind::Args);
        let args: Vec<Arc<Value>> = self.sealer.open_value(place, &stored.args).map_err(LoadReason::Args)?;
        if args.len() != names.len() {
            return Err(LoadReason::Args(SealError::Damaged("it has another number of arguments")));
        }
        let sends = names.iter().zip(args);
        let push = |(name, arg): (&superstep_checkpoint::NodeName, _)| {
            Ok(Push { send: Dispatch { node: self.topology.node(name.as_str())?, arg }, by_command: None })
        };
        sends.map(push).collect()
    }

    fn join(&self, arrivals: &Arrivals) -> Result<u32, LoadReason> {
        let target = self.topology.node(arrivals.target.as_str())?;
        let mut sources = Vec::new();
        for source in &arrivals.sources {
            sources.push(self.topology.node(source.as_str())?);
        }
        let found = self.topology.joins().find(|(_, join)| join.target == target && join.sources[..] == sources[..]);
        found.map(|(index, _)| index).ok_or_else(|| LoadReason::UnknownEdge { target: arrivals.target.to_string() })
    }

    #[allow(clippy::type_complexity, reason = "two collections of one pass")]
    fn records(
        &self,
        checkpoint: CheckpointId,
        writes: &[Write],
    ) -> Result<(BTreeMap<TaskId, Record<S::Update>>, Vec<Patch<S::Update>>), LoadReason> {
        let (mut records, mut patches, mut order) = (BTreeMap::<_, Record<_>>::new(), Vec::new(), BTreeMap::new());
        for write in writes {
            let fault = |source| LoadReason::Record { kind: write.kind, node: write.node.to_string(), source };
            if write.kind == WriteKind::Patch {
                patches.push((patch_number(write), self.patch(checkpoint, write)?));
                continue;
            }
            let record = records.entry(write.task).or_default();
            self.record(checkpoint, write, record, &mut order).map_err(|error| match error {
                OutputError::Decode(source) => fault(source),
                OutputError::UnknownNode(unknown) => unknown.into(),
            })?;
        }
        for record in records.values_mut() {
            record.questions.sort_by_key(|question| order.get(&question.id).copied().unwrap_or_default());
        }
        patches.sort_by_key(|(number, _)| *number);
        Ok((records, patches.into_iter().map(|(_, patch)| patch).collect()))
    }

    fn record(
        &self,
        checkpoint: CheckpointId,
        write: &Write,
        record: &mut Record<S::Update>,
        order: &mut BTreeMap<QuestionId, u32>,
    ) -> Result<(), OutputError> {
        let place = |kind| self.record_place(checkpoint, write, kind);
        match write.kind {
            WriteKind::Result => {
                let (codec, body) = self.sealer.open(place(ValueKind::Result), &write.bytes)?;
                let (output, _) = decode_output::<S>(self.schema, self.topology, codec, body)?;
                record.result = Some(Arc::new(output));
            }
            WriteKind::Error => record.error = Some(self.sealer.open_value(place(ValueKind::Error), &write.bytes)?),
            WriteKind::Question => {
                let id = question_id(write)?;
                let stored: StoredQuestion = self.sealer.open_value(place(ValueKind::Question), &write.bytes)?;
                order.insert(id, stored.order);
                record.questions.push(Question { id, key: stored.key, payload: stored.payload, schema: stored.schema });
            }
            WriteKind::Answer => {
                let (_, sealed) =
                    Answer::split_record(&write.bytes).ok_or(SealError::Damaged("it is shorter than its token"))?;
                let value = self.sealer.open_value(place(ValueKind::Answer), &sealed)?;
                record.answers.insert(question_id(write)?, Arc::new(value));
            }
            _ => {}
        }
        Ok(())
    }

    fn patch(&self, checkpoint: CheckpointId, write: &Write) -> Result<Patch<S::Update>, LoadReason> {
        let fault = |source| LoadReason::Record { kind: write.kind, node: write.node.to_string(), source };
        let place = self.record_place(checkpoint, write, ValueKind::Patch);
        let (codec, body) = self.sealer.open(place, &write.bytes).map_err(fault)?;
        match decode_output::<S>(self.schema, self.topology, codec, body) {
            Ok((output, Some(digest))) => Ok(Patch { output, digest, mark: patch_mark(write) }),
            Ok((_, None)) => Err(fault(SealError::Damaged("it has no digest"))),
            Err(OutputError::Decode(source)) => Err(fault(source)),
            Err(OutputError::UnknownNode(unknown)) => Err(unknown.into()),
        }
    }

    fn place<'p>(&'p self, checkpoint: CheckpointId, slot: &'p str, kind: ValueKind) -> SealPlace<'p> {
        SealPlace { key: self.key, checkpoint, task: None, slot, kind }
    }

    fn record_place<'p>(&'p self, checkpoint: CheckpointId, write: &'p Write, kind: ValueKind) -> SealPlace<'p> {
        SealPlace { task: Some(write.task), ..self.place(checkpoint, write.path.as_str(), kind) }
    }
}

/// Whether a waiting edge is full and its target is due.
fn is_behind(plan: &Plan, edge: &Arrivals) -> bool {
    edge.arrived.len() == edge.sources.len() && plan.tasks.iter().any(|task| task.node == edge.target)
}

/// The place of a command among those on its checkpoint: the first part of its path.
fn patch_number(write: &Write) -> u32 {
    let number = write.path.as_str().split('.').next();
    number.and_then(|number| number.parse().ok()).unwrap_or(u32::MAX)
}

/// What tells a command from others of the same place: the second part of its path.
fn patch_mark(write: &Write) -> AnswerToken {
    let mark = write.path.as_str().split('.').nth(1);
    mark.and_then(|mark| AnswerToken::parse(mark).ok()).unwrap_or(AnswerToken::from_bytes([0; 16]))
}

fn question_id(write: &Write) -> Result<QuestionId, SealError> {
    QuestionId::parse(write.path.as_str()).map_err(|_| SealError::Damaged("its path is no question id"))
}
