//! [`FileLock`]: one process per app, on one machine.

use std::fs::{self, File, TryLockError};
use std::io::Write;
use std::path::Path;

use domain::AppName;

use crate::CatalogError;

/// A locked file that says who locked it. The system unlocks it when the process ends.
#[derive(Debug)]
pub(super) struct FileLock {
    _file: File,
}

impl FileLock {
    pub(super) fn take(folder: &Path, app: &AppName, holder: &str) -> Result<Self, CatalogError> {
        let path = folder.join(app.as_str());
        let failed = |source| CatalogError::Lock { path: path.clone(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(CatalogError::Busy { app: app.clone(), holder: holder_in(&path) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        sign(&file, holder).map_err(failed)?;
        Ok(Self { _file: file })
    }
}

fn sign(mut file: &File, holder: &str) -> std::io::Result<()> {
    file.set_len(0)?;
    file.write_all(holder.as_bytes())
}

/// Whoever took the lock a moment ago may not have written it down yet.
fn holder_in(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap_or_default();
    if text.is_empty() { "another process".to_owned() } else { text }
}
