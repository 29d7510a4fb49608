//! A store whose calls can be watched and held up from outside.

use async_trait::async_trait;
use superstep::checkpoint::{
    At, Commit, CommitError, Guarantees, ListQuery, NamespaceKey, Op, StoreInstance, StoredCheckpoint, TenantId,
    ThreadKey, View, WriteKind,
};
use superstep::{Checkpointer, StoreError, TaskId};

/// What is done around the calls of a store.
#[async_trait]
pub(crate) trait Gate: std::fmt::Debug + Send + Sync + 'static {
    /// Before a call reaches the store.
    async fn before(&self, call: Call);
    /// After the store answered. Tasks whose results it acknowledged are named.
    async fn after(&self, call: Call, acknowledged: Vec<TaskId>);
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Call {
    Commit,
    Get,
    List,
    Delete,
}

/// A store behind a gate.
#[derive(Clone, Debug)]
pub(crate) struct Gated<C, G> {
    inner: C,
    gate: G,
    instance: StoreInstance,
}

#[allow(dead_code, reason = "each test uses what it needs")]
impl<C: Checkpointer, G: Gate> Gated<C, G> {
    pub(crate) fn new(inner: C, gate: G) -> Self {
        let instance = inner.instance();
        Self { inner, gate, instance }
    }

    /// The same data as if another process had opened it: calls through this handle and through others do not know of
    /// each other.
    pub(crate) fn apart(self) -> Self {
        Self { instance: StoreInstance::new(), ..self }
    }

    async fn through<T>(&self, call: Call, work: impl Future<Output = T>) -> T {
        self.gate.before(call).await;
        let result = work.await;
        self.gate.after(call, Vec::new()).await;
        result
    }
}

/// The tasks whose results a commit carries.
fn results(commit: &Commit) -> Vec<TaskId> {
    let writes = commit.ops.iter().filter_map(|op| match op {
        Op::PutWrites { writes, .. } => Some(writes),
        _ => None,
    });
    writes.flatten().filter(|write| write.kind == WriteKind::Result).map(|write| write.task).collect()
}

#[async_trait]
impl<C: Checkpointer, G: Gate> Checkpointer for Gated<C, G> {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        let tasks = results(&commit);
        self.gate.before(Call::Commit).await;
        let result = self.inner.commit(commit).await;
        self.gate.after(Call::Commit, if result.is_ok() { tasks } else { Vec::new() }).await;
        result
    }

    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        self.through(Call::Get, self.inner.get(key, at)).await
    }

    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.through(Call::List, self.inner.list(key, query)).await
    }

    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        self.through(Call::Delete, self.inner.delete_thread(key)).await
    }

    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }

    fn tenant_id(&self) -> TenantId {
        self.inner.tenant_id()
    }

    fn instance(&self) -> StoreInstance {
        self.instance
    }
}
