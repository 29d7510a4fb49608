//! `messages`: a list in which a message with a known id replaces the one that has it.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde_json::Value;
use smallvec::SmallVec;
use superstep_checkpoint::{Codec, SealError};

use super::{Append, Fault, Reduce, Segments, Store};
use crate::channel::How;
use crate::state::{Author, WantUndo, Why};

/// A list of messages. One with a known id replaces in place, a new one goes to the end, a [removal](Edit) removes.
///
/// Of one write, removals take effect at its end, so that a message written again after its removal stays where it
/// was. Where a step only adds, only what was added is stored.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Messages;

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

macro_rules! behind {
    ($($pointer:ident)*) => {$(
        impl<M: Message + ?Sized> Message for $pointer<M> {
            fn id(&self) -> Option<&str> {
                M::id(self)
            }

            fn edit(&self) -> Edit<'_> {
                M::edit(self)
            }
        }
    )*};
}

behind!(Arc Box);

/// One thing that a fold did to a list; what takes it back.
#[derive(Clone, Debug)]
enum Edited<M> {
    Pushed,
    Replaced(usize, M),
    Removed(usize, M),
    Emptied(Vec<M>),
}

/// What takes folds of messages back.
#[derive(Clone, Debug)]
pub struct MessageLog<M>(Vec<Edited<M>>);

impl<M> MessageLog<M> {
    fn only_pushed(&self) -> bool {
        self.0.iter().all(|edited| matches!(edited, Edited::Pushed))
    }
}

impl<M: Message + Send + 'static> Reduce<Vec<M>> for Messages {
    type Undo = MessageLog<M>;

    fn check(current: &Vec<M>, puts: &[(Author, &Vec<M>)]) -> Result<(), Fault> {
        check_messages(current, puts.iter().map(|(by, put)| (*by, put.as_slice())))
    }

    fn check_replacement(by: Author, value: &Vec<M>) -> Result<(), Fault> {
        check_messages(&[], [(by, value.as_slice())])
    }

    fn fold(current: &mut Vec<M>, puts: SmallVec<[Vec<M>; 2]>, _undo: WantUndo) -> (How, MessageLog<M>) {
        fold_messages(current, puts)
    }

    fn unfold(current: &mut Vec<M>, undo: MessageLog<M>) {
        unfold_messages(current, undo);
    }

    fn replacement(value: Vec<M>) -> Vec<M> {
        let mut list = Vec::new();
        fold_messages(&mut list, [value]);
        list
    }
}

impl<M> Store<Vec<M>> for Messages
where
    Vec<M>: Segments,
{
    fn encode(value: &Vec<M>, how: How, codec: Codec) -> Result<Vec<u8>, SealError> {
        Append::encode(value, how, codec)
    }

    fn decode(parts: &[(Codec, &[u8])]) -> Result<Vec<M>, SealError> {
        Append::decode(parts)
    }
}

/// Puts writes into a list. Removals of unknown ids, which checking refuses, do nothing.
pub(crate) fn fold_messages<M: Message>(
    list: &mut Vec<M>,
    writes: impl IntoIterator<Item = Vec<M>>,
) -> (How, MessageLog<M>) {
    let from = list.len();
    let mut log = MessageLog(Vec::new());
    for write in writes {
        fold_write(list, write, &mut log.0);
    }
    (if log.only_pushed() { How::Appended { from } } else { How::Set }, log)
}

fn fold_write<M: Message>(list: &mut Vec<M>, mut write: Vec<M>, log: &mut Vec<Edited<M>>) {
    if let Some(last) = last_remove_all(&write) {
        write.drain(..=last);
        log.push(Edited::Emptied(std::mem::take(list)));
    }
    let mut positions = Positions::of(list, write.len());
    let mut doomed = HashSet::new();
    for item in write {
        if let Edit::Remove(id) = item.edit() {
            doomed.extend(positions.find(list, id));
        } else if let Some(at) = item.id().and_then(|id| positions.find(list, id)) {
            doomed.remove(&at);
            log.push(Edited::Replaced(at, std::mem::replace(&mut list[at], item)));
        } else {
            positions.add(list.len(), item.id());
            list.push(item);
            log.push(Edited::Pushed);
        }
    }
    remove(list, doomed, log);
}

