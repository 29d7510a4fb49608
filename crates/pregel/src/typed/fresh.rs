//! The default of a state, made when it is first needed.

/// The state before anything is written, from which single fields are taken. Made at most once.
#[derive(Debug)]
pub struct Fresh<S>(Option<S>);

impl<S: Default> Fresh<S> {
    /// Not yet made.
    pub const fn new() -> Self {
        Self(None)
    }

    /// The default, to compare with or to take fields from.
    pub fn get(&mut self) -> &mut S {
        self.0.get_or_insert_with(S::default)
    }
}

impl<S: Default> Default for Fresh<S> {
    fn default() -> Self {
        Self::new()
    }
}
