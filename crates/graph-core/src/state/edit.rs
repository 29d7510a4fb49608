//! Edits of a thread's state.

/// An edit: what to write, and as which node. Made from an update, or with [`new`](StateEdit::new).
#[derive(Clone, Debug)]
#[must_use]
pub struct StateEdit<U> {
    pub(crate) update: Option<U>,
    pub(crate) as_node: Option<String>,
}

impl<U> StateEdit<U> {
    /// An edit that writes this, as the node that ran last.
    pub fn new(update: U) -> Self {
        Self { update: Some(update), as_node: None }
    }

    /// An edit that writes nothing: only the node's edges and routers count.
    pub fn nothing() -> Self {
        Self { update: None, as_node: None }
    }

    /// As this node: its edges and routers decide what comes next.
    pub fn as_node(mut self, node: impl Into<String>) -> Self {
        self.as_node = Some(node.into());
        self
    }
}

impl<U> From<U> for StateEdit<U> {
    fn from(update: U) -> Self {
        Self::new(update)
    }
}
