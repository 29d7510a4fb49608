//! Durable state graphs for agents.
#![cfg_attr(docsrs, feature(doc_cfg))]

/// What the macros refer to. Not public API.
#[doc(hidden)]
pub mod __macro {
    pub use superstep_graph_core::__state_glue as state_glue;
    pub use superstep_pregel as pregel;
}
