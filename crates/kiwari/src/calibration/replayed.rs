//! [`Replays`]: what a day would have come to under other shares, and which shares are best.

use std::time::Duration;

use deadline::{Allotment, Deadline, Minimums};
use ledger::calibration::{Standing, fitted};
use pipeline::policy::{Plan, Readiness, Writers};
use pipeline::replay::{Replayed, Text, replay};
use pipeline::{ExtraCalls, Reasoning};
use serde::Serialize;
use tokio::time::Instant;

use super::lucks::{Dealer, Luck};
use super::speeds::ByHour;

/// Requests that shares are compared over, and that an expectation is given over: a share near 0.95 is then known
/// within 0.4 % (one standard error), and differences, over the same requests, better.
const COMPARED: u64 = 4000;
const EXPECTED: u64 = 10_000;

/// Minimums as shares of what would fit at most.
const MINIMUMS: [f64; 4] = [1.0, 0.75, 0.5, 0.3];
/// Cut-offs, as shares of the total.
const RETRIEVAL_CUTOFFS: [f64; 5] = [0.375, 0.4375, 0.5, 0.5625, 0.625];
const FIRST_TOKEN_CUTOFFS: [f64; 5] = [0.2, 0.25, 0.3, 0.35, 0.4];

/// The most calls of a model beyond the first, as a share of all requests.
const MOST_EXTRA: f64 = 0.15;

/// What a whole answer counts that keyword hits alone were found for; one from vector hits counts 1.
const WITHOUT_VECTORS: f64 = 0.9;

/// Worths over the same requests that differ by less than this are equal.
const EQUAL: f64 = 0.001;

/// What is expected under some shares. Shares of all requests whose hits answer, 0…1.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Outlook {
    pub(crate) total_ms: u64,
    /// Whole generated answers.
    pub(crate) complete: f64,
    /// Whole, and from the hits of the vector search.
    pub(crate) semantic: f64,
    /// Generated answers that were cut.
    pub(crate) partial: f64,
    /// No generated text.
    pub(crate) template: f64,
    /// Calls of a model beyond the first.
    pub(crate) extra_calls: f64,
}

/// What is chosen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Choice {
    /// Of the minimums that would fit at most.
    pub(super) minimums: f64,
    pub(super) retrieval_cutoff: Duration,
    pub(super) first_token_cutoff: Duration,
}

/// A day that can be replayed.
#[derive(Debug)]
pub(super) struct Replays {
    pub(super) lucks: Vec<Luck>,
    /// Embed, vector, generate.
    pub(super) standings: [Standing; 3],
    /// The models, as they are expected to be where nothing was measured.
    pub(super) writers: Writers,
    /// What is proposed of their speeds.
    pub(super) speeds: ByHour,
    pub(super) embedder: Readiness,
    pub(super) generator: Readiness,
    pub(super) reserve: Duration,
}

impl Replays {
    pub(super) fn lucks(dealer: &Dealer<'_>) -> Vec<Luck> {
        (0..EXPECTED).map(|number| dealer.deal(number)).collect()
    }

    /// The shares that `choice` makes of `total`; `None` if they are none.
    pub(super) fn allotment(&self, total: Duration, choice: Choice) -> Option<Allotment> {
        let room = total.saturating_sub(self.reserve);
        let [embed, vector, generate] = fitted(self.standings, room, choice.minimums);
        let minimums = Minimums { embed, vector, generate };
        let Choice { retrieval_cutoff, first_token_cutoff, .. } = choice;
        Allotment::new(total, minimums, self.reserve, retrieval_cutoff, first_token_cutoff).ok()
    }

