//! graph-core
