//! [`FaultKind`]: what can go wrong, by name.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// What a call of which sort a fault is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    Generate,
    Embed,
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident $name:literal,)+) => {
        /// One way for a call to go wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum FaultKind {
            $($(#[$doc])* #[serde(rename = $name)] $kind,)+
        }

        impl FaultKind {
            pub const ALL: &[Self] = &[$(Self::$kind),+];

            /// The name on the command line, at the admin endpoint and in the journal.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                }
            }
        }
    };
}

kinds! {
    /// The connection is closed at once, without a byte. If every call is to be refused, connections are
    /// closed as they are accepted; for a port on which nobody listens, see `Simulator::stop_listening`.
    Refused "refused",
    /// Nothing is ever sent.
    HangBeforeHeaders "hang_before_headers",
    /// Status and headers are sent, then nothing.
    HangAfterHeaders "hang_after_headers",
    /// Some of the body is sent, then nothing.
    StallMidstream "stall_midstream",
    /// Some of the body is sent, then the connection (with HTTP/2 the stream) is reset.
    ResetMidstream "reset_midstream",
    /// The body ends in good order, but early: without a finish reason.
    EofWithoutFinish "eof_without_finish",
    /// Some of the body is sent, then the error object itself, indented, outside any event.
    MidstreamErrorRaw "midstream_error_raw",
    /// Some of the body is sent, then the error object as an event.
    MidstreamErrorEvent "midstream_error_event",
    /// Some of the body is sent, then the connection is closed in the middle of it.
    MidstreamClose "midstream_close",
    /// 429 with a retry delay, for a limit per minute.
    RateLimitedMinute "rate_limited_minute",
    /// 429 for a limit per day: no use waiting.
    RateLimitedDay "rate_limited_day",
    /// 503.
    Unavailable "unavailable",
    /// 504 in the API's own words.
    DeadlineExceeded "deadline_exceeded",
    /// 502 with a page of HTML, as from a front end.
    Html502 "html_502",
    /// 500.
    Internal "internal",
    /// 200 with JSON that breaks off.
    MalformedJson "malformed_json",
    /// The token cap is spent on thinking: no `parts`, or only thoughts where those were asked for.
    ThinkingExhausted "thinking_exhausted",
    /// The prompt is blocked: no candidates.
    BlockedPrompt "blocked_prompt",
    /// The reply is blocked when some of it has been sent.
    BlockedMidstream "blocked_midstream",
    /// One part with no text in it.
    EmptyParts "empty_parts",
    /// The reply is cut by a token cap lower than the one asked for.
    Length "length",
    /// The reply is the word for "not answered here".
    Sentinel "sentinel",
    /// The reply cites passages for what they do not say.
    Unsupported "unsupported",
    /// The reply cites nothing.
    Uncited "uncited",
    /// Everything is in order, but later by the fault's `delay_ms` (a second, if that is not given).
    AdminDelay "admin_delay",
}

/// A name that no fault has.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("no fault is called {0:?}")]
pub struct UnknownFault(pub String);

impl FaultKind {
    /// Whether calls of `stage` can go wrong in this way.
    #[must_use]
    pub fn concerns(self, stage: Stage) -> bool {
        match self {
            Self::ThinkingExhausted
            | Self::BlockedPrompt
            | Self::BlockedMidstream
            | Self::EmptyParts
            | Self::Length
            | Self::Sentinel
            | Self::Unsupported
            | Self::Uncited
            | Self::MidstreamErrorRaw
            | Self::MidstreamErrorEvent => stage == Stage::Generate,
            Self::Refused
            | Self::HangBeforeHeaders
            | Self::HangAfterHeaders
            | Self::StallMidstream
            | Self::ResetMidstream
            | Self::EofWithoutFinish
            | Self::MidstreamClose
            | Self::RateLimitedMinute
            | Self::RateLimitedDay
            | Self::Unavailable
            | Self::DeadlineExceeded
            | Self::Html502
            | Self::Internal
            | Self::MalformedJson
            | Self::AdminDelay => true,
        }
    }
}

impl FromStr for FaultKind {
    type Err = UnknownFault;

    fn from_str(name: &str) -> Result<Self, UnknownFault> {
        let found = Self::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| UnknownFault(name.to_owned()))
    }
}

impl fmt::Display for FaultKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
