//! How long a far side wants to be left alone.

use std::time::Duration;

use reqwest::header::{HeaderMap, RETRY_AFTER};

use super::report::Report;

/// Google sends no header and says it in the body; others the other way about. The message is a last resort.
/// A `Retry-After` that is a date is taken for none.
pub(super) fn asked_for(report: &Report, headers: &HeaderMap) -> Option<Duration> {
    let in_body = report.retry_delay.as_deref().and_then(of_seconds);
    in_body.or_else(|| of_headers(headers)).or_else(|| of_message(&report.message))
}

fn of_headers(headers: &HeaderMap) -> Option<Duration> {
    let number = |name: &str| headers.get(name)?.to_str().ok()?.trim().parse::<f64>().ok();
    let exactly = number("retry-after-ms").map(|millis| millis / 1000.0);
    let seconds = exactly.or_else(|| number(RETRY_AFTER.as_str()))?;
    Duration::try_from_secs_f64(seconds).ok()
}

/// `36s`, `36.04s`, `850ms`.
fn of_seconds(text: &str) -> Option<Duration> {
    let (number, unit) = match text.strip_suffix("ms") {
        Some(number) => (number, 1000.0),
        None => (text.strip_suffix('s')?, 1.0),
    };
    Duration::try_from_secs_f64(number.trim().parse::<f64>().ok()? / unit).ok()
}

/// `… Please retry in 36.04s.`, `… Please try again in 850ms.`
fn of_message(message: &str) -> Option<Duration> {
    let (_, behind) =
        message.split_once("retry in ").or_else(|| message.split_once("try again in "))?;
    of_seconds(behind.split_whitespace().next()?.trim_end_matches(['.', ',']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (name.parse().unwrap(), value.parse().unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[track_caller]
    fn check(
        body: Option<&str>,
        pairs: &[(&'static str, &'static str)],
        message: &str,
        ms: Option<u64>,
    ) {
        let report = Report {
            retry_delay: body.map(str::to_owned),
            message: message.to_owned(),
            ..Report::default()
        };
        assert_eq!(asked_for(&report, &headers(pairs)), ms.map(Duration::from_millis));
    }

    #[test]
    fn the_body_is_believed_first_then_headers_then_the_message() {
        let message = "Please retry in 3s.";
        check(Some("36.5s"), &[("retry-after", "9")], message, Some(36_500));
        check(None, &[("retry-after", "9"), ("retry-after-ms", "850")], message, Some(850));
        check(None, &[("retry-after", "9")], message, Some(9000));
        check(None, &[], message, Some(3000));
        check(None, &[], "Please try again in 20ms. Visit …", Some(20));
    }

    #[test]
    fn what_is_no_delay_is_none() {
        check(Some("-3s"), &[], "", None);
        check(Some("NaNs"), &[("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT")], "", None);
        check(Some("1e300s"), &[("retry-after", "-1")], "retry in a while", None);
        check(None, &[], "retry in ", None);
    }
}
