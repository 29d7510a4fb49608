//! Many at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use superstep_checkpoint::{
    At, Checkpointer, Commit, CommitError, FoundHead, ListQuery, NamespaceKey, Seq, Status, StoredCheckpoint,
};
use tokio::sync::Barrier;
use tokio::task::JoinSet;

use crate::sample::{after, answer, ask, empty, first, id, node, owner, point, result, root, seqs};
use crate::test_store::TestStore;

/// Sends all commits at the same moment, over this handle and, where the store is shared, over a second one.
async fn race(store: &TestStore, commits: Vec<Commit>) -> Vec<Result<(), CommitError>> {
    let handles = [store.handle(), store.second().await.map_or_else(|| store.handle(), |second| second.handle())];
    let start = Arc::new(Barrier::new(commits.len()));
    let mut tasks = JoinSet::new();
    for (i, commit) in commits.into_iter().enumerate() {
        let (handle, start) = (Arc::clone(&handles[i % 2]), Arc::clone(&start));
        tasks.spawn(async move {
            start.wait().await;
            (i, handle.commit(commit).await)
        });
    }
    let mut results = tasks.join_all().await;
    results.sort_by_key(|(i, _)| *i);
    results.into_iter().map(|(_, result)| result).collect()
}

/// The number, from 0, of the one that was applied.
fn only_winner(results: &[Result<(), CommitError>]) -> usize {
    let winners: Vec<_> = (0..results.len()).filter(|i| results[*i].is_ok()).collect();
    assert_eq!(winners.len(), 1, "{results:?}");
    winners[0]
}

fn losers(results: &[Result<(), CommitError>]) -> impl Iterator<Item = &CommitError> {
    results.iter().filter_map(|result| result.as_ref().err())
}

/// Ten times, since a race has many outcomes.
pub async fn of_two_writers_on_one_head_one_wins(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    let mut head = 1;
    for round in 1..=10 {
        let candidates = [round * 10, round * 10 + 1];
        let commits = candidates.map(|n| after(&key, head).put(point(n).seq(round + 1)).into());
        let results = race(&store, commits.into()).await;
        let winner = only_winner(&results);
        head = candidates[winner];
        let loser = results[1 - winner].as_ref().unwrap_err();
        assert!(matches!(loser, CommitError::HeadMoved { found: FoundHead::Head(found), .. } if *found == id(head)));
        assert_eq!(store.head(&key).await.checkpoint.id, id(head));
    }
    assert_eq!(store.all(&key).await.len(), 11);
}

/// The others are told who won.
pub async fn of_fifty_writers_on_one_head_exactly_one_wins(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    let commits = (100..150).map(|n| after(&key, 1).put(point(n).seq(2).base("x", n.to_string())).into()).collect();
    let results = race(&store, commits).await;
    let winner = id(100 + only_winner(&results) as u64);
    for error in losers(&results) {
        let told = matches!(error, CommitError::HeadMoved { found: FoundHead::Head(found), .. } if *found == winner);
        assert!(told, "{error:?}");
    }
    assert_eq!(store.head(&key).await.checkpoint.id, winner);
    assert_eq!(store.all(&key).await.len(), 2);
}

/// A new thread begins once.
pub async fn of_fifty_first_commits_exactly_one_wins(store: TestStore) {
    let key = root("t");
    let commits = (1..=50).map(|n| first(&key).put(point(n).seq(1)).into()).collect();
    let results = race(&store, commits).await;
    let winner = id(1 + only_winner(&results) as u64);
    assert!(losers(&results).all(|e| matches!(e, CommitError::HeadMoved { .. })));
    assert_eq!(store.head(&key).await.checkpoint.id, winner);
    assert_eq!(store.all(&key).await.len(), 1);
}

/// A deleted thread is opened once.
pub async fn of_fifty_first_commits_on_a_tombstone_exactly_one_wins(store: TestStore) {
    let key = root("t");
    store.delete(&key).await;
    let commits = (1..=50).map(|n| empty(&key, 1).put(point(n).seq(1)).into()).collect();
    only_winner(&race(&store, commits).await);
    assert_eq!(store.all(&key).await.len(), 1);
}

