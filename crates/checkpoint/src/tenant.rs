//! A handle that reaches the threads of one tenant only.

use async_trait::async_trait;

use crate::checkpointer::{Checkpointer, StoreInstance};
use crate::commit::Commit;
use crate::error::{CommitError, StoreError, StoreErrorKind};
use crate::guarantee::{Abilities, Guarantees};
use crate::id::{NamespaceKey, TenantId, ThreadKey};
use crate::view::{At, ListQuery, StoredCheckpoint, View};

/// A store narrowed to one tenant; made by [`CheckpointerExt::tenant`](crate::CheckpointerExt::tenant).
#[derive(Clone, Debug)]
pub struct Tenant<C> {
    inner: C,
    tenant: TenantId,
}

impl<C: Checkpointer> Tenant<C> {
    pub(crate) fn new(inner: C, tenant: TenantId) -> Self {
        Self { inner, tenant }
    }

    fn check(&self, operation: &'static str, key: &ThreadKey) -> Result<(), StoreError> {
        if key.tenant == self.tenant {
            return Ok(());
        }
        let detail = format!("a key of tenant {:?} was given to the handle of tenant {:?}", key.tenant, self.tenant);
        Err(StoreError::new(StoreErrorKind::Denied, operation, detail))
    }
}

#[async_trait]
impl<C: Checkpointer> Checkpointer for Tenant<C> {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        self.check("commit", &commit.key.thread)?;
        self.inner.commit(commit).await
    }
    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        self.check("get", &key.thread)?;
        self.inner.get(key, at).await
    }
    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.check("list", &key.thread)?;
        self.inner.list(key, query).await
    }
    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        self.check("delete_thread", key)?;
        self.inner.delete_thread(key).await
    }
    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }
    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }
    fn tenant_id(&self) -> TenantId {
        self.tenant.clone()
    }
    fn instance(&self) -> StoreInstance {
        self.inner.instance()
    }
}