    /// The best of a grid around `today`: first minimums and retrieval cut-off together, then the first-token
    /// cut-off.
    pub(super) fn best(&self, total: Duration, today: Choice) -> Choice {
        let retrieval_cutoffs = with(today.retrieval_cutoff, total, &RETRIEVAL_CUTOFFS);
        let first = MINIMUMS.into_iter().flat_map(|minimums| {
            let choices = retrieval_cutoffs.iter();
            choices.map(move |cutoff| Choice { minimums, retrieval_cutoff: *cutoff, ..today })
        });
        let first = self.best_of(total, first).unwrap_or(today);
        let first_token_cutoffs = with(today.first_token_cutoff, total, &FIRST_TOKEN_CUTOFFS);
        let then = first_token_cutoffs
            .into_iter()
            .map(|first_token_cutoff| Choice { first_token_cutoff, ..first });
        self.best_of(total, then).unwrap_or(first)
    }

    fn best_of(&self, total: Duration, choices: impl Iterator<Item = Choice>) -> Option<Choice> {
        let outlook = |choice: Choice| {
            let lucks = self.lucks.get(..usize::try_from(COMPARED).ok()?)?;
            let allotment = self.allotment(total, choice)?;
            Some((choice, self.outlook_over(allotment, &self.speeds, lucks)))
        };
        let all: Vec<(Choice, Outlook)> = choices.filter_map(outlook).collect();
        let affordable = all.iter().any(|(_, outlook)| outlook.extra_calls <= MOST_EXTRA);
        let may_be = |outlook: &Outlook| !affordable || outlook.extra_calls <= MOST_EXTRA;
        let usable = || all.iter().filter(|(_, outlook)| may_be(outlook));
        let most = usable().map(|(_, outlook)| outlook.worth()).fold(0.0, f64::max);
        // Of as good as equals the first: the greatest minimums, and what is in force today.
        let mut best = usable().filter(|(_, outlook)| outlook.worth() >= most - EQUAL);
        best.next().map(|(choice, _)| *choice)
    }

    /// What is expected under `allotment`, and with speeds known like that.
    pub(super) fn outlook(&self, allotment: Allotment, speeds: &ByHour) -> Outlook {
        self.outlook_over(allotment, speeds, &self.lucks)
    }

    fn outlook_over(&self, allotment: Allotment, speeds: &ByHour, lucks: &[Luck]) -> Outlook {
        let start = Instant::now();
        let plan = |luck: &Luck| Plan {
            start,
            deadline: Deadline::from_start(start, allotment.total()),
            allotment,
            embedder: self.embedder,
            generator: self.generator,
            writers: self.writers.at(speeds.at(luck.hour)),
            reasoning: Reasoning::Off,
        };
        let extra = ExtraCalls::new();
        let replayed = lucks.iter().map(|luck| replay(&plan(luck), luck, &extra));
        Outlook::of(allotment.total(), replayed)
    }
}

/// Today's value, then the others.
fn with(today: Duration, total: Duration, shares: &[f64]) -> Vec<Duration> {
    let others = shares.iter().map(|share| total.mul_f64(*share));
    std::iter::once(today).chain(others).collect()
}

impl Outlook {
    /// What shares are compared by.
    fn worth(&self) -> f64 {
        self.semantic + WITHOUT_VECTORS * (self.complete - self.semantic)
    }

    fn of(total: Duration, replayed: impl Iterator<Item = Replayed>) -> Self {
        let [mut all, mut complete, mut semantic, mut partial, mut extra] = [0_u32; 5];
        for request in replayed {
            let is_whole = request.text == Text::Whole;
            all += 1;
            complete += u32::from(is_whole);
            semantic += u32::from(is_whole && request.semantic);
            partial += u32::from(request.text == Text::Part);
            extra += request.calls.generate.saturating_sub(1);
        }
        let share = |count: u32| f64::from(count) / f64::from(all.max(1));
        Self {
            total_ms: u64::try_from(total.as_millis()).unwrap_or(u64::MAX),
            complete: share(complete),
            semantic: share(semantic),
            partial: share(partial),
            template: share(all - complete - partial),
            extra_calls: share(extra),
        }
    }
}
