//! Carrying the files of a finished index over to the next one.

use std::fs;
use std::io;
use std::path::Path;

use super::error::KeywordError;

/// Puts the files of the index in `previous` into `dir`, which is created. Segment files are never written
/// again once finished, so they are hard-linked (copied where that is not possible); the small files that
/// tantivy replaces are copied, so that the two indexes share no mutable state.
pub(super) fn carry_over(previous: &Path, dir: &Path) -> Result<(), KeywordError> {
    let failed = |action, path: &Path| {
        let path = path.to_owned();
        move |source| KeywordError::Io { action, path, source }
    };
    fs::create_dir_all(dir).map_err(failed("create", dir))?;
    for entry in fs::read_dir(previous).map_err(failed("read", previous))? {
        let entry = entry.map_err(failed("read", previous))?;
        let (from, to) = (entry.path(), dir.join(entry.file_name()));
        let is_file = entry.file_type().map_err(failed("read", &from))?.is_file();
        let name = entry.file_name();
        if !is_file || name.to_string_lossy().ends_with(".lock") {
            continue;
        }
        let is_replaced = from.extension().is_some_and(|extension| extension == "json");
        let carried = if is_replaced { copy(&from, &to) } else { link_or_copy(&from, &to) };
        carried.map_err(failed("carry over", &from))?;
    }
    Ok(())
}

fn link_or_copy(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Other file systems refuse in many ways; copying settles whether the file can be had at all.
        Err(_) => copy(from, to),
        Ok(()) => Ok(()),
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    fs::copy(from, to)?;
    fs::File::open(to)?.sync_all()
}
