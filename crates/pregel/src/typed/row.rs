//! One field as a row of functions, so that a state is a table and no code need be made per field and operation.

use std::any::Any;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Serialize;
use serde_json::Value;
use smallvec::SmallVec;
use superstep_checkpoint::{Codec, SealError};

use super::{Field, Fresh, Owner, Typed};
use crate::channel::{How, Kind, Reducer, Side};
use crate::faithful::Faithful;
use crate::reduce::batch::{self, Gathered};
use crate::reduce::{Fault, Reduce, Store};
use crate::state::{Author, WantUndo};
use crate::update::Write;

/// What is fixed about a field.
#[derive(Clone, Copy, Debug)]
pub(super) struct Info {
    pub(super) name: &'static str,
    pub(super) reducer: Reducer,
    pub(super) kind: Kind,
    pub(super) input: Side,
    pub(super) output: Side,
}

/// What takes a change of one field back; its type is known to its row.
pub(super) type Undone = Box<dyn Any + Send>;

type CheckFn<S> = fn(&S, Batch<'_, '_, S>, &mut Fresh<S>) -> Result<(), Fault>;
type ApplyFn<S> = fn(&mut S, &mut [<S as Owner>::Writes], &mut Fresh<S>, WantUndo) -> (How, Option<Undone>);
type WriteJsonFn<S> = fn(&<S as Owner>::Writes) -> Result<Option<Write<Value>>, SealError>;

/// The writes of a step, in task order.
type Batch<'a, 'u, S> = &'a [(Author, &'u <S as Owner>::Writes)];

type Parts<'a, 'b> = &'a [(Codec, &'b [u8])];

/// One field of the state `S`.
pub struct Row<S: Owner> {
    pub(super) info: Info,
    pub(super) is_written: fn(&S::Writes) -> bool,
    pub(super) is_overwrite: fn(&S::Writes) -> bool,
    pub(super) check: CheckFn<S>,
    pub(super) apply: ApplyFn<S>,
    pub(super) undo: fn(&mut S, Undone),
    pub(super) clear: fn(&mut S, &mut Fresh<S>) -> Undone,
    pub(super) is_fresh: Option<fn(&S, &mut Fresh<S>) -> bool>,
    pub(super) stored: Option<Stored<S>>,
}

/// The part of a row that an untracked field has not.
pub(super) struct Stored<S: Owner> {
    pub(super) encode: fn(&S, How, Codec) -> Result<Vec<u8>, SealError>,
    pub(super) decode: fn(&mut S, Parts<'_, '_>) -> Result<(), SealError>,
    pub(super) json: fn(&S) -> Result<Value, SealError>,
    pub(super) write_json: WriteJsonFn<S>,
    pub(super) schema: fn(&mut SchemaGenerator) -> Schema,
}

impl<S: Owner> fmt::Debug for Row<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info.fmt(f)
    }
}

/// A value of which can be seen whether it is the default.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be compared with its default",
    label = "it has no `PartialEq`",
    note = "an `ephemeral` or `any` field is cleared once it is not its default: add `#[derive(PartialEq)]`"
)]
pub trait Forgettable: PartialEq {}

impl<T: PartialEq> Forgettable for T {}

