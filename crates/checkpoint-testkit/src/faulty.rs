//! A store that fails on purpose.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use superstep_checkpoint::{
    Abilities, At, Checkpointer, Commit, CommitError, Guarantees, ListQuery, NamespaceKey, StoreError, StoreErrorKind,
    StoreInstance, StoredCheckpoint, TenantId, ThreadKey, View,
};

use crate::splitmix::mix;

/// What goes wrong in one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The call fails with this kind of error and does not reach the store.
    Before(StoreErrorKind),
    /// The call is carried out and its answer lost: a commit is `InDoubt`, any other call a broken connection.
    After,
    /// The call is carried out after a while.
    Delay(Duration),
    /// The call does not reach the store and never ends.
    Hang,
    /// The call is carried out and never ends.
    HangAfter,
}

/// A store around another that fails where it is told to. Clones share their numbers and faults.
///
/// Calls and commits are counted from 1, in the order in which they begin. Where several faults fit one call, a crash
/// comes first, then a fault by number of the call, by number of the commit, and by chance.
#[derive(Clone, Debug)]
pub struct Faulty<C> {
    inner: C,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    calls: u64,
    commits: u64,
    on_call: HashMap<u64, Fault>,
    on_commit: HashMap<u64, Fault>,
    chance: Option<Chance>,
    crash: Option<Crash>,
}

#[derive(Debug)]
struct Chance {
    seed: u64,
    /// Each with its share of a thousand.
    faults: Vec<(Fault, u16)>,
}

/// From a call on, nothing reaches the store and nothing comes back.
#[derive(Clone, Copy, Debug)]
struct Crash {
    /// The last call that reaches the store.
    after: u64,
    /// Whether the answer to that call is lost.
    answer_lost: bool,
}

impl<C: Checkpointer> Faulty<C> {
    /// A store that does not fail yet.
    pub fn new(inner: C) -> Self {
        Self { inner, state: Arc::default() }
    }

    /// Fails at the `n`-th call of any kind.
    #[must_use]
    pub fn on_call(self, n: u64, fault: Fault) -> Self {
        self.state().on_call.insert(n, fault);
        self
    }

    /// Fails at the `n`-th commit.
    #[must_use]
    pub fn on_commit(self, n: u64, fault: Fault) -> Self {
        self.state().on_commit.insert(n, fault);
        self
    }

    /// Fails by chance: each fault in so many of a thousand calls. The same seed gives the same faults to the same
    /// numbers of calls.
    #[must_use]
    pub fn by_chance(self, seed: u64, faults: impl IntoIterator<Item = (Fault, u16)>) -> Self {
        self.state().chance = Some(Chance { seed, faults: faults.into_iter().collect() });
        self
    }

    /// Behaves as if the process died after the `n`-th call was answered: no later call reaches the store, all of them
    /// fail with a broken connection.
    #[must_use]
    pub fn crash_after(self, n: u64) -> Self {
        self.state().crash = Some(Crash { after: n, answer_lost: false });
        self
    }

    /// Behaves as if the process died during the `n`-th call: it is carried out, but its answer is lost, and no later
    /// call reaches the store.
    #[must_use]
    pub fn crash_during(self, n: u64) -> Self {
        self.state().crash = Some(Crash { after: n, answer_lost: true });
        self
    }

    /// Forgets all faults that are still to come. The numbers go on.
    pub fn heal(&self) {
        let mut state = self.state();
        *state = State { calls: state.calls, commits: state.commits, ..State::default() };
    }

    /// How many calls were begun.
    pub fn calls(&self) -> u64 {
        self.state().calls
    }

    /// How many commits were begun.
    pub fn commits(&self) -> u64 {
        self.state().commits
    }

    /// Whether the crash has come: a call after it was refused.
    pub fn crashed(&self) -> bool {
        let state = self.state();
        state.crash.is_some_and(|crash| state.calls > crash.after || crash.answer_lost && state.calls == crash.after)
    }

    /// The store inside, past all faults.
    pub fn inner(&self) -> &C {
        &self.inner
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Carries out a call with the fault that is due.
    async fn call<T>(&self, operation: &'static str, work: impl Future<Output = T>) -> Result<T, Lost> {
        let fault = self.state().next(operation == "commit");
        match fault {
            None => Ok(work.await),
            Some(Fault::Before(kind)) => Err(Lost::Before(failed(kind, operation))),
            Some(Fault::After) => {
                work.await;
                Err(Lost::After(failed(StoreErrorKind::Connection, operation)))
            }
            Some(Fault::Delay(time)) => {
                tokio::time::sleep(time).await;
                Ok(work.await)
            }
            Some(Fault::Hang) => std::future::pending().await,
            Some(Fault::HangAfter) => {
                work.await;
                std::future::pending().await
            }
        }
    }
}

/// An answer that did not come.
enum Lost {
    Before(StoreError),
    After(StoreError),
}

impl Lost {
    fn error(self) -> StoreError {
        match self {
            Self::Before(error) | Self::After(error) => error,
        }
    }
}

fn failed(kind: StoreErrorKind, operation: &'static str) -> StoreError {
    StoreError::new(kind, operation, "made to fail")
}

impl State {
    /// Counts a call and says what goes wrong in it.
    fn next(&mut self, is_commit: bool) -> Option<Fault> {
        self.calls += 1;
        self.commits += u64::from(is_commit);
        let by_commit = if is_commit { self.on_commit.get(&self.commits).copied() } else { None };
        self.crash
            .and_then(|crash| crash.fault(self.calls))
            .or_else(|| self.on_call.get(&self.calls).copied())
            .or(by_commit)
            .or_else(|| self.chance.as_ref().and_then(|chance| chance.fault(self.calls)))
    }
}

impl Crash {
    fn fault(self, call: u64) -> Option<Fault> {
        match call {
            _ if call > self.after => Some(Fault::Before(StoreErrorKind::Connection)),
            _ if call == self.after && self.answer_lost => Some(Fault::After),
            _ => None,
        }
    }
}

impl Chance {
    fn fault(&self, call: u64) -> Option<Fault> {
        let mut rest = mix(self.seed ^ mix(call)) % 1_000;
        for (fault, share) in &self.faults {
            match rest.checked_sub(u64::from(*share)) {
                None => return Some(*fault),
                Some(left) => rest = left,
            }
        }
        None
    }
}

#[async_trait]
impl<C: Checkpointer> Checkpointer for Faulty<C> {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        let thread = commit.key.thread.clone();
        match self.call("commit", self.inner.commit(commit)).await {
            Ok(result) => result,
            Err(Lost::Before(error)) => Err(CommitError::Store(error)),
            Err(Lost::After(source)) => Err(CommitError::InDoubt { thread, source }),
        }
    }

    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        self.call("get", self.inner.get(key, at)).await.map_err(Lost::error)?
    }

    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.call("list", self.inner.list(key, query)).await.map_err(Lost::error)?
    }

    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        self.call("delete_thread", self.inner.delete_thread(key)).await.map_err(Lost::error)?
    }

    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }

    fn abilities(&self) -> Abilities {
        self.inner.abilities()
    }

    fn tenant_id(&self) -> TenantId {
        self.inner.tenant_id()
    }

    fn instance(&self) -> StoreInstance {
        self.inner.instance()
    }
}
