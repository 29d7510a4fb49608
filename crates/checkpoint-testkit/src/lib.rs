//! checkpoint-testkit
