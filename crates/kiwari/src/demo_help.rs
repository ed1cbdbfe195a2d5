//! The sample help center, carried in the binary so that `kiwari demo` works from anywhere.

use std::path::Path;

use include_dir::{Dir, include_dir};

static HELP: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/../../examples/help");

/// Writes the sample pages under `folder`.
pub(crate) fn write_to(folder: &Path) -> std::io::Result<()> {
    HELP.extract(folder)
}
