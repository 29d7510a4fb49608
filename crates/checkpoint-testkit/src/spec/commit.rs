//! What a commit leaves behind.

use std::time::Duration;

use superstep_checkpoint::{Arrivals, At, Branch, Epoch, NamespaceRow, Plan, PlannedTask, Seq, Source, Status, Step};

use crate::sample::{after, digest, empty, first, id, millis, namespace, node, point, root, run, seqs, values};
use crate::test_store::TestStore;

/// The row, the head and the greatest position.
pub async fn a_first_commit_makes_the_thread_and_its_head(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    let view = store.view(&key, At::Head).await;
    let row = view.thread.unwrap();
    assert_eq!((row.epoch, row.owner, row.status, row.deleted), (Epoch(0), None, Status::Ready, false));
    assert_eq!(row.graph, "graph");
    assert!(row.next.is_empty());
    assert_eq!(view.namespace, Some(NamespaceRow { head: id(1), last_seq: Seq(1) }));
    assert_eq!(view.found.unwrap().checkpoint.id, id(1));
}

/// "Latest" is the head.
pub async fn a_commit_moves_the_head(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    store.apply(after(&key, 1).put(point(2))).await;
    let view = store.view(&key, At::Head).await;
    assert_eq!(view.namespace, Some(NamespaceRow { head: id(2), last_seq: Seq(2) }));
    assert_eq!(view.found.unwrap().checkpoint.id, id(2));
}

/// Every field, also those that are usually empty.
pub async fn a_checkpoint_comes_back_as_it_was_given(store: TestStore) {
    let key = root("t");
    let mut full = point(1).parent(77).branch(1).meta("user", "ann").meta("n", 3).args("args");
    let checkpoint = &mut full.checkpoint;
    checkpoint.step = Step(-1);
    checkpoint.source = Source::Update;
    checkpoint.plan = full_plan();
    checkpoint.turn.run = Some(run("run 1"));
    checkpoint.ancestors = vec![id(50), id(51)];
    checkpoint.created_at = millis(1_234_567_890_123);
    let given = full.checkpoint.clone();
    store.apply(first(&key).put(full)).await;
    let found = store.head(&key).await;
    assert_eq!(*found.checkpoint, given);
    assert_eq!(found.args, "args");
}

fn full_plan() -> Plan {
    Plan {
        start: true,
        tasks: vec![
            PlannedTask { node: node("a"), by_command: None },
            PlannedTask { node: node("b"), by_command: Some(digest(9)) },
        ],
        sends: vec![node("z"), node("y"), node("z")],
        arrivals: vec![Arrivals { sources: vec![node("q"), node("p")], target: node("j"), arrived: vec![node("p")] }],
        deferred: vec![node("d")],
        last: vec![node("l"), node("k")],
    }
}

/// What made a checkpoint is told apart.
pub async fn every_source_comes_back(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    for (n, source) in [(2, Source::Input), (3, Source::Loop), (4, Source::Update), (5, Source::Fork)] {
        let mut next = point(n);
        next.checkpoint.source = source;
        store.apply(after(&key, n - 1).put(next)).await;
        assert_eq!(store.head(&key).await.checkpoint.source, source);
    }
}

/// A group of steps written together.
pub async fn several_checkpoints_in_one_commit_leave_the_last_as_head(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a")).put(point(2).segment("x", "b")).put(point(5))).await;
    store.apply(after(&key, 5).put(point(6)).put(point(7).base("x", "c"))).await;
    let view = store.view(&key, At::Head).await;
    assert_eq!(view.namespace, Some(NamespaceRow { head: id(7), last_seq: Seq(7) }));
    assert_eq!(seqs(&store.all(&key).await), [7, 6, 5, 2, 1]);
    assert_eq!(values(&store.found(&key, At::Id(id(2))).await), "x=a+b");
    assert_eq!(values(&store.found(&key, At::Id(id(5))).await), "x=a+b");
}

