//! The stores on which scenarios run.

use std::sync::Arc;

use superstep::{Checkpointer, Memory};

/// A kind of store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    #[cfg(feature = "sqlite")]
    Sqlite,
}

impl Kind {
    pub(crate) const ALL: &[Self] = &[
        Self::Memory,
        #[cfg(feature = "sqlite")]
        Self::Sqlite,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            #[cfg(feature = "sqlite")]
            Self::Sqlite => "sqlite",
        }
    }
}

/// Opens stores, each empty.
pub(crate) struct Stores {
    #[cfg(feature = "sqlite")]
    files: files::Files,
}

impl Stores {
    #[cfg_attr(not(feature = "sqlite"), expect(clippy::unnecessary_wraps, reason = "files may be missing"))]
    pub(crate) fn new() -> Result<Self, String> {
        Ok(Self {
            #[cfg(feature = "sqlite")]
            files: files::Files::new()?,
        })
    }

    #[cfg_attr(not(feature = "sqlite"), expect(clippy::unused_async, reason = "files are opened asynchronously"))]
    pub(crate) async fn open(&self, kind: Kind) -> Result<Arc<dyn Checkpointer>, String> {
        match kind {
            Kind::Memory => Ok(Arc::new(Memory::new())),
            #[cfg(feature = "sqlite")]
            Kind::Sqlite => self.files.open().await,
        }
    }
}

#[cfg(feature = "sqlite")]
mod files {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use superstep::{Checkpointer, Sqlite, Synchronous};
    use tempfile::TempDir;

    /// Database files in a folder of their own, gone with this value.
    pub(super) struct Files {
        folder: TempDir,
        next: AtomicU64,
    }

    impl Files {
        pub(super) fn new() -> Result<Self, String> {
            let folder = TempDir::new().map_err(|error| format!("no folder for files: {error}"))?;
            Ok(Self { folder, next: AtomicU64::new(0) })
        }

        pub(super) async fn open(&self) -> Result<Arc<dyn Checkpointer>, String> {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let options = Sqlite::options(self.folder.path().join(format!("{number}.db")));
            let store = options.synchronous(Synchronous::Normal).open().await;
            store.map(|store| Arc::new(store) as Arc<dyn Checkpointer>).map_err(|error| error.to_string())
        }
    }
}
