//! Where a workload keeps its checkpoints.

use std::path::Path;
use std::sync::Arc;

use superstep::{Checkpointer, Durability, Memory, RunConfig, Sqlite};

use crate::Fallible;

/// A store and a durability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    Nowhere,
    Memory,
    SqliteSync,
    SqliteAsync,
    SqliteAsync32,
    SqliteExit,
}

impl Place {
    pub(crate) const ALL: [Self; 6] =
        [Self::Nowhere, Self::Memory, Self::SqliteSync, Self::SqliteAsync, Self::SqliteAsync32, Self::SqliteExit];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Nowhere => "none",
            Self::Memory => "memory sync",
            Self::SqliteSync => "sqlite sync",
            Self::SqliteAsync => "sqlite async 1",
            Self::SqliteAsync32 => "sqlite async 32",
            Self::SqliteExit => "sqlite exit",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|place| place.name() == name)
    }

    /// The store, in a folder of its own.
    pub(crate) async fn store(self, folder: &Path) -> Fallible<Option<Arc<dyn Checkpointer>>> {
        Ok(match self {
            Self::Nowhere => None,
            Self::Memory => Some(Arc::new(Memory::new())),
            _ => Some(Arc::new(Sqlite::open(folder.join("bench.db")).await?)),
        })
    }

    pub(crate) fn config(self, thread: &str) -> RunConfig {
        let durability = match self {
            Self::Nowhere => return RunConfig::new().limit(10_000),
            Self::Memory | Self::SqliteSync => Durability::Sync,
            Self::SqliteAsync => Durability::Async,
            Self::SqliteAsync32 => Durability::Async { lag: 32 },
            Self::SqliteExit => Durability::Exit,
        };
        RunConfig::thread(thread).durability(durability).limit(10_000)
    }
}
