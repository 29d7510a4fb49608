//! `union`: sets.

use std::cmp::Ordering;
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, Hash};

use smallvec::SmallVec;

use super::{Reduce, Store, store};
use crate::channel::How;
use crate::state::WantUndo;

/// The union of sets.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Union;

/// A set, or something like it.
#[diagnostic::on_unimplemented(
    message = "`union` does not work on `{Self}`",
    label = "this is no set",
    note = "`union` takes `BTreeSet`, `HashSet` and `Vec` of items with `Ord`; lists take `append`, maps `merge`",
    note = "for a set of your own write `impl Unitable`, for anything else `#[reducer(with = path)]`"
)]
pub trait Unitable: Sized + Send + 'static {
    /// What takes unions back.
    type Undo: Default + Send + 'static;

    /// Adds the members of `more` that it has not. Where `undo` is given, what takes that back is added to it.
    fn unite(&mut self, more: Self, undo: Option<&mut Self::Undo>);

    /// Takes all unions that were added to `undo` back.
    fn separate(&mut self, undo: Self::Undo);

    /// The same set in its normal form.
    #[must_use]
    fn normal(self) -> Self {
        self
    }
}

impl<V: Unitable> Reduce<V> for Union {
    type Undo = V::Undo;

    fn fold(current: &mut V, puts: SmallVec<[V; 2]>, undo: WantUndo) -> (How, V::Undo) {
        let mut log = V::Undo::default();
        for put in puts {
            current.unite(put, (undo == WantUndo::Yes).then_some(&mut log));
        }
        (How::Set, log)
    }

    fn unfold(current: &mut V, undo: V::Undo) {
        current.separate(undo);
    }

    fn replacement(value: V) -> V {
        value.normal()
    }
}

store::whole!(Union);

macro_rules! sets {
    ($(#[$doc:meta])* [$($params:tt)*] $set:ty, $member:ty) => {
        $(#[$doc])*
        impl<$($params)*> Unitable for $set {
            /// The members added.
            type Undo = Vec<$member>;

            fn unite(&mut self, more: Self, undo: Option<&mut Self::Undo>) {
                let Some(undo) = undo else { return self.extend(more) };
                for member in more {
                    if !self.contains(&member) {
                        undo.push(member.clone());
                        self.insert(member);
                    }
                }
            }

            fn separate(&mut self, undo: Self::Undo) {
                for member in undo {
                    self.remove(&member);
                }
            }
        }
    };
}

sets!([T: Ord + Clone + Send + 'static] BTreeSet<T>, T);
sets! {
    /// Its stored form has its members in an order that differs from run to run; where bytes are compared, use
    /// `BTreeSet`.
    [T: Hash + Eq + Clone + Send + 'static, S: BuildHasher + Send + 'static] HashSet<T, S>, T
}

/// Kept sorted, each member once. A default that is not empty must be so too.
impl<T: Ord + Send + 'static> Unitable for Vec<T> {
    /// The positions at which members were put in, in that order.
    type Undo = Vec<usize>;

    fn unite(&mut self, more: Self, undo: Option<&mut Self::Undo>) {
        let mut unwanted = Vec::new();
        let undo = undo.unwrap_or(&mut unwanted);
        unite(self, more, T::cmp, undo);
    }

    fn separate(&mut self, undo: Self::Undo) {
        undo.into_iter().rev().for_each(|at| drop(self.remove(at)));
    }

    fn normal(mut self) -> Self {
        self.sort_unstable();
        self.dedup();
        self
    }
}

/// Writes of more members than this are merged in one pass; for fewer, putting each in is cheaper.
const FEW: usize = 16;

/// Adds members to a sorted list, and their positions to `added` in an order in which they can be put in.
pub(crate) fn unite<T>(list: &mut Vec<T>, more: Vec<T>, compare: impl Fn(&T, &T) -> Ordering, added: &mut Vec<usize>) {
    if more.len() > FEW {
        return merge(list, more, compare, added);
    }
    for member in more {
        if let Err(at) = list.binary_search_by(|old| compare(old, &member)) {
            list.insert(at, member);
            added.push(at);
        }
    }
}

fn merge<T>(list: &mut Vec<T>, mut more: Vec<T>, compare: impl Fn(&T, &T) -> Ordering, added: &mut Vec<usize>) {
    more.sort_by(&compare);
    more.dedup_by(|later, earlier| compare(later, earlier).is_eq());
    let mut old = std::mem::replace(list, Vec::with_capacity(list.len() + more.len())).into_iter().peekable();
    for member in more {
        list.extend(std::iter::from_fn(|| old.next_if(|old| compare(old, &member).is_lt())));
        if old.peek().is_none_or(|old| compare(old, &member).is_gt()) {
            added.push(list.len());
            list.push(member);
        }
    }
    list.extend(old);
}
