//! [`Dealer`]: past requests made whole, so that they can be replayed under other shares.

use std::time::Duration;

use domain::Stage;
use fastrand::Rng;
use ledger::calibration::{Ended, History, Observed, PastCall, PastRequest, Sample, Survival};
use pipeline::policy::{Model, Write};
use pipeline::replay::{Latencies, WriteLatency};

/// Calls of one request that are dealt for each model; the policy makes no more.
const CALLS: usize = 3;

/// A model with fewer calls than this in the log is taken to be like the primary one.
const FEWEST_CALLS: usize = 30;

/// One request's latencies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Luck {
    /// Of the UTC day.
    pub(super) hour: u8,
    keyword: Duration,
    embed: Duration,
    vector: Duration,
    primary: [WriteLatency; CALLS],
    lighter: [WriteLatency; CALLS],
}

/// Deals lucks: each is a request of the log, drawn with replacement, with its latencies as they fell together.
/// What was cut goes on for as long as calls that had taken as long went on; what did not run is drawn from all.
#[derive(Debug)]
pub(super) struct Dealer<'a> {
    requests: Vec<&'a PastRequest>,
    embed: Option<Survival>,
    vector: Option<Survival>,
    primary: Option<Writer<'a>>,
    lighter: Option<Writer<'a>>,
}

/// The calls of one model.
#[derive(Debug)]
struct Writer<'a> {
    name: &'a str,
    calls: Vec<&'a PastCall>,
    first_token: Survival,
    whole: Survival,
    /// From first token to end, of whole calls whose first token came late.
    slow_rest: Vec<Duration>,
}

/// The samples of one stage. A call that failed says nothing of how long one takes.
pub(super) fn samples(history: &History, stage: Stage) -> impl Iterator<Item = Sample> {
    let observed = history.requests.iter().filter_map(move |request| request.stage(stage));
    observed
        .filter(|observed| observed.ended != Ended::Failed)
        .map(|observed| Sample { took: observed.took, is_cut: observed.ended == Ended::Cut })
}

impl<'a> Dealer<'a> {
    /// `None` where there is nothing to deal.
    pub(super) fn of(history: &'a History) -> Option<Self> {
        // Questions that no passage answered were not written about, and would not be.
        let writes = history.requests.iter().any(|request| request.generate.is_some());
        let is_whole =
            |request: &&PastRequest| !writes || request.generate.is_some() || request.lacked_time;
        let requests: Vec<&PastRequest> = history.requests.iter().filter(is_whole).collect();
        let (primary, lighter) = models(history);
        (!requests.is_empty()).then(|| Self {
            requests,
            embed: Survival::of(samples(history, Stage::Embed)),
            vector: Survival::of(samples(history, Stage::Vector)),
            primary: primary.and_then(|name| Writer::of(history, name)),
            lighter: lighter.and_then(|name| Writer::of(history, name)),
        })
    }

    /// The models that are called first, and in place of those.
    pub(super) fn models(&self) -> (Option<&str>, Option<&str>) {
        let name = |writer: &Option<Writer<'a>>| writer.as_ref().map(|writer| writer.name);
        (name(&self.primary), name(&self.lighter))
    }

    /// The luck of that number: the same one each time.
    pub(super) fn deal(&self, number: u64) -> Luck {
        let mut rng = Rng::with_seed(number);
        let request = self.requests[rng.usize(..self.requests.len())];
        let primary = self.primary.as_ref();
        let lighter = self.lighter.as_ref().or(primary);
        Luck {
            hour: request.hour(),
            keyword: request.keyword.map_or(Duration::ZERO, |keyword| keyword.took),
            embed: whole(request.embed, self.embed.as_ref(), &mut rng),
            vector: whole(request.vector, self.vector.as_ref(), &mut rng),
            primary: calls(primary, request, &mut rng),
            lighter: calls(lighter, request, &mut rng),
        }
    }
}

/// Who is called first most often, and who most often of the others.
fn models(history: &History) -> (Option<&str>, Option<&str>) {
    let calls = || history.requests.iter().flat_map(|request| &request.calls);
    let primary = most(calls().filter(|call| call.attempt == 1));
    let others = calls().filter(|call| Some(call.model.as_str()) != primary);
    (primary, most(others))
}

