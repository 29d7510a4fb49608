//! `add`: sums.

use std::time::Duration;

use smallvec::SmallVec;

use super::{Fault, Reduce, Store, store};
use crate::channel::How;
use crate::state::{Author, WantUndo, Why};

/// Sums, exactly for integers. A sum that does not fit is refused before anything is applied.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Add;

/// A number, or something like it.
#[diagnostic::on_unimplemented(
    message = "`add` does not work on `{Self}`",
    label = "this is no number",
    note = "`add` takes integers, floats, `Duration` and `Option` of them; lists and texts take `append`",
    note = "for a number of your own write `impl Addable`, for anything else `#[reducer(with = path)]`"
)]
pub trait Addable: Clone + Send + 'static {
    /// The sum; `None` where it does not fit the type.
    fn checked_sum(&self, more: &Self) -> Option<Self>;
}

impl<V: Addable> Reduce<V> for Add {
    type Undo = V;

    /// Once a sum does not fit, all who added are to blame: none of them can know which one is too many.
    fn check(current: &V, puts: &[(Author, &V)]) -> Result<(), Fault> {
        let mut total = current.clone();
        for (at, (_, put)) in puts.iter().enumerate() {
            let blame = || Fault::of(puts[..=at].iter().map(|(by, _)| *by), Why::Overflow);
            total = total.checked_sum(put).ok_or_else(blame)?;
        }
        Ok(())
    }

    fn fold(current: &mut V, puts: SmallVec<[V; 2]>, _undo: WantUndo) -> (How, V) {
        let old = current.clone();
        for put in puts {
            if let Some(sum) = current.checked_sum(&put) {
                *current = sum;
            }
        }
        (How::Set, old)
    }

    fn unfold(current: &mut V, old: V) {
        *current = old;
    }
}

store::whole!(Add);

macro_rules! integers {
    ($($integer:ty)*) => {$(
        impl Addable for $integer {
            fn checked_sum(&self, more: &Self) -> Option<Self> {
                self.checked_add(*more)
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize Duration);

macro_rules! floats {
    ($($float:ty)*) => {$(
        /// A sum of finite numbers that is not finite does not fit.
        impl Addable for $float {
            fn checked_sum(&self, more: &Self) -> Option<Self> {
                let sum = self + more;
                (sum.is_finite() || !self.is_finite() || !more.is_finite()).then_some(sum)
            }
        }
    )*};
}

floats!(f32 f64);

/// `None` counts as nothing added.
impl<T: Addable> Addable for Option<T> {
    fn checked_sum(&self, more: &Self) -> Option<Self> {
        match (self, more) {
            (Some(a), Some(b)) => a.checked_sum(b).map(Some),
            (a, b) => Some(a.clone().or_else(|| b.clone())),
        }
    }
}
