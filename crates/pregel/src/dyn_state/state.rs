//! How a dynamic state checks and applies batches.

use serde_json::Value;
use smallvec::SmallVec;
use superstep_checkpoint::{ChannelName, Codec, SealError};

use super::fold::{self, Undone, type_name};
use super::{DynSchema, DynState, DynUpdate, storage};
use crate::channel::{Changes, ChannelChange, ChannelIndex, ChannelSet, ChannelSpec, How, Kind, Reducer};
use crate::reduce::batch::{self, Fault, Gathered};
use crate::state::{Applied, Author, Face, Moment, Rejection, State, WantUndo, Why};
use crate::update::Write;

/// What takes a batch of a [`DynState`] back.
#[derive(Debug)]
pub struct DynUndo(Vec<(ChannelIndex, Undone)>);

impl State for DynState {
    type Update = DynUpdate;
    type Schema = DynSchema;
    type Undo = DynUndo;

    fn channels(schema: &DynSchema) -> &[ChannelSpec] {
        schema.channels()
    }

    fn initial(schema: &DynSchema) -> Self {
        let values = schema.folds().iter().map(|fold| fold.initial()).collect();
        Self { schema: schema.clone(), values }
    }

    fn written(schema: &DynSchema, update: &DynUpdate, set: &mut ChannelSet) {
        update.iter().filter_map(|(name, _)| schema.index(name)).for_each(|channel| set.insert(channel));
    }

    fn check(&self, schema: &DynSchema, batch: &[(Author, &DynUpdate)]) -> Result<(), Rejection> {
        let writes = sorted_references(schema, batch)?;
        for group in writes.chunk_by(|a, b| a.0 == b.0) {
            let channel = group[0].0;
            let writes: SmallVec<[(Author, &Write<Value>); 4]> =
                group.iter().map(|(_, by, write)| (*by, *write)).collect();
            self.check_channel(schema, channel, &writes).map_err(|fault| Rejection {
                channel: schema.spec(channel).name.clone(),
                why: fault.why,
                authors: fault.authors,
            })?;
        }
        Ok(())
    }

    fn apply(
        &mut self,
        schema: &DynSchema,
        batch: SmallVec<[DynUpdate; 2]>,
        moment: Moment,
        undo: WantUndo,
    ) -> Applied<DynUndo> {
        let mut done = self.write_all(schema, batch, undo);
        if moment == Moment::Step {
            self.clear_fleeting(schema, &mut done);
        }
        let changes: Changes =
            done.iter().map(|(channel, how, _)| ChannelChange { channel: *channel, how: *how }).collect();
        let undone = || DynUndo(done.into_iter().map(|(channel, _, undone)| (channel, undone)).collect());
        Applied { changes, undo: (undo == WantUndo::Yes).then(undone) }
    }

    fn undo(&mut self, _schema: &DynSchema, undo: DynUndo) {
        for (channel, undone) in undo.0 {
            undone.undo(&mut self.values[channel.get()]);
        }
    }

    fn encode(&self, _schema: &DynSchema, change: ChannelChange, codec: Codec) -> Result<Vec<u8>, SealError> {
        storage::encode(self.values[change.channel.get()].as_ref(), change.how, codec)
    }

    fn decode(&mut self, schema: &DynSchema, channel: ChannelIndex, parts: &[(Codec, &[u8])]) -> Result<(), SealError> {
        let fold = schema.fold(channel);
        self.values[channel.get()] = storage::decode(fold, parts)?.or_else(|| fold.initial());
        Ok(())
    }

    fn encode_update(schema: &DynSchema, update: &DynUpdate, codec: Codec) -> Result<Vec<u8>, SealError> {
        storage::encode_update(schema, update, codec)
    }

    fn decode_update(_schema: &DynSchema, codec: Codec, body: &[u8]) -> Result<DynUpdate, SealError> {
        codec.decode(body)
    }

    fn value_json(&self, _schema: &DynSchema, channel: ChannelIndex) -> Result<Option<Value>, SealError> {
        Ok(self.values[channel.get()].clone())
    }

    fn update_json(_schema: &DynSchema, update: &DynUpdate) -> Result<Value, SealError> {
        Ok(update.iter().map(|(name, write)| (name.to_owned(), write.clone().into_json())).collect())
    }

    fn clear(&mut self, schema: &DynSchema, channel: ChannelIndex) {
        self.values[channel.get()] = schema.fold(channel).initial();
    }

    fn json_schema(schema: &DynSchema, face: Face) -> schemars::Schema {
        storage::json_schema(schema, face)
    }
}

type Reference<'a> = (ChannelIndex, Author, &'a Write<Value>);

