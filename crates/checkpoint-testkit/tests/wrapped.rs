//! The whole contract through both wrappers, on a store in memory that claims to outlive its handles: so the wrappers
//! are seen to change nothing, and the chapters on reopening and on two handles have something to open.

use std::sync::Arc;

use superstep_checkpoint::{
    At, Checkpointer, Commit, CommitError, Durable, Guarantees, ListQuery, Memory, NamespaceKey, StoreError,
    StoreInstance, StoredCheckpoint, ThreadKey, View,
};
use superstep_checkpoint_testkit::{Faulty, Recording, StoreFactory};

/// A handle on a store that stays.
#[derive(Clone, Debug)]
struct Kept(Memory);

#[async_trait::async_trait]
impl Checkpointer for Kept {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        self.0.commit(commit).await
    }
    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        self.0.get(key, at).await
    }
    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.0.list(key, query).await
    }
    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        self.0.delete_thread(key).await
    }
    fn guarantees(&self) -> Guarantees {
        Guarantees::new("kept in memory", Durable::ProcessCrash)
    }
    fn instance(&self) -> StoreInstance {
        self.0.instance()
    }
}

struct Wrapped;

fn wrapped(kept: &Kept) -> Arc<dyn Checkpointer> {
    Arc::new(Recording::new(Faulty::new(kept.clone())))
}

#[async_trait::async_trait]
impl StoreFactory for Wrapped {
    type Guard = Kept;

    async fn fresh(&self) -> (Arc<dyn Checkpointer>, Kept) {
        let kept = Kept(Memory::new());
        (wrapped(&kept), kept)
    }

    async fn reopen(&self, kept: &Kept) -> Option<Arc<dyn Checkpointer>> {
        Some(wrapped(kept))
    }
}

superstep_checkpoint_testkit::conformance!(Wrapped);
