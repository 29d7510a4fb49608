//! The store that keeps everything in the process.
/// placeholder
#[derive(Clone, Debug, Default)]
pub struct Memory;
