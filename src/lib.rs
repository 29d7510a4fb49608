//! superstep
