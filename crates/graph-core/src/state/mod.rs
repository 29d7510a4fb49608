//! Looking at threads and editing them.

mod edit;
mod error;
mod history;
mod snapshot;

use std::num::NonZeroUsize;
use std::sync::Arc;

use superstep_checkpoint::{Checkpointer, ListQuery, NamespaceKey, ThreadId, ThreadKey};
use superstep_pregel::{SnapshotKind, State};

pub use edit::StateEdit;
pub use error::ReadError;
pub use history::HistoryQuery;
pub use snapshot::{StateSnapshot, TaskState};

use crate::config::RunConfig;
use crate::driver::open;
use crate::program::Program;

/// The store and the thread that a call names.
pub(crate) fn place<S: State>(
    program: &Program<S>,
    config: &RunConfig,
) -> Result<(Arc<dyn Checkpointer>, ThreadId), ReadError> {
    let thread = config.thread.as_deref().ok_or(ReadError::NoThread)?;
    let thread = ThreadId::new(thread)?;
    let store = program.store.clone().ok_or_else(|| ReadError::NoStore { thread: thread.clone() })?;
    Ok((store, thread))
}

fn root(store: &Arc<dyn Checkpointer>, thread: &ThreadId) -> NamespaceKey {
    ThreadKey { tenant: store.tenant_id(), thread: thread.clone() }.root()
}

/// One checkpoint: the head as the present, another as a record of its step.
pub(crate) async fn read_state<S: State>(
    program: &Program<S>,
    config: &RunConfig,
) -> Result<StateSnapshot<S>, ReadError> {
    let (store, thread) = place(program, config)?;
    let opened = open(program, &store, root(&store, &thread), config.at).await;
    let ground = opened.map_err(|kind| ReadError::from_run(kind, &thread))?.ground;
    let kind = if config.at.is_some() { SnapshotKind::Record } else { SnapshotKind::Live };
    let Some(position) = ground.position else { return Err(ReadError::UnknownThread { thread }) };
    Ok(StateSnapshot::new(program, &ground.key, position, kind))
}

/// Several checkpoints, newest first, as records of their steps.
pub(crate) async fn read_history<S: State>(
    program: &Program<S>,
    config: &RunConfig,
    query: &HistoryQuery,
) -> Result<Vec<StateSnapshot<S>>, ReadError> {
    let (store, thread) = place(program, config)?;
    let key = root(&store, &thread);
    let mut list = ListQuery::default();
    list.limit = query.limit.map(|limit| NonZeroUsize::new(limit).ok_or(ReadError::ZeroLimit)).transpose()?;
    list.before = query.before;
    list.metadata = query.metadata.clone();
    let mut snapshots = Vec::new();
    for stored in store.list(&key, &list).await? {
        let position = crate::driver::read(program, &key, &stored);
        let position = position.map_err(|kind| ReadError::from_run(kind, &thread))?;
        snapshots.push(StateSnapshot::new(program, &key, position, SnapshotKind::Record));
    }
    Ok(snapshots)
}
