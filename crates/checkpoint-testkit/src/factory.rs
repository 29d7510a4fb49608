//! Where the suite gets its stores from.

use std::sync::Arc;

use async_trait::async_trait;
use superstep_checkpoint::Checkpointer;

/// Makes the stores that the suite is run on.
#[async_trait]
pub trait StoreFactory: Send + Sync + 'static {
    /// What keeps the place of the data: a temporary folder, a schema, a prefix of keys. Dropped after the last handle;
    /// dropping it cleans up.
    type Guard: Send + Sync + 'static;

    /// A handle on a fresh, empty store.
    async fn fresh(&self) -> (Arc<dyn Checkpointer>, Self::Guard);

    /// Another handle on the same data, opened as another process would.
    ///
    /// `None`, the default, says that the data does not outlive its handle; a store that
    /// [promises](Checkpointer::guarantees) more than the life of the process may not say so. Where the store is shared,
    /// the suite calls this while earlier handles are in use, else after the last of them is dropped.
    async fn reopen(&self, _guard: &Self::Guard) -> Option<Arc<dyn Checkpointer>> {
        None
    }
}
