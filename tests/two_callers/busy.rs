//! One process: a second call on a thread that is being run.

use std::pin::pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use superstep::{
    Checkpointer, Command, CompiledGraph, Context, END, Memory, Outcome, QuestionId, RunConfig, RunError, RunErrorKind,
    START, Sqlite, State, StateGraph, WhenBusy,
};
use tokio::sync::{Notify, Semaphore};
use tokio::task::JoinSet;

use crate::history::{Steps, line};
use crate::polls::poll_times;

#[derive(State, Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
struct Notes {
    note: u32,
    #[reducer(append)]
    list: Vec<u32>,
}

/// Tells when the node is entered, and holds it until it may go on.
struct Room {
    entered: Notify,
    may_leave: Semaphore,
}

impl Room {
    /// A room that so many visits may leave.
    fn new(may_leave: usize) -> Arc<Self> {
        Arc::new(Self { entered: Notify::new(), may_leave: Semaphore::new(may_leave) })
    }
}

async fn keep(state: Arc<Notes>, room: Context<Arc<Room>>) -> NotesUpdate {
    room.entered.notify_one();
    room.may_leave.acquire().await.unwrap().forget();
    NotesUpdate::new().list([state.note])
}

fn named(name: &str, store: impl Checkpointer, room: &Arc<Room>) -> CompiledGraph<Notes> {
    StateGraph::<Notes>::new()
        .name(name)
        .node("keep", keep)
        .edge(START, "keep")
        .edge("keep", END)
        .context(Arc::clone(room))
        .checkpointer(store)
        .compile()
        .unwrap()
}

fn note(note: u32) -> NotesUpdate {
    NotesUpdate::new().note(note)
}

fn kind<S: std::fmt::Debug>(outcome: Result<Outcome<S>, RunError>) -> RunErrorKind {
    outcome.unwrap_err().into_kind()
}

#[tokio::test]
async fn a_second_call_is_refused_at_once_and_changes_nothing() {
    let room = Room::new(0);
    let graph = named("notes", Memory::new(), &room);
    let first = tokio::spawn({
        let graph = graph.clone();
        async move { graph.invoke(note(1), "t").await }
    });
    room.entered.notified().await;
    let question = QuestionId::from_bytes([1; 16]);
    assert!(matches!(kind(graph.invoke(note(2), "t").await), RunErrorKind::ThreadBusy));
    assert!(matches!(kind(graph.invoke((), "t").await), RunErrorKind::ThreadBusy));
    assert!(matches!(kind(graph.invoke(Command::resume(3), "t").await), RunErrorKind::ThreadBusy));
    assert!(matches!(kind(graph.invoke(Command::answers([(question, 3)]), "t").await), RunErrorKind::ThreadBusy));
    let edit = graph.update_state("t", note(4)).await.unwrap_err();
    assert!(matches!(edit.kind(), RunErrorKind::ThreadBusy) && edit.is_retryable());
    let seen = graph.state("t").await.unwrap();
    assert_eq!((seen.next.len(), seen.state.note), (1, 1), "looking is no call");
    room.may_leave.add_permits(1);
    assert_eq!(first.await.unwrap().unwrap().state().list, [1]);
    assert_eq!(line(&graph, "t", Steps::All).await.len(), 3);
}

