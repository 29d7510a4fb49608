//! Reducers: how the writes of one step become one value.
//!
//! A field of a derived state names its reducer, `#[reducer(append)]`. Each reducer is a type here, and what it can
//! work on is a trait beside it, so that types of your own can take part: [`Appendable`], [`Addable`], [`Mergeable`],
//! [`Unitable`], [`Message`].
//!
//! | reducer | works on | leaves |
//! | --- | --- | --- |
//! | [`Last`] (default) | anything | the value written; two writes in one step are an error |
//! | [`Append`] | `Vec`, `VecDeque`, `String`, [`Appendable`] | the old items, then the new ones |
//! | [`Add`] | numbers, `Duration`, `Option` of them, [`Addable`] | the sum; one that does not fit is refused |
//! | [`Max`], [`Min`] | `PartialOrd` | the greatest, the least |
//! | [`Merge`] | `BTreeMap`, `HashMap`, `serde_json::Map`, [`Mergeable`] | all entries, later ones winning |
//! | [`Union`] | `BTreeSet`, `HashSet`, sorted `Vec`, [`Unitable`] | all members, each once |
//! | [`Messages`] | `Vec` of [`Message`] | replaced, added and removed by id |
//! | [`With`] | anything | what a function of yours leaves |
//!
//! The rule that all share: an [overwrite](crate::Write) wins over every other write of its step.

mod add;
mod append;
pub(crate) mod batch;
mod last;
mod merge;
mod messages;
mod order;
mod store;
mod union;
mod with;

use smallvec::SmallVec;

pub use add::{Add, Addable};
pub use append::{Append, Appendable, Segments};
pub use batch::Fault;
pub use last::Last;
pub use merge::{Merge, Mergeable};
pub use messages::{Edit, Message, MessageLog, Messages};
pub(crate) use messages::{check_messages, fold_messages, unfold_messages};
pub use order::{Max, MaxSome, Min, MinSome};
pub use store::Store;
pub(crate) use union::unite;
pub use union::{Union, Unitable};
pub use with::{Function, With};

use crate::channel::How;
use crate::state::{Author, WantUndo};

/// A reducer for values of type `V`.
pub trait Reduce<V>: 'static {
    /// What takes a fold back.
    type Undo: Send + 'static;

    /// Whether a step may write only once.
    const ONE_WRITE: bool = false;

    /// Whether these values, in task order, can be folded onto the current one.
    ///
    /// # Errors
    /// [`Fault`] says what is wrong and whose it is.
    fn check(current: &V, puts: &[(Author, &V)]) -> Result<(), Fault> {
        let _ = (current, puts);
        Ok(())
    }

    /// Whether this value can replace the current one.
    ///
    /// # Errors
    /// [`Fault`] says what is wrong and whose it is.
    fn check_replacement(by: Author, value: &V) -> Result<(), Fault> {
        let _ = (by, value);
        Ok(())
    }

    /// Folds checked values onto the current one. What takes it back need not be complete where nobody wants it.
    fn fold(current: &mut V, puts: SmallVec<[V; 2]>, undo: WantUndo) -> (How, Self::Undo);

    /// Takes a fold back.
    fn unfold(current: &mut V, undo: Self::Undo);

    /// What an overwrite by this value leaves.
    fn replacement(value: V) -> V {
        value
    }
}
