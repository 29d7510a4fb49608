//! The channel table of a derived state.

use std::sync::OnceLock;

use superstep_checkpoint::ChannelName;

use super::Typed;
use crate::channel::ChannelSpec;

/// A table that is made when it is first asked for.
#[derive(Debug, Default)]
pub struct Specs(OnceLock<Vec<ChannelSpec>>);

impl Specs {
    /// Not yet made.
    pub const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// The table.
    pub fn get<S: Typed>(&self) -> &[ChannelSpec] {
        self.0.get_or_init(|| {
            let named = |name| ChannelName::new(name).unwrap_or_else(|_| unreachable!("the derive checks names"));
            let spec = |info: &super::row::Info| {
                ChannelSpec::new(named(info.name), info.reducer).kind(info.kind).sides(info.input, info.output)
            };
            S::ROWS.iter().map(|row| spec(&row.info)).collect()
        })
    }
}
