//! Tests for checkpoint stores, and stores for tests.
//!
//! * [`conformance!`] runs every case of the contract against a store: one `#[test]` a case.
//! * [`Faulty`] is a store that fails on purpose, [`Recording`] one that remembers every call; both wrap another.
//! * [`crash_at_every_point`] disturbs a scenario at every one of its calls.
//! * [`sample`] builds keys, checkpoints and commits in few words.
//!
//! # Testing a store
//!
//! ```
//! use std::sync::Arc;
//! use superstep_checkpoint::{Checkpointer, Memory};
//! use superstep_checkpoint_testkit::StoreFactory;
//!
//! struct InMemory;
//!
//! #[async_trait::async_trait]
//! impl StoreFactory for InMemory {
//!     type Guard = ();
//!     async fn fresh(&self) -> (Arc<dyn Checkpointer>, ()) {
//!         (Arc::new(Memory::new()), ())
//!     }
//! }
//!
//! superstep_checkpoint_testkit::conformance!(InMemory);
//! # fn main() {}
//! ```
//!
//! A new case is written in a chapter of [`spec`] and added to the list in `cases.rs`; it then reaches every store.

mod cases;
mod crash;
mod faulty;
mod recording;
mod splitmix;
mod test_store;

#[allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]
pub mod sample;
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::missing_panics_doc)]
pub mod spec;

mod factory;

pub use cases::CASES;
pub use crash::{CrashPoint, CrashReport, Mishap, crash_at_every_point};
pub use factory::StoreFactory;
pub use faulty::{Fault, Faulty};
pub use recording::{Call, CommitCall, CommitOutcome, Counts, OpSummary, Recording};
pub use test_store::{TestStore, run};
