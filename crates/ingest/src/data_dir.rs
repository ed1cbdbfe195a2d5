//! [`DataDir`]: where everything lies on disk.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use domain::AppName;
use search::GenerationFolder;

use crate::IngestError;

/// The data directory's layout:
///
/// ```text
/// catalog.sqlite              articles, passages, generations of record
/// ledger.sqlite               the latency log
/// generations/APP/NUMBER/     the searchable parts of one generation, immutable once published
/// generations/APP/lock        held by the run that indexes APP
/// ```
#[derive(Clone, Debug)]
pub struct DataDir(PathBuf);

/// Held while an app is being indexed; the system gives it back when the process ends.
#[derive(Debug)]
pub struct IndexLock {
    _file: File,
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

    /// The parts of one generation.
    #[must_use]
    pub fn generation(&self, app: &AppName, number: u64) -> GenerationFolder {
        GenerationFolder::new(self.app(app).join(number.to_string()))
    }

    fn app(&self, app: &AppName) -> PathBuf {
        self.0.join("generations").join(app.as_str())
    }

    /// Keeps every other run away from `app` until the lock is dropped.
    ///
    /// # Errors
    ///
    /// [`IngestError::Busy`] if another run holds it, [`IngestError::Io`] if it cannot be had at all.
    pub fn lock(&self, app: &AppName) -> Result<IndexLock, IngestError> {
        let folder = self.app(app);
        fs::create_dir_all(&folder).map_err(IngestError::io("make the folder", &folder))?;
        let path = folder.join("lock");
        let file = File::options()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(IngestError::io("open the lock", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(IndexLock { _file: file }),
            Err(TryLockError::WouldBlock) => {
                Err(IngestError::Busy { app: app.clone(), lock: path })
            }
            Err(TryLockError::Error(error)) => Err(IngestError::io("take the lock", path)(error)),
        }
    }

    /// Removes the folders of all generations of `app` but `keep`: superseded ones, and what runs that
    /// were killed have left. Servers that still hold one open keep its files until they let go.
    ///
    /// # Errors
    ///
    /// [`IngestError::Io`] naming what could not be removed.
    pub(crate) fn sweep(&self, app: &AppName, keep: &BTreeSet<u64>) -> Result<(), IngestError> {
        let folder = self.app(app);
        let entries = fs::read_dir(&folder).map_err(IngestError::io("list", &folder))?;
        for entry in entries {
            let path = entry.map_err(IngestError::io("list", &folder))?.path();
            let number = path.file_name().and_then(|name| name.to_str()?.parse::<u64>().ok());
            if number.is_some_and(|number| !keep.contains(&number)) {
                fs::remove_dir_all(&path).map_err(IngestError::io("remove", &path))?;
            }
        }
        Ok(())
    }
}
