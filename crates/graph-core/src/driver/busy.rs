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
    /// It ended or was dropped. What cannot be called back is still on its way: a commit, a node before its next await.
    Leaving,
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
    /// Whether that call ended, so that the thread is free in a moment.
    pub(crate) fn is_leaving(&self) -> bool {
        matches!(*self.0.borrow(), Stage::Leaving | Stage::Over)
    }

    /// Waits until that call is over.
    pub(crate) async fn over(mut self) {
        let _ = self.0.wait_for(|stage| *stage == Stage::Over).await; // a dropped sender is over too
    }

    /// Waits until that call has stored its answers or ended; whether it runs.
    pub(crate) async fn runs(mut self) -> bool {
        let stage = self.0.wait_for(|stage| *stage != Stage::Entering).await;
        stage.is_ok_and(|stage| *stage == Stage::Running)
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

    /// The call ended or was dropped. The thread is free when the last clone is gone.
    pub(crate) fn leave(&self) {
        self.stage.send_replace(Stage::Leaving);
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

/// The right as everything holds it that may outlive its call: a commit in flight, a node before its next await.
pub(crate) type SharedBusy = Arc<Busy>;
