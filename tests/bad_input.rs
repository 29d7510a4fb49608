//! What callers, nodes and stores may get wrong: each is a typed error that says where and what to do, and leaves the
//! thread usable.
#![cfg(all(feature = "macros", feature = "sqlite"))]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod support;

/// One topic a file, in `tests/bad_input`.
mod bad_input {
    mod answers;
    mod calls;
    mod names;
    mod nodes;
    mod runs;
    mod secrets;
    mod stored;
    mod texts;
}
