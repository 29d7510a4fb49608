//! The store that fails on purpose.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::time::Duration;

use superstep_checkpoint::{At, Checkpointer, CommitError, ListQuery, Memory, Retry, StoreErrorKind};
use superstep_checkpoint_testkit::sample::{Draft, after, first, id, point, root};
use superstep_checkpoint_testkit::{Fault, Faulty};

/// Commits checkpoint `n` after the one before it.
async fn commit<C: Checkpointer>(store: &Faulty<C>, n: u64) -> Result<(), CommitError> {
    store.commit(step(n).into()).await
}

fn step(n: u64) -> Draft {
    let key = root("t");
    let draft = if n == 1 { first(&key) } else { after(&key, n - 1) };
    draft.put(point(n))
}

/// The number of checkpoints that reached the store.
async fn stored(store: &Memory) -> usize {
    store.list(&root("t"), &ListQuery::default()).await.unwrap().len()
}

#[tokio::test]
async fn a_fault_before_reaches_nothing() {
    let inner = Memory::new();
    let store = Faulty::new(inner.clone()).on_commit(2, Fault::Before(StoreErrorKind::Full));
    commit(&store, 1).await.unwrap();
    let error = commit(&store, 2).await.unwrap_err();
    assert!(matches!(error, CommitError::Store(error) if error.kind() == StoreErrorKind::Full));
    assert_eq!(stored(&inner).await, 1);
    commit(&store, 2).await.unwrap();
    assert_eq!((store.calls(), store.commits()), (3, 3));
}

#[tokio::test]
async fn a_fault_after_leaves_the_commit_in_doubt_and_applied() {
    let inner = Memory::new();
    let store = Faulty::new(inner.clone()).on_commit(1, Fault::After);
    let error = commit(&store, 1).await.unwrap_err();
    let CommitError::InDoubt { thread, source } = error else { panic!("{error:?}") };
    assert_eq!((thread, source.retry()), (root("t").thread, Retry::MayHelp));
    assert_eq!(store.get(&root("t"), At::Head).await.unwrap().namespace.unwrap().head, id(1));
}

#[tokio::test]
async fn calls_and_commits_are_counted_apart() {
    let key = root("t");
    let store = Faulty::new(Memory::new())
        .on_call(2, Fault::Before(StoreErrorKind::Timeout))
        .on_call(4, Fault::After)
        .on_commit(2, Fault::Before(StoreErrorKind::Locked));
    commit(&store, 1).await.unwrap();
    assert_eq!(store.get(&key, At::Head).await.unwrap_err().kind(), StoreErrorKind::Timeout);
    let error = commit(&store, 2).await.unwrap_err();
    assert!(matches!(error, CommitError::Store(error) if error.kind() == StoreErrorKind::Locked));
    assert_eq!(store.delete_thread(&key.thread).await.unwrap_err().kind(), StoreErrorKind::Connection);
    assert!(store.list(&key, &ListQuery::default()).await.unwrap().is_empty(), "the deletion was carried out");
    assert_eq!((store.calls(), store.commits()), (5, 2));
}

#[tokio::test(start_paused = true)]
async fn a_delayed_call_is_carried_out_later() {
    let store = Faulty::new(Memory::new()).on_call(1, Fault::Delay(Duration::from_secs(5)));
    let start = tokio::time::Instant::now();
    commit(&store, 1).await.unwrap();
    assert_eq!(start.elapsed(), Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn a_hanging_call_never_ends() {
    let day = Duration::from_hours(24);
    let inner = Memory::new();
    let store = Faulty::new(inner.clone()).on_call(1, Fault::Hang).on_call(2, Fault::HangAfter);
    assert!(tokio::time::timeout(day, commit(&store, 1)).await.is_err());
    assert_eq!(stored(&inner).await, 0);
    assert!(tokio::time::timeout(day, commit(&store, 1)).await.is_err());
    assert_eq!(stored(&inner).await, 1);
}

#[tokio::test]
async fn after_a_crash_nothing_gets_through() {
    for survivors in 0..=3 {
        let inner = Memory::new();
        let store = Faulty::new(inner.clone()).crash_after(survivors);
        for n in 1..=3 {
            let result = commit(&store, n).await;
            assert_eq!(result.is_ok(), n <= survivors, "call {n}");
            if let Err(error) = result {
                assert!(matches!(error, CommitError::Store(e) if e.kind() == StoreErrorKind::Connection));
            }
        }
        assert_eq!(store.crashed(), survivors < 3);
        assert_eq!(stored(&inner).await as u64, survivors);
    }
}

#[tokio::test]
async fn a_crash_during_a_call_loses_its_answer_only() {
    let inner = Memory::new();
    let store = Faulty::new(inner.clone()).crash_during(2);
    commit(&store, 1).await.unwrap();
    assert!(!store.crashed());
    assert!(matches!(commit(&store, 2).await, Err(CommitError::InDoubt { .. })));
    assert!(store.crashed());
    assert!(store.get(&root("t"), At::Head).await.is_err());
    assert_eq!(stored(&inner).await, 2);
}

#[tokio::test]
async fn a_healed_store_works_and_counts_on() {
    let store = Faulty::new(Memory::new()).crash_after(0).on_call(2, Fault::Hang);
    assert!(commit(&store, 1).await.is_err());
    store.heal();
    assert!(!store.crashed());
    commit(&store, 1).await.unwrap();
    assert_eq!(store.calls(), 2);
}

/// Which of 2,000 reads fail.
async fn failures(seed: u64) -> Vec<usize> {
    let faults = [(Fault::Before(StoreErrorKind::Connection), 50), (Fault::After, 50)];
    let store = Faulty::new(Memory::new()).by_chance(seed, faults);
    let mut failed = Vec::new();
    for n in 0..2_000 {
        if store.get(&root("t"), At::Head).await.is_err() {
            failed.push(n);
        }
    }
    failed
}

#[tokio::test]
async fn chance_is_the_same_each_time_and_as_frequent_as_asked() {
    let failed = failures(7).await;
    assert_eq!(failed, failures(7).await);
    assert_ne!(failed, failures(8).await);
    assert!((120..280).contains(&failed.len()), "{} of 2,000 instead of about 200", failed.len());
}

#[tokio::test]
async fn clones_share_their_faults() {
    let store = Faulty::new(Memory::new()).on_commit(2, Fault::After);
    commit(&store, 1).await.unwrap();
    assert!(commit(&store.clone(), 2).await.is_err());
    assert_eq!(store.commits(), 2);
}
