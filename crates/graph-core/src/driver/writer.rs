//! What the run wants stored, in order, at most one commit on its way at a time. What piles up during one commit goes
//! into the next, together.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;
use superstep_checkpoint::{CheckpointId, Checkpointer, Commit, CommitError, Expect, Guard, Op, SealError};
use superstep_pregel::{Put, State};
use tokio::runtime::Handle;

use super::busy::SharedBusy;
use super::commit::commit;
use super::seal::Desk;
use crate::stream::{Event, Events};

/// Stores what a run puts.
pub(crate) struct Writer<S: State> {
    store: Arc<dyn Checkpointer>,
    desk: Desk,
    head: Expect,
    queue: Vec<Op>,
    /// Checkpoints in the queue and on their way.
    unacknowledged: u32,
    in_flight: Option<InFlight>,
    /// Events to show once everything put before them is stored.
    held: VecDeque<Held<S>>,
    /// How many commits were started, and how many are acknowledged.
    started: u64,
    acknowledged: u64,
    busy: SharedBusy,
    runtime: Option<Handle>,
}

struct InFlight {
    commit: BoxFuture<'static, Result<(), CommitError>>,
    checkpoints: u32,
    head: Option<Expect>,
}

struct Held<S: State> {
    event: Event<S>,
    /// The commit that must be acknowledged first.
    after: u64,
}

impl<S: State> Writer<S> {
    pub(crate) fn new(store: Arc<dyn Checkpointer>, desk: Desk, head: Expect, busy: SharedBusy) -> Self {
        Self {
            store,
            desk,
            head,
            queue: Vec::new(),
            unacknowledged: 0,
            in_flight: None,
            held: VecDeque::new(),
            started: 0,
            acknowledged: 0,
            busy,
            runtime: Handle::try_current().ok(),
        }
    }

    /// Takes something to be stored.
    pub(crate) fn put(&mut self, put: Put) -> Result<(), SealError> {
        if matches!(put, Put::Checkpoint(_)) {
            self.unacknowledged += 1;
        }
        self.desk.seal(put, &mut self.queue)
    }

    /// The last checkpoint that is known to be stored.
    pub(crate) fn stored(&self) -> Option<CheckpointId> {
        match self.head {
            Expect::Head(id) => Some(id),
            _ => None,
        }
    }

    /// How many checkpoints are not acknowledged.
    pub(crate) fn unacknowledged(&self) -> u32 {
        self.unacknowledged
    }

    /// Whether everything put is stored.
    pub(crate) fn is_idle(&self) -> bool {
        self.queue.is_empty() && self.in_flight.is_none()
    }

    /// Whether a commit is on its way.
    pub(crate) fn is_writing(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Shows an event at once, unless earlier ones still wait.
    pub(crate) fn show(&mut self, event: Event<S>, events: &Events<S>) {
        match self.held.back() {
            Some(last) => {
                let after = last.after;
                self.held.push_back(Held { event, after });
            }
            None => events.push(event),
        }
    }

    /// Shows an event once the next commit is acknowledged: what it shows is still to be put.
    pub(crate) fn show_later(&mut self, event: Event<S>) {
        self.held.push_back(Held { event, after: self.started + 1 });
    }

    /// Shows an event once everything put so far is stored.
    pub(crate) fn show_after(&mut self, event: Event<S>, events: &Events<S>) {
        if self.is_idle() {
            return events.push(event);
        }
        let after = self.started + u64::from(!self.queue.is_empty());
        self.held.push_back(Held { event, after });
    }

    /// Starts the next commit if none is on its way.
    pub(crate) fn start(&mut self) {
        if self.in_flight.is_some() || self.queue.is_empty() {
            return;
        }
        let ops = std::mem::take(&mut self.queue);
        let put = |op: &Op| match op {
            Op::PutCheckpoint(new) => Some(new.checkpoint.id),
            _ => None,
        };
        let checkpoints = ops.iter().filter_map(put).count();
        let head = ops.iter().filter_map(put).next_back().map(Expect::Head);
        let change = Commit { key: self.desk.key.clone(), guard: Guard::head(self.head), ops };
        self.started += 1;
        self.in_flight = Some(InFlight {
            commit: Box::pin(commit(Arc::clone(&self.store), change)),
            checkpoints: u32::try_from(checkpoints).unwrap_or(u32::MAX),
            head,
        });
    }

    /// Waits for one commit: the one on its way, or else the next.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>, events: Option<&Events<S>>) -> Poll<Result<(), CommitError>> {
        self.start();
        // Taken out meanwhile: if the store panics, the commit is not polled again.
        let Some(mut in_flight) = self.in_flight.take() else { return Poll::Ready(Ok(())) };
        let Poll::Ready(result) = in_flight.commit.as_mut().poll(cx) else {
            self.in_flight = Some(in_flight);
            return Poll::Pending;
        };
        result?;
        self.acknowledged += 1;
        self.unacknowledged -= in_flight.checkpoints;
        self.head = in_flight.head.unwrap_or(self.head);
        if let Some(events) = events {
            self.release(events);
        }
        // The next is not started here: while the run can go on, more may join it.
        Poll::Ready(Ok(()))
    }

    fn release(&mut self, events: &Events<S>) {
        while self.held.front().is_some_and(|held| held.after <= self.acknowledged) {
            if let Some(held) = self.held.pop_front() {
                events.push(held.event);
            }
        }
    }

    /// Waits until at most so many checkpoints are not acknowledged.
    pub(crate) async fn drain_to(&mut self, most: u32, events: Option<&Events<S>>) -> Result<(), CommitError> {
        while self.unacknowledged > most {
            poll_fn(|cx| self.poll(cx, events)).await?;
        }
        Ok(())
    }

    /// Waits until everything put is stored.
    pub(crate) async fn flush(&mut self, events: Option<&Events<S>>) -> Result<(), CommitError> {
        while !self.is_idle() {
            poll_fn(|cx| self.poll(cx, events)).await?;
        }
        Ok(())
    }
}

impl<S: State> Drop for Writer<S> {
    /// A dropped call finishes the commit on its way and starts no other; the thread is free when that is done.
    fn drop(&mut self) {
        self.busy.leave();
        if let (Some(in_flight), Some(runtime)) = (self.in_flight.take(), &self.runtime) {
            let busy = Arc::clone(&self.busy);
            runtime.spawn(async move {
                if let Err(error) = in_flight.commit.await {
                    tracing::warn!(error = %error, "the last commit of a dropped call failed");
                }
                drop(busy);
            });
        }
    }
}
