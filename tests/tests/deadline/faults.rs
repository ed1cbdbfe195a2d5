//! What each fault comes to.

/// The answer to expect while every call of a stage has a fault.
#[derive(Debug)]
pub(crate) struct Expected {
    pub(crate) fault: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) kinds: &'static [&'static str],
}

const NOTHING: &[&str] = &["templated"];
/// Some text had come: as much of it as makes sentences is kept.
const SOME: &[&str] = &["partial", "templated"];
/// The model writes from what the keywords found.
const WHOLE: &[&str] = &["generated"];

const fn expected(
    fault: &'static str,
    reason: &'static str,
    kinds: &'static [&'static str],
) -> Expected {
    Expected { fault, reason, kinds }
}

pub(crate) const GENERATE: &[Expected] = &[
    expected("refused", "error", NOTHING),
    expected("hang_before_headers", "timeout", NOTHING),
    expected("hang_after_headers", "timeout", NOTHING),
    expected("stall_midstream", "timeout", SOME),
    expected("reset_midstream", "error", SOME),
    expected("eof_without_finish", "error", SOME),
    expected("midstream_error_raw", "error", SOME),
    expected("midstream_error_event", "error", SOME),
    expected("midstream_close", "error", SOME),
    expected("rate_limited_minute", "rate_limited", NOTHING),
    expected("rate_limited_day", "quota", NOTHING),
    expected("unavailable", "error", NOTHING),
    expected("deadline_exceeded", "error", NOTHING),
    expected("html_502", "error", NOTHING),
    expected("internal", "error", NOTHING),
    expected("malformed_json", "error", SOME),
    expected("thinking_exhausted", "thinking_exhausted", NOTHING),
    expected("blocked_prompt", "blocked", NOTHING),
    expected("blocked_midstream", "blocked", NOTHING),
    expected("empty_parts", "error", NOTHING),
    expected("length", "truncated", SOME),
    expected("sentinel", "declined", NOTHING),
    expected("unsupported", "unsupported", NOTHING),
    expected("uncited", "unsupported", NOTHING),
];

pub(crate) const EMBED: &[Expected] = &[
    expected("refused", "error", WHOLE),
    expected("hang_before_headers", "timeout", WHOLE),
    expected("hang_after_headers", "timeout", WHOLE),
    expected("stall_midstream", "timeout", WHOLE),
    expected("reset_midstream", "error", WHOLE),
    expected("eof_without_finish", "error", WHOLE),
    expected("midstream_close", "error", WHOLE),
    expected("rate_limited_minute", "rate_limited", WHOLE),
    expected("rate_limited_day", "quota", WHOLE),
    expected("unavailable", "error", WHOLE),
    expected("deadline_exceeded", "error", WHOLE),
    expected("html_502", "error", WHOLE),
    expected("internal", "error", WHOLE),
    expected("malformed_json", "error", WHOLE),
];
