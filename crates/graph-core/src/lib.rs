//! State graphs: builder, nodes, driver, streams, state API.

/// What `derive(State)` needs to say beyond [`State`](superstep_pregel::State). Not public API.
#[doc(hidden)]
#[macro_export]
macro_rules! __state_glue {
    ($state:ty, $update:ty) => {};
}
