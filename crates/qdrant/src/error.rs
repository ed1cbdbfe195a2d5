//! [`QdrantError`], and which fault it is to a request.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use deadline::OutOfTime;
use domain::{Fault, FaultKind, GenerationId, PassageId};
use thiserror::Error;
use tonic::{Code, Status};

/// Something that Qdrant did not do.
#[derive(Debug, Error)]
pub enum QdrantError {
    #[error("no time was left to {doing}")]
    OutOfTime { doing: &'static str, source: OutOfTime },
    /// Its answer, or that there was none: no connection, or a broken one.
    #[error("Qdrant could not {doing}")]
    Refused { doing: &'static str, source: Box<Said> },
    #[error("generation {} (epoch {}) cannot follow generation {} (epoch {})", next.number, next.epoch, published.number, published.epoch)]
    NotNext { next: Box<GenerationId>, published: Box<GenerationId> },
    /// A point or a collection that this program does not write.
    #[error(
        "collection {collection} holds {what}; it is not this program's, or of another version"
    )]
    Foreign { collection: String, what: String },
    /// A published epoch's collection cannot take these vectors; only a new epoch can.
    #[error(
        "collection {collection} does not hold cosine vectors of {expected} dimensions but {found}"
    )]
    OtherShape { collection: String, found: String, expected: u32 },
    #[error("passage {passage} is new, and there is no vector for it")]
    MissingVector { passage: PassageId },
    #[error("the vector of passage {passage} has {found} dimensions instead of {expected}")]
    Dimensions { passage: PassageId, found: usize, expected: u32 },
    #[error("revision {revision} of {collection} holds {found} passages instead of {expected}")]
    Incomplete { collection: String, revision: u64, found: u64, expected: u64 },
}

/// Qdrant's answer when it refuses, or why there is none. Shows what people can read of it.
#[derive(Debug)]
pub struct Said(Status);

/// The longest message that is repeated, in characters: an answer may quote what it was sent.
const LONGEST_MESSAGE: usize = 300;

impl Said {
    pub(crate) fn new(status: Status) -> Box<Self> {
        Box::new(Self(status))
    }

    /// What it says, which may be nothing, without characters that do not show.
    #[must_use]
    pub fn message(&self) -> String {
        let shows = self.0.message().chars().filter(|c| !c.is_control());
        shows.take(LONGEST_MESSAGE).collect()
    }
}

impl fmt::Display for Said {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message() {
            message if message.is_empty() => f.write_str(self.0.code().description()),
            message => f.write_str(&message),
        }
    }
}

impl Error for Said {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}

/// How long a rate limit lasts that does not say so.
const UNSAID_PAUSE: Duration = Duration::from_secs(1);

impl QdrantError {
    pub(crate) fn foreign(collection: &str, what: impl Into<String>) -> Self {
        Self::Foreign { collection: collection.to_owned(), what: what.into() }
    }

    /// Whether the collection that was asked for is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.code() == Some(Code::NotFound)
    }

    /// Whether it wants another key, or this one may not do it.
    #[must_use]
    pub fn is_not_allowed(&self) -> bool {
        matches!(self.code(), Some(Code::Unauthenticated | Code::PermissionDenied))
    }

    /// How long to wait before the same call may succeed; `None` if it would fail the same way.
    pub(crate) fn passes_after(&self) -> Option<Duration> {
        match self {
            Self::Refused { source, .. } => passes_after(&source.0),
            Self::OutOfTime { .. }
            | Self::NotNext { .. }
            | Self::Foreign { .. }
            | Self::OtherShape { .. }
            | Self::MissingVector { .. }
            | Self::Dimensions { .. }
            | Self::Incomplete { .. } => None,
        }
    }

    pub(crate) fn code(&self) -> Option<Code> {
        match self {
            Self::Refused { source, .. } => Some(source.0.code()),
            Self::OutOfTime { .. }
            | Self::NotNext { .. }
            | Self::Foreign { .. }
            | Self::OtherShape { .. }
            | Self::MissingVector { .. }
            | Self::Dimensions { .. }
            | Self::Incomplete { .. } => None,
        }
    }

    fn kind(&self) -> FaultKind {
        match self {
            Self::OutOfTime { .. } => FaultKind::Timeout,
            Self::Refused { source, .. } => kind_of(source.0.code()),
            Self::NotNext { .. }
            | Self::Foreign { .. }
            | Self::OtherShape { .. }
            | Self::MissingVector { .. }
            | Self::Dimensions { .. }
            | Self::Incomplete { .. } => FaultKind::Error,
        }
    }
}

