//! All SQL that reads and writes checkpoints. Everything a user gave is bound; no text is put together from it.

pub(crate) mod read;
pub(crate) mod write;

#[cfg(test)]
mod tests;
