//! The log: to standard error, so that standard output is the commands' own.

use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// Starts logging. `RUST_LOG` chooses what; without it everything from `info` up.
pub(crate) fn start(format: LogFormat) {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_unset| EnvFilter::new("info"));
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    // A second start keeps the first log, which is what its owner wants.
    let _kept = match format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).try_init(),
        LogFormat::Text => builder.with_target(false).try_init(),
    };
}
