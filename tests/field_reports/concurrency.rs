//! Several callers of one thread, in one process and in several.

use std::pin::pin;

use superstep::{Checkpointer, CompiledGraph, Context, Durability, END, RunConfig, RunErrorKind, Runtime, START};
use superstep_checkpoint_testkit::Recording;

use crate::gated::Gated;
use crate::history::{Steps, line};
use crate::scene::{
    Bell, Notes, NotesUpdate, Place, Visits, When, done, failed, held, input, killed, named, over, process,
};

on_every_store!(
    b15_two_servers_take_turns,
    b17_a_long_node_has_one_result,
    b24_a_run_under_way_is_not_taken_up_in_its_own_process,
    b25_the_loser_of_a_step_runs_no_further_node,
    b27_a_second_call_under_the_same_id_harms_nothing,
    b34_two_who_add_one_do_not_both_succeed,
);

/// A handle as another process would have it, which does not know of the calls of other handles.
async fn another_process(place: &Place) -> impl Checkpointer {
    Gated::new(place.open().await, Bell::new(When::Answered)).apart()
}

fn b15_two_servers_take_turns(place: &Place) {
    async fn append(state: &Notes) -> NotesUpdate {
        NotesUpdate::new().list([state.turn.to_string()])
    }

    process(async {
        let graph =
            |store| over(store, &Visits::default()).node("append", append).edge(START, "append").edge("append", END);
        let one = graph(another_process(place).await).compile().unwrap();
        let two = graph(another_process(place).await).compile().unwrap();
        for turn in 1..=10 {
            let server = if turn % 2 == 1 { &one } else { &two };
            server.invoke(input().turn(turn), "t").await.unwrap();
        }
        let list: Vec<String> = (1..=10).map(|turn| turn.to_string()).collect();
        assert_eq!(one.state("t").await.unwrap().state.list, list);
        assert_eq!(two.state("t").await.unwrap().state.list, list);
        line(&one, "t", Steps::All).await;
    });
}

fn one_held(store: impl Checkpointer, visits: &Visits) -> CompiledGraph<Notes> {
    let graph = over(store, visits).node("slow", held).node("after", named);
    graph.edge(START, "slow").edge("slow", "after").edge("after", END).compile().unwrap()
}

/// Without a lease nobody can know that somebody else runs a node; but one result counts, and the other caller is told.
fn b17_a_long_node_has_one_result(place: &Place) {
    let visits = Visits::default();
    process(async {
        let (one, two) = (another_process(place).await, another_process(place).await);
        let one = one_held(one, &visits);
        let two = one_held(two, &visits);
        let mut first = pin!(one.invoke(input(), "t"));
        tokio::select! {
            end = first.as_mut() => panic!("it is held: {end:?}"),
            () = visits.entered() => {}
        }
        let mut second = pin!(two.invoke((), "t"));
        tokio::select! {
            end = second.as_mut() => panic!("it is held: {end:?}"),
            () = visits.entered() => {}
        }
        visits.let_go();
        visits.let_go();
        let (first, second) = tokio::join!(first, second);
        let (won, lost) = if first.is_ok() { (first, second) } else { (second, first) };
        assert_eq!(done(won), ["slow", "after"]);
        let lost = failed(lost);
        assert!(matches!(lost, RunErrorKind::HeadMoved { .. }), "{lost:?}");
        assert_eq!((visits.of("slow"), visits.of("after")), (2, 1));
        line(&one, "t", Steps::All).await;
    });
}

fn b24_a_run_under_way_is_not_taken_up_in_its_own_process(place: &Place) {
    let visits = Visits::default();
    process(async {
        let graph = one_held(place.open().await, &visits);
        let mut run = pin!(graph.invoke(input(), "t"));
        tokio::select! {
            end = run.as_mut() => panic!("it is held: {end:?}"),
            () = visits.entered() => {}
        }
        let recovery = failed(graph.invoke((), "t").await);
        assert!(matches!(recovery, RunErrorKind::ThreadBusy), "{recovery:?}");
        visits.let_go();
        assert_eq!(done(run.await), ["slow", "after"]);
    });
    assert_eq!(visits.of("slow"), 1);
}

