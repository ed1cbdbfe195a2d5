//! What ought to happen, reckoned from the rules as the documentation has them, sharing no code with the
//! policy. Times are milliseconds since the request's start.
//!
//! The shares: embed 700, vector 600, generate 900 (nothing without a model), reserve 50 or a quarter of
//! the budget, cut-off R at 2000, first-token cut-off F at 1200 or two fifths of what is
//! left.

use domain::AnswerKind;

use crate::peers::{Embedding, Keywords, Vectors, Writing};
use crate::world::{Case, Seen};

const NEVER: u64 = u64::MAX;
const R: u64 = 2000;
const F: u64 = 1200;
const PAUSE_MS: u64 = 60;

/// When a search ended, and whether with hits.
struct Ended {
    at: u64,
    hits: bool,
}

pub(crate) fn expected(case: Case) -> Seen {
    let reserve = (case.budget / 4).min(50);
    let end = case.budget - reserve;
    let writer = case.write != Writing::Absent;
    let before_writing = end.saturating_sub(if writer { 900 } else { 0 });
    let mut reasons = Vec::new();

    let keyword_end = if before_writing > 0 { before_writing } else { end };
    let core_free = match case.keyword {
        Keywords::Hits | Keywords::Nothing => 0,
        Keywords::Late => Keywords::LATE_MS,
        Keywords::Stalled => NEVER,
    };
    let (keyword, keyword_reason) = keywords(case, core_free, keyword_end);
    reasons.extend(keyword_reason);
    let in_hand = |limit: u64| if keyword.hits { limit.min(R) } else { limit };

    let semantic = semantic(case, before_writing, core_free, &in_hand, &mut reasons);

    let hits = keyword.hits || semantic.hits;
    let settled = keyword.at.max(semantic.at);
    let mut kind = if hits { AnswerKind::Templated } else { AnswerKind::NoMatch };
    if !writer {
        reasons.push("generate:no_generator".to_owned());
    } else if hits {
        let (written, reason) = written(case.write, settled, end);
        kind = written.unwrap_or(kind);
        reasons.extend(reason.map(|reason| format!("generate:{reason}")));
    }
    // A sentence had been told when the rest was blocked.
    let told_well = !(reasons.iter().any(|reason| reason == "generate:blocked"));
    Seen { kind, told_well, reasons, cited: hits }
}

fn keywords(case: Case, core_free: u64, limit: u64) -> (Ended, Option<String>) {
    if core_free < limit {
        let hits = case.keyword != Keywords::Nothing;
        (Ended { at: core_free, hits }, None)
    } else {
        (Ended { at: limit, hits: false }, Some("keyword:timeout".to_owned()))
    }
}

/// Embedding, then the nearest passages.
fn semantic(
    case: Case,
    before_writing: u64,
    core_free: u64,
    in_hand: &dyn Fn(u64) -> u64,
    reasons: &mut Vec<String>,
) -> Ended {
    let mut nothing = |at: u64, reason: &str| {
        reasons.push(reason.to_owned());
        Ended { at, hits: false }
    };
    let before_vector = before_writing.saturating_sub(600);
    if before_vector < 700 {
        return nothing(0, "embed:skipped_budget");
    }
    let (lands, fault) = match case.embed {
        Embedding::Prompt => (Embedding::PROMPT_MS, None),
        Embedding::Slow => (Embedding::SLOW_MS, None),
        Embedding::Stalled => (NEVER, None),
        Embedding::Failing => (Embedding::FAILING_MS, Some("embed:error")),
        Embedding::RateLimited => (Embedding::FAILING_MS, Some("embed:rate_limited")),
        // Called again after its pause; half the minimum of 700 fits whatever budget has got this far.
        Embedding::Flaky => (Embedding::FAILING_MS + PAUSE_MS + Embedding::PROMPT_MS, None),
    };
    let limit = in_hand(before_vector);
    if lands >= limit {
        return nothing(limit, "embed:timeout");
    }
    if let Some(reason) = fault {
        return nothing(lands, reason);
    }
    // A late core has not given keyword hits yet, so the cut-off does not count when it starts.
    let limit_at_start = if lands >= core_free { in_hand(before_writing) } else { before_writing };
    if limit_at_start < lands + 600 {
        return nothing(lands, "vector:skipped_budget");
    }
    let (takes, fault) = match case.vector {
        Vectors::Prompt | Vectors::Nothing => (Vectors::PROMPT_MS, None),
        Vectors::Slow => (Vectors::SLOW_MS, None),
        Vectors::Stalled => (NEVER, None),
        Vectors::Failing => (Vectors::FAILING_MS, Some("vector:error")),
    };
    let mut found = lands.saturating_add(takes);
    if fault.is_none() {
        // The passages are fetched on a core.
        found = found.max(core_free);
    }
    let limit = in_hand(before_writing);
    if found >= limit {
        return nothing(limit, "vector:timeout");
    }
    match fault {
        Some(reason) => nothing(found, reason),
        None => Ended { at: found, hits: case.vector != Vectors::Nothing },
    }
}

/// The kind that a model's text makes of the answer, if any, and what there is to say about it.
fn written(script: Writing, begins: u64, end: u64) -> (Option<AnswerKind>, Option<&'static str>) {
    if end < begins + 900 {
        return (None, Some("skipped_budget"));
    }
    // Another call is worth making if a first token (400) and 32 tokens at 75 a second (426.7) fit.
    let worth_another = |at: u64| at + 827 <= end;
    // What is not said otherwise has ended after four steps, well before the 900 ms are over.
    match script {
        Writing::Absent => (None, None),
        Writing::Prompt | Writing::Lingering => (Some(AnswerKind::Generated), None),
        Writing::Flaky if worth_another(begins + Writing::STEP_MS + PAUSE_MS) => {
            (Some(AnswerKind::Generated), None)
        }
        Writing::SlowStart if worth_another(begins + F.min((end - begins) * 2 / 5)) => {
            (Some(AnswerKind::Generated), None)
        }
        Writing::SlowStart => (None, Some("timeout")),
        Writing::Declined => (None, Some("declined")),
        Writing::Blocked => (None, Some("blocked")),
        Writing::Truncated | Writing::Runaway => (Some(AnswerKind::Partial), Some("truncated")),
        Writing::Endless => (Some(AnswerKind::Partial), Some("timeout")),
        Writing::Stalled => (None, Some("timeout")),
        Writing::Failing | Writing::Flaky | Writing::Silent => (None, Some("error")),
        Writing::BreakingOff | Writing::Unfinished => (Some(AnswerKind::Partial), Some("error")),
        Writing::Unsupported => (None, Some("unsupported")),
    }
}
