//! `messages`: a list in which a message with a known id replaces the one that has it.

use std::collections::HashSet;

use serde_json::Value;

use super::batch::Fault;
use crate::state::{Author, Why};

/// What an item written to a list of messages does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "the reducer must know them all")]
pub enum Edit<'a> {
    /// It is a message: it replaces the one with its id in place, or goes to the end.
    Put,
    /// The message with this id goes. It is an error if there is none.
    Remove(&'a str),
    /// Everything before it goes.
    RemoveAll,
}

/// An item of a list with the `messages` reducer.
///
/// The reducer makes no ids of its own: a message without one always goes to the end.
///
/// ```
/// use superstep_pregel::reduce::{Edit, Message};
///
/// enum Chat {
///     Said { id: String, text: String },
///     Forget { id: String },
/// }
///
/// impl Message for Chat {
///     fn id(&self) -> Option<&str> {
///         match self {
///             Self::Said { id, .. } => Some(id),
///             Self::Forget { .. } => None,
///         }
///     }
///     fn edit(&self) -> Edit<'_> {
///         match self {
///             Self::Said { .. } => Edit::Put,
///             Self::Forget { id } => Edit::Remove(id),
///         }
///     }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a message",
    label = "its items need the trait `Message`",
    note = "the `messages` reducer needs ids: write `impl Message for {Self}`, or use `#[reducer(append)]`"
)]
pub trait Message {
    /// Its id, by which a later message replaces it.
    fn id(&self) -> Option<&str>;

    /// What writing it does.
    fn edit(&self) -> Edit<'_> {
        Edit::Put
    }
}

/// An object with a text `id`. `{"type": "remove", "id": ..}` removes, and with the id `__remove_all__` removes all.
impl Message for Value {
    fn id(&self) -> Option<&str> {
        self.get("id")?.as_str()
    }

    fn edit(&self) -> Edit<'_> {
        match (self.get("type").and_then(Value::as_str), self.id()) {
            (Some("remove"), Some("__remove_all__")) => Edit::RemoveAll,
            (Some("remove"), Some(id)) => Edit::Remove(id),
            _ => Edit::Put,
        }
    }
}

/// One step of what a fold did to a list, newest last; what takes it back.
#[derive(Clone, Debug)]
pub(crate) enum Edited<M> {
    Pushed,
    Replaced(usize, M),
    Removed(usize, M),
    Emptied(Vec<M>),
}

/// Puts one write into the list. Removals of unknown ids, which checking refuses, do nothing.
pub(crate) fn fold_messages<M: Message>(list: &mut Vec<M>, write: Vec<M>, log: &mut Vec<Edited<M>>) {
    let mut write = write;
    if let Some(last) = write.iter().rposition(|item| item.edit() == Edit::RemoveAll) {
        write.drain(..=last);
        log.push(Edited::Emptied(std::mem::take(list)));
    }
    let mut doomed = HashSet::new();
    for item in write {
        if let Edit::Remove(id) = item.edit() {
            doomed.extend(find(list, id));
            continue;
        }
        if let Some(at) = item.id().and_then(|id| find(list, id)) {
            doomed.remove(&at);
            log.push(Edited::Replaced(at, std::mem::replace(&mut list[at], item)));
        } else {
            list.push(item);
            log.push(Edited::Pushed);
        }
    }
    remove(list, doomed, log);
}

fn remove<M>(list: &mut Vec<M>, doomed: HashSet<usize>, log: &mut Vec<Edited<M>>) {
    let mut doomed: Vec<usize> = doomed.into_iter().collect();
    doomed.sort_unstable();
    for at in doomed.into_iter().rev() {
        log.push(Edited::Removed(at, list.remove(at)));
    }
}

/// Looks from the end: what is edited is mostly recent, and of two with the same id the later one counts.
fn find<M: Message>(list: &[M], id: &str) -> Option<usize> {
    list.iter().rposition(|message| message.id() == Some(id))
}

/// Takes folds back.
pub(crate) fn unfold_messages<M>(list: &mut Vec<M>, log: Vec<Edited<M>>) {
    for edited in log.into_iter().rev() {
        match edited {
            Edited::Pushed => drop(list.pop()),
            Edited::Replaced(at, old) => list[at] = old,
            Edited::Removed(at, old) => list.insert(at, old),
            Edited::Emptied(old) => *list = old,
        }
    }
}

/// Whether every removal names a message that is there when its turn comes.
pub(crate) fn check_messages<'w, M: Message + 'w>(
    list: &[M],
    writes: impl IntoIterator<Item = (Author, &'w [M])>,
) -> Result<(), Fault> {
    let mut known = Known { list: Some(list), added: HashSet::new(), removed: HashSet::new() };
    for (author, write) in writes {
        known.write(write).map_err(|why| Fault::by(author, why))?;
    }
    Ok(())
}

/// Which ids are in a list after some writes, without making the list.
struct Known<'a, M> {
    list: Option<&'a [M]>,
    added: HashSet<&'a str>,
    removed: HashSet<&'a str>,
}

impl<'a, M: Message> Known<'a, M> {
    fn write<'w: 'a>(&mut self, write: &'w [M]) -> Result<(), Why> {
        let rest = match write.iter().rposition(|item| item.edit() == Edit::RemoveAll) {
            Some(last) => {
                *self = Self { list: None, added: HashSet::new(), removed: HashSet::new() };
                &write[last + 1..]
            }
            None => write,
        };
        let mut doomed = HashSet::new();
        for item in rest {
            match (item.edit(), item.id()) {
                (Edit::Remove(id), _) if self.has(id) => drop(doomed.insert(id)),
                (Edit::Remove(id), _) => return Err(Why::UnknownMessage(id.to_owned())),
                (_, Some(id)) if !doomed.remove(id) => drop(self.added.insert(id)),
                _ => {}
            }
        }
        for id in doomed {
            self.added.remove(id);
            self.removed.insert(id);
        }
        Ok(())
    }

    fn has(&self, id: &str) -> bool {
        self.added.contains(id)
            || (!self.removed.contains(id) && self.list.is_some_and(|list| find(list, id).is_some()))
    }
}
