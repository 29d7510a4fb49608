//! The store that keeps everything in the process: the reference that the others are compared with.

mod check;
mod records;
mod space;
#[cfg(test)]
mod tests;
mod thread;

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::SystemTime;

use async_trait::async_trait;

use self::thread::Thread;
use crate::checkpointer::{Checkpointer, StoreInstance};
use crate::commit::Commit;
use crate::error::{CommitError, StoreError};
use crate::guarantee::{Durable, Guarantees};
use crate::id::{NamespaceKey, ThreadKey};
use crate::view::{At, ListQuery, StoredCheckpoint, View};

/// A store in the memory of the process. Clones share what is stored; it is gone when the last of them is.
///
/// For tests and for work that may be lost. That it forgets is plain from its name, so every durability is allowed.
#[derive(Clone)]
pub struct Memory {
    shared: Arc<Shared>,
}

struct Shared {
    instance: StoreInstance,
    /// Each thread has a lock of its own: a commit to one holds up another for a look-up at most.
    threads: RwLock<HashMap<ThreadKey, Arc<Mutex<Thread>>>>,
}

impl Memory {
    /// An empty store.
    pub fn new() -> Self {
        Self { shared: Arc::new(Shared { instance: StoreInstance::new(), threads: RwLock::default() }) }
    }

    fn find(&self, key: &ThreadKey) -> Option<Arc<Mutex<Thread>>> {
        self.shared.threads.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned()
    }

    fn find_or_insert(&self, key: &ThreadKey) -> Arc<Mutex<Thread>> {
        let mut threads = self.shared.threads.write().unwrap_or_else(PoisonError::into_inner);
        threads.entry(key.clone()).or_default().clone()
    }

    fn commit_now(&self, commit: Commit) -> Result<(), CommitError> {
        commit.check_alone()?;
        let thread = if let Some(thread) = self.find(&commit.key.thread) {
            thread
        } else {
            // Refused on an empty thread means refused here: no entry is left behind.
            Thread::default().check(&commit)?;
            self.find_or_insert(&commit.key.thread)
        };
        let mut thread = lock(&thread);
        thread.check(&commit)?;
        thread.apply(commit, SystemTime::now());
        Ok(())
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let threads = self.shared.threads.read().unwrap_or_else(PoisonError::into_inner).len();
        f.debug_struct("Memory").field("threads", &threads).finish_non_exhaustive()
    }
}

fn lock(thread: &Mutex<Thread>) -> MutexGuard<'_, Thread> {
    thread.lock().unwrap_or_else(PoisonError::into_inner)
}

#[async_trait]
impl Checkpointer for Memory {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        self.commit_now(commit)
    }

    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        Ok(self.find(&key.thread).map(|thread| lock(&thread).view(&key.namespace, at)).unwrap_or_default())
    }

    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        Ok(self.find(&key.thread).map(|thread| lock(&thread).list(&key.namespace, query)).unwrap_or_default())
    }

    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        let thread = self.find_or_insert(key);
        let removed = lock(&thread).delete(SystemTime::now());
        // Freeing a long thread takes a while; the lock is already given back.
        drop(removed);
        Ok(())
    }

    fn guarantees(&self) -> Guarantees {
        Guarantees::new("memory", Durable::Process).volatile_allowed()
    }

    fn instance(&self) -> StoreInstance {
        self.shared.instance
    }
}
