//! From a status and its report to the fault.

use std::time::Duration;

use domain::FaultKind;
use reqwest::StatusCode;
use reqwest::header::HeaderMap;

use super::Judged;
use super::delay::asked_for;
use super::report::Report;
use crate::{ErrorKind, UpstreamError};

/// The status of an error that names none. Those are failures of the far side's making: what it has against
/// the request it says before it starts to reply.
pub(super) const UNSAID: u16 = 500;

/// How long a rate limit lasts that does not say so. Limits are counted by the minute, and some calls of it
/// come free every second.
const UNSAID_PAUSE: Duration = Duration::from_secs(1);

pub(super) fn judge(status: u16, report: &Report, headers: &HeaderMap) -> Judged {
    let error = kind_of(status, report);
    let (kind, retry_after) = match error {
        ErrorKind::Quota => (FaultKind::Quota, None),
        ErrorKind::RateLimited => {
            (FaultKind::RateLimited, Some(asked_for(report, headers).unwrap_or(UNSAID_PAUSE)))
        }
        ErrorKind::Unavailable if passes(status) => {
            (FaultKind::Error, Some(asked_for(report, headers).unwrap_or_default()))
        }
        ErrorKind::Unavailable
        | ErrorKind::BadKey
        | ErrorKind::NotFound
        | ErrorKind::BadRequest
        | ErrorKind::Unreachable
        | ErrorKind::Tls
        | ErrorKind::Broken
        | ErrorKind::TooLarge
        | ErrorKind::BreakerOpen => (FaultKind::Error, None),
    };
    Judged {
        kind,
        retry_after,
        error: UpstreamError::new(error, Some(status), &message(status, report)),
    }
}

/// The far side's words, else what the status is called.
fn message(status: u16, report: &Report) -> String {
    if !report.message.trim().is_empty() {
        return report.message.clone();
    }
    let status = StatusCode::from_u16(status).ok();
    status.and_then(|status| status.canonical_reason()).unwrap_or("no message").to_owned()
}

fn kind_of(status: u16, report: &Report) -> ErrorKind {
    match status {
        402 => ErrorKind::Quota,
        429 if is_used_up(report) => ErrorKind::Quota,
        429 => ErrorKind::RateLimited,
        // A cached content that has expired is "not permitted"; the key is fine.
        403 if report.message.contains("CachedContent") => ErrorKind::NotFound,
        401 | 403 => ErrorKind::BadKey,
        400 if is_key_invalid(report) => ErrorKind::BadKey,
        404 | 410 => ErrorKind::NotFound,
        408 | 500.. => ErrorKind::Unavailable,
        _ => ErrorKind::BadRequest,
    }
}

/// Whether the same call may succeed later: not where the far side says that it never does such things.
fn passes(status: u16) -> bool {
    !matches!(status, 501 | 505)
}

/// Whether no waiting within a request's life helps.
fn is_used_up(report: &Report) -> bool {
    let by_day = |id: &String| id.contains("PerDay") || id.contains("PerMonth");
    let unpaid =
        |word: &String| word == "insufficient_quota" || word == "billing_hard_limit_reached";
    report.quota_ids.iter().any(by_day) || report.words.iter().any(unpaid)
}