#[tokio::test]
async fn a_call_may_choose_to_wait() {
    let room = Room::new(0);
    let graph = named("notes", Memory::new(), &room);
    let mut first = pin!(graph.invoke(note(1), "t"));
    assert!(poll_times(first.as_mut(), 1).await.is_none());
    let waiting = RunConfig::thread("t").when_busy(WhenBusy::Wait);
    let mut second = pin!(graph.invoke(note(2), waiting));
    assert!(poll_times(second.as_mut(), 1).await.is_none());
    room.may_leave.add_permits(1);
    assert_eq!(first.await.unwrap().state().list, [1]);
    room.may_leave.add_permits(1);
    assert_eq!(second.await.unwrap().state().list, [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_who_wait_get_their_turn() {
    let room = Room::new(50);
    let folder = tempfile::tempdir().unwrap();
    let graph = named("notes", Sqlite::open(folder.path().join("threads.db")).await.unwrap(), &room);
    let mut calls = JoinSet::new();
    for number in 0..50 {
        let graph = graph.clone();
        calls.spawn(async move {
            graph.invoke(note(number), RunConfig::thread("t").when_busy(WhenBusy::Wait)).await.unwrap();
        });
    }
    calls.join_all().await;
    let mut list = graph.state("t").await.unwrap().state.list.clone();
    list.sort_unstable();
    assert_eq!(list, (0..50).collect::<Vec<_>>());
    line(&graph, "t", Steps::All).await;
}

#[tokio::test]
async fn another_graph_finds_the_thread_busy_and_later_not_its_own() {
    let (store, room) = (Memory::new(), Room::new(0));
    let (ours, theirs) = (named("ours", store.clone(), &room), named("theirs", store, &room));
    let mut first = pin!(ours.invoke(note(1), "t"));
    assert!(poll_times(first.as_mut(), 1).await.is_none());
    assert!(matches!(kind(theirs.invoke(note(2), "t").await), RunErrorKind::ThreadBusy));
    room.may_leave.add_permits(1);
    first.await.unwrap();
    let other = kind(theirs.invoke(note(2), "t").await);
    assert!(matches!(other, RunErrorKind::OtherGraph { ours, theirs } if (&*ours, &*theirs) == ("theirs", "ours")));
    assert_eq!(ours.state("t").await.unwrap().state.list, [1]);
}

#[tokio::test]
async fn two_graphs_share_a_store_side_by_side() {
    let (store, room) = (Memory::new(), Room::new(0));
    let (ours, theirs) = (named("ours", store.clone(), &room), named("theirs", store, &room));
    let (mut first, mut second) = (pin!(ours.invoke(note(1), "a")), pin!(theirs.invoke(note(2), "b")));
    assert!(poll_times(first.as_mut(), 1).await.is_none());
    assert!(poll_times(second.as_mut(), 1).await.is_none());
    room.may_leave.add_permits(2);
    assert_eq!(first.await.unwrap().state().list, [1]);
    assert_eq!(second.await.unwrap().state().list, [2]);
    assert_eq!(ours.state("a").await.unwrap().state.list, [1]);
    assert_eq!(theirs.state("b").await.unwrap().state.list, [2]);
}

/// Two handles are as two processes: they do not know of each other until one commits.
#[tokio::test]
async fn two_handles_on_one_file_find_out_when_they_commit() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("threads.db");
    let (room, other_room) = (Room::new(0), Room::new(1));
    let (one, two) = (Sqlite::open(&file).await.unwrap(), Sqlite::open(&file).await.unwrap());
    let (one, two) = (named("notes", one, &room), named("notes", two, &other_room));
    let mut first = pin!(one.invoke(note(1), "t"));
    tokio::select! {
        end = first.as_mut() => panic!("it cannot leave yet: {end:?}"),
        () = room.entered.notified() => {}
    }
    assert_eq!(two.invoke((), "t").await.unwrap().state().list, [1]);
    room.may_leave.add_permits(1);
    let lost = kind(first.await);
    assert!(matches!(lost, RunErrorKind::HeadMoved { .. }), "{lost:?}");
    assert_eq!(one.state("t").await.unwrap().state.list, [1]);
    line(&one, "t", Steps::All).await;
}

/// A call that ended gives the thread back before anybody can see that it ended.
#[tokio::test]
async fn calls_one_after_another_never_find_the_thread_busy() {
    let room = Room::new(usize::MAX >> 4);
    let graph = named("notes", Memory::new(), &room);
    for number in 0..200 {
        graph.invoke(note(number), "t").await.unwrap();
    }
    assert_eq!(graph.state("t").await.unwrap().state.list.len(), 200);
}
