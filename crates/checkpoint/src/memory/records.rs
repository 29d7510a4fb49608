//! The records on one checkpoint, in the order in which they are given back.

use crate::id::TaskId;
use crate::write::{Write, WriteKind};

/// Records by place. A sorted list rather than a tree: most checkpoints hold a handful, and a node of a tree is larger
/// than all of them.
#[derive(Default)]
pub(super) struct Records {
    #[expect(clippy::vec_box, reason = "making room moves pointers, not records, where thousands of tasks end")]
    sorted: Vec<Box<Write>>,
}

impl Records {
    /// Adds a record, or replaces the one at its place.
    pub(super) fn put(&mut self, write: Write) {
        match self.position(write.task, write.kind, write.path.as_str()) {
            Ok(at) => *self.sorted[at] = write,
            Err(at) => self.sorted.insert(at, Box::new(write)),
        }
    }

    pub(super) fn contains(&self, task: TaskId, kind: WriteKind, path: &str) -> bool {
        self.position(task, kind, path).is_ok()
    }

    pub(super) fn to_vec(&self) -> Vec<Write> {
        self.sorted.iter().map(|write| Write::clone(write)).collect()
    }

    fn position(&self, task: TaskId, kind: WriteKind, path: &str) -> Result<usize, usize> {
        let wanted = (task, kind.code(), path);
        self.sorted.binary_search_by(|write| (write.task, write.kind.code(), write.path.as_str()).cmp(&wanted))
    }
}
