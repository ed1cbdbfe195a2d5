//! What a far side's refusal means for its caller: the one place that knows how Google, `OpenAI` and the
//! servers that speak like them word their errors.

mod delay;
mod judge;
mod report;

use std::time::Duration;

use domain::{Fault, FaultKind};
use reqwest::header::HeaderMap;
use serde_json::Value;

use crate::{ErrorKind, UpstreamError};
use report::Report;

/// A fault in the making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Judged {
    pub(crate) kind: FaultKind,
    pub(crate) retry_after: Option<Duration>,
    pub(crate) error: UpstreamError,
}

impl From<Judged> for Fault {
    fn from(judged: Judged) -> Self {
        let Judged { kind, retry_after, error } = judged;
        let fault = Self::new(kind, error);
        match retry_after {
            Some(after) => fault.passing(after),
            None => fault,
        }
    }
}

/// The fault that a reply with `status` is, which is not 2xx. `body` may be a JSON error of any known shape, a
/// proxy's HTML, or nothing.
#[must_use]
pub fn fault_of_status(status: u16, headers: &HeaderMap, body: &[u8]) -> Fault {
    judged_of_status(status, headers, body).into()
}

/// The fault that a JSON error is when the reply's status said nothing of it, as in the middle of a stream.
/// `json` is the object with the `error` in it, or that in an array of one, or the error itself.
#[must_use]
pub fn fault_of_error_json(json: &Value) -> Fault {
    let report = Report::of(json);
    let status = report.status.unwrap_or(judge::UNSAID);
    judge::judge(status, &report, &HeaderMap::new()).into()
}

pub(crate) fn judged_of_status(status: u16, headers: &HeaderMap, body: &[u8]) -> Judged {
    let report = match serde_json::from_slice::<Value>(body) {
        Ok(json) => Report::of(&json),
        Err(_no_json) => Report::of_text(&String::from_utf8_lossy(body)),
    };
    judge::judge(status, &report, headers)
}

/// Whether `error` is about the far side's health, rather than about what we sent.
pub(crate) fn is_our_own_making(error: &UpstreamError) -> bool {
    matches!(error.kind, ErrorKind::BadRequest | ErrorKind::NotFound)
}