/// The writes of a batch by channel, in task order within each.
fn sorted_references<'a>(
    schema: &DynSchema,
    batch: &[(Author, &'a DynUpdate)],
) -> Result<SmallVec<[Reference<'a>; 8]>, Rejection> {
    let mut writes: SmallVec<[Reference<'a>; 8]> = SmallVec::new();
    for (author, update) in batch {
        for (name, write) in update.iter() {
            let channel = schema.index(name).ok_or_else(|| unknown(name, batch))?;
            writes.push((channel, *author, write));
        }
    }
    writes.sort_by_key(|(channel, ..)| *channel);
    Ok(writes)
}

fn unknown(name: &str, batch: &[(Author, &DynUpdate)]) -> Rejection {
    let authors = batch.iter().filter(|(_, update)| update.get(name).is_some()).map(|(author, _)| *author);
    let fault = Fault::of(authors, Why::UnknownChannel);
    Rejection { channel: nearest_name(name), why: fault.why, authors: fault.authors }
}

/// A name that is no channel of the state may be no channel name at all; then the nearest is shown.
fn nearest_name(name: &str) -> ChannelName {
    let short: String = name.chars().filter(|c| *c != '\0').take(200).collect();
    ChannelName::new(name)
        .or_else(|_| ChannelName::new(short))
        .or_else(|_| ChannelName::new("(empty)"))
        .unwrap_or_else(|_| unreachable!("`(empty)` is a name"))
}

impl DynState {
    fn check_channel(
        &self,
        schema: &DynSchema,
        channel: ChannelIndex,
        writes: &[(Author, &Write<Value>)],
    ) -> Result<(), Fault> {
        let (fold, spec) = (schema.fold(channel), schema.spec(channel));
        for (by, write) in writes {
            let value = write.value();
            if !fold.takes(value) {
                let why = Why::WrongType { expected: fold.expected(), found: type_name(value) };
                return Err(Fault::by(*by, why));
            }
        }
        if spec.reducer == Reducer::Last && spec.kind != Kind::Any {
            return batch::one_write(writes);
        }
        batch::one_overwrite(writes)?;
        let refs = writes.iter().map(|(by, write)| write.as_ref().map(|value| (*by, value)));
        match batch::gather(refs) {
            Gathered::Replace((by, value)) => fold.check_replacement(by, value),
            Gathered::Fold(puts) if spec.kind == Kind::Ephemeral => fold.check(fold.initial().as_ref(), &puts),
            Gathered::Fold(puts) => fold.check(self.values[channel.get()].as_ref(), &puts),
        }
    }

    fn write_all(&mut self, schema: &DynSchema, batch: SmallVec<[DynUpdate; 2]>, undo: WantUndo) -> Vec<Done> {
        let mut writes: SmallVec<[(ChannelIndex, Write<Value>); 8]> = batch
            .into_iter()
            .flat_map(DynUpdate::into_writes)
            .filter_map(|(name, write)| Some((schema.index(&name)?, write)))
            .collect();
        writes.sort_by_key(|(channel, _)| *channel);
        let mut writes = writes.into_iter().peekable();
        let mut done = Vec::new();
        while let Some((channel, first)) = writes.next() {
            let more = std::iter::from_fn(|| writes.next_if(|(next, _)| *next == channel).map(|(_, write)| write));
            let all: SmallVec<[Write<Value>; 2]> = std::iter::once(first).chain(more).collect();
            done.push(self.write_channel(schema, channel, all, undo));
        }
        done
    }

    fn write_channel(
        &mut self,
        schema: &DynSchema,
        channel: ChannelIndex,
        writes: SmallVec<[Write<Value>; 2]>,
        undo: WantUndo,
    ) -> Done {
        let fold = schema.fold(channel);
        let current = &mut self.values[channel.get()];
        if schema.spec(channel).kind == Kind::Ephemeral {
            // What is there goes with the next step anyway, so each batch begins anew.
            let old = std::mem::replace(current, fold.initial());
            fold::apply(fold, current, writes, WantUndo::No);
            return (channel, How::Set, Undone::Whole(old));
        }
        let (how, undone) = fold::apply(fold, current, writes, undo);
        (channel, how, undone)
    }

    fn clear_fleeting(&mut self, schema: &DynSchema, done: &mut Vec<Done>) {
        for &channel in schema.fleeting() {
            let (fold, current) = (schema.fold(channel), &mut self.values[channel.get()]);
            let Err(at) = done.binary_search_by_key(&channel, |(written, ..)| *written) else { continue };
            if !fold.is_initial(current.as_ref()) {
                let old = std::mem::replace(current, fold.initial());
                done.insert(at, (channel, How::Cleared, Undone::Whole(old)));
            }
        }
    }
}

type Done = (ChannelIndex, How, Undone);
