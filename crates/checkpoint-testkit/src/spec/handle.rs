//! The handle itself, and what it shows.

use superstep_checkpoint::{Checkpointer, CheckpointerExt, Durable, TenantId};

use crate::sample::{after, answer, ask, empty, first, key, point, result, root};
use crate::test_store::TestStore;

/// A name for people, and promises that fit together.
pub async fn guarantees_are_told(store: TestStore) {
    let told = store.guarantees();
    assert!(!told.store.trim().is_empty());
    if told.durable == Durable::Process {
        assert!(!told.shared, "a store that dies with its process cannot be shared between processes");
    }
    // They are the settings', not the data's.
    store.apply(first(&root("t")).put(point(1))).await;
    assert_eq!(store.guarantees(), told);
}

/// Clones and wrappers of one handle are one store; another store is another.
pub async fn an_instance_names_one_store(store: TestStore) {
    let instance = store.instance();
    assert_eq!(store.instance(), instance);
    assert_eq!(store.handle().instance(), instance);
    assert_eq!(store.handle().tenant(TenantId::default()).instance(), instance);
    assert_ne!(store.another().await.instance(), instance);
}

/// Each case begins with nothing.
pub async fn two_fresh_stores_share_nothing(store: TestStore) {
    let other = store.another().await;
    store.apply(first(&root("t")).put(point(1))).await;
    assert!(other.all(&root("t")).await.is_empty());
    other.apply(first(&root("t")).put(point(1))).await;
}

/// A bare handle is the default tenant's, whatever it holds.
pub async fn a_bare_handle_belongs_to_the_default_tenant(store: TestStore) {
    store.apply(first(&key("acme", "t", "")).put(point(1))).await;
    assert!(store.tenant_id().is_default());
}

/// Neither `Debug` nor errors show what the state holds.
pub async fn values_are_shown_nowhere(store: TestStore) {
    let key = root("t");
    let secret = "hunter2-hunter2";
    let holding = point(1).base("x", secret).args(secret);
    let mut reply = answer(1, 1, 1, 1);
    reply.bytes = secret.into();
    store.apply(first(&key).put(holding).writes(1, [ask(1, 1), result(1, secret)]).answer(reply.clone())).await;
    assert!(!format!("{:?} {:?}", store.handle(), store.guarantees()).contains(secret));
    let laden = |n: u64| point(n).base("x", secret).args(secret);
    let refused = [
        store.refuse(after(&key, 1).put(laden(1).seq(2))).await,
        store.refuse(after(&key, 1).put(laden(2)).writes(9, [result(1, secret)])).await,
        store.refuse(empty(&key, 0).put(laden(2))).await,
        store.refuse(after(&key, 1).fenced(1, 1).put(laden(2))).await,
        store.refuse(after(&key, 1).answer(reply)).await,
    ];
    for error in refused {
        let shown = format!("{error} {error:?}");
        assert!(!shown.contains(secret), "{shown}");
    }
}
