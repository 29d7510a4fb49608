//! One thread in memory: its row and its namespaces.

use std::collections::HashMap;
use std::time::SystemTime;

use super::space::Space;
use crate::commit::{Commit, Op};
use crate::id::{Epoch, Namespace};
use crate::thread::{Status, ThreadRow};
use crate::view::{At, ListQuery, StoredCheckpoint, View};

/// A thread, or the place where one may come to be: without a row it never was.
#[derive(Default)]
pub(super) struct Thread {
    pub(super) row: Option<ThreadRow>,
    pub(super) spaces: HashMap<Namespace, Space>,
}

impl Thread {
    /// Applies a commit that passed all checks under the same lock.
    pub(super) fn apply(&mut self, commit: Commit, now: SystemTime) {
        let Commit { key, ops, .. } = commit;
        let is_root = key.namespace.is_root();
        let row = live_row(&mut self.row, now);
        let space = self.spaces.entry(key.namespace).or_default();
        for op in ops {
            match op {
                Op::PutCheckpoint(new) => {
                    if is_root {
                        row.graph.clone_from(&new.checkpoint.graph.name);
                    }
                    space.put_checkpoint(*new);
                }
                Op::PutWrites { checkpoint, writes } => space.put_writes(checkpoint, writes),
                Op::Answer(answer) => space.put_writes(answer.checkpoint, vec![answer.write()]),
                Op::SetStatus { status, next } => (row.status, row.next) = (status, next),
                Op::Claim { owner } => (row.owner, row.epoch) = (Some(owner), row.epoch.next()),
                Op::Release => (row.owner, row.epoch) = (None, row.epoch.next()),
            }
        }
        row.updated_at = now;
    }

    /// Leaves a tombstone and hands back what is to be freed.
    pub(super) fn delete(&mut self, now: SystemTime) -> HashMap<Namespace, Space> {
        let row = self.row.get_or_insert_with(|| new_row(now));
        if row.deleted {
            // A call that began after the first deletion and before this one named the next epoch.
            row.epoch = row.epoch.next();
        }
        *row = ThreadRow { epoch: row.epoch, created_at: row.created_at, deleted: true, ..new_row(now) };
        row.status = Status::Done;
        std::mem::take(&mut self.spaces)
    }

    pub(super) fn view(&self, namespace: &Namespace, at: At) -> View {
        let space = self.spaces.get(namespace);
        View {
            thread: self.row.clone(),
            namespace: space.and_then(Space::row),
            found: space.and_then(|space| space.find(at)),
        }
    }

    pub(super) fn list(&self, namespace: &Namespace, query: &ListQuery) -> Vec<StoredCheckpoint> {
        self.spaces.get(namespace).map(|space| space.list(query)).unwrap_or_default()
    }
}

/// The row to write to. A tombstone comes back to life: the guard named the epoch after its own.
fn live_row(row: &mut Option<ThreadRow>, now: SystemTime) -> &mut ThreadRow {
    let row = row.get_or_insert_with(|| new_row(now));
    if row.deleted {
        *row = ThreadRow { epoch: row.epoch.next(), created_at: row.created_at, ..new_row(now) };
    }
    row
}

fn new_row(now: SystemTime) -> ThreadRow {
    ThreadRow {
        epoch: Epoch(0),
        owner: None,
        status: Status::Ready,
        next: Vec::new(),
        graph: String::new(),
        deleted: false,
        created_at: now,
        updated_at: now,
    }
}
