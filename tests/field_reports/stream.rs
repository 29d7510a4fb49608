//! What is shown while a run goes on.

use superstep::{Durability, END, Event, RunConfig, START, StreamMode};

use crate::scene::{Place, Visits, input, named, over, process};

on_every_store!(b13_what_is_shown_in_sync_is_stored, b13_what_is_shown_in_async_is_stored_a_step_later);

/// By how many steps the store is behind each event shown, at most; and whether it is behind at the end.
fn b13_behind(place: &Place, durability: Durability) -> (usize, usize) {
    let visits = Visits::default();
    process(async {
        let graph = over(place.open().await, &visits).node("a", named).node("b", named).node("c", named);
        let graph = graph.edge(START, "a").edge("a", "b").edge("b", "c").edge("c", END).compile().unwrap();
        let config = RunConfig::thread("t").durability(durability).stream_modes([StreamMode::Values]);
        let mut stream = graph.stream(input().turn(1), config);
        let (mut most, mut last) = (0, 0);
        while let Some(event) = stream.next().await {
            let shown = match event.unwrap() {
                Event::Values { state, .. } => state.list.len(),
                Event::Ended(outcome) => outcome.state().list.len(),
                _ => continue,
            };
            let stored = graph.state("t").await.map_or(0, |seen| seen.state.list.len());
            last = shown - stored.min(shown);
            most = most.max(last);
        }
        (most, last)
    })
}

fn b13_what_is_shown_in_sync_is_stored(place: &Place) {
    assert_eq!(b13_behind(place, Durability::Sync), (0, 0));
}

fn b13_what_is_shown_in_async_is_stored_a_step_later(place: &Place) {
    let (most, last) = b13_behind(place, Durability::Async);
    assert!(most <= 1, "{most} steps behind");
    assert_eq!(last, 0);
}