fn last_remove_all<M: Message>(write: &[M]) -> Option<usize> {
    write.iter().rposition(|item| item.edit() == Edit::RemoveAll)
}

fn remove<M>(list: &mut Vec<M>, doomed: HashSet<usize>, log: &mut Vec<Edited<M>>) {
    let mut doomed: Vec<usize> = doomed.into_iter().collect();
    doomed.sort_unstable();
    for at in doomed.into_iter().rev() {
        log.push(Edited::Removed(at, list.remove(at)));
    }
}

/// Takes folds back.
pub(crate) fn unfold_messages<M>(list: &mut Vec<M>, log: MessageLog<M>) {
    for edited in log.0.into_iter().rev() {
        match edited {
            Edited::Pushed => drop(list.pop()),
            Edited::Replaced(at, old) => list[at] = old,
            Edited::Removed(at, old) => list.insert(at, old),
            Edited::Emptied(old) => *list = old,
        }
    }
}

/// Writes of more items than this look ids up in an index; for fewer, looking through the list is cheaper.
const FEW: usize = 16;

/// Where the messages with an id stand; of two with the same id the later one counts.
enum Positions {
    /// Looked for each time, from the end: what is edited is mostly recent.
    Sought,
    Indexed(HashMap<String, usize>),
}

impl Positions {
    fn of<M: Message>(list: &[M], items: usize) -> Self {
        if items <= FEW {
            return Self::Sought;
        }
        let named = list.iter().enumerate().filter_map(|(at, message)| Some((message.id()?.to_owned(), at)));
        Self::Indexed(named.collect())
    }

    fn find<M: Message>(&self, list: &[M], id: &str) -> Option<usize> {
        match self {
            Self::Sought => list.iter().rposition(|message| message.id() == Some(id)),
            Self::Indexed(positions) => positions.get(id).copied(),
        }
    }

    fn add(&mut self, at: usize, id: Option<&str>) {
        if let (Self::Indexed(positions), Some(id)) = (self, id) {
            positions.insert(id.to_owned(), at);
        }
    }
}

/// Whether every removal names a message that is there when its turn comes.
pub(crate) fn check_messages<'w, M: Message + 'w>(
    list: &[M],
    writes: impl IntoIterator<Item = (Author, &'w [M])>,
) -> Result<(), Fault> {
    let mut known = Known::new(list);
    for (author, write) in writes {
        known.write(write).map_err(|why| Fault::by(author, why))?;
    }
    Ok(())
}

/// Which ids are in a list after some writes, without making the list.
struct Known<'a, M> {
    list: &'a [M],
    positions: Positions,
    added: HashSet<&'a str>,
    removed: HashSet<&'a str>,
}

impl<'a, M: Message> Known<'a, M> {
    fn new(list: &'a [M]) -> Self {
        Self { list, positions: Positions::Sought, added: HashSet::new(), removed: HashSet::new() }
    }

    fn write<'w: 'a>(&mut self, mut write: &'w [M]) -> Result<(), Why> {
        if let Some(last) = last_remove_all(write) {
            *self = Self::new(&[]);
            write = &write[last + 1..];
        }
        self.index(write);
        let mut doomed = HashSet::new();
        for item in write {
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

    fn index(&mut self, write: &[M]) {
        let removals = write.iter().filter(|item| matches!(item.edit(), Edit::Remove(_))).count();
        if removals > FEW && matches!(self.positions, Positions::Sought) {
            self.positions = Positions::of(self.list, removals);
        }
    }

    fn has(&self, id: &str) -> bool {
        let in_list = || !self.removed.contains(id) && self.positions.find(self.list, id).is_some();
        self.added.contains(id) || in_list()
    }
}
