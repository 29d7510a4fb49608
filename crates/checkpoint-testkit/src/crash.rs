//! A scenario disturbed at every one of its calls to the store.

use std::fmt;

use superstep_checkpoint::{Checkpointer, StoreErrorKind};

use crate::faulty::{Fault, Faulty};

/// What happens to a scenario at one of its calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Mishap {
    /// Nothing: the scenario runs as it is meant to.
    None,
    /// The call fails with a broken connection and does not reach the store. Later calls work.
    Refused,
    /// The call is carried out and its answer lost: a commit is in doubt. Later calls work.
    Unanswered,
    /// The process dies before the call: neither it nor any later one reaches the store.
    DiesBefore,
    /// The process dies during the call: it is carried out, its answer is lost, and no later one reaches the store.
    DiesDuring,
}

impl Mishap {
    /// All that disturb.
    pub const ALL: [Self; 4] = [Self::Refused, Self::Unanswered, Self::DiesBefore, Self::DiesDuring];

    /// Whether the process dies of it.
    pub fn is_death(self) -> bool {
        matches!(self, Self::DiesBefore | Self::DiesDuring)
    }
}

/// Where a scenario is disturbed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CrashPoint {
    /// The number of the call, counted from 1; 0 for the undisturbed run.
    pub call: u64,
    /// How many calls the undisturbed run makes.
    pub of: u64,
    /// What happens.
    pub mishap: Mishap,
}

impl CrashPoint {
    fn disturb<C: Checkpointer>(self, store: C) -> Faulty<C> {
        let (store, n) = (Faulty::new(store), self.call);
        match self.mishap {
            Mishap::None => store,
            Mishap::Refused => store.on_call(n, Fault::Before(StoreErrorKind::Connection)),
            Mishap::Unanswered => store.on_call(n, Fault::After),
            Mishap::DiesBefore => store.crash_after(n - 1),
            Mishap::DiesDuring => store.crash_during(n),
        }
    }
}

impl fmt::Display for CrashPoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { call, of, .. } = self;
        match self.mishap {
            Mishap::None => write!(f, "undisturbed"),
            Mishap::Refused => write!(f, "call {call} of {of} is refused"),
            Mishap::Unanswered => write!(f, "call {call} of {of} is carried out and not answered"),
            Mishap::DiesBefore => write!(f, "the process dies before call {call} of {of}"),
            Mishap::DiesDuring => write!(f, "the process dies during call {call} of {of}, which is carried out"),
        }
    }
}

/// What [`crash_at_every_point`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CrashReport {
    /// How many calls the undisturbed run makes.
    pub calls: u64,
    /// How often the scenario was run, undisturbed and disturbed.
    pub runs: u64,
    /// Points that a run did not reach, since it made fewer calls than the undisturbed one. Empty if the scenario makes
    /// the same calls each time.
    pub missed: Vec<CrashPoint>,
}

/// Runs a scenario once undisturbed, then once for each of its calls to the store and each [`Mishap`] there, always in
/// a fresh world; recovers each time with the store inside, past all faults; and has the result checked.
///
/// * `fresh` makes a store and whatever else one run needs (clients, counters, a temporary folder).
/// * `scenario` is the work of the process that is disturbed. What it gives is passed on: what somebody outside knows
///   when the process is gone.
/// * `recover` is the work of the next process.
/// * `check` panics if the result is wrong. The point is then printed.
///
/// The process does not really die: its calls fail, and code that makes none runs on. So what is checked holds for more
/// than a real death could do.
///
/// ```
/// use std::cell::Cell;
/// use superstep_checkpoint::{At, Checkpointer, CommitError, Memory};
/// use superstep_checkpoint_testkit::sample::{after, first, id, point, root};
/// use superstep_checkpoint_testkit::{Faulty, Mishap, crash_at_every_point};
///
/// /// Puts checkpoint 2 on top of checkpoint 1, whichever of them are there already.
/// async fn put_two(store: &impl Checkpointer) -> Result<(), CommitError> {
///     let key = root("t");
///     let head = store.get(&key, At::Head).await?.namespace.map(|space| space.head);
///     if head.is_none() {
///         store.commit(first(&key).put(point(1)).into()).await?;
///     }
///     if head != Some(id(2)) {
///         store.commit(after(&key, 1).put(point(2)).into()).await?;
///     }
///     Ok(())
/// }
///
/// # let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
/// # runtime.block_on(async {
/// let report = crash_at_every_point(
///     async || (Memory::new(), Cell::new(0)),
///     async |store: Faulty<Memory>, _: &Cell<u32>| put_two(&store).await.is_ok(),
///     async |store: Memory, recoveries: &Cell<u32>, done: &bool| {
///         if !done {
///             recoveries.set(recoveries.get() + 1);
///             put_two(&store).await.unwrap();
///         }
///         store.get(&root("t"), At::Head).await.unwrap().namespace.unwrap().head
///     },
///     |point, recoveries, _, head| {
///         assert_eq!(head, id(2));
///         assert_eq!(recoveries.get(), u32::from(point.mishap != Mishap::None));
///     },
/// )
/// .await;
/// assert_eq!((report.calls, report.runs), (3, 1 + 3 * 4));
/// # });
/// ```
pub async fn crash_at_every_point<C, W, T, R>(
    fresh: impl AsyncFn() -> (C, W),
    scenario: impl AsyncFn(Faulty<C>, &W) -> T,
    recover: impl AsyncFn(C, &W, &T) -> R,
    check: impl Fn(CrashPoint, &W, T, R),
) -> CrashReport
where
    C: Checkpointer + Clone,
{
    let run = async |point: CrashPoint| {
        let _names = NamesThePoint(point);
        let (store, world) = fresh().await;
        let faulty = point.disturb(store.clone());
        let told = scenario(faulty.clone(), &world).await;
        let calls = faulty.calls();
        let result = recover(store, &world, &told).await;
        check(point, &world, told, result);
        calls
    };
    let calls = run(CrashPoint { call: 0, of: 0, mishap: Mishap::None }).await;
    let mut report = CrashReport { calls, runs: 1, missed: Vec::new() };
    for call in 1..=calls {
        for mishap in Mishap::ALL {
            let point = CrashPoint { call, of: calls, mishap };
            if run(point).await < call {
                report.missed.push(point);
            }
            report.runs += 1;
        }
    }
    report
}

/// Prints the point at which a check failed.
struct NamesThePoint(CrashPoint);

impl Drop for NamesThePoint {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("at this point: {}", self.0);
        }
    }
}
