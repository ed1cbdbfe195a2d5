//! Which reports there are, and their columns.

use super::ReportError;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    /// A moment, as RFC 3339 in UTC to the second.
    Moment,
    Count,
    Number,
    Flag,
}

use Kind::{Count, Flag, Moment, Number, Text};

/// One report.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) columns: &'static [(&'static str, Kind)],
    /// The periods its rows can be asked for.
    pub(super) per: &'static [&'static str],
    /// Its query for SQLite: `?1` is since, in microseconds of the Unix epoch, `?2` the app, `?3` the period.
    pub(super) sqlite: &'static str,
}

impl Report {
    pub(super) fn named(name: &str) -> Result<&'static Self, ReportError> {
        let unknown = || ReportError::Unknown { name: name.to_owned() };
        REPORTS.iter().find(|report| report.name == name).ok_or_else(unknown)
    }

    pub(super) fn check_per(&self, per: &str) -> Result<(), ReportError> {
        if self.per.contains(&per) {
            return Ok(());
        }
        let per = per.to_owned();
        Err(ReportError::Per { report: self.name, per, possible: self.per })
    }
}

/// The reports' names.
pub const NAMES: [&str; 8] = [
    "stages",
    "stage_latency",
    "budget_eaters",
    "degradations",
    "answer_kinds",
    "first_content",
    "models",
    "slo",
];

/// What the report called `name` shows, in a few words.
#[must_use]
pub fn about(name: &str) -> Option<&'static str> {
    Report::named(name).ok().map(|report| report.about)
}

/// The periods that the rows of the report called `name` can be asked for; none in most reports.
#[must_use]
pub fn periods(name: &str) -> &'static [&'static str] {
    Report::named(name).map_or(&[], |report| report.per)
}

static REPORTS: [Report; 8] = [
    Report {
        name: "stages",
        about: "latency percentiles and outcomes per endpoint and stage",
        columns: &[
            ("endpoint", Text),
            ("stage", Text),
            ("count", Count),
            ("p50_ms", Number),
            ("p95_ms", Number),
            ("p99_ms", Number),
            ("ok", Number),
            ("skipped", Number),
            ("cut", Number),
            ("failed", Number),
        ],
        per: &[],
        sqlite: include_str!("sqlite/stages.sql"),
    },
    Report {
        name: "stage_latency",
        about: "latency percentiles of the stages that ran, by app, endpoint, stage, hour and day",
        columns: &[
            ("per", Text),
            ("starts_at", Moment),
            ("app", Text),
            ("endpoint", Text),
            ("stage", Text),
            ("n", Count),
            ("p50_ms", Number),
            ("p95_ms", Number),
            ("p99_ms", Number),
            ("tail_ratio", Number),
            ("is_exact", Flag),
        ],
        per: &["hour", "day", "window"],
        sqlite: include_str!("sqlite/stage_latency.sql"),
    },
    Report {
        name: "budget_eaters",
        about: "stages that took more than their allotment, and which later stage paid",
        columns: &[
            ("app", Text),
            ("stage", Text),
            ("paid_by", Text),
            ("n", Count),
            ("share", Number),
        ],
        per: &[],
        sqlite: include_str!("sqlite/budget_eaters.sql"),
    },
    Report {
        name: "degradations",
        about: "why answers and searches were less than full",
        columns: &[
            ("app", Text),
            ("endpoint", Text),
            ("stage", Text),
            ("reason", Text),
            ("degrades", Flag),
            ("n", Count),
            ("share", Number),
        ],
        per: &[],
        sqlite: include_str!("sqlite/degradations.sql"),
    },
    Report {
        name: "answer_kinds",
        about: "what kinds of answers were given",
        columns: &[
            ("app", Text),
            ("endpoint", Text),
            ("kind", Text),
            ("n", Count),
            ("share", Number),
            ("degraded", Number),
        ],
        per: &[],
        sqlite: include_str!("sqlite/answer_kinds.sql"),
    },
    Report {
        name: "first_content",
        about: "time to the first text, streaming and not",
        columns: &[
            ("app", Text),
            ("streamed", Flag),
            ("n", Count),
            ("p50_ms", Number),
            ("p95_ms", Number),
            ("p99_ms", Number),
        ],
        per: &[],
        sqlite: include_str!("sqlite/first_content.sql"),
    },
    Report {
        name: "models",
        about: "tokens, cost and waste per day and model",
        columns: &[
            ("day", Moment),
            ("app", Text),
            ("model", Text),
            ("calls", Count),
            ("used", Count),
            ("input_tokens", Count),
            ("cached_tokens", Count),
            ("output_tokens", Count),
            ("thinking_tokens", Count),
            ("wasted_tokens", Count),
            ("cost_usd", Number),
            ("wasted_usd", Number),
            ("unpriced_calls", Count),
        ],
        per: &[],
        sqlite: include_str!("sqlite/models.sql"),
    },
    Report {
        name: "slo",
        about: "shares answered within budget and with nothing missing",
        columns: &[
            ("per", Text),
            ("starts_at", Moment),
            ("app", Text),
            ("endpoint", Text),
            ("n", Count),
            ("within_budget", Number),
            ("not_degraded", Number),
            ("late", Count),
        ],
        per: &["day", "window"],
        sqlite: include_str!("sqlite/slo.sql"),
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_has_its_report() {
        let names: Vec<_> = REPORTS.iter().map(|report| report.name).collect();
        assert_eq!(names, NAMES);
        assert!(NAMES.iter().all(|name| about(name).is_some()));
    }

    #[test]
    fn unknown_names_are_answered_with_the_known_ones() {
        let message = Report::named("stage").unwrap_err().to_string();
        assert!(NAMES.iter().all(|name| message.contains(name)), "{message}");
        let message = Report::named("slo").unwrap().check_per("hour").unwrap_err().to_string();
        assert!(message.contains("it has day, window"), "{message}");
    }
}
