//! [`UpstreamError`]: what went wrong with a call, in words.

use std::fmt;

use thiserror::Error;

/// What went wrong, as far as somebody who sets things up would act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The far side does not accept our key, or wants one.
    BadKey,
    /// There is no such model or path.
    NotFound,
    /// It does not accept the request, for another reason than the key.
    BadRequest,
    /// Too many calls for the moment.
    RateLimited,
    /// An allowance of the day or month is used up, or nothing is paid.
    Quota,
    /// It says that it cannot do it now.
    Unavailable,
    /// No connection could be made.
    Unreachable,
    /// It could not prove who it is, or does not speak TLS as we do.
    Tls,
    /// The connection ended in the middle, or what came was no HTTP.
    Broken,
    /// The reply was larger than any real one.
    TooLarge,
    /// We did not call.
    BreakerOpen,
}

/// What went wrong with a call. It never holds a key, nor texts that were sent.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub struct UpstreamError {
    pub kind: ErrorKind,
    /// The reply's status, where there was a reply.
    pub status: Option<u16>,
    /// The far side's words, cut to a few hundred characters, or ours.
    pub message: String,
}

/// Characters of a far side's message that are kept.
const LONGEST_MESSAGE: usize = 500;

impl UpstreamError {
    pub(crate) fn new(kind: ErrorKind, status: Option<u16>, message: &str) -> Self {
        Self { kind, status, message: shortened(message) }
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "status {status}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// On one line, and not endless.
fn shortened(message: &str) -> String {
    let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_cut_and_stay_on_one_line() {
        let error = UpstreamError::new(ErrorKind::Unavailable, Some(502), "<html>\n  <body>");
        assert_eq!(error.to_string(), "status 502: <html> <body>");
        let error = UpstreamError::new(ErrorKind::Unavailable, None, &"語".repeat(501));
        assert_eq!(error.to_string(), format!("{}…", "語".repeat(500)));
    }
}
