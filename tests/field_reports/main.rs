//! What users of durable state graphs reported as broken, each as a test that has the report's number in its name.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

#[path = "../support/children.rs"]
mod children;
#[path = "../support/gated.rs"]
mod gated;
#[path = "../support/history.rs"]
mod history;
#[path = "../support/polls.rs"]
mod polls;
#[macro_use]
mod scene;
#[path = "../support/mod.rs"]
mod support;

mod cancel;
mod concurrency;
mod crash;
mod events;
mod failure;
mod fixtures;
mod growth;
mod interrupts;
mod refusals;
mod savers;
mod steps;
mod stream;
mod time_travel;
mod values;
