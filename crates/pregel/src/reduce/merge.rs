//! `merge`: puts entries into a map.

use std::collections::{BTreeMap, HashMap};
use std::hash::{BuildHasher, Hash};

use smallvec::SmallVec;

use super::{Reduce, Store, store};
use crate::channel::How;
use crate::state::WantUndo;

/// Puts the entries of maps into the map, later ones winning.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Merge;

/// A map, or something like it.
#[diagnostic::on_unimplemented(
    message = "`merge` does not work on `{Self}`",
    label = "this is no map",
    note = "`merge` takes `BTreeMap`, `HashMap` and `serde_json::Map`; lists take `append`, sets `union`",
    note = "for a map of your own write `impl Mergeable`, for anything else `#[reducer(with = path)]`"
)]
pub trait Mergeable: Sized + Send + 'static {
    /// What takes merges back.
    type Undo: Default + Send + 'static;

    /// Puts the entries of `more` in. Where `undo` is given, what takes that back is added to it.
    fn merge(&mut self, more: Self, undo: Option<&mut Self::Undo>);

    /// Takes all merges that were added to `undo` back.
    fn unmerge(&mut self, undo: Self::Undo);
}

impl<V: Mergeable> Reduce<V> for Merge {
    type Undo = V::Undo;

    fn fold(current: &mut V, puts: SmallVec<[V; 2]>, undo: WantUndo) -> (How, V::Undo) {
        let mut log = V::Undo::default();
        for put in puts {
            current.merge(put, (undo == WantUndo::Yes).then_some(&mut log));
        }
        (How::Set, log)
    }

    fn unfold(current: &mut V, undo: V::Undo) {
        current.unmerge(undo);
    }
}

store::whole!(Merge);

macro_rules! maps {
    ($(#[$doc:meta])* [$($params:tt)*] $map:ty, $key:ty, $value:ty) => {
        $(#[$doc])*
        impl<$($params)*> Mergeable for $map {
            /// The entries replaced, newest last.
            type Undo = Vec<($key, Option<$value>)>;

            fn merge(&mut self, more: Self, undo: Option<&mut Self::Undo>) {
                let Some(undo) = undo else { return self.extend(more) };
                for (key, value) in more {
                    let old = self.insert(key.clone(), value);
                    undo.push((key, old));
                }
            }

            fn unmerge(&mut self, undo: Self::Undo) {
                for (key, old) in undo.into_iter().rev() {
                    match old {
                        Some(value) => drop(self.insert(key, value)),
                        None => drop(self.remove(&key)),
                    }
                }
            }
        }
    };
}

maps!([K: Ord + Clone + Send + 'static, V: Send + 'static] BTreeMap<K, V>, K, V);
maps! {
    /// Its stored form has its entries in an order that differs from run to run; where bytes are compared, use `BTreeMap`.
    [K: Hash + Eq + Clone + Send + 'static, V: Send + 'static, S: BuildHasher + Send + 'static] HashMap<K, V, S>, K, V
}
maps!([] serde_json::Map<String, serde_json::Value>, String, serde_json::Value);