impl From<QdrantError> for Fault {
    fn from(error: QdrantError) -> Self {
        let after = error.passes_after();
        let fault = Self::new(error.kind(), error);
        match after {
            Some(after) => fault.passing(after),
            None => fault,
        }
    }
}

/// A server that cannot be reached has failed (`Error`), like one that says so: `Unavailable` is for what is not
/// there, the collection.
fn kind_of(code: Code) -> FaultKind {
    match code {
        Code::NotFound => FaultKind::Unavailable,
        // The server's own limit, which is the deadline rounded up.
        Code::DeadlineExceeded => FaultKind::Timeout,
        Code::ResourceExhausted => FaultKind::RateLimited,
        Code::Ok
        | Code::Cancelled
        | Code::Unknown
        | Code::InvalidArgument
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::Aborted
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::Internal
        | Code::Unavailable
        | Code::DataLoss
        | Code::Unauthenticated => FaultKind::Error,
    }
}

/// No connection is `Unavailable`, a connection that broke `Unknown`, `Cancelled` or `Internal`: the next call
/// makes a new one.
fn passes_after(status: &Status) -> Option<Duration> {
    match status.code() {
        Code::Unavailable | Code::Unknown | Code::Cancelled | Code::Internal | Code::Aborted => {
            Some(Duration::ZERO)
        }
        Code::ResourceExhausted => Some(asked_for(status).unwrap_or(UNSAID_PAUSE)),
        Code::Ok
        | Code::InvalidArgument
        | Code::DeadlineExceeded
        | Code::NotFound
        | Code::AlreadyExists
        | Code::PermissionDenied
        | Code::FailedPrecondition
        | Code::OutOfRange
        | Code::Unimplemented
        | Code::DataLoss
        | Code::Unauthenticated => None,
    }
}

/// `retry-after`, in whole seconds.
fn asked_for(status: &Status) -> Option<Duration> {
    let seconds = status.metadata().get("retry-after")?.to_str().ok()?;
    Some(Duration::from_secs(seconds.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use domain::Causes;

    use super::*;

    #[track_caller]
    fn check(status: Status, kind: FaultKind, after: Option<u64>) {
        let error = QdrantError::Refused { doing: "search", source: Said::new(status) };
        let fault = Fault::from(error);
        let found = (fault.kind(), fault.retry_after());
        assert_eq!(found, (kind, after.map(Duration::from_secs)), "{fault:?}");
    }

    #[test]
    fn the_log_names_what_qdrant_said_within_bounds() {
        let told = |status: Status| {
            let error = QdrantError::Refused { doing: "search", source: Said::new(status) };
            Causes(&Fault::from(error)).to_string()
        };
        let missing = told(Status::not_found("Collection `kiwari_a_e1` doesn't exist!"));
        let expected =
            "unavailable: Qdrant could not search: Collection `kiwari_a_e1` doesn't exist!";
        assert_eq!(missing, expected);
        let silent = told(Status::unauthenticated(""));
        assert!(silent.starts_with("error: Qdrant could not search: The request"), "{silent}");
        let long = told(Status::internal("x\n".repeat(5_000)));
        assert!(long.len() < 400 && !long.contains('\n'), "{long}");
    }

    #[test]
    fn a_fault_says_what_to_decide_on() {
        check(Status::not_found("no such collection"), FaultKind::Unavailable, None);
        check(Status::deadline_exceeded("timeout"), FaultKind::Timeout, None);
        check(Status::invalid_argument("dimension"), FaultKind::Error, None);
        check(Status::unauthenticated("key"), FaultKind::Error, None);
        check(Status::unavailable("refused"), FaultKind::Error, Some(0));
        check(Status::unknown("broken pipe"), FaultKind::Error, Some(0));
        check(Status::resource_exhausted("slow down"), FaultKind::RateLimited, Some(1));
        let mut limited = Status::resource_exhausted("slow down");
        limited.metadata_mut().insert("retry-after", "7".parse().unwrap());
        check(limited, FaultKind::RateLimited, Some(7));
    }
}
