//! What `derive(State)` builds on: all that a derived state does, written once over a table of its fields.
//!
//! The derive gives the types, the accessors and the table; everything else is here. Not public API.

mod batch;
mod fresh;
mod row;
mod schema;
mod specs;
mod storage;

pub use batch::{Undo, apply, check, undo, written};
pub use fresh::Fresh;
pub use row::{Forgettable, Row};
pub use schema::json_schema;
pub use specs::Specs;
pub use storage::{clear, debug_update, decode, decode_update, encode, encode_update, update_json, value_json};

use serde::de::MapAccess;
use serde::ser::SerializeMap;

use crate::channel::ChannelSpec;
use crate::faithful::{Faithful, at};
use crate::reduce::Reduce;
use crate::state::State;
use crate::update::Write;

/// What a derived state is without being one yet: that it lacks `Clone`, say, is then said once and not for each field.
pub trait Owner: Sized + 'static {
    /// Its updates.
    type Writes: Default;
}

/// A derived state.
pub trait Typed: Owner + State<Schema = (), Undo = Undo<Self>, Update = <Self as Owner>::Writes> + Default {
    /// Its name, for the title of its JSON Schema.
    const NAME: &'static str;
    /// Its fields, in order.
    const ROWS: &'static [Row<Self>];
    /// The positions of ephemeral and `any` fields.
    const FLEETING: &'static [u16];

    /// The channel table.
    fn specs() -> &'static [ChannelSpec];

    /// Writes the entries of an update that may be stored.
    ///
    /// # Errors
    /// That of the serializer.
    fn write_entries<M: SerializeMap>(update: &Self::Update, map: &mut M) -> Result<(), M::Error>;

    /// Reads the entry of this name; `false` if there is no such field.
    ///
    /// # Errors
    /// That of the deserializer.
    fn read_entry<'de, A: MapAccess<'de>>(update: &mut Self::Update, name: &str, map: &mut A)
    -> Result<bool, A::Error>;
}

/// One field of a derived state, which `K` stands for.
///
/// `K` is private to the derive, so that the types of fields may be private to the module of a public state.
pub trait Field<K>: Owner {
    /// Its type.
    type Value: Clone + Send + Sync + 'static;
    /// Its reducer.
    type Reducer: Reduce<Self::Value>;

    /// The field.
    fn get(&self) -> &Self::Value;
    /// The field, to change it.
    fn get_mut(&mut self) -> &mut Self::Value;
    /// What an update writes to it.
    fn write(update: &Self::Writes) -> &Option<Write<Self::Value>>;
    /// What an update writes to it, to take it.
    fn write_mut(update: &mut Self::Writes) -> &mut Option<Write<Self::Value>>;
}

/// Writes one entry of an update.
///
/// # Errors
/// That of the serializer.
pub fn write_entry<M: SerializeMap, V: serde::Serialize>(
    map: &mut M,
    name: &'static str,
    write: &Option<Write<V>>,
) -> Result<(), M::Error> {
    match write {
        Some(write) => map.serialize_entry(name, &Faithful(write)).map_err(at(name)),
        None => Ok(()),
    }
}

/// The methods of `State` for a derived state.
#[doc(hidden)]
#[macro_export]
macro_rules! __impl_state {
    ($state:ident, $update:ident) => {
        impl $crate::State for $state {
            type Update = $update;
            type Schema = ();
            type Undo = $crate::typed::Undo<Self>;

            fn channels((): &()) -> &[$crate::ChannelSpec] {
                <Self as $crate::typed::Typed>::specs()
            }

            fn initial((): &()) -> Self {
                <Self as ::core::default::Default>::default()
            }

            fn written((): &(), update: &$update, set: &mut $crate::ChannelSet) {
                $crate::typed::written::<Self>(update, set);
            }

            fn check(
                &self,
                (): &(),
                batch: &[($crate::Author, &$update)],
            ) -> ::core::result::Result<(), $crate::Rejection> {
                $crate::typed::check(self, batch)
            }

            fn apply(
                &mut self,
                (): &(),
                batch: $crate::__private::SmallVec<[$update; 2]>,
                moment: $crate::Moment,
                undo: $crate::WantUndo,
            ) -> $crate::Applied<$crate::typed::Undo<Self>> {
                $crate::typed::apply(self, batch, moment, undo)
            }

            fn undo(&mut self, (): &(), undo: $crate::typed::Undo<Self>) {
                $crate::typed::undo(self, undo);
            }

            fn encode(
                &self,
                (): &(),
                change: $crate::ChannelChange,
                codec: $crate::__private::Codec,
            ) -> ::core::result::Result<$crate::__private::Vec<u8>, $crate::__private::SealError> {
                $crate::typed::encode(self, change, codec)
            }

            fn decode(
                &mut self,
                (): &(),
                channel: $crate::ChannelIndex,
                parts: &[($crate::__private::Codec, &[u8])],
            ) -> ::core::result::Result<(), $crate::__private::SealError> {
                $crate::typed::decode(self, channel, parts)
            }

            fn encode_update(
                (): &(),
                update: &$update,
                codec: $crate::__private::Codec,
            ) -> ::core::result::Result<$crate::__private::Vec<u8>, $crate::__private::SealError> {
                $crate::typed::encode_update::<Self>(update, codec)
            }

            fn decode_update(
                (): &(),
                codec: $crate::__private::Codec,
                body: &[u8],
            ) -> ::core::result::Result<$update, $crate::__private::SealError> {
                $crate::typed::decode_update::<Self>(codec, body)
            }

            fn value_json(
                &self,
                (): &(),
                channel: $crate::ChannelIndex,
            ) -> ::core::result::Result<::core::option::Option<$crate::__private::Value>, $crate::__private::SealError>
            {
                $crate::typed::value_json(self, channel)
            }

            fn update_json(
                (): &(),
                update: &$update,
            ) -> ::core::result::Result<$crate::__private::Value, $crate::__private::SealError> {
                $crate::typed::update_json::<Self>(update)
            }

            fn clear(&mut self, (): &(), channel: $crate::ChannelIndex) {
                $crate::typed::clear(self, channel);
            }

            fn json_schema((): &(), face: $crate::Face) -> $crate::__private::Schema {
                $crate::typed::json_schema::<Self>(face)
            }
        }
    };
}
