//! [`Fault`]: why a call across a seam did not deliver.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use deadline::{Interrupted, OutOfTime};

use crate::Reason;

/// Any error, as a source.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Why a call across a seam did not deliver. The kind is what callers decide on and reports count; the
/// source is for the log and is never parsed.
#[derive(Debug)]
pub struct Fault {
    kind: FaultKind,
    source: BoxError,
    retry_after: Option<Duration>,
}

/// One kind per decision that some caller takes; each maps to exactly one [`Reason`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// The stage's deadline passed.
    Timeout,
    /// The far side failed, or replied with something unusable.
    Error,
    /// The far side asked for fewer calls for a moment.
    RateLimited,
    /// We have stopped calling the far side for a moment.
    BreakerOpen,
    /// The far side refuses this content.
    Blocked,
    /// The model spent its whole output on thinking.
    ThinkingExhausted,
    /// An allowance of the day or month is used up.
    Quota,
    /// Too much of our own work is under way.
    Overloaded,
    /// It is not configured, not loaded, or gone.
    Unavailable,
}

impl Fault {
    /// A fault of `kind`, caused by `source`.
    pub fn new(kind: FaultKind, source: impl Into<BoxError>) -> Self {
        Self { kind, source: source.into(), retry_after: None }
    }

    /// The same fault, of which another try of the same call may be rid once `after` has passed.
    #[must_use]
    pub fn passing(self, after: Duration) -> Self {
        Self { retry_after: Some(after), ..self }
    }

    /// How long the far side wants to be left alone before another try; `None` if another try would fail the
    /// same way.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.retry_after
    }

    /// What to decide on.
    #[must_use]
    pub fn kind(&self) -> FaultKind {
        self.kind
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.reason().as_str())
    }
}

impl Error for Fault {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(self.source.as_ref())
    }
}

impl From<OutOfTime> for Fault {
    fn from(source: OutOfTime) -> Self {
        Self::new(FaultKind::Timeout, source)
    }
}

impl From<Interrupted> for Fault {
    fn from(source: Interrupted) -> Self {
        let kind = match &source {
            Interrupted::OutOfTime(_) => FaultKind::Timeout,
            Interrupted::Panicked(_) => FaultKind::Error,
        };
        Self::new(kind, source)
    }
}

impl FaultKind {
    /// How it is named to clients and in reports.
    #[must_use]
    pub fn reason(self) -> Reason {
        match self {
            Self::Timeout => Reason::Timeout,
            Self::Error => Reason::Error,
            Self::RateLimited => Reason::RateLimited,
            Self::BreakerOpen => Reason::BreakerOpen,
            Self::Blocked => Reason::Blocked,
            Self::ThinkingExhausted => Reason::ThinkingExhausted,
            Self::Quota => Reason::Quota,
            Self::Overloaded => Reason::Overloaded,
            Self::Unavailable => Reason::Unavailable,
        }
    }
}
