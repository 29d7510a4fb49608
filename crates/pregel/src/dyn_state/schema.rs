//! The channels of a state made at run time.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;
use superstep_checkpoint::{ChannelName, InvalidId};

use super::fold::Fold;
use crate::channel::{ChannelIndex, ChannelSpec, Kind, Reducer, Side};
use crate::reduce::batch::is_fleeting;

/// The greatest number of channels of a state.
const MAX_CHANNELS: usize = u16::MAX as usize;

/// The channels of a [`DynState`](super::DynState), fixed. Cheap to clone.
///
/// ```
/// use superstep_pregel::DynSchema;
///
/// let schema = DynSchema::new().last("order").append("log").add("cents").untracked("draft").build()?;
/// assert_eq!(schema.len(), 4);
/// # Ok::<(), superstep_pregel::InvalidSchema>(())
/// ```
#[derive(Clone, Debug)]
pub struct DynSchema(Arc<Table>);

#[derive(Debug)]
struct Table {
    specs: Vec<ChannelSpec>,
    folds: Vec<Fold>,
    index: HashMap<ChannelName, ChannelIndex>,
    fleeting: Vec<ChannelIndex>,
}

impl DynSchema {
    /// Starts a schema without channels.
    #[expect(clippy::new_ret_no_self, reason = "a schema is checked before it is one")]
    pub fn new() -> DynSchemaBuilder {
        DynSchemaBuilder::default()
    }

    /// The channel table.
    pub fn channels(&self) -> &[ChannelSpec] {
        &self.0.specs
    }

    /// How many channels there are.
    pub fn len(&self) -> usize {
        self.0.specs.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.specs.is_empty()
    }

    /// The position of a channel.
    pub fn index(&self, name: &str) -> Option<ChannelIndex> {
        self.0.index.get(name).copied()
    }

    pub(super) fn spec(&self, channel: ChannelIndex) -> &ChannelSpec {
        &self.0.specs[channel.get()]
    }

    pub(super) fn fold(&self, channel: ChannelIndex) -> Fold {
        self.0.folds[channel.get()]
    }

    pub(super) fn folds(&self) -> &[Fold] {
        &self.0.folds
    }

    /// The channels that are cleared when a step does not write them.
    pub(super) fn fleeting(&self) -> &[ChannelIndex] {
        &self.0.fleeting
    }
}

/// Collects channels for a [`DynSchema`].
#[derive(Clone, Debug, Default)]
#[must_use = "it is no schema before `build`"]
pub struct DynSchemaBuilder {
    rows: Vec<Row>,
    input: Option<Vec<String>>,
    output: Option<Vec<String>>,
    stray_kind: bool,
}

#[derive(Clone, Debug)]
struct Row {
    name: String,
    fold: Fold,
    kind: Kind,
}

impl DynSchemaBuilder {
    fn row(mut self, name: impl Into<String>, fold: Fold) -> Self {
        self.rows.push(Row { name: name.into(), fold, kind: Kind::Tracked });
        self
    }

    /// A channel that holds the value written; absent before.
    pub fn last(self, name: impl Into<String>) -> Self {
        self.row(name, Fold::Last)
    }

    /// A list to which lists are added; `[]` before.
    pub fn append(self, name: impl Into<String>) -> Self {
        self.row(name, Fold::List)
    }

    /// A text to which texts are added; `""` before.
    pub fn concat(self, name: impl Into<String>) -> Self {
        self.row(name, Fold::Text)
    }

    /// A number to which numbers are added; 0 before. Integers stay integers: a sum that fits neither `i64` nor `u64`
    /// is refused.
    #[expect(clippy::should_implement_trait, reason = "it is the name of the reducer")]
    pub fn add(self, name: impl Into<String>) -> Self {
        self.row(name, Fold::Add)
    }

    /// The greatest number written; 0 before.
    pub fn max(self, name: impl Into<String>) -> Self {
        self.row(name, Fold::Max)
    }

    /// The least number written; absent before.
    pub fn min(self, name: impl Into<String>) -> Self {
        self.row(name, Fold::Min)
    }

    /// An object into which the entries of objects are put; `{}` before.
    pub fn merge(self, name: impl Into<String>) -> Self {
        self.row(name, Fold::Merge)
    }

    /// The union of lists: sorted, no value twice; `[]` before.
    ///
    /// Values are ordered by kind (null, false, true, numbers, texts, lists, objects), then by value; 1 and 1.0 are one.
    pub fn union(self, name: impl Into<String>) -> Self {
        self.row(name, Fold::Union)
    }

    /// A list of objects with an `id`, into which a [message](crate::reduce::Message) with a known id goes in place;
    /// `[]` before.
    pub fn messages(self, name: impl Into<String>) -> Self {
        self.row(name, Fold::Messages)
    }

    /// A channel of several writers in which the last in task order wins; gone after the next step in which nobody
    /// writes it.
    pub fn any(self, name: impl Into<String>) -> Self {
        self.last(name).kind(Kind::Any)
    }

    /// A channel that reaches no store.
    pub fn untracked(self, name: impl Into<String>) -> Self {
        self.last(name).kind(Kind::Untracked)
    }

