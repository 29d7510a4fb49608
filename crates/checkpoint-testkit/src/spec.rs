//! The contract as cases, by chapter. Each case has a fresh store and one claim, which is its name.
//!
//! Nothing here is called by hand: [`conformance!`](crate::conformance) makes a test of every case.

pub mod answers;
pub mod commit;
pub mod concurrency;
pub mod delete;
pub mod fence;
pub mod get;
pub mod guard;
pub mod handle;
pub mod isolation;
pub mod list;
pub mod odd;
pub mod reopen;
pub mod tenants;
pub mod validity;
pub mod values;
pub mod whole;
pub mod writes;
