//! What must hold of the checkpoints of a thread, whatever happened to the processes that made them.

use superstep::{CompiledGraph, HistoryQuery, Source, State, StateSnapshot};

/// Which steps are stored.
#[allow(dead_code, reason = "each test uses what it needs")]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Steps {
    /// Every one.
    All,
    /// Those at which a call ended.
    Some,
}

/// All checkpoints, oldest first, after it was checked that they are one line: each follows the one before it, none has
/// two successors, and no step is missing.
pub(crate) async fn line<S: State>(graph: &CompiledGraph<S>, thread: &str, steps: Steps) -> Vec<StateSnapshot<S>> {
    let mut line = graph.history(thread, HistoryQuery::all()).await.unwrap();
    line.reverse();
    let mut parent = None;
    for pair in line.windows(2) {
        let (former, later) = (pair[0].step.0, pair[1].step.0);
        match steps {
            Steps::All => assert_eq!(later, former + 1, "a step is missing: {line:?}"),
            Steps::Some => assert!(later > former, "a step stands twice: {line:?}"),
        }
    }
    for snapshot in &line {
        assert_eq!(snapshot.parent, parent, "not a line: {line:?}");
        assert_ne!(snapshot.source, Source::Fork, "a fork: {line:?}");
        parent = Some(snapshot.checkpoint);
    }
    line
}
