//! Channels: the cells of a state, and how they change.

use smallvec::SmallVec;
use superstep_checkpoint::ChannelName;

/// The position of a channel in the channel table of its state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ChannelIndex(pub u16);

impl ChannelIndex {
    /// The position as an index.
    pub const fn get(self) -> usize {
        self.0 as usize
    }
}

/// How several writes become one value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Reducer {
    /// The value written; two writers in one step are an error.
    Last,
    /// Adds to the end of a list or text.
    Append,
    /// Sums numbers.
    Add,
    /// Keeps the greatest.
    Max,
    /// Keeps the least.
    Min,
    /// Puts the entries of a map into the map, later ones winning.
    Merge,
    /// The union of sets.
    Union,
    /// A list of messages: one with a known id replaces, a new one is added, a removal removes.
    Messages,
    /// A function of the user's; its path.
    With(&'static str),
}

/// How long a value lives and where.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// Kept and stored.
    #[default]
    Tracked,
    /// Seen by later nodes of the same call; reaches no store in any form.
    Untracked,
    /// Gone after the next step.
    Ephemeral,
    /// Several writers allowed, the last in task order wins; gone after the next step in which nobody writes it.
    Any,
}

/// Whether a side of the graph may touch a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// Callers may give it (input) or see it (output).
    Open,
    /// They may not.
    Closed,
}

/// One row of a channel table.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelSpec {
    /// The name: the field of the state.
    pub name: ChannelName,
    /// How writes combine.
    pub reducer: Reducer,
    /// How long it lives.
    pub kind: Kind,
    /// Whether callers may give it.
    pub input: Side,
    /// Whether callers see it.
    pub output: Side,
}

impl ChannelSpec {
    /// A tracked channel that callers may give and see.
    pub fn new(name: ChannelName, reducer: Reducer) -> Self {
        Self { name, reducer, kind: Kind::Tracked, input: Side::Open, output: Side::Open }
    }

    /// The same channel with another lifetime.
    #[must_use]
    pub fn kind(mut self, kind: Kind) -> Self {
        self.kind = kind;
        self
    }

    /// The same channel with other sides.
    #[must_use]
    pub fn sides(mut self, input: Side, output: Side) -> Self {
        self.input = input;
        self.output = output;
        self
    }
}

/// What happened to one channel when a batch was applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelChange {
    /// The channel.
    pub channel: ChannelIndex,
    /// What happened.
    pub how: How,
}

/// How a channel changed, which decides how it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum How {
    /// It has a new value as a whole.
    Set,
    /// Something was added after the first `from` items (bytes, for text); what was there is unchanged.
    Appended {
        /// How many items (bytes) there were before.
        from: usize,
    },
    /// It has no value any more.
    Cleared,
}

/// The changes of one batch, in channel order.
pub type Changes = SmallVec<[ChannelChange; 4]>;

/// A set of channels.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelSet(SmallVec<[u64; 2]>);

impl ChannelSet {
    /// Adds a channel.
    pub fn insert(&mut self, channel: ChannelIndex) {
        let word = channel.get() / 64;
        if word >= self.0.len() {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= 1 << (channel.get() % 64);
    }

    /// Takes a channel out.
    pub fn remove(&mut self, channel: ChannelIndex) {
        if let Some(word) = self.0.get_mut(channel.get() / 64) {
            *word &= !(1 << (channel.get() % 64));
        }
    }

    /// Whether the channel is in it.
    pub fn contains(&self, channel: ChannelIndex) -> bool {
        self.0.get(channel.get() / 64).is_some_and(|word| word >> (channel.get() % 64) & 1 == 1)
    }

    /// Whether no channel is in it.
    pub fn is_empty(&self) -> bool {
        self.0.iter().all(|word| *word == 0)
    }

    /// The channels in it, in order.
    pub fn iter(&self) -> impl Iterator<Item = ChannelIndex> + '_ {
        self.0.iter().enumerate().flat_map(|(word, bits)| {
            (0..64_usize)
                .filter(move |bit| bits >> bit & 1 == 1)
                .filter_map(move |bit| u16::try_from(word * 64 + bit).ok().map(ChannelIndex))
        })
    }
}

impl FromIterator<ChannelIndex> for ChannelSet {
    fn from_iter<I: IntoIterator<Item = ChannelIndex>>(channels: I) -> Self {
        let mut set = Self::default();
        channels.into_iter().for_each(|channel| set.insert(channel));
        set
    }
}
