//! [`Outcome`]: what the end of a call says of its upstream.

use std::error::Error;
use std::time::Duration;

use domain::{Fault, FaultKind};

use crate::classify::is_our_own_making;
use crate::{ErrorKind, UpstreamError};

/// What the end of a call says of its upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It works.
    Worked,
    /// It does not, and may have asked to be left alone.
    Failed {
        asked: Option<Duration>,
    },
    BadKey,
    Quota,
    /// Nothing: the call was given up, or was wrong itself.
    Unknown,
}

impl Outcome {
    /// The outcome of a call that ended with `fault`; `hung` is whether it had waited longer than is fair.
    pub(crate) fn of(fault: &Fault, hung: bool) -> Self {
        match fault.kind() {
            FaultKind::Timeout => Self::of_waiting(hung),
            FaultKind::RateLimited => Self::Failed { asked: fault.retry_after() },
            FaultKind::Quota => Self::Quota,
            FaultKind::Error => Self::of_error(fault),
            // It replied as it should; what it replied is another matter.
            FaultKind::Blocked | FaultKind::ThinkingExhausted => Self::Worked,
            FaultKind::BreakerOpen | FaultKind::Overloaded | FaultKind::Unavailable => {
                Self::Unknown
            }
        }
    }

    /// The outcome of a call that was given up.
    pub(crate) fn of_waiting(hung: bool) -> Self {
        if hung { Self::Failed { asked: None } } else { Self::Unknown }
    }

    fn of_error(fault: &Fault) -> Self {
        let source = fault.source().and_then(|source| source.downcast_ref::<UpstreamError>());
        match source {
            Some(error) if error.kind == ErrorKind::BadKey => Self::BadKey,
            Some(error) if is_our_own_making(error) => Self::Unknown,
            _ => Self::Failed { asked: fault.retry_after() },
        }
    }
}
