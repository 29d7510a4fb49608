//! checkpoint-sqlite
