//! What users of durable state graphs reported as broken, each as a test that has the report's number in its name.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, reason = "a test")]

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

mod cancel;
mod concurrency;
mod crash;
mod failure;
mod stream;