/// Ops are applied in their order.
pub async fn the_last_status_of_a_commit_counts(store: TestStore) {
    let key = root("t");
    let draft = first(&key).status(Status::Ready, &["a"]).put(point(1)).status(Status::Waiting, &["b"]);
    store.apply(draft).await;
    let row = store.row(&key).await;
    assert_eq!((row.status, row.next), (Status::Waiting, vec![node("b")]));
}

/// Task order is kept, and a node that comes twice.
pub async fn the_next_nodes_keep_their_order(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).status(Status::Ready, &["b", "a", "c", "a"])).await;
    assert_eq!(store.row(&key).await.next, [node("b"), node("a"), node("c"), node("a")]);
    store.apply(after(&key, 1).status(Status::Done, &[])).await;
    assert!(store.row(&key).await.next.is_empty());
}

/// No status is lost on the way.
pub async fn every_status_comes_back(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    for status in Status::ALL {
        store.apply(after(&key, 1).status(status, &[])).await;
        assert_eq!(store.row(&key).await.status, status);
    }
}

/// A status is kept until another is set.
pub async fn a_commit_without_a_status_keeps_it(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1)).status(Status::Paused, &["a"])).await;
    store.apply(after(&key, 1).put(point(2))).await;
    let row = store.row(&key).await;
    assert_eq!((row.status, row.next), (Status::Paused, vec![node("a")]));
}

/// A row without a head.
pub async fn a_status_alone_can_make_a_thread(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).status(Status::Failed, &[])).await;
    let view = store.view(&key, At::Head).await;
    let row = view.thread.unwrap();
    assert_eq!((row.status, row.epoch, row.deleted, row.graph.as_str()), (Status::Failed, Epoch(0), false, ""));
    assert_eq!((view.namespace, view.found), (None, None));
    store.apply(empty(&key, 0).put(point(1))).await;
    assert_eq!(store.head(&key).await.checkpoint.id, id(1));
}

/// Only checkpoints move the head.
pub async fn a_status_alone_keeps_the_head_and_its_values(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1).base("x", "a"))).await;
    store.apply(after(&key, 1).status(Status::Done, &[])).await;
    let head = store.head(&key).await;
    assert_eq!((head.checkpoint.id, values(&head)), (id(1), "x=a".to_owned()));
}

/// A subgraph's own name is not the thread's.
pub async fn the_graph_of_a_thread_is_that_of_its_root(store: TestStore) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&child).put(point(1).graph("inner"))).await;
    assert_eq!(store.row(&key).await.graph, "");
    store.apply(empty(&key, 0).put(point(1).graph("outer"))).await;
    assert_eq!(store.row(&key).await.graph, "outer");
    store.apply(after(&child, 1).put(point(2).graph("inner"))).await;
    assert_eq!(store.row(&key).await.graph, "outer");
}

/// The row belongs to the thread, whichever namespace is read.
pub async fn the_row_is_the_same_from_every_namespace(store: TestStore) {
    let (key, child) = (root("t"), namespace("t", "child"));
    store.apply(first(&key).put(point(1))).await;
    store.apply(empty(&child, 0).put(point(1)).status(Status::Waiting, &["outer"])).await;
    assert_eq!(store.row(&key).await, store.row(&child).await);
    assert_eq!(store.row(&key).await.status, Status::Waiting);
}

/// By the store's clock.
pub async fn the_times_of_a_row_are_those_of_its_first_and_last_commit(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    let before = store.row(&key).await;
    assert!(before.created_at > millis(1_600_000_000_000), "{:?}", before.created_at);
    assert!(before.updated_at >= before.created_at);
    tokio::time::sleep(Duration::from_millis(20)).await;
    store.apply(after(&key, 1).status(Status::Done, &[])).await;
    let later = store.row(&key).await;
    assert_eq!(later.created_at, before.created_at);
    assert!(later.updated_at > before.updated_at);
}

/// The number that says which values a checkpoint reads.
pub async fn a_branch_comes_back(store: TestStore) {
    let key = root("t");
    store.apply(first(&key).put(point(1))).await;
    store.apply(after(&key, 1).put(point(2).branch(2).parent(1))).await;
    let head = store.head(&key).await.checkpoint;
    assert_eq!((head.branch, head.parent), (Branch(2), Some(id(1))));
}
