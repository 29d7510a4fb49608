//! A checkpoint: what is known at the border between two super-steps.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::id::{Branch, CheckpointId, Digest, LineageId, NodeName, RunId, Seq, Step};

/// Searchable facts about a checkpoint, given by the caller. Readable in the store: keep secrets out.
pub type Metadata = BTreeMap<String, Value>;

/// What made a checkpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Source {
    /// An input arrived.
    Input,
    /// A super-step ended.
    Loop,
    /// The state was edited.
    Update,
    /// An older checkpoint was taken up again.
    Fork,
}

impl Source {
    /// The word under which it is stored: `input`, `loop`, `update` or `fork`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Loop => "loop",
            Self::Update => "update",
            Self::Fork => "fork",
        }
    }
}

/// A border between two super-steps: which tasks come next and whose values they read. The values are stored beside it.
///
/// `format` is 1. A reader refuses a greater one and reads every smaller one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// The version of this structure's stored form.
    pub format: u16,
    /// Its id.
    pub id: CheckpointId,
    /// The checkpoint it was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<CheckpointId>,
    /// Its position in the namespace, over all branches.
    pub seq: Seq,
    /// Whose values it reads.
    pub branch: Branch,
    /// The number of the super-step that ended here.
    pub step: Step,
    /// What made it.
    pub source: Source,
    /// What comes next.
    #[serde(default)]
    pub plan: Plan,
    /// The input or edit it belongs to.
    pub turn: Turn,
    /// The graph that made it.
    pub graph: GraphStamp,
    /// Searchable facts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: Metadata,
    /// For a subgraph: the checkpoints of the enclosing graphs at which it ran, outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ancestors: Vec<CheckpointId>,
    /// When it was made, by the clock of the process that made it. For people; nothing is decided by it.
    #[serde(with = "millis")]
    pub created_at: SystemTime,
}

impl Checkpoint {
    /// The version of the stored form that this code writes.
    pub const FORMAT: u16 = 1;
}

/// What comes after a checkpoint. Lists are in task order; nothing here grows with the graph.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The input has arrived and is still to be applied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub start: bool,
    /// Nodes started by edges, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tasks: Vec<PlannedTask>,
    /// Nodes started by Sends, in the order sent. What the Sends carry is stored beside the checkpoint, sealed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<NodeName>,
    /// Waiting edges at which sources have arrived: half-filled, or full until their target has run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arrivals: Vec<Arrivals>,
    /// Deferred nodes that are due and wait for everything else to end.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deferred: Vec<NodeName>,
    /// The nodes started by edges that ran last; an edit without a named node speaks for them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub last: Vec<NodeName>,
}

/// A node that an edge, a route or a jump started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedTask {
    /// The node.
    pub node: NodeName,
    /// Set where a caller's command started it beside the turn's own tasks: the digest of that command, so that its
    /// side effects are told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_command: Option<Digest>,
}

/// A waiting edge at which some sources have arrived.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arrivals {
    /// All sources of the edge, in the order in which it was declared.
    pub sources: Vec<NodeName>,
    /// Where the edge leads.
    pub target: NodeName,
    /// Which sources have arrived.
    pub arrived: Vec<NodeName>,
}

/// The input or edit that a checkpoint belongs to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The line of work.
    pub lineage: LineageId,
    /// A digest of the input or edit that began the turn.
    pub digest: Digest,
    /// The call that began it, where the caller gave it a name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunStamp>,
}

/// A call by its caller's name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStamp {
    /// The name.
    pub id: RunId,
    /// A digest of its input.
    pub input: Digest,
}

/// Which graph made a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GraphStamp {
    /// The name of the graph. A thread belongs to one graph.
    pub name: String,
    /// A digest of its nodes, edges and channels.
    pub signature: Digest,
}

mod millis {
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &SystemTime, to: S) -> Result<S::Ok, S::Error> {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        to.serialize_u64(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<SystemTime, D::Error> {
        let millis = u64::deserialize(from)?;
        UNIX_EPOCH
            .checked_add(Duration::from_millis(millis))
            .ok_or_else(|| serde::de::Error::custom("time out of range"))
    }
}
