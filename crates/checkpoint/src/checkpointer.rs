//! The trait that stores implement.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use async_trait::async_trait;

use crate::commit::Commit;
use crate::error::{CommitError, StoreError};
use crate::guarantee::{Abilities, Guarantees};
use crate::id::{NamespaceKey, TenantId, ThreadKey};
use crate::tenant::Tenant;
use crate::view::{At, ListQuery, StoredCheckpoint, View};

/// A place for checkpoints. Narrow on purpose: one call that changes something, one that reads, one that lists, one
/// that deletes; usable as `Arc<dyn Checkpointer>`.
///
/// Calls for different threads may overlap in any way. For one namespace the engine never has two commits on their
/// way at once; reads may overlap with them. Futures may be dropped at any point: the operation then either happened
/// or it did not, as after a crash.
#[async_trait]
pub trait Checkpointer: Send + Sync + Debug + 'static {
    /// Applies a commit as a whole, or not at all.
    ///
    /// Checks come in this order, and the first that fails is the answer:
    ///
    /// 1. [what the commit alone shows](Commit::check_alone): `Invalid`; an op the store does not know: `Unsupported`;
    /// 2. an answer to an answered question: `AlreadyAnswered`;
    /// 3. the fence: `Fenced`. Without a row the thread has epoch 0 and no holder; a fence on a thread that nobody
    ///    holds does not match, and neither does a `Release` without one;
    /// 4. the head of the namespace, then the head of the root: `HeadMoved`;
    /// 5. what only the store knows: a position not after the last one, a checkpoint id in use, a question that does not
    ///    exist. `Invalid`; after the guard, so that a stale commit is called stale and not wrong.
    ///
    /// # Errors
    /// See [`CommitError`]; after every one of them but `InDoubt` nothing was written.
    async fn commit(&self, commit: Commit) -> Result<(), CommitError>;

    /// Reads the thread's row, the namespace's head and one checkpoint, as one consistent look.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails. What does not exist is `None`, no error.
    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError>;

    /// Lists checkpoints, newest first.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails. An unknown thread gives an empty list.
    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError>;

    /// Removes everything of a thread, in all namespaces, and leaves a tombstone that late writers cannot pass: a row
    /// that keeps the epoch and has no holder, nodes or graph. An unknown thread is no error and gets a tombstone of
    /// epoch 0, for a call on its way could create it. Deleting a tombstone raises its epoch by one, for a call that
    /// began between the two deletions named the next epoch.
    ///
    /// # Errors
    /// [`StoreError`] if the store fails.
    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError>;

    /// What the store promises under its present settings.
    fn guarantees(&self) -> Guarantees;

    /// What it can do beyond the required calls.
    fn abilities(&self) -> Abilities {
        Abilities::default()
    }

    /// Whose threads calls through this handle are about, the default tenant unless it is a [`Tenant`] handle, which also
    /// refuses keys of every other.
    fn tenant_id(&self) -> TenantId {
        TenantId::default()
    }

    /// Which store this is, inside this process: clones and wrappers of one handle give the same.
    fn instance(&self) -> StoreInstance;
}

/// Tells the stores of one process apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreInstance(u64);

impl StoreInstance {
    /// A new one, different from every other of this process.
    #[allow(clippy::new_without_default, reason = "two defaults would not be equal")]
    pub fn new() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

#[async_trait]
impl<C: Checkpointer + ?Sized> Checkpointer for Arc<C> {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        (**self).commit(commit).await
    }
    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        (**self).get(key, at).await
    }
    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        (**self).list(key, query).await
    }
    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        (**self).delete_thread(key).await
    }
    fn guarantees(&self) -> Guarantees {
        (**self).guarantees()
    }
    fn abilities(&self) -> Abilities {
        (**self).abilities()
    }
    fn tenant_id(&self) -> TenantId {
        (**self).tenant_id()
    }
    fn instance(&self) -> StoreInstance {
        (**self).instance()
    }
}

/// Conveniences on every store.
pub trait CheckpointerExt: Checkpointer + Sized {
    /// A handle that reaches only the threads of this tenant.
    fn tenant(self, tenant: TenantId) -> Tenant<Self> {
        Tenant::new(self, tenant)
    }
}

impl<C: Checkpointer + Sized> CheckpointerExt for C {}