impl<S: Typed> Row<S> {
    /// A field that is seen by later nodes of the same call and reaches no store.
    pub const fn untracked<K>(name: &'static str, reducer: Reducer) -> Self
    where
        S: Field<K>,
    {
        Self {
            info: Info { name, reducer, kind: Kind::Untracked, input: Side::Open, output: Side::Open },
            is_written: is_written::<S, K>,
            is_overwrite: is_overwrite::<S, K>,
            check: check::<S, K>,
            apply: apply::<S, K>,
            undo: undo::<S, K>,
            clear: clear::<S, K>,
            is_fresh: None,
            stored: None,
        }
    }

    /// A field that is stored.
    pub const fn tracked<K>(name: &'static str, reducer: Reducer) -> Self
    where
        S: Field<K>,
        <S as Field<K>>::Value: Serialize + JsonSchema,
        <S as Field<K>>::Reducer: Store<<S as Field<K>>::Value>,
    {
        let mut row = Self::untracked::<K>(name, reducer);
        row.info.kind = Kind::Tracked;
        row.stored = Some(Stored {
            encode: encode::<S, K>,
            decode: decode::<S, K>,
            json: json::<S, K>,
            write_json: write_json::<S, K>,
            schema: schema::<S, K>,
        });
        row
    }

    /// A field that is cleared when a step does not write it: ephemeral or `any`.
    #[must_use]
    pub const fn fleeting<K>(mut self, kind: Kind) -> Self
    where
        S: Field<K>,
        <S as Field<K>>::Value: Forgettable,
    {
        self.info.kind = kind;
        self.is_fresh = Some(is_fresh::<S, K>);
        if let Kind::Any = kind {
            self.check = check_any::<S, K>;
        }
        if let Kind::Ephemeral = kind {
            self.check = check_anew::<S, K>;
            self.apply = apply_anew::<S, K>;
        }
        self
    }

    /// The same field with other sides.
    #[must_use]
    pub const fn sides(mut self, input: Side, output: Side) -> Self {
        self.info.input = input;
        self.info.output = output;
        self
    }
}

fn is_written<S: Field<K>, K>(update: &S::Writes) -> bool {
    S::write(update).is_some()
}

fn is_overwrite<S: Field<K>, K>(update: &S::Writes) -> bool {
    S::write(update).as_ref().is_some_and(Write::is_overwrite)
}

type Writes<'u, V> = SmallVec<[(Author, &'u Write<V>); 4]>;

fn writes<'u, S: Field<K>, K>(batch: Batch<'_, 'u, S>) -> Writes<'u, S::Value> {
    batch.iter().filter_map(|(author, update)| Some((*author, S::write(update).as_ref()?))).collect()
}

fn check<S: Field<K>, K>(state: &S, batch: Batch<'_, '_, S>, _: &mut Fresh<S>) -> Result<(), Fault> {
    check_from::<S, K>(state.get(), batch)
}

fn check_anew<S: Field<K> + Default, K>(_: &S, batch: Batch<'_, '_, S>, fresh: &mut Fresh<S>) -> Result<(), Fault> {
    check_from::<S, K>(fresh.get().get(), batch)
}

fn check_any<S: Field<K>, K>(_: &S, batch: Batch<'_, '_, S>, _: &mut Fresh<S>) -> Result<(), Fault> {
    batch::one_overwrite(&writes::<S, K>(batch))
}

fn check_from<S: Field<K>, K>(current: &S::Value, batch: Batch<'_, '_, S>) -> Result<(), Fault> {
    let writes = writes::<S, K>(batch);
    if <S::Reducer as Reduce<S::Value>>::ONE_WRITE {
        return batch::one_write(&writes);
    }
    batch::one_overwrite(&writes)?;
    match batch::gather(writes.iter().map(|(author, write)| write.as_ref().map(|value| (*author, value)))) {
        Gathered::Fold(puts) => S::Reducer::check(current, &puts),
        Gathered::Replace((author, value)) => S::Reducer::check_replacement(author, value),
    }
}

/// What takes a change back: the value as it was, or what its reducer knows.
enum Change<V, U> {
    Replaced(V),
    Folded(U),
}

type FieldChange<S, K> =
    Change<<S as Field<K>>::Value, <<S as Field<K>>::Reducer as Reduce<<S as Field<K>>::Value>>::Undo>;

