//! Whether what somebody wrote can be applied.

use smallvec::SmallVec;
use superstep_checkpoint::NodeName;

use crate::channel::{ChannelSet, Side};
use crate::effect::{InvalidUpdate, Refusal};
use crate::output::TaskOutput;
use crate::state::{Author, Rejection, State, Why};

use super::Machine;

impl<S: State> Machine<S> {
    /// Whether the updates of one task or caller can be applied by themselves.
    pub(super) fn check_own(&self, output: &TaskOutput<S::Update>, nodes: &[NodeName]) -> Result<(), InvalidUpdate> {
        if output.updates.is_empty() {
            return Ok(());
        }
        let batch: SmallVec<[(Author, &S::Update); 2]> =
            output.updates.iter().map(|update| (Author(0), update)).collect();
        self.state.check(&self.schema, &batch).map_err(|rejection| invalid(rejection, nodes.to_vec()))
    }

    /// Whether a caller may write this, here.
    pub(super) fn check_given(&self, output: &TaskOutput<S::Update>) -> Result<(), Refusal> {
        self.check_own(output, &[])?;
        let specs = S::channels(&self.schema);
        if specs.iter().all(|spec| spec.input == Side::Open) {
            return Ok(());
        }
        let mut written = ChannelSet::default();
        output.updates.iter().for_each(|update| S::written(&self.schema, update, &mut written));
        match written.iter().find(|channel| specs[channel.get()].input == Side::Closed) {
            None => Ok(()),
            Some(channel) => {
                let channel = specs[channel.get()].name.clone();
                Err(InvalidUpdate { channel, why: Why::NotInput, nodes: Vec::new() }.into())
            }
        }
    }
}

/// A rejection with the nodes' names.
pub(super) fn invalid(rejection: Rejection, nodes: Vec<NodeName>) -> InvalidUpdate {
    InvalidUpdate { channel: rejection.channel, why: rejection.why, nodes }
}
