//! Commits of which nobody knows whether they were made, and that were not.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use superstep::checkpoint::{
    At, Commit, CommitError, Guarantees, ListQuery, NamespaceKey, Op, StoreInstance, StoredCheckpoint, ThreadKey, View,
};
use superstep::{
    Checkpointer, Command, CompiledGraph, Memory, QuestionId, RunConfig, RunErrorKind, StoreError, StoreErrorKind,
};

use crate::history::line;
use crate::refund::{Refund, THREAD, graph, input, story, take_up};
use crate::verdict::check_names;
use crate::{Books, DURABILITIES, steps};

/// A store that loses one commit on the way to it, and cannot say so. Meanwhile somebody else may do something.
#[derive(Debug)]
struct Loses {
    inner: Memory,
    which: Which,
    commits: AtomicU32,
    meanwhile: Option<(CompiledGraph<Refund>, QuestionId)>,
}

#[derive(Clone, Copy, Debug)]
enum Which {
    /// The commit of this number.
    Number(u32),
    /// The one with an answer.
    Answer,
}

impl Loses {
    fn loses(&self, commit: &Commit) -> bool {
        let number = self.commits.fetch_add(1, Ordering::Relaxed) + 1;
        match self.which {
            Which::Number(lost) => lost == number,
            Which::Answer => commit.ops.iter().any(|op| matches!(op, Op::Answer(_))),
        }
    }
}

#[async_trait]
impl Checkpointer for Loses {
    async fn commit(&self, commit: Commit) -> Result<(), CommitError> {
        if !self.loses(&commit) {
            return self.inner.commit(commit).await;
        }
        if let Some((graph, question)) = &self.meanwhile {
            graph.invoke(Command::answers([(*question, true)]), THREAD).await.unwrap();
        }
        let source = StoreError::new(StoreErrorKind::Connection, "commit", "the connection broke");
        Err(CommitError::InDoubt { thread: commit.key.thread, source })
    }

    async fn get(&self, key: &NamespaceKey, at: At) -> Result<View, StoreError> {
        self.inner.get(key, at).await
    }

    async fn list(&self, key: &NamespaceKey, query: &ListQuery) -> Result<Vec<StoredCheckpoint>, StoreError> {
        self.inner.list(key, query).await
    }

    async fn delete_thread(&self, key: &ThreadKey) -> Result<(), StoreError> {
        self.inner.delete_thread(key).await
    }

    fn guarantees(&self) -> Guarantees {
        self.inner.guarantees()
    }

    fn instance(&self) -> StoreInstance {
        StoreInstance::new() // as another process
    }
}

/// A commit that was lost is found to be lost: the call fails, and whoever takes the thread up does the work again.
#[tokio::test]
async fn a_lost_commit_is_not_taken_for_made() {
    for durability in DURABILITIES {
        for number in 1.. {
            let config = || RunConfig::thread(THREAD).durability(durability);
            let (inner, books) = (Memory::new(), Arc::new(Books::default()));
            let loses =
                Loses { inner: inner.clone(), which: Which::Number(number), commits: 0.into(), meanwhile: None };
            let mut asked = None;
            let end = story(&graph(loses, books.clone()), config(), |question| asked = Some(question)).await;
            let Err(error) = end else {
                assert!(number > 3, "{number} commits in {durability:?}");
                break;
            };
            assert!(matches!(error.kind(), RunErrorKind::Store(_)) && error.is_retryable(), "{error:?}");
            let graph = graph(inner, books.clone());
            assert_eq!(take_up(&graph, config(), &mut asked).await.unwrap(), Refund::settled());
            let pages = books.pages();
            assert_eq!(pages.receipts.len(), 1);
            check_names(&pages.visits);
            line(&graph, THREAD, steps(durability)).await;
        }
    }
}

/// The question has an answer, but not this one: it does not count, and nothing runs for it.
#[tokio::test]
async fn an_answer_in_doubt_is_not_mistaken_for_another() {
    let (inner, books) = (Memory::new(), Arc::new(Books::default()));
    let ours = graph(inner.clone(), books.clone());
    let question = ours.invoke(input(), THREAD).await.unwrap().interrupts()[0].id;
    let meanwhile = Some((ours.clone(), question));
    let loses = Loses { inner, which: Which::Answer, commits: 0.into(), meanwhile };
    let late = graph(loses, books.clone()).invoke(Command::answers([(question, false)]), THREAD).await;
    let kind = late.unwrap_err().into_kind();
    assert!(matches!(kind, RunErrorKind::Store(_)), "{kind:?}");
    assert_eq!(*ours.state(THREAD).await.unwrap().state, Refund::settled());
    let approved = books.pages().visits.iter().filter(|visit| visit.node == "approve").count();
    assert_eq!(approved, 1);
}
