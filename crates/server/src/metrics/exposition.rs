//! [`Exposition`]: Prometheus' text format, version 0.0.4.

use std::fmt::{Display, Write};

use super::histogram::Histogram;

/// What a metric's numbers mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It only grows, and starts from 0 with the process.
    Counter,
    Gauge,
    Histogram,
}

/// A page of metrics as it is written. Writing to a [`String`] cannot fail, so that results are dropped throughout.
#[derive(Debug, Default)]
pub(super) struct Exposition {
    text: String,
}

/// One metric, whose samples follow.
#[derive(Debug)]
pub(super) struct Metric<'a> {
    text: &'a mut String,
    name: &'static str,
}

/// A sample's labels, in the order in which they are written.
pub(super) type Labels<'a> = &'a [(&'static str, &'a str)];

impl Exposition {
    /// Begins the metric `name`. All of its samples have to follow before the next one begins.
    pub(super) fn metric(
        &mut self,
        name: &'static str,
        kind: Kind,
        help: &'static str,
    ) -> Metric<'_> {
        let kind = match kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram => "histogram",
        };
        let _infallible = write!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
        Metric { text: &mut self.text, name }
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

impl Metric<'_> {
    pub(super) fn sample(&mut self, labels: Labels<'_>, value: impl Display) {
        self.line("", labels, None, value);
    }

    /// Buckets that count what is at or below their bound, then the sum and the count.
    pub(super) fn histogram(&mut self, labels: Labels<'_>, histogram: &Histogram) {
        let mut below = 0;
        for (bound, count) in histogram.buckets() {
            below += count;
            self.line("_bucket", labels, Some(&bound.to_string()), below);
        }
        self.line("_bucket", labels, Some("+Inf"), histogram.count());
        self.line("_sum", labels, None, histogram.sum());
        self.line("_count", labels, None, histogram.count());
    }

    fn line(&mut self, suffix: &str, labels: Labels<'_>, bound: Option<&str>, value: impl Display) {
        let _infallible = write!(self.text, "{}{suffix}", self.name);
        let labels = labels.iter().copied().chain(bound.map(|bound| ("le", bound)));
        for (at, (name, value)) in labels.clone().enumerate() {
            let opening = if at == 0 { '{' } else { ',' };
            let _infallible = write!(self.text, "{opening}{name}=\"{}\"", escaped(value));
        }
        let closing = if labels.count() == 0 { "" } else { "}" };
        let _infallible = writeln!(self.text, "{closing} {value}");
    }
}

/// As it stands between a label's quotes.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn samples_are_written_with_their_labels_escaped() {
        let mut page = Exposition::default();
        let mut calls = page.metric("calls_total", Kind::Counter, "Calls.");
        calls.sample(&[], 7);
        calls.sample(&[("model", "a\"b\\c\nd"), ("fate", "used")], 0.25);
        let expected = "# HELP calls_total Calls.\n# TYPE calls_total counter\ncalls_total 7\n\
            calls_total{model=\"a\\\"b\\\\c\\nd\",fate=\"used\"} 0.25\n";
        assert_eq!(page.into_text(), expected);
    }

    #[test]
    fn buckets_add_up() {
        let mut took = Histogram::over(&[0.5, 2.0]);
        for ms in [500, 501, 2000, 9000] {
            took.observe(Duration::from_millis(ms));
        }
        let mut page = Exposition::default();
        page.metric("took_seconds", Kind::Histogram, "Time.").histogram(&[("app", "a")], &took);
        let expected = "# HELP took_seconds Time.\n# TYPE took_seconds histogram\n\
            took_seconds_bucket{app=\"a\",le=\"0.5\"} 1\n\
            took_seconds_bucket{app=\"a\",le=\"2\"} 3\n\
            took_seconds_bucket{app=\"a\",le=\"+Inf\"} 4\n\
            took_seconds_sum{app=\"a\"} 12.001\ntook_seconds_count{app=\"a\"} 4\n";
        assert_eq!(page.into_text(), expected);
    }
}
