//! One call a thread, inside one process. Between processes the store's head decides.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use superstep_checkpoint::{StoreInstance, ThreadKey};
use tokio::sync::watch;

type Key = (StoreInstance, ThreadKey);
type Registry = HashMap<Key, watch::Receiver<Stage>>;

static BUSY: Mutex<Option<Registry>> = Mutex::new(None);

/// How far the call that runs a thread is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It has not decided yet what it does; its answers are not stored yet.
    Entering,
    /// Its answers are stored.
    Running,
    /// It is over.
    Over,
}

/// The right to run a thread. Given back when dropped.
pub(crate) struct Busy {
    key: Key,
    stage: watch::Sender<Stage>,
}

/// The thread is run by another call of this process.
pub(crate) struct Taken(watch::Receiver<Stage>);

impl Taken {
    /// Waits until that call is over.
    pub(crate) async fn over(mut self) {
        let _ = self.0.wait_for(|stage| *stage == Stage::Over).await; // a dropped sender is over too
    }

    /// Waits until that call has stored its answers, or is over.
    pub(crate) async fn entered(mut self) {
        let _ = self.0.wait_for(|stage| *stage != Stage::Entering).await;
    }
}

fn registry() -> MutexGuard<'static, Option<Registry>> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Busy {
    /// Takes the thread, if nobody has it.
    pub(crate) fn take(store: StoreInstance, thread: &ThreadKey) -> Result<Self, Taken> {
        let key = (store, thread.clone());
        let mut registry = registry();
        let registry = registry.get_or_insert_default();
        if let Some(stage) = registry.get(&key) {
            return Err(Taken(stage.clone()));
        }
        let (stage, watched) = watch::channel(Stage::Entering);
        registry.insert(key.clone(), watched);
        Ok(Self { key, stage })
    }

    /// The call's answers are stored.
    pub(crate) fn entered(&self) {
        self.stage.send_replace(Stage::Running);
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(registry) = registry().as_mut() {
            registry.remove(&self.key);
        }
        self.stage.send_replace(Stage::Over);
    }
}

/// A right that a commit in flight may outlive its call with.
pub(crate) type SharedBusy = Arc<Busy>;
