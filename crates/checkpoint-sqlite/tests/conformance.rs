//! The contract that all stores share, on a file.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use superstep_checkpoint::Checkpointer;
use superstep_checkpoint_sqlite::Sqlite;
use superstep_checkpoint_testkit::StoreFactory;
use tempfile::TempDir;

struct File;

async fn open(dir: &TempDir) -> Arc<dyn Checkpointer> {
    Arc::new(Sqlite::open(dir.path().join("store.db")).await.unwrap())
}

#[async_trait::async_trait]
impl StoreFactory for File {
    type Guard = TempDir;

    async fn fresh(&self) -> (Arc<dyn Checkpointer>, TempDir) {
        let dir = tempfile::tempdir().unwrap();
        (open(&dir).await, dir)
    }

    async fn reopen(&self, dir: &TempDir) -> Option<Arc<dyn Checkpointer>> {
        Some(open(dir).await)
    }
}

superstep_checkpoint_testkit::conformance!(File);
