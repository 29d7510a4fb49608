//! How reduced values are stored.

use serde::Serialize;
use serde::de::DeserializeOwned;
use superstep_checkpoint::{Codec, SealError};

use crate::channel::How;
use crate::faithful::Faithful;

/// How a reducer's values are stored: whole, or in segments where the reducer only adds.
pub trait Store<V> {
    /// Encodes the value, or what was added to it.
    ///
    /// # Errors
    /// [`SealError::Encode`] if the value would not come back as it is.
    fn encode(value: &V, how: How, codec: Codec) -> Result<Vec<u8>, SealError>;

    /// Joins stored parts, at least one.
    ///
    /// # Errors
    /// [`SealError::Decode`] if they are not of this type.
    fn decode(parts: &[(Codec, &[u8])]) -> Result<V, SealError>;
}

pub(super) fn encode_whole<V: Serialize + ?Sized>(value: &V, codec: Codec) -> Result<Vec<u8>, SealError> {
    codec.encode(&Faithful(value))
}

pub(super) fn decode_whole<V: DeserializeOwned>(parts: &[(Codec, &[u8])]) -> Result<V, SealError> {
    match parts {
        [(codec, body)] => codec.decode(body),
        _ => Err(SealError::Damaged("it has segments, but its channel is none to which something is added")),
    }
}

/// Values of these reducers are stored whole.
macro_rules! whole {
    ($reducer:ty $(, $param:ident)?) => {
        impl<V: serde::Serialize + serde::de::DeserializeOwned $(, $param)?> Store<V> for $reducer {
            fn encode(
                value: &V,
                _how: How,
                codec: superstep_checkpoint::Codec,
            ) -> Result<Vec<u8>, superstep_checkpoint::SealError> {
                $crate::reduce::store::encode_whole(value, codec)
            }

            fn decode(parts: &[(superstep_checkpoint::Codec, &[u8])]) -> Result<V, superstep_checkpoint::SealError> {
                $crate::reduce::store::decode_whole(parts)
            }
        }
    };
}

pub(super) use whole;
