//! The log: to standard error, so that standard output is the commands' own.

use tracing_appender::non_blocking::{NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::EnvFilter;

use crate::config::LogFormat;

/// Starts logging, until the guard is dropped. `RUST_LOG` chooses what; without it everything from `info`
/// up.
///
/// Lines are written by a thread of their own. If whoever reads them stalls, lines are dropped: a request
/// never waits for its log line.
pub(crate) fn start(format: LogFormat) -> WorkerGuard {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_unset| EnvFilter::new("info"));
    let (writer, guard) = NonBlockingBuilder::default().lossy(true).finish(std::io::stderr());
    let builder = tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer);
    // A second start keeps the first log, which is what its owner wants.
    let _kept = match format {
        LogFormat::Json => builder.json().flatten_event(true).with_current_span(false).try_init(),
        LogFormat::Text => builder.with_target(false).try_init(),
    };
    guard
}
