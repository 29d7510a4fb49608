//! `append`: adds to the end of a list or text.

use std::collections::VecDeque;

use serde::Serialize;
use serde::de::DeserializeOwned;
use smallvec::SmallVec;
use superstep_checkpoint::{Codec, SealError};

use super::store::encode_whole;
use super::{Reduce, Store};
use crate::channel::How;
use crate::state::WantUndo;

/// Adds to the end. Only what was added is stored.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Append;

/// A list or text that grows at its end.
#[diagnostic::on_unimplemented(
    message = "`append` does not work on `{Self}`",
    label = "this is no list or text",
    note = "`append` takes `Vec`, `VecDeque` and `String`; numbers take `add`, maps `merge`, sets `union`",
    note = "for a list of your own write `impl Appendable`, for anything else `#[reducer(with = path)]`"
)]
pub trait Appendable: Send + 'static {
    /// How many items (bytes, for text) there are.
    fn length(&self) -> usize;

    /// Adds these items to the end.
    fn append(&mut self, more: Self);

    /// Keeps the first `length` items.
    fn shorten(&mut self, length: usize);
}

/// An [`Appendable`] whose end can be stored by itself.
#[diagnostic::on_unimplemented(
    message = "`append` does not work on `{Self}`: its end cannot be stored by itself",
    label = "this is no list or text",
    note = "for a list of your own write `impl Segments`"
)]
pub trait Segments: Appendable + Serialize + DeserializeOwned {
    /// Encodes the items from `from` on, in a form that reads as a value of this type.
    ///
    /// # Errors
    /// [`SealError::Encode`] if an item would not come back as it is.
    fn encode_tail(&self, from: usize, codec: Codec) -> Result<Vec<u8>, SealError>;
}

impl<V: Appendable> Reduce<V> for Append {
    type Undo = usize;

    fn fold(current: &mut V, puts: SmallVec<[V; 2]>, _undo: WantUndo) -> (How, usize) {
        let from = current.length();
        puts.into_iter().for_each(|put| current.append(put));
        (How::Appended { from }, from)
    }

    fn unfold(current: &mut V, from: usize) {
        current.shorten(from);
    }
}

impl<V: Segments> Store<V> for Append {
    fn encode(value: &V, how: How, codec: Codec) -> Result<Vec<u8>, SealError> {
        match how {
            How::Appended { from } => value.encode_tail(from, codec),
            _ => encode_whole(value, codec),
        }
    }

    fn decode(parts: &[(Codec, &[u8])]) -> Result<V, SealError> {
        let [(codec, first), segments @ ..] = parts else {
            return Err(SealError::Damaged("it has no parts"));
        };
        let mut value: V = codec.decode(first)?;
        for (codec, segment) in segments {
            value.append(codec.decode(segment)?);
        }
        Ok(value)
    }
}

impl<T: Send + 'static> Appendable for Vec<T> {
    fn length(&self) -> usize {
        self.len()
    }

    fn append(&mut self, more: Self) {
        self.extend(more);
    }

    fn shorten(&mut self, length: usize) {
        self.truncate(length);
    }
}

impl<T: Serialize + DeserializeOwned + Send + 'static> Segments for Vec<T> {
    fn encode_tail(&self, from: usize, codec: Codec) -> Result<Vec<u8>, SealError> {
        encode_whole(self.get(from..).unwrap_or_default(), codec)
    }
}

impl<T: Send + 'static> Appendable for VecDeque<T> {
    fn length(&self) -> usize {
        self.len()
    }

    fn append(&mut self, more: Self) {
        self.extend(more);
    }

    fn shorten(&mut self, length: usize) {
        self.truncate(length);
    }
}

impl<T: Serialize + DeserializeOwned + Send + 'static> Segments for VecDeque<T> {
    fn encode_tail(&self, from: usize, codec: Codec) -> Result<Vec<u8>, SealError> {
        encode_whole(&self.range(from.min(self.len())..).collect::<Vec<_>>(), codec)
    }
}

impl Appendable for String {
    fn length(&self) -> usize {
        self.len()
    }

    fn append(&mut self, more: Self) {
        self.push_str(&more);
    }

    fn shorten(&mut self, length: usize) {
        self.truncate(length);
    }
}

impl Segments for String {
    fn encode_tail(&self, from: usize, codec: Codec) -> Result<Vec<u8>, SealError> {
        encode_whole(self.get(from..).unwrap_or_default(), codec)
    }
}