fn reduce<S: Field<K>, K>(
    current: &mut S::Value,
    updates: &mut [S::Writes],
    undo: WantUndo,
) -> (How, FieldChange<S, K>) {
    match batch::gather(updates.iter_mut().filter_map(|update| S::write_mut(update).take())) {
        Gathered::Fold(puts) => {
            let (how, undone) = S::Reducer::fold(current, puts, undo);
            (how, Change::Folded(undone))
        }
        Gathered::Replace(value) => {
            let old = std::mem::replace(current, S::Reducer::replacement(value));
            (How::Set, Change::Replaced(old))
        }
    }
}

fn apply<S: Field<K>, K>(
    state: &mut S,
    updates: &mut [S::Writes],
    _: &mut Fresh<S>,
    undo: WantUndo,
) -> (How, Option<Undone>) {
    let (how, change) = reduce::<S, K>(state.get_mut(), updates, undo);
    (how, (undo == WantUndo::Yes).then(|| boxed(change)))
}

/// What is there goes with the next step anyway, so each batch begins anew.
fn apply_anew<S: Field<K> + Default, K>(
    state: &mut S,
    updates: &mut [S::Writes],
    fresh: &mut Fresh<S>,
    undo: WantUndo,
) -> (How, Option<Undone>) {
    let old = exchange::<S, K>(state, fresh);
    reduce::<S, K>(state.get_mut(), updates, WantUndo::No);
    (How::Set, (undo == WantUndo::Yes).then(|| replaced::<S, K>(old)))
}

fn boxed<V: Send + 'static, U: Send + 'static>(change: Change<V, U>) -> Undone {
    Box::new(change)
}

fn replaced<S: Field<K>, K>(old: S::Value) -> Undone {
    let change: FieldChange<S, K> = Change::Replaced(old);
    boxed(change)
}

fn undo<S: Field<K>, K>(state: &mut S, undone: Undone) {
    let undone = undone.downcast::<FieldChange<S, K>>();
    match undone.map(|change| *change) {
        Ok(Change::Replaced(old)) => *state.get_mut() = old,
        Ok(Change::Folded(undo)) => S::Reducer::unfold(state.get_mut(), undo),
        Err(_) => unreachable!("an undo is taken back by the row that made it"),
    }
}

/// Gives the field its default, and gives what it was.
fn exchange<S: Field<K> + Default, K>(state: &mut S, fresh: &mut Fresh<S>) -> S::Value {
    std::mem::replace(state.get_mut(), fresh.get().get().clone())
}

fn clear<S: Field<K> + Default, K>(state: &mut S, fresh: &mut Fresh<S>) -> Undone {
    replaced::<S, K>(exchange::<S, K>(state, fresh))
}

fn is_fresh<S: Field<K, Value: PartialEq> + Default, K>(state: &S, fresh: &mut Fresh<S>) -> bool {
    state.get() == fresh.get().get()
}

fn encode<S: Field<K>, K>(state: &S, how: How, codec: Codec) -> Result<Vec<u8>, SealError>
where
    S::Reducer: Store<S::Value>,
{
    S::Reducer::encode(state.get(), how, codec)
}

fn decode<S: Field<K>, K>(state: &mut S, parts: Parts<'_, '_>) -> Result<(), SealError>
where
    S::Reducer: Store<S::Value>,
{
    *state.get_mut() = S::Reducer::decode(parts)?;
    Ok(())
}

fn json<S: Field<K, Value: Serialize>, K>(state: &S) -> Result<Value, SealError> {
    serde_json::to_value(state.get()).map_err(SealError::Encode)
}

fn write_json<S: Field<K, Value: Serialize>, K>(update: &S::Writes) -> Result<Option<Write<Value>>, SealError> {
    let json = |value| serde_json::to_value(Faithful(value)).map_err(SealError::Encode);
    match S::write(update) {
        Some(Write::Put(value)) => json(value).map(|value| Some(Write::Put(value))),
        Some(Write::Overwrite(value)) => json(value).map(|value| Some(Write::Overwrite(value))),
        None => Ok(None),
    }
}

fn schema<S: Field<K, Value: JsonSchema>, K>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<S::Value>()
}
