//! What a store promises, as a value.

/// What survives once a commit is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Durable {
    /// Nothing survives the process.
    Process,
    /// The death of the process, not always a crash of the operating system or a power loss.
    ProcessCrash,
    /// A crash of the operating system and a power loss, as far as the disk keeps what it acknowledged.
    PowerLoss,
}

/// The promises of a store under its present settings.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Guarantees {
    /// The store and the settings that matter, for people: `sqlite (WAL, synchronous=FULL)`.
    pub store: String,
    /// What survives an acknowledged commit.
    pub durable: Durable,
    /// Whether the user said that a store that keeps nothing is meant. Without it `sync` durability on such a store is
    /// refused.
    pub volatile_allowed: bool,
    /// Whether several processes may use the store at once.
    pub shared: bool,
}

impl Guarantees {
    /// The promises of a store by this name.
    pub fn new(store: impl Into<String>, durable: Durable) -> Self {
        Self { store: store.into(), durable, volatile_allowed: false, shared: durable != Durable::Process }
    }

    /// The same, for a store whose user said that it may forget.
    #[must_use]
    pub fn volatile_allowed(mut self) -> Self {
        self.volatile_allowed = true;
        self
    }
}

/// What a store can do beyond the five required calls. What is not declared answers `Unsupported`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Abilities {
    /// Copying a whole thread.
    pub copy: Ability,
    /// Removing old checkpoints of a thread.
    pub prune: Ability,
    /// Removing what one run wrote.
    pub delete_run: Ability,
}

/// Whether a store has an optional ability.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ability {
    /// It answers `Unsupported`.
    #[default]
    Absent,
    /// It works.
    Present,
}
