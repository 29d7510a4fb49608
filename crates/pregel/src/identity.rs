//! Ids that survive: everything a task is known by outside the process derives from where it stands.
//!
//! The id of a task derives from tenant, thread, lineage, the digest of what began the turn, namespace, step, node and
//! path; never from a checkpoint id, an attempt, a clock or chance. So a step that runs again after its writes were lost
//! uses the same idempotency keys, and another input never does. Hashing is BLAKE3, each part behind its length.

use superstep_checkpoint::{Digest, LineageId, NamespaceKey, QuestionId, Step, TaskId, Turn};

use crate::question::QuestionKey;

const TURN: &str = "superstep turn v1";
const EDIT: &str = "superstep edit v1";
const LINEAGE: &str = "superstep lineage v1";

/// What a task was started by, inside its step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TaskPath {
    /// By edges, routes or jumps: at most one task a node.
    Pull,
    /// By the Send at this position of the step's list.
    Push(u32),
}

/// The part of an identity that all tasks of a turn share.
#[derive(Clone, PartialEq, Eq)]
pub struct TurnIdentity([u8; 32]);

impl std::fmt::Debug for TurnIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TurnIdentity")
    }
}

impl TurnIdentity {
    /// The identity of this turn at this place.
    pub fn new(key: &NamespaceKey, turn: &Turn) -> Self {
        let mut hash = blake3::Hasher::new_derive_key(TURN);
        part(&mut hash, key.thread.tenant.as_str().as_bytes());
        part(&mut hash, key.thread.thread.as_str().as_bytes());
        part(&mut hash, turn.lineage.as_bytes());
        part(&mut hash, turn.digest.as_bytes());
        part(&mut hash, key.namespace.as_str().as_bytes());
        Self(*hash.finalize().as_bytes())
    }

    /// The identity of a task of this turn.
    pub fn task(&self, step: Step, node: &str, path: TaskPath) -> TaskIdentity {
        TaskIdentity { turn: self.0, task: TaskId::from_bytes(task_id(&self.0, step, node, path)) }
    }
}

fn task_id(turn: &[u8; 32], step: Step, node: &str, path: TaskPath) -> [u8; 16] {
    let mut hash = blake3::Hasher::new_keyed(turn);
    part(&mut hash, b"task");
    hash.update(&step.0.to_le_bytes());
    part(&mut hash, node.as_bytes());
    match path {
        TaskPath::Pull => hash.update(b"pull"),
        TaskPath::Push(index) => hash.update(b"push").update(&index.to_le_bytes()),
    };
    cut(&hash)
}

/// Who a task is, for the outside.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct TaskIdentity {
    turn: [u8; 32],
    task: TaskId,
}

impl std::fmt::Debug for TaskIdentity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.task.fmt(f)
    }
}

impl TaskIdentity {
    /// Its id.
    pub fn id(&self) -> TaskId {
        self.task
    }

    /// The id of a question of this task.
    pub fn question(&self, key: &QuestionKey) -> QuestionId {
        let mut hash = self.hasher(b"question");
        match key {
            QuestionKey::Number(number) => hash.update(b"n").update(&number.to_le_bytes()),
            QuestionKey::Name(name) => hash.update(b"k").update(name.as_bytes()),
        };
        QuestionId::from_bytes(cut(&hash))
    }

    /// A key for a side effect of this task: 32 hexadecimal digits. The name tells several effects of one task apart.
    pub fn idempotency_key(&self, name: &str) -> String {
        let mut hash = self.hasher(b"effect");
        part(&mut hash, name.as_bytes());
        Digest::from_bytes(cut(&hash)).to_string()
    }

    fn hasher(&self, kind: &[u8]) -> blake3::Hasher {
        let mut hash = blake3::Hasher::new_keyed(&self.turn);
        part(&mut hash, kind);
        hash.update(self.task.as_bytes());
        hash
    }
}

/// The lineage of a thread that has run since it was last deleted: it needs no record, since it follows from the epoch.
pub fn first_lineage(epoch: superstep_checkpoint::Epoch) -> LineageId {
    let mut hash = blake3::Hasher::new_derive_key(LINEAGE);
    hash.update(&epoch.0.to_le_bytes());
    LineageId::from_bytes(cut(&hash))
}

/// A digest of an input or an edit, given as JSON. Objects count the same in whatever order their keys stand.
pub fn digest(kind: &str, value: &serde_json::Value) -> Digest {
    let mut hash = blake3::Hasher::new_derive_key(EDIT);
    part(&mut hash, kind.as_bytes());
    canonical(&mut hash, value);
    Digest::from_bytes(cut(&hash))
}

/// The digest of a turn that a command was added to.
pub(crate) fn extend(turn: Digest, by: Digest) -> Digest {
    let mut hash = blake3::Hasher::new_derive_key(EDIT);
    hash.update(b"extend").update(turn.as_bytes()).update(by.as_bytes());
    Digest::from_bytes(cut(&hash))
}

fn canonical(hash: &mut blake3::Hasher, value: &serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_unstable();
            hash.update(b"{").update(&(keys.len() as u64).to_le_bytes());
            for key in keys {
                part(hash, key.as_bytes());
                canonical(hash, &map[key]);
            }
        }
        serde_json::Value::Array(items) => {
            hash.update(b"[").update(&(items.len() as u64).to_le_bytes());
            for item in items {
                canonical(hash, item);
            }
        }
        serde_json::Value::String(text) => {
            hash.update(b"\"");
            part(hash, text.as_bytes());
        }
        other => part(hash, other.to_string().as_bytes()),
    }
}

fn part(hash: &mut blake3::Hasher, bytes: &[u8]) {
    hash.update(&(bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn cut(hash: &blake3::Hasher) -> [u8; 16] {
    let mut id = [0; 16];
    id.copy_from_slice(&hash.finalize().as_bytes()[..16]);
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As all vectors of identities, it may never change; the others stand in `tests/identity.rs`.
    #[test]
    fn the_digest_of_a_turn_that_a_command_was_added_to() {
        let turn = Digest::from_bytes(std::array::from_fn(|i| u8::try_from(i).unwrap_or_default()));
        let by = Digest::from_bytes(std::array::from_fn(|i| 0xf0 + u8::try_from(i).unwrap_or_default()));
        assert_eq!(extend(turn, by).to_string(), "484613b8b2223475613c1978f3a7b8f0");
    }
}
