//! [`Call`]: what every call across a seam carries.

use std::fmt;
use std::sync::Arc;

use deadline::Deadline;

/// What a request is called, by its client or else by us; upstreams are told it, so that their logs can be
/// matched with ours. Never a text of the user's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequestName(Arc<str>);

/// One call across a seam: until when, for which request, and the how-manieth of its kind.
#[derive(Clone, Debug)]
pub struct Call {
    /// The whole exchange is over by then.
    pub deadline: Deadline,
    pub request: RequestName,
    /// From 1; a retry or a replacement counts on.
    pub attempt: u32,
}

impl RequestName {
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self(name.into())
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Call {
    /// The first call of its kind for `request`.
    #[must_use]
    pub fn first(request: RequestName, deadline: Deadline) -> Self {
        Self { deadline, request, attempt: 1 }
    }

    /// A call that no request waits for: indexing, warming up, checking.
    #[must_use]
    pub fn background(what: &str, deadline: Deadline) -> Self {
        Self::first(RequestName::new(what), deadline)
    }
}
