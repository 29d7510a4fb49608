//! A driver without async: it performs effects on a store in memory, one after the other, and may die after any of them.
#![allow(dead_code, reason = "each test uses its part")]

pub(crate) mod call;
pub(crate) mod graph;
pub(crate) mod model;
pub(crate) mod random;
pub(crate) mod rng;
pub(crate) mod runner;
pub(crate) mod script;
pub(crate) mod text;
pub(crate) mod thread;
pub(crate) mod words;