    /// A channel that is gone after the next step.
    pub fn ephemeral(self, name: impl Into<String>) -> Self {
        self.last(name).kind(Kind::Ephemeral)
    }

    /// A channel with a function of yours, `reduce(&mut old, new)`; absent before, and the first value written is
    /// stored as it is. `path` says in errors and drawings what function it is.
    pub fn with(self, name: impl Into<String>, path: &'static str, reduce: fn(&mut Value, Value)) -> Self {
        self.row(name, Fold::With(path, reduce))
    }

    /// Gives the channel named last another lifetime.
    pub fn kind(mut self, kind: Kind) -> Self {
        match self.rows.last_mut() {
            Some(row) => row.kind = kind,
            None => self.stray_kind = true,
        }
        self
    }

    /// Only these channels may be given by callers. Without it, all.
    pub fn input<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.input = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Only these channels are seen by callers. Without it, all.
    pub fn output<N: Into<String>>(mut self, names: impl IntoIterator<Item = N>) -> Self {
        self.output = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Checks the channels.
    ///
    /// # Errors
    /// [`InvalidSchema`] if a name is no channel name or stands twice, if `input` or `output` name no channel, if an
    /// `any` channel has a reducer, or if there are more than 65,535 channels.
    pub fn build(self) -> Result<DynSchema, InvalidSchema> {
        if self.stray_kind {
            return Err(InvalidSchema::StrayKind);
        }
        if self.rows.len() > MAX_CHANNELS {
            return Err(InvalidSchema::TooMany { channels: self.rows.len() });
        }
        let index = index(&self.rows)?;
        known(&index, self.input.as_deref(), "input")?;
        known(&index, self.output.as_deref(), "output")?;
        let mut specs = Vec::with_capacity(self.rows.len());
        for row in &self.rows {
            let input = side(self.input.as_deref(), &row.name);
            specs.push(row.spec()?.sides(input, side(self.output.as_deref(), &row.name)));
        }
        let folds = self.rows.iter().map(|row| row.fold).collect();
        let fleeting = (0..).map(ChannelIndex).zip(&specs).filter(|(_, spec)| is_fleeting(spec.kind));
        let fleeting = fleeting.map(|(channel, _)| channel).collect();
        Ok(DynSchema(Arc::new(Table { specs, folds, index, fleeting })))
    }
}

impl Row {
    fn spec(&self) -> Result<ChannelSpec, InvalidSchema> {
        let name = channel_name(&self.name)?;
        if self.kind == Kind::Any && !matches!(self.fold, Fold::Last) {
            return Err(InvalidSchema::AnyWithReducer { name, reducer: self.fold.reducer() });
        }
        Ok(ChannelSpec::new(name, self.fold.reducer()).kind(self.kind))
    }
}

fn channel_name(name: &str) -> Result<ChannelName, InvalidSchema> {
    ChannelName::new(name).map_err(InvalidSchema::Name)
}

fn index(rows: &[Row]) -> Result<HashMap<ChannelName, ChannelIndex>, InvalidSchema> {
    let mut index = HashMap::with_capacity(rows.len());
    for (channel, row) in (0..).map(ChannelIndex).zip(rows) {
        let name = channel_name(&row.name)?;
        if index.insert(name.clone(), channel).is_some() {
            return Err(InvalidSchema::Twice(name));
        }
    }
    Ok(index)
}

fn known(
    index: &HashMap<ChannelName, ChannelIndex>,
    names: Option<&[String]>,
    side: &'static str,
) -> Result<(), InvalidSchema> {
    match names.unwrap_or_default().iter().find(|name| !index.contains_key(name.as_str())) {
        Some(name) => Err(InvalidSchema::UnknownSide { name: name.clone(), side }),
        None => Ok(()),
    }
}

fn side(open: Option<&[String]>, name: &str) -> Side {
    match open {
        Some(names) if !names.iter().any(|open| open == name) => Side::Closed,
        _ => Side::Open,
    }
}

/// Why channels do not make a schema.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidSchema {
    /// A name is no channel name.
    #[error(transparent)]
    Name(InvalidId),
    /// A name stands twice.
    #[error("the channel {0:?} is declared twice")]
    Twice(ChannelName),
    /// `input` or `output` names a channel that is not declared.
    #[error("`{side}` names {name:?}, which is no channel; declare it with its reducer first")]
    UnknownSide {
        /// The name.
        name: String,
        /// Which of the two.
        side: &'static str,
    },
    /// An `any` channel keeps the last value and has no other reducer.
    #[error("the channel {name:?} is `any`, which keeps the last value, and cannot have the reducer {reducer:?} too")]
    AnyWithReducer {
        /// The channel.
        name: ChannelName,
        /// Its reducer.
        reducer: Reducer,
    },
    /// `kind` stands before the first channel.
    #[error("`kind` stands before the first channel; it changes the channel declared last")]
    StrayKind,
    /// There are too many channels.
    #[error("there are {channels} channels, the most is {MAX_CHANNELS}; put what belongs together into one")]
    TooMany {
        /// How many.
        channels: usize,
    },
}