/// Fifty people click.
pub async fn of_fifty_answers_exactly_one_counts(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).writes(1, [ask(1, 1)])).await;
    let commits = (0..50).map(|n| after(&key, 1).answer(answer(1, 1, 1, n)).into()).collect();
    let results = race(&store, commits).await;
    let winner = only_winner(&results) as u64;
    assert!(losers(&results).all(|e| matches!(e, CommitError::AlreadyAnswered { .. })));
    assert_eq!(store.head(&key).await.writes[1], answer(1, 1, 1, winner).write());
}

/// A thread that nobody holds is taken once.
pub async fn of_fifty_claims_exactly_one_wins(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    let results = race(&store, (0..50).map(|n| after(&key, 1).claim(n).into()).collect()).await;
    let winner = only_winner(&results) as u64;
    assert!(losers(&results).all(|e| matches!(e, CommitError::Fenced { .. })));
    let row = store.row(&key).await;
    assert_eq!((row.epoch.0, row.owner), (1, Some(owner(winner))));
}

/// Results of parallel tasks do not get lost.
pub async fn fifty_records_put_at_once_are_all_there(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    let commits = (0..50).map(|n| after(&key, 1).writes(1, [result(n, "r")]).into()).collect();
    let results = race(&store, commits).await;
    assert!(results.iter().all(Result::is_ok), "{results:?}");
    assert_eq!(store.head(&key).await.writes.len(), 50);
}

/// Threads do not wait for one another, or at least do not break one another.
pub async fn many_threads_go_on_side_by_side(store: TestStore) {
    let mut tasks = JoinSet::new();
    for thread in 0..16 {
        let store = store.clone();
        tasks.spawn(async move {
            let key = root(&format!("thread {thread}"));
            store.apply(first(&key).put(point(1).base("x", "0"))).await;
            for n in 2..=15 {
                store.apply(after(&key, n - 1).put(point(n).segment("x", format!("{thread}")))).await;
            }
            assert_eq!(store.head(&key).await.values[0].parts.len(), 15);
        });
    }
    tasks.join_all().await;
    for thread in 0..16 {
        assert_eq!(store.all(&root(&format!("thread {thread}"))).await.len(), 15);
    }
}

/// Checkpoint `n` of the writer: two channels, a record, a status, all of them saying `n`.
fn telling(key: &NamespaceKey, n: u64) -> Commit {
    let text = n.to_string();
    let point = point(n).base("a", text.clone()).base("b", text.clone()).meta("n", n);
    let draft = if n == 1 { first(key) } else { after(key, n - 1) };
    draft.put(point).writes(n, [result(1, text.clone())]).status(Status::Ready, &[&text]).into()
}

fn whole(stored: &StoredCheckpoint) {
    let text = stored.checkpoint.seq.to_string();
    assert_eq!(stored.values.len(), 2, "a checkpoint without all its values");
    assert!(stored.values.iter().all(|value| value.parts.len() == 1 && value.parts[0].bytes == text));
    assert_eq!(stored.writes, [result(1, text)]);
}

/// Reads again and again until the writer is done.
async fn read_on(handle: Arc<dyn Checkpointer>, key: NamespaceKey, done: Arc<AtomicBool>) -> u64 {
    let mut looks = 0;
    while !done.load(Ordering::Acquire) {
        let view = handle.get(&key, At::Head).await.unwrap();
        if let Some(found) = view.found {
            let row = view.namespace.unwrap();
            assert_eq!((row.head, row.last_seq), (found.checkpoint.id, found.checkpoint.seq));
            assert_eq!(view.thread.unwrap().next, [node(&found.checkpoint.seq.to_string())]);
            whole(&found);
            looks += 1;
        } else {
            assert_eq!((view.thread, view.namespace), (None, None), "a part of the first commit");
        }
        let listed = handle.list(&key, &ListQuery::default()).await.unwrap();
        listed.iter().for_each(whole);
        let numbers = seqs(&listed);
        assert!(numbers.iter().rev().copied().eq(1..=numbers.len() as u64), "a hole in {numbers:?}");
        // A store that never waits would keep its thread from everybody else.
        tokio::task::yield_now().await;
    }
    looks
}

