//! pregel
