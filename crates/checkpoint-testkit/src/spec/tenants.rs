//! Tenants, and handles that reach one of them only.

use superstep_checkpoint::{
    At, Checkpointer, CheckpointerExt, CommitError, FoundHead, ListQuery, StoreError, StoreErrorKind, TenantId, View,
};

use crate::sample::{after, fenced, first, id, key, moved, point, values};
use crate::test_store::TestStore;

fn tenant(name: &str) -> TenantId {
    TenantId::new(name).unwrap()
}

/// Same thread, same namespace, three tenants.
pub async fn tenants_share_nothing(store: TestStore) {
    let keys = [key("", "t", ""), key("acme", "t", ""), key("acme2", "t", "")];
    for key in &keys {
        store.apply(first(key).put(point(1).base("x", key.thread.tenant.to_string()))).await;
    }
    for key in &keys {
        assert_eq!(values(&store.head(key).await), format!("x={}", key.thread.tenant));
    }
    store.apply(after(&keys[1], 1).put(point(2)).claim(1)).await;
    assert_eq!(fenced(&store.refuse(after(&keys[1], 2).put(point(3))).await), 1);
    assert_eq!(moved(&store.refuse(after(&keys[0], 2).put(point(3))).await), FoundHead::Head(id(1)));
    store.apply(after(&keys[0], 1).put(point(2))).await;
}

/// Or else the same thread of a neighbour would go with it.
pub async fn deleting_goes_by_tenant(store: TestStore) {
    let (own, other) = (key("acme", "t", ""), key("", "t", ""));
    store.apply(first(&own).put(point(1))).await;
    store.apply(first(&other).put(point(1))).await;
    store.delete(&own).await;
    assert!(store.row(&own).await.deleted);
    assert!(!store.row(&other).await.deleted);
    assert_eq!(store.all(&other).await.len(), 1);
}

/// The bare handle reads what a tenant's handle wrote, and the other way round.
pub async fn a_tenants_handle_reaches_its_own_threads(store: TestStore) {
    let own = key("acme", "t", "");
    let handle = store.handle().tenant(tenant("acme"));
    handle.commit(first(&own).put(point(1).base("x", "a")).into()).await.unwrap();
    assert_eq!(values(&store.head(&own).await), "x=a");
    store.apply(after(&own, 1).put(point(2))).await;
    assert_eq!(handle.get(&own, At::Head).await.unwrap(), store.view(&own, At::Head).await);
    assert_eq!(handle.list(&own, &ListQuery::default()).await.unwrap().len(), 2);
    handle.delete_thread(&own.thread).await.unwrap();
    assert!(store.row(&own).await.deleted);
    assert_eq!(handle.tenant_id(), tenant("acme"));
    assert_eq!(handle.instance(), store.instance());
}

fn denied<T: std::fmt::Debug>(result: Result<T, StoreError>) {
    assert_eq!(result.unwrap_err().kind(), StoreErrorKind::Denied);
}

/// Every call, and nothing is written.
pub async fn a_tenants_handle_refuses_keys_of_another(store: TestStore) {
    let (default, acme) = (key("", "t", ""), key("acme", "t", ""));
    store.apply(first(&default).put(point(1))).await;
    store.apply(first(&acme).put(point(1))).await;
    for (handle, other) in [
        (store.handle().tenant(tenant("acme")), &default),
        (store.handle().tenant(TenantId::default()), &acme),
        (store.handle().tenant(tenant("acm")), &acme),
        (store.handle().tenant(tenant("Acme")), &acme),
    ] {
        denied(handle.get(other, At::Head).await);
        denied(handle.list(other, &ListQuery::default()).await);
        denied(handle.delete_thread(&other.thread).await);
        let error = handle.commit(after(other, 1).put(point(2)).into()).await.unwrap_err();
        assert!(matches!(error, CommitError::Store(error) if error.kind() == StoreErrorKind::Denied));
    }
    assert_eq!(store.all(&default).await.len(), 1);
    assert_eq!(store.all(&acme).await.len(), 1);
}

/// A handle of a handle reaches no further.
pub async fn a_tenants_handle_cannot_be_widened(store: TestStore) {
    let own = key("acme", "t", "");
    let other = key("other", "t", "");
    let handle = store.handle().tenant(tenant("acme")).tenant(tenant("other"));
    denied(handle.get(&own, At::Head).await);
    denied(handle.get(&other, At::Head).await);
    assert_eq!(store.view(&other, At::Head).await, View::default());
}
