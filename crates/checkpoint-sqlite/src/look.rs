//! Whose a file is, found out without changing anything, and without a lock that an application would notice.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use superstep_checkpoint::{StoreError, StoreErrorKind};

use crate::connect::{Connector, close};
use crate::error::store_error;
use crate::open::OPEN;
use crate::schema::{self, APPLICATION_ID};

/// What a look at a path shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// No file, or an empty one.
    Nothing,
    /// A file with our mark.
    Ours,
    /// A file in the middle of a change, or damaged. With its lock it will show.
    Unclear,
    /// Anything else.
    Foreign,
}

/// Looks at the path.
///
/// # Errors
/// `Denied` if it is no file or may not be read.
pub(crate) async fn look(path: &Path, connector: &Connector) -> Result<Found, StoreError> {
    loop {
        let found = look_once(path, connector).await?;
        if found != Found::Foreign {
            return Ok(found);
        }
        if is_first_write(path) {
            return Ok(Found::Unclear);
        }
        // The first look may have come too early, or in the middle of a first write that has ended since.
        if look_once(path, connector).await? == Found::Foreign && !is_first_write(path) {
            return Ok(Found::Foreign);
        }
    }
}

async fn look_once(path: &Path, connector: &Connector) -> Result<Found, StoreError> {
    if is_empty(path)? {
        return Ok(Found::Nothing);
    }
    let mut connection = connector.look().await.map_err(|error| store_error(OPEN, error))?;
    let application = schema::application_id(&mut connection).await.map_err(|error| store_error(OPEN, error));
    close(connection).await;
    match application {
        // The header says it even where newer pages stand in the write-ahead log only, since a file gets our mark
        // before it gets a log.
        Ok(APPLICATION_ID) => Ok(Found::Ours),
        Ok(_) => Ok(Found::Foreign),
        Err(error) => match error.kind() {
            StoreErrorKind::NotOurs => Ok(Found::Foreign),
            // Read without a lock, a file that is growing right now looks damaged.
            StoreErrorKind::Corrupt => Ok(Found::Unclear),
            _ => Err(error),
        },
    }
}

/// Whether there is nothing yet. Asked without opening the file: whoever closes a file drops all locks of the process
/// on it, also those of SQLite.
fn is_empty(path: &Path) -> Result<bool, StoreError> {
    match path.metadata() {
        Ok(metadata) if metadata.is_file() => Ok(metadata.len() == 0),
        Ok(_) => Err(StoreError::new(StoreErrorKind::Denied, OPEN, "it is not a file")),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(true),
        Err(error) => Err(io_fault(error)),
    }
}

/// Whether a program is writing the first pages of the file, or died over it: then a journal lies beside the file that
/// leads back to an empty one. Its header has the number of pages that the
/// file had before, at byte 16, as a big-endian number; see <https://sqlite.org/fileformat2.html#the_rollback_journal>.
fn is_first_write(path: &Path) -> bool {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    let Ok(mut journal) = File::open(PathBuf::from(journal)) else { return false };
    let mut header = [0; 20];
    // Of a header that is not written yet as little is in the file itself.
    journal.read_exact(&mut header).is_err() || header[16..] == [0; 4]
}

/// A fault of the file system.
pub(crate) fn io_fault(error: io::Error) -> StoreError {
    let kind = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreErrorKind::Full,
        _ => StoreErrorKind::Denied,
    };
    StoreError::new(kind, OPEN, error.to_string()).with_source(error)
}
