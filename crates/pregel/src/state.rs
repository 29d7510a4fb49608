//! What the machine needs to know of a state: its channels, and how batches of updates change it.

use smallvec::SmallVec;
use superstep_checkpoint::{ChannelName, Codec, SealError};

use crate::channel::{Changes, ChannelChange, ChannelIndex, ChannelSet, ChannelSpec};

/// A state made of channels, each with a reducer. Implemented by `#[derive(State)]` for structs and by
/// `DynState` for channels made at run time.
///
/// A batch is all updates of one super-step in task order. It is first [checked](State::check) whole against the
/// state, then [applied](State::apply) in place; applying a checked batch cannot fail.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a state",
    label = "not a state",
    note = "derive it: `#[derive(State, Clone, Default)]`, or use `DynState`"
)]
pub trait State: Clone + Send + Sync + 'static {
    /// What a node returns: for each channel, maybe something to write.
    type Update: Clone + Default + Send + Sync + 'static;
    /// What is known of the channels at run time: `()` where they are fixed by the type.
    type Schema: Send + Sync + 'static;
    /// What takes a batch back.
    type Undo: Send + 'static;

    /// The channel table, in declaration order. At most 65,535 channels.
    fn channels(schema: &Self::Schema) -> &[ChannelSpec];

    /// The state before anything is written.
    fn initial(schema: &Self::Schema) -> Self;

    /// Adds the channels that an update writes to `set`.
    fn written(schema: &Self::Schema, update: &Self::Update, set: &mut ChannelSet);

    /// Whether the batch can be applied to this state.
    ///
    /// # Errors
    /// [`Rejection`] names the channel, what is wrong and whose updates are to blame.
    fn check(&self, schema: &Self::Schema, batch: &[(Author, &Self::Update)]) -> Result<(), Rejection>;

    /// Applies a checked batch. With [`Moment::Step`] a super-step ends: ephemeral and `any` channels that nobody wrote
    /// are cleared. Changes come in channel order, each channel at most once. The undo is `None` where none is wanted.
    fn apply(
        &mut self,
        schema: &Self::Schema,
        batch: SmallVec<[Self::Update; 2]>,
        moment: Moment,
        undo: WantUndo,
    ) -> Applied<Self::Undo>;

    /// Takes back what the batch that gave this undo did. Undos are taken back newest first.
    fn undo(&mut self, schema: &Self::Schema, undo: Self::Undo);

    /// Encodes what a change left, as an envelope without layers: the whole value for `Set`, the added items for
    /// `Appended`. Not called for `Cleared`, nor for untracked channels.
    ///
    /// # Errors
    /// [`SealError::Encode`] if the value cannot be written in this codec.
    fn encode(&self, schema: &Self::Schema, change: ChannelChange, codec: Codec) -> Result<Vec<u8>, SealError>;

    /// Gives a channel its stored value: a base, then segments in order.
    ///
    /// # Errors
    /// [`SealError::Decode`] if the bytes are not of the channel's type; the state is then of no further use.
    fn decode(
        &mut self,
        schema: &Self::Schema,
        channel: ChannelIndex,
        parts: &[(Codec, &[u8])],
    ) -> Result<(), SealError>;

    /// Encodes an update for storage, without what is written to untracked channels.
    ///
    /// # Errors
    /// [`SealError::Encode`] if a value cannot be written in this codec.
    fn encode_update(schema: &Self::Schema, update: &Self::Update, codec: Codec) -> Result<Vec<u8>, SealError>;

    /// Reads a stored update.
    ///
    /// # Errors
    /// [`SealError::Decode`] if the bytes are no update of this state.
    fn decode_update(schema: &Self::Schema, codec: Codec, body: &[u8]) -> Result<Self::Update, SealError>;

    /// The value of one channel as JSON; `None` where it has none (a typed state always has one).
    ///
    /// # Errors
    /// [`SealError::Encode`] if the value has no JSON form.
    fn value_json(&self, schema: &Self::Schema, channel: ChannelIndex) -> Result<Option<serde_json::Value>, SealError>;

    /// An update as JSON: an object of the channels written, with `{"$overwrite": value}` where it replaces. Where a plain
    /// value is such an object itself, it is shown as `{"$put": value}`, so that two updates never look the same.
    ///
    /// # Errors
    /// [`SealError::Encode`] if a value has no JSON form.
    fn update_json(schema: &Self::Schema, update: &Self::Update) -> Result<serde_json::Value, SealError>;

    /// Takes the value of a channel away, as if it had never been written.
    fn clear(&mut self, schema: &Self::Schema, channel: ChannelIndex);

    /// The JSON Schema of the channels on an open side.
    fn json_schema(schema: &Self::Schema, face: Face) -> schemars::Schema;
}

/// Which face of a state a JSON Schema describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Face {
    /// Every channel.
    Whole,
    /// The channels that callers may give.
    Input,
    /// The channels that callers see.
    Output,
}

/// Whose update it is: the position of its task in the batch's step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Author(pub u32);

/// Why a batch is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A super-step ends.
    Step,
    /// Something is written beside the steps.
    Patch,
}

/// Whether the caller of [`State::apply`] wants to be able to take it back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WantUndo {
    /// Yes.
    Yes,
    /// No; it may cost something to keep.
    No,
}

/// What [`State::apply`] did.
#[derive(Clone, Debug)]
pub struct Applied<U> {
    /// The channels that changed. A write counts even where the value is equal to the old one.
    pub changes: Changes,
    /// What takes it back, where wanted.
    pub undo: Option<U>,
}

/// Why a batch was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// The channel.
    pub channel: ChannelName,
    /// What is wrong.
    pub why: Why,
    /// Whose updates are to blame, in task order.
    pub authors: SmallVec<[Author; 2]>,
}

/// What is wrong with an update.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Why {
    /// A channel without a reducer was written more than once in a step.
    #[error("it takes one write a step and got several; give it a reducer, or let one node write it")]
    Clash,
    /// A channel was overwritten more than once in a step.
    #[error("it was overwritten more than once in one step")]
    TwoOverwrites,
    /// The state has no such channel.
    #[error("the state has no such channel")]
    UnknownChannel,
    /// Callers may not write this channel.
    #[error("callers may not give it; it is no input of the graph")]
    NotInput,
    /// The value does not fit the reducer.
    #[error("its reducer takes {expected}, not {found}")]
    WrongType {
        /// What the reducer takes.
        expected: &'static str,
        /// What kind of value it got.
        found: &'static str,
    },
    /// The sum does not fit the channel's number type.
    #[error("the sum does not fit its number type")]
    Overflow,
    /// A message was to be removed that is not there.
    #[error("there is no message with id {0:?} to remove")]
    UnknownMessage(String),
}
