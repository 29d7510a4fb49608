//! The shortest way through the store.
#![allow(clippy::unwrap_used)]

mod common;

use superstep_checkpoint::{At, Checkpointer, ListQuery};
use superstep_checkpoint_sqlite::Sqlite;

#[tokio::test]
async fn steps_are_there_after_reopening() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("a.db");
    let store = Sqlite::open(&path).await.unwrap();
    for n in 1..=3 {
        store.commit(common::step("t", n)).await.unwrap();
    }
    store.close().await;
    let store = Sqlite::open(&path).await.unwrap();
    let view = store.get(&common::key("t"), At::Head).await.unwrap();
    assert_eq!(view.namespace.unwrap().head, common::id(3));
    let found = view.found.unwrap();
    assert_eq!(*found.checkpoint, common::checkpoint(3));
    assert_eq!(found.values[0].parts[0].bytes, "3");
    let list = store.list(&common::key("t"), &ListQuery::default()).await.unwrap();
    assert_eq!(list.len(), 3);
    assert_eq!(list[2].values[0].parts[0].bytes, "1");
}