/// One consistent look: row, head, values and records belong together.
pub async fn readers_never_see_a_part_of_a_commit(store: TestStore) {
    let key = root("t");
    let done = Arc::new(AtomicBool::new(false));
    let mut readers = JoinSet::new();
    let second = store.second().await.map_or_else(|| store.handle(), |second| second.handle());
    for handle in [store.handle(), second.clone(), second] {
        readers.spawn(read_on(handle, key.clone(), Arc::clone(&done)));
    }
    for n in 1..=60 {
        store.apply(telling(&key, n)).await;
        tokio::task::yield_now().await;
    }
    // On a very fast store the readers may not have begun.
    tokio::time::sleep(Duration::from_millis(20)).await;
    done.store(true, Ordering::Release);
    let looks: u64 = readers.join_all().await.iter().sum();
    assert!(looks > 0, "no reader saw anything");
}

/// The deletion comes before or after each commit, never in the middle.
pub async fn a_deletion_among_commits_leaves_nothing(store: TestStore) {
    for round in 0..5 {
        let key = root(&format!("t{round}"));
        store.apply(telling(&key, 1)).await;
        let writer = tokio::spawn({
            let (store, key) = (store.clone(), key.clone());
            async move {
                let mut n = 2;
                loop {
                    if let Err(error) = store.commit(telling(&key, n)).await {
                        return error;
                    }
                    n += 1;
                    tokio::task::yield_now().await;
                }
            }
        });
        tokio::time::sleep(Duration::from_millis(2)).await;
        store.delete(&key).await;
        let error = writer.await.unwrap();
        assert!(matches!(error, CommitError::HeadMoved { found: FoundHead::Deleted, .. }), "{error:?}");
        let view = store.view(&key, At::Head).await;
        assert_eq!((view.namespace, view.found), (None, None));
        assert!(store.all(&key).await.is_empty());
    }
}

/// A caller goes away; its commit happened or did not.
pub async fn a_dropped_commit_happens_as_a_whole_or_not_at_all(store: TestStore) {
    let key = root("t");
    store.apply(telling(&key, 1)).await;
    let mut head = 1;
    for round in 0..40 {
        let patience = Duration::from_micros(round * 25);
        let commit = store.commit(telling(&key, head + 1));
        let _ = tokio::time::timeout(patience, commit).await;
        head = settled(&store, &key, head).await;
    }
    store.all(&key).await.iter().for_each(whole);
    assert_eq!(store.view(&key, At::Head).await.namespace.unwrap().last_seq, Seq(head));
}

/// Goes on from whatever happened: what was dropped may still be on its way for a moment.
async fn settled(store: &TestStore, key: &NamespaceKey, mut head: u64) -> u64 {
    for _ in 0..1_000 {
        match store.commit(telling(key, head + 1)).await {
            Ok(()) => return head + 1,
            Err(CommitError::HeadMoved { .. }) => head = store.head(key).await.checkpoint.seq.0,
            Err(error) => panic!("{error:?}"),
        }
    }
    panic!("the thread does not settle");
}

/// Another process sees at once what was acknowledged to this one.
pub async fn what_one_handle_wrote_the_other_reads(store: TestStore) {
    let key = root("t");
    let second = store.second().await.unwrap_or_else(|| store.clone());
    store.apply(telling(&key, 1)).await;
    for n in 2..20 {
        let (writer, reader) = if n % 2 == 0 { (&second, &store) } else { (&store, &second) };
        writer.apply(telling(&key, n)).await;
        let found = reader.head(&key).await;
        assert_eq!(found.checkpoint.id, id(n));
        whole(&found);
    }
    second.delete(&key).await;
    assert!(store.row(&key).await.deleted);
}
