//! What must hold of the visits to nodes of a story that was cut off and taken up.

use std::collections::{BTreeMap, BTreeSet};

use superstep::{Durability, Step, TaskId};

use crate::refund::Visit;

/// A story that was cut off and taken up.
pub(crate) struct Taken<'s> {
    pub(crate) durability: Durability,
    /// Whether the first call had ended: a person was shown the question.
    pub(crate) asked: bool,
    /// Tasks whose results the store had acknowledged to the process that was cut off.
    pub(crate) acknowledged: &'s BTreeSet<TaskId>,
    /// The visits of the process that was cut off.
    pub(crate) before: &'s [Visit],
    /// The visits of those who took it up.
    pub(crate) after: &'s [Visit],
}

impl Taken<'_> {
    pub(crate) fn check(&self) {
        check_names(self.before.iter().chain(self.after));
        let repeated = self.repeated();
        for visit in &repeated {
            assert!(!self.acknowledged.contains(&visit.task), "{} was acknowledged and ran again", visit.node);
        }
        let steps: BTreeSet<Step> = repeated.iter().map(|visit| visit.step).collect();
        assert!(steps.len() <= self.most_steps(), "in {:?} the steps {steps:?} ran again", self.durability);
        if self.durability == Durability::Exit && self.asked {
            assert!(!steps.contains(&Step(1)), "the first call had ended, and its node ran again");
        }
    }

    /// The visits after the cut to tasks that had run before it. To ask again is free.
    fn repeated(&self) -> Vec<&Visit> {
        let ran = |visit: &&Visit| {
            visit.node != "ask" && self.before.iter().any(|other| other.node == visit.node && other.task == visit.task)
        };
        self.after.iter().filter(ran).collect()
    }

    /// How many steps may run again.
    fn most_steps(&self) -> usize {
        match self.durability {
            // The step in hand.
            Durability::Sync => 1,
            // And those that are on their way meanwhile.
            Durability::Async { lag } => usize::try_from(lag).unwrap().saturating_add(1),
            // The whole call, of which the longer one has four: `approve` to `close`.
            _ => 4,
        }
    }
}

/// A task is the same task, with the same keys, each time it runs.
pub(crate) fn check_names<'v>(visits: impl IntoIterator<Item = &'v Visit>) {
    let mut names = BTreeMap::new();
    for Visit { node, task, key, .. } in visits {
        let first = *names.entry(node).or_insert((task, key));
        assert_eq!(first, (task, key), "{node} changed its name");
    }
}
