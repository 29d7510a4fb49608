//! Commits that wait for the writing connection.
//!
//! A commit costs a flush, and one flush serves many commits. So who gets the connection takes along the commits of
//! others that wait for it, and they go to the disk together, each applied or refused on its own.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use sqlx::Error;
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use crate::group;
use crate::request::Request;
use crate::writer::{Writer, Writing};

/// So many commits go to the disk together at most.
const MOST: usize = 32;
/// With so many bytes of content; a greater commit goes alone.
const MOST_BYTES: usize = 256 << 10;

/// Why a commit was not applied.
#[derive(Clone, Debug)]
pub(crate) enum Refused {
    /// The check found something, in its words.
    Check(String),
    /// Nothing was sent, for there is no connection.
    NotSent(Arc<Error>),
    /// The statement failed.
    Failed(Arc<Error>),
}

/// A commit in line.
#[derive(Debug)]
pub(crate) struct Waiting {
    ticket: u64,
    pub(crate) request: Request,
    answer: oneshot::Sender<Result<(), Refused>>,
}

impl Waiting {
    /// Tells the caller, who may have gone away.
    pub(crate) fn answer(self, answer: Result<(), Refused>) {
        let _ = self.answer.send(answer);
    }

    /// Answers with what `run` gives for the request.
    pub(crate) async fn answer_with<F>(self, run: impl FnOnce(Request) -> F)
    where
        F: Future<Output = Result<(), Error>>,
    {
        let answer = run(self.request).await.map_err(|error| Refused::Failed(Arc::new(error)));
        let _ = self.answer.send(answer);
    }

    fn is_given_up(&self) -> bool {
        self.answer.is_closed()
    }
}

/// The line before the writer.
#[derive(Debug)]
pub(crate) struct Line {
    writer: Arc<Writer>,
    waiting: Mutex<Vec<Waiting>>,
    next_ticket: AtomicU64,
}

impl Line {
    pub(crate) fn new(writer: Arc<Writer>) -> Self {
        Self { writer, waiting: Mutex::default(), next_ticket: AtomicU64::new(0) }
    }

    /// Applies a commit. Given up while it waits in line, it leaves the line; given up later, it is applied or refused
    /// all the same.
    pub(crate) async fn commit(&self, request: Request) -> Result<(), Refused> {
        let ticket = self.next_ticket.fetch_add(1, Ordering::Relaxed);
        let (answer, mut answered) = oneshot::channel();
        self.lock(|line| line.push(Waiting { ticket, request, answer }));
        loop {
            let writing = tokio::select! {
                biased;
                answer = &mut answered => return answer.unwrap_or_else(|_| Err(lost())),
                writing = self.writer.take() => writing,
            };
            // Whoever had the connection before may have answered at the last moment. If not, the commit is in line.
            if let Ok(answer) = answered.try_recv() {
                return answer;
            }
            self.serve(ticket, writing).await;
        }
    }

    /// Runs the commits at the front of the line.
    async fn serve(&self, own_ticket: u64, writing: Result<Writing, Error>) {
        let group = self.lock(next_group);
        let writing = match writing {
            Ok(writing) => writing,
            Err(error) => return answer_all(group, &Refused::NotSent(Arc::new(error))),
        };
        let is_own = matches!(&group[..], [only] if only.ticket == own_ticket);
        match Handle::try_current() {
            // The others must get their answers even if this caller goes away.
            Ok(runtime) if !is_own => drop(runtime.spawn(group::run(writing, group)).await),
            _ => group::run(writing, group).await,
        }
    }

    fn lock<T>(&self, with: impl FnOnce(&mut Vec<Waiting>) -> T) -> T {
        with(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Takes those at the front that go together: at least one, if anybody waits.
fn next_group(line: &mut Vec<Waiting>) -> Vec<Waiting> {
    line.retain(|waiting| !waiting.is_given_up());
    let mut bytes = 0;
    let fits = |waiting: &&Waiting| {
        bytes += waiting.request.len();
        bytes <= MOST_BYTES
    };
    let fitting = line.iter().take(MOST).take_while(fits).count();
    let count = fitting.max(1).min(line.len());
    line.drain(..count).collect()
}

/// Gives all of them the same answer.
pub(crate) fn answer_all(group: Vec<Waiting>, refused: &Refused) {
    for waiting in group {
        waiting.answer(Err(refused.clone()));
    }
}

/// The answer did not come: the runtime that ran the group was shut down in the middle.
fn lost() -> Refused {
    Refused::Failed(Arc::new(Error::WorkerCrashed))
}
