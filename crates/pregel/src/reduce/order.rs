//! `max` and `min`: the greatest and the least.
//!
//! Both take any `PartialOrd`. A value that is not comparable with itself, such as NaN, loses against every other, so
//! the result does not depend on the order of the writes. Of equal values the older stays.
//!
//! A field begins with its default: the least of a `u64` that begins at 0 is always 0. So `min` is for
//! `Option`, where `None` counts as nothing written, or for a state whose `Default` begins it high. Likewise `max` of
//! an `Option` ignores `None`.

use smallvec::SmallVec;

use super::{Reduce, Store, store};
use crate::channel::How;
use crate::state::WantUndo;

fn is_better<V: PartialOrd>(new: &V, old: &V, greater: bool) -> bool {
    let wins = if greater { new > old } else { new < old };
    let old_is_none = old.partial_cmp(old).is_none();
    wins || (old_is_none && new.partial_cmp(new).is_some())
}

/// Keeps the best, and gives the value there was before, if it changed.
fn fold<V>(current: &mut V, puts: SmallVec<[V; 2]>, is_better: impl Fn(&V, &V) -> bool) -> (How, Option<V>) {
    let mut old = None;
    for put in puts {
        if is_better(&put, current) {
            let before = std::mem::replace(current, put);
            old.get_or_insert(before);
        }
    }
    (How::Set, old)
}

fn unfold<V>(current: &mut V, old: Option<V>) {
    if let Some(old) = old {
        *current = old;
    }
}

macro_rules! extreme {
    ($(#[$doc:meta])* $plain:ident, $(#[$some_doc:meta])* $some:ident, $greater:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct $plain;

        impl<V: PartialOrd + Send + 'static> Reduce<V> for $plain {
            type Undo = Option<V>;

            fn fold(current: &mut V, puts: SmallVec<[V; 2]>, _undo: WantUndo) -> (How, Option<V>) {
                fold(current, puts, |new, old| is_better(new, old, $greater))
            }

            fn unfold(current: &mut V, old: Option<V>) {
                unfold(current, old);
            }
        }

        store::whole!($plain);

        $(#[$some_doc])*
        #[derive(Clone, Copy, Debug)]
        #[non_exhaustive]
        pub struct $some;

        impl<V: PartialOrd + Send + 'static> Reduce<Option<V>> for $some {
            type Undo = Option<Option<V>>;

            fn fold(
                current: &mut Option<V>,
                puts: SmallVec<[Option<V>; 2]>,
                _undo: WantUndo,
            ) -> (How, Option<Option<V>>) {
                fold(current, puts, |new, old| match (new, old) {
                    (Some(new), Some(old)) => is_better(new, old, $greater),
                    (new, _) => new.is_some(),
                })
            }

            fn unfold(current: &mut Option<V>, old: Option<Option<V>>) {
                unfold(current, old);
            }
        }

        store::whole!($some);
    };
}

extreme! {
    /// Keeps the greatest.
    Max,
    /// Keeps the greatest of an `Option`; `None` counts as nothing written.
    MaxSome,
    true
}

extreme! {
    /// Keeps the least.
    Min,
    /// Keeps the least of an `Option`; `None` counts as nothing written.
    MinSome,
    false
}
