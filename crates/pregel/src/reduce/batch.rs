//! The rules that all reducers share.

use smallvec::SmallVec;

use crate::channel::Kind;
use crate::state::{Author, Why};
use crate::update::Write;

/// Why the writes of one step to one channel cannot be applied, and whose they are.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "it is made by reducers outside this crate's modules")]
pub struct Fault {
    /// What is wrong.
    pub why: Why,
    /// Whose writes are to blame, in task order.
    pub authors: SmallVec<[Author; 2]>,
}

impl Fault {
    /// One author's fault.
    pub fn by(author: Author, why: Why) -> Self {
        Self { why, authors: SmallVec::from_slice(&[author]) }
    }

    /// The fault of several.
    pub fn of(authors: impl IntoIterator<Item = Author>, why: Why) -> Self {
        let mut authors: SmallVec<[Author; 2]> = authors.into_iter().collect();
        authors.dedup();
        Self { why, authors }
    }
}

/// The writes of one step to one channel that count, in task order.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Gathered<T> {
    /// Each goes through the reducer.
    Fold(SmallVec<[T; 2]>),
    /// One replaces what is there; the others do not count.
    Replace(T),
}

/// Sorts out which writes count. A second overwrite, which checking refuses, loses against the first.
pub(crate) fn gather<T>(writes: impl IntoIterator<Item = Write<T>>) -> Gathered<T> {
    let mut puts = SmallVec::new();
    for write in writes {
        match write {
            Write::Put(value) => puts.push(value),
            Write::Overwrite(value) => return Gathered::Replace(value),
        }
    }
    Gathered::Fold(puts)
}

/// A channel takes one overwrite a step.
pub(crate) fn one_overwrite<T>(writes: &[(Author, &Write<T>)]) -> Result<(), Fault> {
    let overwriting = writes.iter().filter(|(_, write)| write.is_overwrite()).map(|(author, _)| *author);
    if overwriting.clone().nth(1).is_some() {
        return Err(Fault::of(overwriting, Why::TwoOverwrites));
    }
    Ok(())
}

/// A channel without a reducer takes one write a step.
pub(crate) fn one_write<T>(writes: &[(Author, &Write<T>)]) -> Result<(), Fault> {
    if writes.len() > 1 {
        return Err(Fault::of(writes.iter().map(|(author, _)| *author), Why::Clash));
    }
    Ok(())
}

/// Whether a step that does not write the channel clears it.
pub(crate) const fn is_fleeting(kind: Kind) -> bool {
    matches!(kind, Kind::Ephemeral | Kind::Any)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overwrite_loses_what_came_before_and_ignores_what_comes_after() {
        let writes = [Write::Put(1), Write::Overwrite(2), Write::Put(3)];
        assert_eq!(gather(writes), Gathered::Replace(2));
        assert_eq!(gather([Write::Put(1), Write::Put(3)]), Gathered::Fold(SmallVec::from_slice(&[1, 3])));
    }

    #[test]
    fn two_overwrites_blame_their_authors_only() {
        let (put, over) = (Write::Put(1), Write::Overwrite(2));
        let fault = one_overwrite(&[(Author(0), &over), (Author(1), &put), (Author(2), &over)]).unwrap_err();
        assert_eq!(fault, Fault::of([Author(0), Author(2)], Why::TwoOverwrites));
        assert_eq!(one_overwrite(&[(Author(0), &over), (Author(1), &put)]), Ok(()));
    }

    #[test]
    fn an_author_who_writes_twice_is_named_once() {
        let put = Write::Put(1);
        let fault = one_write(&[(Author(4), &put), (Author(4), &put)]).unwrap_err();
        assert_eq!(fault, Fault::by(Author(4), Why::Clash));
    }
}
