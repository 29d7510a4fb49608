//! Durable state graphs for agents.
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "macros")]
#[cfg_attr(docsrs, doc(cfg(feature = "macros")))]
pub use superstep_graph_macros::State;
pub use superstep_pregel::{
    DynSchema, DynSchemaBuilder, DynState, DynUpdate, InvalidSchema, NotAnObject, State, Write, reduce,
};

/// What the macros refer to. Not public API.
#[doc(hidden)]
pub mod __macro {
    pub use superstep_graph_core::__state_glue as state_glue;
    pub use superstep_pregel as pregel;
}
