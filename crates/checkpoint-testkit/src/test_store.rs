//! The store under test, as a case sees it.

use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use superstep_checkpoint::{
    At, Checkpointer, Commit, CommitError, Durable, ListQuery, NamespaceKey, StoredCheckpoint, ThreadRow, View,
};

use crate::factory::StoreFactory;

/// No case takes a tenth of it; a case that hangs is to fail by its name.
const LIMIT: Duration = Duration::from_mins(2);

/// Runs one case on a fresh store, on a runtime of its own with several threads.
///
/// # Panics
/// If the case fails or does not end.
pub fn run<F, C, T>(factory: F, case: C)
where
    F: StoreFactory,
    C: FnOnce(TestStore) -> T + Send + 'static,
    T: Future<Output = ()> + Send,
{
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(4).enable_all().build();
    let runtime = runtime.unwrap_or_else(|error| panic!("no runtime for the case: {error}"));
    // On a thread of the runtime, so that a case that never yields is given up as well.
    let case = runtime.spawn(async move { case(TestStore::fresh(factory).await).await });
    let ended = runtime.block_on(async { tokio::time::timeout(LIMIT, case).await });
    match ended {
        Ok(Ok(())) => {}
        Ok(Err(failed)) => std::panic::resume_unwind(failed.into_panic()),
        Err(_) => {
            runtime.shutdown_background();
            panic!("the case did not end within {LIMIT:?}");
        }
    }
}

/// A handle on the store under test, with the reading and expecting that most cases do.
///
/// Clones are the same handle.
#[derive(Clone, Debug)]
pub struct TestStore {
    store: Arc<dyn Checkpointer>,
    // After the handle: fields are dropped in their order.
    home: Arc<dyn Home>,
}

/// A factory and the place that it made, without their types.
#[async_trait]
trait Home: Send + Sync {
    async fn reopen(&self) -> Option<Arc<dyn Checkpointer>>;
    async fn another(&self) -> TestStore;
}

struct Place<F: StoreFactory> {
    guard: F::Guard,
    factory: Arc<F>,
}

#[async_trait]
impl<F: StoreFactory> Home for Place<F> {
    async fn reopen(&self) -> Option<Arc<dyn Checkpointer>> {
        self.factory.reopen(&self.guard).await
    }

    async fn another(&self) -> TestStore {
        TestStore::from_shared(Arc::clone(&self.factory)).await
    }
}

impl std::fmt::Debug for dyn Home {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Home")
    }
}

impl Deref for TestStore {
    type Target = dyn Checkpointer;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

impl TestStore {
    /// A fresh, empty store.
    pub async fn fresh<F: StoreFactory>(factory: F) -> Self {
        Self::from_shared(Arc::new(factory)).await
    }

    async fn from_shared<F: StoreFactory>(factory: Arc<F>) -> Self {
        let (store, guard) = factory.fresh().await;
        Self { store, home: Arc::new(Place { guard, factory }) }
    }

    /// Another fresh, empty store of the same make.
    pub async fn another(&self) -> Self {
        self.home.another().await
    }

    /// The handle itself.
    pub fn handle(&self) -> Arc<dyn Checkpointer> {
        Arc::clone(&self.store)
    }

    /// Drops this handle and opens the data again. `None` where the data does not outlive the handle.
    ///
    /// # Panics
    /// If a store that promises to outlive the process cannot be opened again.
    pub async fn reopen(self) -> Option<Self> {
        let Self { store, home } = self;
        let promised = store.guarantees().durable;
        drop(store);
        match home.reopen().await {
            Some(store) => Some(Self { store, home }),
            None if promised == Durable::Process => None,
            None => panic!("the store promises {promised:?} and its factory cannot open the data again"),
        }
    }

    /// A second handle on the same data, as another process would have it. `None` where the store is not shared.
    ///
    /// # Panics
    /// If a store that says it is shared cannot be opened twice.
    pub async fn second(&self) -> Option<Self> {
        if !self.store.guarantees().shared {
            return None;
        }
        let Some(store) = self.home.reopen().await else { panic!("the store says it is shared and opens only once") };
        Some(Self { store, home: Arc::clone(&self.home) })
    }

    /// Commits.
    ///
    /// # Panics
    /// If it is refused.
    pub async fn apply(&self, commit: impl Into<Commit>) {
        if let Err(error) = self.store.commit(commit.into()).await {
            panic!("refused: {error} ({error:?})");
        }
    }

    /// Commits what must be refused.
    ///
    /// # Panics
    /// If it is applied.
    pub async fn refuse(&self, commit: impl Into<Commit>) -> CommitError {
        match self.store.commit(commit.into()).await {
            Ok(()) => panic!("applied, although it had to be refused"),
            Err(error) => error,
        }
    }

    /// Reads.
    ///
    /// # Panics
    /// If the store fails.
    pub async fn view(&self, key: &NamespaceKey, at: At) -> View {
        self.store.get(key, at).await.unwrap_or_else(|error| panic!("cannot read: {error}"))
    }

    /// The checkpoint there.
    ///
    /// # Panics
    /// If there is none.
    pub async fn found(&self, key: &NamespaceKey, at: At) -> StoredCheckpoint {
        self.view(key, at).await.found.unwrap_or_else(|| panic!("nothing found at {at:?}"))
    }

    /// The head.
    ///
    /// # Panics
    /// If there is none.
    pub async fn head(&self, key: &NamespaceKey) -> StoredCheckpoint {
        self.found(key, At::Head).await
    }

    /// The row of the thread.
    ///
    /// # Panics
    /// If there is none.
    pub async fn row(&self, key: &NamespaceKey) -> ThreadRow {
        self.view(key, At::Head).await.thread.unwrap_or_else(|| panic!("the thread has no row"))
    }

    /// Lists what matches.
    ///
    /// # Panics
    /// If the store fails.
    pub async fn matching(&self, key: &NamespaceKey, query: ListQuery) -> Vec<StoredCheckpoint> {
        self.store.list(key, &query).await.unwrap_or_else(|error| panic!("cannot list: {error}"))
    }

    /// Lists everything.
    ///
    /// # Panics
    /// If the store fails.
    pub async fn all(&self, key: &NamespaceKey) -> Vec<StoredCheckpoint> {
        self.matching(key, ListQuery::default()).await
    }

    /// Deletes a thread.
    ///
    /// # Panics
    /// If the store fails.
    pub async fn delete(&self, key: &NamespaceKey) {
        self.store.delete_thread(&key.thread).await.unwrap_or_else(|error| panic!("cannot delete: {error}"));
    }

    /// All that can be read of these namespaces, to compare.
    pub async fn everything(&self, keys: &[&NamespaceKey]) -> Vec<(View, Vec<StoredCheckpoint>)> {
        let mut all = Vec::with_capacity(keys.len());
        for key in keys {
            all.push((self.view(key, At::Head).await, self.all(key).await));
        }
        all
    }
}