/// Google says 400 to a wrong key.
fn is_key_invalid(report: &Report) -> bool {
    let says_so = |word: &String| word == "API_KEY_INVALID" || word == "invalid_api_key";
    report.words.iter().any(says_so) || report.message.starts_with("API key not valid")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::classify::judged_of_status;

    #[track_caller]
    fn check(status: u16, body: &Value, kind: FaultKind, error: ErrorKind, ms: Option<u64>) {
        for body in [body.clone(), json!([body])] {
            let judged = judged_of_status(status, &HeaderMap::new(), body.to_string().as_bytes());
            let found = (judged.kind, judged.error.kind, judged.retry_after);
            assert_eq!(found, (kind, error, ms.map(Duration::from_millis)), "{status} {body}");
        }
    }

    fn google(code: u16, status: &str, message: &str, details: &Value) -> Value {
        json!({"error": {"code": code, "status": status, "message": message, "details": details}})
    }

    fn quota(id: &str) -> Value {
        json!([{"@type": "type.googleapis.com/google.rpc.QuotaFailure", "violations": [{"quotaId": id}]},
               {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}])
    }

    #[test]
    fn rate_limits_pass_and_used_up_allowances_do_not() {
        let body = |id| google(429, "RESOURCE_EXHAUSTED", "You exceeded …", &quota(id));
        let minute = body("GenerateRequestsPerMinutePerProjectPerModel-FreeTier");
        check(429, &minute, FaultKind::RateLimited, ErrorKind::RateLimited, Some(36_000));
        let day = body("GenerateRequestsPerDayPerProjectPerModel-FreeTier");
        check(429, &day, FaultKind::Quota, ErrorKind::Quota, None);
        let unpaid = json!({"error": {"message": "m", "type": "insufficient_quota", "code": "insufficient_quota"}});
        check(429, &unpaid, FaultKind::Quota, ErrorKind::Quota, None);
        check(
            402,
            &json!({"error": {"message": "no credits"}}),
            FaultKind::Quota,
            ErrorKind::Quota,
            None,
        );
        let busy = json!({"error": "Model is overloaded", "error_type": "Overloaded"});
        check(429, &busy, FaultKind::RateLimited, ErrorKind::RateLimited, Some(1000));
    }

    #[test]
    fn what_the_far_side_cannot_do_now_passes() {
        let loading = json!({"error": {"code": 503, "message": "Loading model", "type": "unavailable_error"}});
        check(503, &loading, FaultKind::Error, ErrorKind::Unavailable, Some(0));
        for status in [408, 500, 502, 504, 520, 529] {
            check(status, &Value::Null, FaultKind::Error, ErrorKind::Unavailable, Some(0));
        }
        check(501, &Value::Null, FaultKind::Error, ErrorKind::Unavailable, None);
    }

    #[test]
    fn a_wrong_key_is_told_from_a_wrong_request() {
        let details = json!([{"reason": "API_KEY_INVALID", "domain": "googleapis.com"}]);
        let wrong = google(400, "INVALID_ARGUMENT", "m", &details);
        check(400, &wrong, FaultKind::Error, ErrorKind::BadKey, None);
        let said = google(400, "INVALID_ARGUMENT", "API key not valid. Please pass …", &json!([]));
        check(400, &said, FaultKind::Error, ErrorKind::BadKey, None);
        check(401, &Value::Null, FaultKind::Error, ErrorKind::BadKey, None);
        let missing = google(403, "PERMISSION_DENIED", "Method doesn't allow …", &json!([]));
        check(403, &missing, FaultKind::Error, ErrorKind::BadKey, None);
        let ours = google(400, "INVALID_ARGUMENT", "Unknown name", &json!([]));
        check(400, &ours, FaultKind::Error, ErrorKind::BadRequest, None);
        check(413, &Value::Null, FaultKind::Error, ErrorKind::BadRequest, None);
        check(404, &Value::Null, FaultKind::Error, ErrorKind::NotFound, None);
        let cache = google(403, "PERMISSION_DENIED", "CachedContent not found (or …)", &json!([]));
        check(403, &cache, FaultKind::Error, ErrorKind::NotFound, None);
    }

    #[test]
    fn a_page_in_place_of_an_error_keeps_its_status() {
        let judged =
            judged_of_status(502, &HeaderMap::new(), b"<html><h1>502 Bad Gateway</h1></html>");
        assert_eq!(judged.kind, FaultKind::Error);
        assert_eq!(judged.error.to_string(), "status 502: <html><h1>502 Bad Gateway</h1></html>");
        let judged = judged_of_status(502, &HeaderMap::new(), b"");
        assert_eq!(judged.error.to_string(), "status 502: Bad Gateway");
    }

    #[track_caller]
    fn check_within_a_stream(json: &Value, kind: FaultKind, passing: bool) {
        let fault = crate::fault_of_error_json(json);
        assert_eq!((fault.kind(), fault.retry_after().is_some()), (kind, passing), "{json}");
    }

    #[test]
    fn errors_within_streams_say_their_status_in_many_ways() {
        let demand = google(503, "UNAVAILABLE", "high demand", &json!([]));
        check_within_a_stream(&demand, FaultKind::Error, true);
        check_within_a_stream(&json!([demand]), FaultKind::Error, true);
        check_within_a_stream(&demand["error"], FaultKind::Error, true);
        check_within_a_stream(
            &json!({"error": {"code": "429", "message": "m"}}),
            FaultKind::RateLimited,
            true,
        );
        check_within_a_stream(
            &json!({"error": {"message": "m", "type": "server_error", "code": null}}),
            FaultKind::Error,
            true,
        );
        check_within_a_stream(
            &json!({"error": {"message": "m", "type": "insufficient_quota"}}),
            FaultKind::Quota,
            false,
        );
        check_within_a_stream(
            &json!({"error": {"message": "m", "type": "invalid_request_error"}}),
            FaultKind::Error,
            false,
        );
        check_within_a_stream(&json!({"error": "broken pipe"}), FaultKind::Error, true);
        check_within_a_stream(&json!(null), FaultKind::Error, true);
    }
}
