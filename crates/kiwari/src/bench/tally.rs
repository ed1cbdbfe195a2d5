//! [`Tally`]: counts exchanges as they end.

use std::collections::BTreeMap;
use std::error::Error;
use std::time::Duration;

use hdrhistogram::Histogram;
use tokio::time::Instant;

use super::exchange::{Exchange, Failure};
use super::figures::{Errors, Figures, Late, Overshoot, Share, Times, as_f64, in_ms};
use super::reply::Reply;

/// How much later than its budget an answer may be complete before it counts as late.
pub(crate) const TOLERANCE: Duration = Duration::from_millis(25);
/// Times are kept to this many significant digits, in microseconds.
const DIGITS: u8 = 3;
/// Longer times, in microseconds, count as this: an hour, which no exchange is given.
const LONGEST: u64 = 3_600_000_000;

/// What has been counted so far.
#[derive(Debug)]
pub(crate) struct Tally {
    sent: u64,
    answered: u64,
    failed: u64,
    first_sent: Option<Instant>,
    last_sent: Option<Instant>,
    lag: Histogram<u64>,
    latency: Histogram<u64>,
    latency_from_send: Histogram<u64>,
    /// Only of streams.
    first_content: Option<Histogram<u64>>,
    late_from_send: Overshoot,
    late_from_plan: Overshoot,
    kinds: BTreeMap<String, u64>,
    with_vectors: u64,
    degraded: u64,
    reasons: BTreeMap<(String, String), u64>,
    statuses: BTreeMap<u16, u64>,
    errors: BTreeMap<String, Errors>,
}

fn histogram() -> Histogram<u64> {
    Histogram::new_with_bounds(1, LONGEST, DIGITS).expect("what a histogram can keep")
}

impl Tally {
    pub(crate) fn new(stream: bool) -> Self {
        Self {
            sent: 0,
            answered: 0,
            failed: 0,
            first_sent: None,
            last_sent: None,
            lag: histogram(),
            latency: histogram(),
            latency_from_send: histogram(),
            first_content: stream.then(histogram),
            late_from_send: Overshoot::default(),
            late_from_plan: Overshoot::default(),
            kinds: BTreeMap::new(),
            with_vectors: 0,
            degraded: 0,
            reasons: BTreeMap::new(),
            statuses: BTreeMap::new(),
            errors: BTreeMap::new(),
        }
    }

    /// Counts one exchange.
    pub(crate) fn add(&mut self, exchange: &Exchange) {
        if let Some(sent) = exchange.sent {
            self.sent += 1;
            self.first_sent = Some(self.first_sent.map_or(sent, |first| first.min(sent)));
            self.last_sent = Some(self.last_sent.map_or(sent, |last| last.max(sent)));
            note(&mut self.lag, exchange.planned, sent);
        }
        if let Some(status) = exchange.status {
            *self.statuses.entry(status).or_default() += 1;
        }
        match &exchange.reply {
            Ok(reply) => self.add_reply(exchange, reply),
            Err(failure) => self.add_failure(failure),
        }
    }

    fn add_reply(&mut self, exchange: &Exchange, reply: &Reply) {
        self.answered += 1;
        let sent = exchange.sent.unwrap_or(exchange.planned);
        note(&mut self.latency, exchange.planned, exchange.ended);
        note(&mut self.latency_from_send, sent, exchange.ended);
        if let (Some(times), Some(at)) = (&mut self.first_content, exchange.first_content) {
            note(times, exchange.planned, at);
        }
        let took = |since| exchange.ended.saturating_duration_since(since);
        self.late_from_send.add(took(sent), reply.budget);
        self.late_from_plan.add(took(exchange.planned), reply.budget);
        *self.kinds.entry(reply.kind.clone()).or_default() += 1;
        self.with_vectors += u64::from(reply.has_vectors());
        self.degraded += u64::from(reply.degraded);
        for reason in &reply.reasons {
            *self.reasons.entry(reason.clone()).or_default() += 1;
        }
    }

    fn add_failure(&mut self, failure: &Failure) {
        self.failed += 1;
        let new = || Errors { count: 0, example: with_causes(failure) };
        self.errors.entry(failure.to_string()).or_insert_with(new).count += 1;
    }

    /// The figures of a run that took `wall` in all.
    pub(crate) fn into_figures(self, wall: Duration) -> Figures {
        let share = |count: u64| Share::of(count, self.answered);
        let of_kind = |kind: &str| self.kinds.get(kind).copied().unwrap_or_default();
        let mut reasons: BTreeMap<String, BTreeMap<String, Share>> = BTreeMap::new();
        for ((stage, reason), count) in &self.reasons {
            reasons.entry(stage.clone()).or_default().insert(reason.clone(), share(*count));
        }
        Figures {
            sent: self.sent,
            answered: self.answered,
            failed: self.failed,
            wall_s: wall.as_secs_f64(),
            achieved_rate_per_s: self.achieved_rate(),
            send_lag_ms: Times::of(&self.lag),
            latency_ms: Times::of(&self.latency),
            latency_from_send_ms: Times::of(&self.latency_from_send),
            first_content_ms: self.first_content.as_ref().map(Times::of),
            late: Late {
                tolerance_ms: in_ms(TOLERANCE),
                from_send: self.late_from_send,
                from_plan: self.late_from_plan,
            },
            written_by_model: share(of_kind("generated") + of_kind("partial")),
            with_vectors: share(self.with_vectors),
            degraded: share(self.degraded),
            kinds: self.kinds.iter().map(|(kind, count)| (kind.clone(), share(*count))).collect(),
            reasons,
            statuses: self.statuses,
            errors: self.errors,
        }
    }

