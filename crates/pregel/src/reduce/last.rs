//! `last`: the value written.

use smallvec::SmallVec;

use super::{Reduce, Store, store};
use crate::channel::How;
use crate::state::WantUndo;

/// Keeps the value written last.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Last;

impl<V: Send + 'static> Reduce<V> for Last {
    type Undo = Option<V>;

    const ONE_WRITE: bool = true;

    fn fold(current: &mut V, mut puts: SmallVec<[V; 2]>, _undo: WantUndo) -> (How, Option<V>) {
        (How::Set, puts.pop().map(|put| std::mem::replace(current, put)))
    }

    fn unfold(current: &mut V, undo: Option<V>) {
        if let Some(old) = undo {
            *current = old;
        }
    }
}

store::whole!(Last);
