//! How a derived state and its updates are stored and shown.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Map, Value};
use superstep_checkpoint::{Codec, SealError};

use super::row::Stored;
use super::{Fresh, Typed};
use crate::channel::{ChannelChange, ChannelIndex};
use crate::faithful::at;
use crate::state::State;

fn stored<S: Typed>(channel: ChannelIndex) -> Option<&'static Stored<S>> {
    S::ROWS[channel.get()].stored.as_ref()
}

/// Encodes what a change left. An untracked channel has no stored form.
///
/// # Errors
/// [`SealError::Encode`] if the value would not come back as it is.
pub fn encode<S: Typed>(state: &S, change: ChannelChange, codec: Codec) -> Result<Vec<u8>, SealError> {
    match stored::<S>(change.channel) {
        Some(stored) => (stored.encode)(state, change.how, codec),
        None => Err(SealError::Damaged("an untracked channel has no stored form")),
    }
}

/// Gives a channel its stored value. Without parts it has its default.
///
/// # Errors
/// [`SealError::Decode`] if the parts are not of its type.
pub fn decode<S: Typed>(state: &mut S, channel: ChannelIndex, parts: &[(Codec, &[u8])]) -> Result<(), SealError> {
    match stored::<S>(channel) {
        Some(stored) if !parts.is_empty() => (stored.decode)(state, parts),
        _ => {
            clear(state, channel);
            Ok(())
        }
    }
}

/// Gives a channel its default.
pub fn clear<S: Typed>(state: &mut S, channel: ChannelIndex) {
    drop((S::ROWS[channel.get()].clear)(state, &mut Fresh::new()));
}

/// Encodes what may be stored of an update.
///
/// # Errors
/// [`SealError::Encode`] if a value would not come back as it is.
pub fn encode_update<S: Typed>(update: &S::Update, codec: Codec) -> Result<Vec<u8>, SealError> {
    codec.encode(&Entries::<S>(update))
}

struct Entries<'a, S: State>(&'a S::Update);

impl<S: Typed> Serialize for Entries<'_, S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        let count = S::ROWS.iter().filter(|row| row.stored.is_some() && (row.is_written)(self.0)).count();
        let mut map = serializer.serialize_map(Some(count))?;
        S::write_entries(self.0, &mut map)?;
        map.end()
    }
}

/// Reads a stored update.
///
/// # Errors
/// [`SealError::Decode`] if the bytes are no update of this state; also if they write a field that it no longer has.
pub fn decode_update<S: Typed>(codec: Codec, body: &[u8]) -> Result<S::Update, SealError> {
    codec.decode::<Read<S>>(body).map(|read| read.0)
}

struct Read<S: State>(S::Update);

impl<'de, S: Typed> Deserialize<'de> for Read<S> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

struct Reader<S>(PhantomData<S>);

impl<'de, S: Typed> Visitor<'de> for Reader<S> {
    type Value = Read<S>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an update of `{}`", S::NAME)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Read<S>, A::Error> {
        let mut update = S::Writes::default();
        while let Some(name) = map.next_key::<String>()? {
            if !S::read_entry(&mut update, &name, &mut map)? {
                return Err(A::Error::custom(format_args!("`{}` has no stored field `{name}`", S::NAME)));
            }
        }
        Ok(Read(update))
    }
}

/// The value of a channel as JSON; `None` for an untracked one, whose type need have no JSON form.
///
/// # Errors
/// [`SealError::Encode`] if the value has no JSON form.
pub fn value_json<S: Typed>(state: &S, channel: ChannelIndex) -> Result<Option<Value>, SealError> {
    stored::<S>(channel).map(|stored| (stored.json)(state)).transpose()
}

/// An update as JSON, without untracked channels.
///
/// # Errors
/// [`SealError::Encode`] if a value has no JSON form.
pub fn update_json<S: Typed>(update: &S::Update) -> Result<Value, SealError> {
    let mut object = Map::new();
    for row in S::ROWS {
        let write = row.stored.as_ref().map(|stored| (stored.write_json)(update)).transpose();
        let write = write.map_err(|error| in_field(row.info.name, error))?.flatten();
        if let Some(write) = write {
            object.insert(row.info.name.to_owned(), write.into_json());
        }
    }
    Ok(Value::Object(object))
}

/// The same fault, saying in which field it is.
fn in_field(name: &str, error: SealError) -> SealError {
    match error {
        SealError::Encode(error) => SealError::Encode(at(name)(error)),
        error => error,
    }
}

/// Shows which fields an update writes and how, but no values.
///
/// # Errors
/// That of the formatter.
pub fn debug_update<S: Typed>(name: &str, update: &S::Update, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut shown = f.debug_struct(name);
    for row in S::ROWS.iter().filter(|row| (row.is_written)(update)) {
        let how = if (row.is_overwrite)(update) { "Overwrite(..)" } else { "Put(..)" };
        shown.field(row.info.name, &format_args!("{how}"));
    }
    shown.finish()
}