/// `a → b → c`: both are in `a`; one goes to the end, then the other goes on.
fn b25_the_loser_of_a_step_runs_no_further_node(place: &Place) {
    let (visits, others) = (Visits::default(), Visits::default());
    let graph = |store, visits: &Visits| {
        let graph = over(store, visits).node("a", held).node("b", named).node("c", named);
        graph.edge(START, "a").edge("a", "b").edge("b", "c").edge("c", END).compile().unwrap()
    };
    process(async {
        let (one, two) = (another_process(place).await, another_process(place).await);
        let (one, two) = (graph(one, &visits), graph(two, &others));
        let mut first = pin!(one.invoke(input(), "t"));
        tokio::select! {
            end = first.as_mut() => panic!("it is held: {end:?}"),
            () = visits.entered() => {}
        }
        others.let_go();
        assert_eq!(done(two.invoke((), "t").await), ["a", "b", "c"]);
        visits.let_go();
        let lost = failed(first.await);
        assert!(matches!(lost, RunErrorKind::HeadMoved { .. }), "{lost:?}");
    });
    assert_eq!((visits.all(), others.all().len()), (vec!["a".to_owned()], 3));
}

fn b27_a_second_call_under_the_same_id_harms_nothing(place: &Place) {
    let visits = Visits::default();
    killed(async { one_held(place.open().await, &visits).invoke(input().turn(1), "t").await }, visits.entered());
    process(async {
        let store = Recording::new(place.open().await);
        let graph = one_held(store.clone(), &visits);
        let other = over(store.clone(), &visits).name("other").node("x", named).edge(START, "x").edge("x", END);
        let other = other.compile().unwrap();
        let mut run = pin!(graph.invoke((), "t"));
        tokio::select! {
            end = run.as_mut() => panic!("it is held: {end:?}"),
            () = visits.entered() => {}
        }
        store.take();
        let second = failed(graph.invoke(input().turn(2), "t").await);
        assert!(matches!(second, RunErrorKind::ThreadBusy), "{second:?}");
        let second = failed(other.invoke(input().turn(2), "t").await);
        assert!(matches!(second, RunErrorKind::ThreadBusy), "{second:?}");
        let theirs = over(another_process(place).await, &visits).name("other").node("x", named).edge(START, "x");
        let theirs = theirs.compile().unwrap();
        let second = failed(theirs.invoke(input().turn(2), "t").await);
        assert!(matches!(second, RunErrorKind::OtherGraph { .. }), "{second:?}");
        assert_eq!(store.counts().commits, 0);
    });
    visits.let_go();
    process(async {
        let graph = one_held(place.open().await, &visits);
        assert_eq!(done(graph.invoke((), "t").await), ["slow", "after"]);
        assert_eq!(graph.state("t").await.unwrap().state.turn, 1);
    });
    assert_eq!((visits.of("slow"), visits.of("after"), visits.of("x")), (3, 1, 0));
}

fn b34_two_who_add_one_do_not_both_succeed(place: &Place) {
    async fn inc(rt: Runtime, visits: Context<Visits>) -> NotesUpdate {
        held(rt, visits).await;
        NotesUpdate::new().count(1)
    }

    for durability in [Durability::Sync, Durability::Async, Durability::Exit] {
        let visits = Visits::default();
        place.clear();
        let graph =
            |store| over(store, &visits).node("inc", inc).edge(START, "inc").edge("inc", END).compile().unwrap();
        process(async {
            let (one, two) = (another_process(place).await, another_process(place).await);
            let (one, two) = (graph(one), graph(two));
            let stop = RunConfig::thread("t").interrupt_before(["inc"]);
            one.invoke(input(), stop).await.unwrap();
            let config = || RunConfig::thread("t").durability(durability);
            let both_in = async {
                visits.entered().await;
                visits.entered().await;
                visits.let_go();
                visits.let_go();
            };
            let (first, second, ()) = tokio::join!(one.invoke((), config()), two.invoke((), config()), both_in);
            let (won, lost) = if first.is_ok() { (first, second) } else { (second, first) };
            assert_eq!(won.unwrap().state().count, 1);
            let lost = failed(lost);
            assert!(matches!(lost, RunErrorKind::HeadMoved { .. }), "{lost:?}");
            assert_eq!(two.invoke((), config()).await.unwrap().state().count, 1, "a retry finds it done");
            line(&one, "t", Steps::All).await;
        });
    }
}
