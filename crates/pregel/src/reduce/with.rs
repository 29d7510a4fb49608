//! `with = path`: a function of the user's.

use std::marker::PhantomData;

use smallvec::SmallVec;

use super::{Reduce, Store, store};
use crate::channel::How;
use crate::state::WantUndo;

/// Calls a function, `fn(&mut V, V)`, for each value written, in task order.
///
/// The function must give the same for the same values, and must not panic.
#[derive(Clone, Copy, Debug)]
pub struct With<F>(PhantomData<F>);

/// The function of [`With`] as a type.
pub trait Function<V>: 'static {
    /// Folds one value onto the current one.
    fn call(current: &mut V, put: V);
}

impl<V: Clone + Send + 'static, F: Function<V>> Reduce<V> for With<F> {
    /// The old value, as nothing is known of what the function does to it.
    type Undo = Option<V>;

    fn fold(current: &mut V, puts: SmallVec<[V; 2]>, undo: WantUndo) -> (How, Option<V>) {
        let old = (undo == WantUndo::Yes).then(|| current.clone());
        puts.into_iter().for_each(|put| F::call(current, put));
        (How::Set, old)
    }

    fn unfold(current: &mut V, old: Option<V>) {
        if let Some(old) = old {
            *current = old;
        }
    }
}

store::whole!(With<F>, F);
