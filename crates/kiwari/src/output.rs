//! Everything that is printed for people and for pipes goes through here.

use std::io::{self, ErrorKind, Write};

use serde::Serialize;

/// Prints a line to standard output. A reader that has gone away ends the program quietly, as it ends
/// other tools.
pub(crate) fn line(text: &str) -> anyhow::Result<()> {
    match writeln!(io::stdout().lock(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        other => Ok(other?),
    }
}

/// Prints a value as indented JSON.
pub(crate) fn json(value: &impl Serialize) -> anyhow::Result<()> {
    line(&serde_json::to_string_pretty(value)?)
}

/// Prints a remark to standard error.
pub(crate) fn remark(text: &str) {
    // With nobody listening there is nobody to tell.
    let _unheard = writeln!(io::stderr().lock(), "{text}");
}

/// Prints an error with its causes, each once.
pub(crate) fn complain(error: &anyhow::Error) {
    let mut text = format!("error: {error}");
    for cause in error.chain().skip(1) {
        text.push_str("\n  because: ");
        text.push_str(cause.to_string().trim_end());
    }
    remark(&text);
}
