//! [`DataDir`]: where everything lies on disk.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use domain::AppName;
use search::GenerationFolder;

use crate::IngestError;

/// The data directory's layout:
///
/// ```text
/// catalog.sqlite              articles, passages, generations of record, unless hosts share a catalog
/// locks/APP                   held by the run that indexes APP into that file
/// ledger.sqlite               the latency log
/// generations/APP/NUMBER/     the searchable parts of one generation, immutable once published
/// copies/APP/NUMBER/          the same, built by this host from a shared catalog
/// copies/APP/lock             held by the process that builds one
/// ```
#[derive(Clone, Debug)]
pub struct DataDir(PathBuf);

/// Held while a copy is being built; the system gives it back when the process ends. Work on blocking threads goes on
/// when nobody waits for it any more, so it holds a clone.
#[derive(Clone, Debug)]
pub(crate) struct CopyLock {
    _file: Arc<File>,
}

impl DataDir {
    /// The layout under `path`; nothing is made yet.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The directory itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Makes the directory if it is not there.
    ///
    /// # Errors
    ///
    /// [`IngestError::Io`] naming the directory.
    pub fn create(&self) -> Result<(), IngestError> {
        fs::create_dir_all(&self.0).map_err(IngestError::io("make the data directory", &self.0))
    }

    /// The catalog's file.
    #[must_use]
    pub fn catalog(&self) -> PathBuf {
        self.0.join("catalog.sqlite")
    }

    /// The latency log's file.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.0.join("ledger.sqlite")
    }

    /// The parts of one generation, beside the catalog that they were published in.
    #[must_use]
    pub fn generation(&self, app: &AppName, number: u64) -> GenerationFolder {
        GenerationFolder::new(self.generations(app).join(number.to_string()))
    }

    /// The parts of one generation of a shared catalog.
    #[must_use]
    pub(crate) fn copy(&self, app: &AppName, number: u64) -> GenerationFolder {
        GenerationFolder::new(self.copies(app).join(number.to_string()))
    }

    /// A copy that is not complete.
    pub(crate) fn unfinished_copy(&self, app: &AppName) -> GenerationFolder {
        GenerationFolder::new(self.copies(app).join("unfinished"))
    }

    pub(crate) fn generations(&self, app: &AppName) -> PathBuf {
        self.0.join("generations").join(app.as_str())
    }

    pub(crate) fn copies(&self, app: &AppName) -> PathBuf {
        self.0.join("copies").join(app.as_str())
    }

    /// The apps of which there are copies.
    pub(crate) fn copied_apps(&self) -> Vec<AppName> {
        names_in(&self.0.join("copies")).iter().filter_map(|name| name.parse().ok()).collect()
    }

    /// Keeps every other process from building copies of `app` here.
    ///
    /// # Errors
    ///
    /// [`IngestError::Building`] if another one holds it, [`IngestError::Io`] if it cannot be had at all.
    pub(crate) fn lock_copies(&self, app: &AppName) -> Result<CopyLock, IngestError> {
        let folder = self.copies(app);
        fs::create_dir_all(&folder).map_err(IngestError::io("make the folder", &folder))?;
        let path = folder.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(IngestError::io("open the lock", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(CopyLock { _file: Arc::new(file) }),
            Err(TryLockError::WouldBlock) => {
                Err(IngestError::Building { app: app.clone(), lock: path })
            }
            Err(TryLockError::Error(error)) => Err(IngestError::io("take the lock", path)(error)),
        }
    }
}

/// The names in `folder`; none where there is none.
fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
}

/// The numbers among the names in `folder`.
pub(crate) fn numbers_in(folder: &Path) -> BTreeSet<u64> {
    names_in(folder).iter().filter_map(|name| name.parse().ok()).collect()
}

/// Removes all numbered folders in `folder` but `keep`: superseded generations, and what runs that were killed
/// have left. Servers that still hold one open keep its files until they let go.
///
/// # Errors
///
/// [`IngestError::Io`] naming what could not be removed.
pub(crate) fn sweep(folder: &Path, keep: &BTreeSet<u64>) -> Result<(), IngestError> {
    for number in numbers_in(folder).difference(keep) {
        let path = folder.join(number.to_string());
        fs::remove_dir_all(&path).map_err(IngestError::io("remove", &path))?;
    }
    Ok(())
}
