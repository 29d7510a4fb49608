//! The store that remembers every call.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use superstep_checkpoint::{At, Checkpointer, ListQuery, Memory, Status, StoreErrorKind};
use superstep_checkpoint_testkit::sample::{after, answer, ask, empty, first, point, result, root};
use superstep_checkpoint_testkit::{CommitOutcome, Fault, Faulty, Recording};

async fn some_calls<C: Checkpointer>(store: &Recording<C>) {
    let key = root("t");
    let start = first(&key).put(point(1).base("x", "12345").segment("y", "123").args("1234")).writes(1, [ask(1, 1)]);
    store.commit(start.status(Status::Waiting, &["a", "b"]).into()).await.unwrap();
    store.get(&key, At::Head).await.unwrap();
    store.commit(after(&key, 1).answer(answer(1, 1, 1, 1)).into()).await.unwrap();
    store.commit(after(&key, 1).answer(answer(1, 1, 1, 2)).into()).await.unwrap_err();
    store
        .commit(after(&key, 1).writes(1, [result(1, "1"), result(2, "12")]).put(point(2).cleared("x")).into())
        .await
        .unwrap();
    store.commit(after(&key, 2).claim(1).into()).await.unwrap();
    store.commit(after(&key, 2).into()).await.unwrap_err();
    store.commit(after(&key, 2).fenced(1, 1).release().into()).await.unwrap();
    store.list(&key, &ListQuery::default()).await.unwrap();
    store.delete_thread(&key.thread).await.unwrap();
}

#[tokio::test]
async fn calls_read_as_text() {
    let store = Recording::new(Memory::new());
    some_calls(&store).await;
    let told: Vec<_> = store.calls().iter().map(ToString::to_string).collect();
    let expected = [
        "commit: checkpoint 1 at step 0 [x base, y segment], records [node question], waiting [a, b]",
        "get head",
        "commit: answer",
        "commit: answer -> AlreadyAnswered",
        "commit: records [node result, node result], checkpoint 2 at step 0 [x cleared]",
        "commit: claim",
        "commit:  -> Fenced",
        "commit: release",
        "list",
        "delete",
    ];
    assert_eq!(told, expected);
}

#[tokio::test]
async fn counts_add_up() {
    let store = Recording::new(Memory::new());
    some_calls(&store).await;
    let counts = store.counts();
    assert_eq!((counts.commits, counts.gets, counts.lists, counts.deletes), (7, 1, 1, 1));
    assert_eq!(counts.round_trips(), 9);
    assert_eq!((counts.checkpoints, counts.parts, counts.records, counts.answers), (2, 3, 3, 2));
    // "what?", two answers "yes", "1" and "12".
    assert_eq!((counts.value_bytes, counts.args_bytes, counts.record_bytes), (8, 4, 5 + 6 + 3));
    assert_eq!(counts.bytes(), 26);
    assert_eq!(store.commits().iter().map(superstep_checkpoint_testkit::CommitCall::bytes).sum::<usize>(), 26);
}

#[tokio::test]
async fn taking_begins_anew() {
    let store = Recording::new(Memory::new());
    some_calls(&store).await;
    assert_eq!(store.take().len(), 10);
    assert_eq!(store.counts().round_trips(), 0);
    store.clone().get(&root("t"), At::Head).await.unwrap();
    assert_eq!(store.calls().len(), 1);
}

#[tokio::test]
async fn outcomes_are_remembered() {
    use CommitOutcome::{Applied, Failed, HeadMoved, InDoubt, Invalid};

    let key = root("t");
    let faulty = Faulty::new(Memory::new())
        .on_commit(2, Fault::After)
        .on_commit(3, Fault::Before(StoreErrorKind::Full))
        .on_commit(6, Fault::Hang);
    let store = Recording::new(faulty);
    store.commit(first(&key).put(point(1)).into()).await.unwrap();
    store.commit(after(&key, 1).put(point(2)).into()).await.unwrap_err();
    store.commit(after(&key, 2).put(point(3)).into()).await.unwrap_err();
    store.commit(empty(&key, 0).put(point(3)).into()).await.unwrap_err();
    store.commit(after(&key, 2).put(point(1).seq(9)).into()).await.unwrap_err();
    tokio::select! {
        _ = store.commit(after(&key, 2).put(point(3)).into()) => panic!("it was to hang"),
        () = tokio::task::yield_now() => {}
    }
    let outcomes: Vec<_> = store.commits().iter().map(|commit| commit.outcome).collect();
    assert_eq!(outcomes, [Some(Applied), Some(InDoubt), Some(Failed), Some(HeadMoved), Some(Invalid), None]);
}

#[tokio::test]
async fn an_outcome_that_comes_after_taking_goes_to_no_other_call() {
    let store =
        Recording::new(Faulty::new(Memory::new()).on_call(1, Fault::Delay(std::time::Duration::from_millis(50))));
    let slow = tokio::spawn({
        let store = store.clone();
        async move { store.commit(first(&root("slow")).put(point(1)).into()).await }
    });
    while store.calls().is_empty() {
        tokio::task::yield_now().await;
    }
    assert_eq!(store.take()[0].commit().unwrap().outcome, None);
    store.commit(after(&root("t"), 1).put(point(2)).into()).await.unwrap_err();
    slow.await.unwrap().unwrap();
    assert_eq!(store.commits()[0].outcome, Some(CommitOutcome::HeadMoved));
    assert_eq!(store.commits().len(), 1);
}

#[tokio::test]
async fn no_value_is_remembered() {
    let key = root("t");
    let store = Recording::new(Memory::new());
    let secret = "hunter2";
    store
        .commit(first(&key).put(point(1).base("x", secret).args(secret)).writes(1, [result(1, secret)]).into())
        .await
        .unwrap();
    assert!(!format!("{store:?}").contains(secret));
}
