//! A store that remembers every call.

mod call;
mod counts;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use superstep_checkpoint::{
    Abilities, At, Checkpointer, Commit, CommitError, Guarantees, ListQuery, NamespaceKey, StoreError, StoreInstance,
    StoredCheckpoint, TenantId, ThreadKey, View,
};

pub use self::call::{Call, CommitCall, CommitOutcome, OpSummary};
pub use self::counts::Counts;

/// A store around another that remembers what it was asked, in the order in which calls began. Clones share the memory.
#[derive(Clone, Debug)]
pub struct Recording<C> {
    inner: C,
    log: Arc<Mutex<Log>>,
}

#[derive(Debug, Default)]
struct Log {
    calls: Vec<Call>,
    /// How many calls were handed over and forgotten before these.
    taken: usize,
}

impl<C: Checkpointer> Recording<C> {
    /// A store that remembers nothing yet.
    pub fn new(inner: C) -> Self {
        Self { inner, log: Arc::default() }
    }

    /// All calls so far.
    pub fn calls(&self) -> Vec<Call> {
        self.log().calls.clone()
    }

    /// All commits so far.
    pub fn commits(&self) -> Vec<CommitCall> {
        self.log().calls.iter().filter_map(Call::commit).cloned().collect()
    }

    /// What was called how often, and how many bytes were handed over.
    pub fn counts(&self) -> Counts {
        Counts::of(&self.log().calls)
    }

    /// Hands the calls over and forgets them. A call under way keeps `outcome: None`.
    pub fn take(&self) -> Vec<Call> {
        let mut log = self.log();
        let calls = std::mem::take(&mut log.calls);
        log.taken += calls.len();
        calls
    }

    /// The store inside, unobserved.
    pub fn inner(&self) -> &C {
        &self.inner
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a call; gives its number, by which to note its outcome.
    fn note(&self, call: Call) -> usize {
        let mut log = self.log();
        log.calls.push(call);
        log.taken + log.calls.len() - 1
    }

    fn note_outcome(&self, number: usize, result: &Result<(), CommitError>) {
        let mut log = self.log();
        let Some(at) = number.checked_sub(log.taken) else { return };
        if let Some(Call::Commit(commit)) = log.calls.get_mut(at) {
            commit.outcome = Some(CommitOutcome::of(result));
        }
    }
}

#[async_trait]
impl<C: Checkpointer> Checkpointer for Recording<C> {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        let number = self.note(Call::Commit(CommitCall::of(&commit)));
        let result = self.inner.commit(commit).await;
        self.note_outcome(number, &result);
        result
    }

    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        self.note(Call::Get { key: key.clone(), at });
        self.inner.get(key, at).await
    }

    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.note(Call::List { key: key.clone(), query: query.clone() });
        self.inner.list(key, query).await
    }

    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        self.note(Call::Delete { key: key.clone() });
        self.inner.delete_thread(key).await
    }

    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }

    fn tenant_id(&self) -> TenantId {
        self.inner.tenant_id()
    }

    fn instance(&self) -> StoreInstance {
        self.inner.instance()
    }
}