    /// `None` of fewer than two requests.
    fn achieved_rate(&self) -> Option<f64> {
        let span = self.last_sent?.duration_since(self.first_sent?);
        let gaps = self.sent.checked_sub(1).filter(|gaps| *gaps > 0)?;
        (!span.is_zero()).then(|| as_f64(gaps) / span.as_secs_f64())
    }
}

impl Overshoot {
    fn add(&mut self, took: Duration, budget: Duration) {
        let over = took.saturating_sub(budget);
        self.count += u64::from(over > TOLERANCE);
        self.max_ms = self.max_ms.max(in_ms(over));
    }
}

fn note(times: &mut Histogram<u64>, from: Instant, to: Instant) {
    let micros = to.saturating_duration_since(from).as_micros();
    times.saturating_record(u64::try_from(micros).unwrap_or(u64::MAX));
}

fn with_causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use deadline::OutOfTime;

    use super::*;
    use crate::bench::reply::tests::delivered;

    fn reply(kind: &str, budget_ms: u64) -> Reply {
        Reply {
            id: String::new(),
            kind: kind.to_owned(),
            degraded: kind != "generated",
            reasons: vec![("generate".to_owned(), "timeout".to_owned())],
            stages: vec![delivered("vector", 0.1)],
            budget: Duration::from_millis(budget_ms),
        }
    }

    /// Planned at `planned`, sent and ended so many milliseconds later.
    fn exchange(
        planned: Instant,
        sent: u64,
        ended: u64,
        reply: Result<Reply, Failure>,
    ) -> Exchange {
        let after = |ms| planned + Duration::from_millis(ms);
        Exchange {
            number: 1,
            planned,
            sent: Some(after(sent)),
            first_content: Some(after(ended / 2)),
            ended: after(ended),
            status: Some(200),
            reply,
        }
    }

    #[test]
    fn times_count_from_the_plan_and_lateness_from_both() {
        let mut tally = Tally::new(true);
        let start = Instant::now();
        tally.add(&exchange(start, 0, 1025, Ok(reply("generated", 1000))));
        tally.add(&exchange(start + Duration::from_secs(1), 100, 1126, Ok(reply("partial", 1000))));
        tally.add(&exchange(start + Duration::from_secs(2), 0, 1027, Ok(reply("templated", 1000))));
        let figures = tally.into_figures(Duration::from_secs(4));
        assert_eq!(figures.late.from_send, Overshoot { count: 2, max_ms: 27.0 });
        assert_eq!(figures.late.from_plan, Overshoot { count: 2, max_ms: 126.0 });
        assert!((figures.latency_ms.max.unwrap() / 1126.0 - 1.0).abs() < 0.001);
        assert!((figures.first_content_ms.unwrap().max.unwrap() / 563.0 - 1.0).abs() < 0.001);
        assert_eq!(figures.achieved_rate_per_s, Some(1.0));
        assert_eq!(figures.written_by_model.count, 2);
        assert_eq!(figures.degraded.count, 2);
        assert_eq!(figures.reasons["generate"]["timeout"].count, 3);
        assert!(!figures.are_good());
    }

    #[test]
    fn a_run_is_good_if_all_were_answered_in_time() {
        let mut tally = Tally::new(false);
        tally.add(&exchange(Instant::now(), 0, 1025, Ok(reply("templated", 1000))));
        let figures = tally.into_figures(Duration::from_secs(1));
        assert!(figures.are_good());
        assert_eq!((figures.first_content_ms, figures.achieved_rate_per_s), (None, None));
    }

    #[test]
    fn failures_are_counted_by_kind_and_keep_one_example() {
        let mut tally = Tally::new(false);
        let start = Instant::now();
        for port in [1, 2] {
            let refused = std::io::Error::other(format!("port {port} is closed"));
            let mut lost = exchange(start, 0, 10, Err(Failure::Connect(refused)));
            (lost.sent, lost.status) = (None, None);
            tally.add(&lost);
        }
        tally.add(&exchange(start, 0, 10, Err(Failure::GivenUp(OutOfTime))));
        let figures = tally.into_figures(Duration::from_secs(1));
        assert_eq!((figures.sent, figures.answered, figures.failed), (1, 0, 3));
        let expected = Errors { count: 2, example: "cannot connect: port 1 is closed".to_owned() };
        assert_eq!(figures.errors["cannot connect"], expected);
        assert_eq!(figures.latency_ms, Times::default());
        assert!(!figures.are_good());
    }
}
