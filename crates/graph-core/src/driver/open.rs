//! Finding out where a call begins.

use std::sync::Arc;

use superstep_checkpoint::{
    At, CheckpointId, Checkpointer, Epoch, Expect, LineageId, NamespaceKey, Seq, StoredCheckpoint, View,
};
use superstep_pregel::{Basis, Ground, Position, Reader, State};

use crate::program::Program;
use crate::run_error::RunErrorKind;

/// What a call begins with.
pub(crate) struct Opened<S: State> {
    pub(crate) ground: Ground<S>,
    /// What the first commit expects.
    pub(crate) head: Expect,
}

/// Reads the head, or the checkpoint asked for.
pub(crate) async fn open<S: State>(
    program: &Program<S>,
    store: &Arc<dyn Checkpointer>,
    key: NamespaceKey,
    at: Option<CheckpointId>,
) -> Result<Opened<S>, RunErrorKind> {
    let view = store.get(&key, at.map_or(At::Head, At::Id)).await?;
    let (head, epoch, last_seq) = stand(&view);
    let position = match (&view.found, at) {
        (Some(found), _) => Some(read(program, &key, found)?),
        (None, Some(id)) => return Err(RunErrorKind::UnknownCheckpoint(id)),
        (None, None) => None,
    };
    let basis = basis(head, at);
    Ok(Opened { ground: Ground { key, position, basis, last_seq, epoch }, head })
}

/// What is expected at the namespace, and the numbers to go on from.
fn stand(view: &View) -> (Expect, Epoch, Seq) {
    let epoch = view.thread.as_ref().map_or(Epoch(0), superstep_checkpoint::ThreadRow::next_call_epoch);
    match &view.namespace {
        Some(namespace) => (Expect::Head(namespace.head), epoch, namespace.last_seq),
        None => (Expect::Empty(epoch), epoch, Seq(0)),
    }
}

fn basis(head: Expect, at: Option<CheckpointId>) -> Basis {
    let lineage = || LineageId::from_bytes(rand::random());
    match at {
        None => Basis::Head,
        Some(id) if head == Expect::Head(id) => Basis::NamedHead { lineage: lineage() },
        Some(_) => Basis::Old { lineage: lineage() },
    }
}

/// Decodes a stored checkpoint of this graph.
pub(crate) fn read<S: State>(
    program: &Program<S>,
    key: &NamespaceKey,
    stored: &StoredCheckpoint,
) -> Result<Position<S>, RunErrorKind> {
    let theirs = &stored.checkpoint.graph.name;
    if theirs != program.topology.name() {
        let ours = program.topology.name().to_owned();
        return Err(RunErrorKind::OtherGraph { ours, theirs: theirs.clone() });
    }
    let reader = Reader::<S> { topology: &program.topology, schema: &program.schema, sealer: &program.sealer, key };
    Ok(reader.read(stored)?)
}