fn most<'a>(calls: impl Iterator<Item = &'a PastCall>) -> Option<&'a str> {
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for call in calls {
        match counts.iter_mut().find(|(model, _)| *model == call.model) {
            Some((_, count)) => *count += 1,
            None => counts.push((&call.model, 1)),
        }
    }
    let (model, count) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    (count >= FEWEST_CALLS).then_some(model)
}

/// How long a stage would have taken.
fn whole(observed: Option<Observed>, all: Option<&Survival>, rng: &mut Rng) -> Duration {
    let unit = rng.f64();
    match (observed, all) {
        (Some(Observed { took, ended: Ended::Done }), _) => took,
        (Some(Observed { took, ended: Ended::Cut }), Some(all)) => all.draw_above(took, unit),
        (_, Some(all)) => all.draw(unit),
        (_, None) => Duration::ZERO,
    }
}

fn calls(
    writer: Option<&Writer<'_>>,
    request: &PastRequest,
    rng: &mut Rng,
) -> [WriteLatency; CALLS] {
    let mut attempt = 0;
    [(); CALLS].map(|()| {
        attempt += 1;
        let none =
            WriteLatency { first_token: Duration::ZERO, whole: Duration::ZERO, truncated: false };
        writer.map_or(none, |writer| writer.deal(request, attempt, rng))
    })
}

impl<'a> Writer<'a> {
    fn of(history: &'a History, name: &'a str) -> Option<Self> {
        let calls = history.requests.iter().flat_map(|request| &request.calls);
        let calls: Vec<&PastCall> = calls.filter(|call| call.model == name).collect();
        let first_token = Survival::of(calls.iter().map(|call| Sample {
            took: call.first_token.unwrap_or(call.took),
            is_cut: call.first_token.is_none(),
        }))?;
        let whole = Survival::of(
            calls.iter().map(|call| Sample { took: call.took, is_cut: call.ended != Ended::Done }),
        )?;
        let slow_rest = slow_rest(&calls);
        Some(Self { name, calls, first_token, whole, slow_rest })
    }

    /// The call of that number as it was, if there was one; else any call of the model.
    fn deal(&self, request: &PastRequest, attempt: u32, rng: &mut Rng) -> WriteLatency {
        let mut own = request.calls.iter();
        let own = own.find(|call| call.attempt == attempt && call.model == self.name);
        let call = own.unwrap_or_else(|| self.calls[rng.usize(..self.calls.len())]);
        self.whole(call, rng)
    }

    fn whole(&self, call: &PastCall, rng: &mut Rng) -> WriteLatency {
        let (unit, rest) = (rng.f64(), rng.usize(..self.slow_rest.len().max(1)));
        let (first_token, whole) = match (call.first_token, call.ended) {
            (first_token, Ended::Done) => (first_token.unwrap_or(call.took), call.took),
            (Some(first_token), _) => (first_token, self.whole.draw_above(call.took, unit)),
            (None, _) => {
                let first_token = self.first_token.draw_above(call.took, unit);
                let rest = self.slow_rest.get(rest).copied().unwrap_or_default();
                (first_token, first_token.saturating_add(rest))
            }
        };
        WriteLatency { first_token, whole: whole.max(first_token), truncated: false }
    }
}

/// A slow call is often slow throughout: what a late first token is followed by is taken from the quarter of the
/// whole calls whose first token came latest.
fn slow_rest(calls: &[&PastCall]) -> Vec<Duration> {
    let whole = calls.iter().filter(|call| call.ended == Ended::Done);
    let mut whole: Vec<(Duration, Duration)> =
        whole.filter_map(|call| Some((call.first_token?, call.took))).collect();
    whole.sort_unstable();
    let slow = whole.split_off(whole.len() * 3 / 4);
    slow.into_iter().map(|(first_token, took)| took.saturating_sub(first_token)).collect()
}

impl Latencies for Luck {
    fn keyword(&self) -> Duration {
        self.keyword
    }

    fn embed(&self) -> Duration {
        self.embed
    }

    fn vector(&self) -> Duration {
        self.vector
    }

    fn write(&self, write: Write, attempt: u32) -> WriteLatency {
        let at = usize::try_from(attempt).unwrap_or(CALLS).clamp(1, CALLS) - 1;
        match write.model {
            Model::Primary => self.primary[at],
            Model::Lighter => self.lighter[at],
        }
    }
}
