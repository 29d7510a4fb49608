//! The whole contract on the in-memory store.

use std::sync::Arc;

use superstep_checkpoint::{Checkpointer, Memory};
use superstep_checkpoint_testkit::StoreFactory;

struct InMemory;

#[async_trait::async_trait]
impl StoreFactory for InMemory {
    type Guard = ();

    async fn fresh(&self) -> (Arc<dyn Checkpointer>, ()) {
        (Arc::new(Memory::new()), ())
    }
}

superstep_checkpoint_testkit::conformance!(InMemory);
