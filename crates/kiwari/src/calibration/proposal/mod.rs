//! [`Proposal`]: what the log says the shares should be, with the evidence.

use std::time::Duration;

use catalog::{Recipe, VectorHome};
use deadline::{Allotment, Minimums};
use domain::{AppName, Reason, Stage};
use ledger::calibration::{
    CalibratedMinimums, Evidence, History, Speed, Standing, Survival, Values, speeds,
};
use pipeline::policy::{self, Readiness, Writers};
use serde::Serialize;
use thiserror::Error;

use super::lucks::{Dealer, samples};
use super::replayed::{Choice, Outlook, Replays};
use super::speeds::Expected;
use crate::config::{Config, Kind};
use crate::models::expected_speed;

/// With fewer answers that something remote took part in, nothing is proposed; with fewer runs of one stage, its
/// minimum stays. One in twenty of 200 is ten: what a 95th percentile should at least rest on.
const FEWEST: usize = 200;

/// Where nobody knows better, a stage whose p95 lies below this is taken to run in the process.
const REMOTE: Duration = Duration::from_millis(20);

/// The larger budgets that are looked at, as multiples of the total.
const LARGER: [f64; 2] = [1.5, 2.0];

/// The stages that minimums are for.
const STAGES: [Stage; 3] = [Stage::Embed, Stage::Vector, Stage::Generate];

/// What is proposed for one app.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Proposal {
    pub(crate) app: AppName,
    /// Answers in the window, and those that were looked at.
    pub(crate) answered: u64,
    pub(crate) read: usize,
    /// The calibration in force; 0 is the configuration.
    pub(crate) calibration: u64,
    pub(crate) stages: [StageLine; 3],
    pub(crate) today: Cutoffs,
    pub(crate) proposed: Cutoffs,
    pub(crate) outlook: Option<Outlooks>,
    /// What `--apply` stores.
    pub(crate) values: Values,
}

/// One stage's evidence and minimum.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct StageLine {
    pub(crate) stage: &'static str,
    pub(crate) evidence: Option<Evidence>,
    pub(crate) today_ms: u64,
    pub(crate) proposed_ms: u64,
    /// Why it is not moved freely.
    pub(crate) remark: Option<&'static str>,
}

/// Milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Cutoffs {
    pub(crate) retrieval_ms: u64,
    pub(crate) first_token_ms: u64,
}

/// What is expected.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Outlooks {
    pub(crate) today: Outlook,
    pub(crate) proposed: Outlook,
    /// The proposal, grown to larger budgets.
    pub(crate) larger: [Outlook; 2],
}

/// Why nothing is proposed.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub(crate) enum Refusal {
    #[error(
        "app {app}: the window has {found} answers that something remote took part in; {} more are needed \
         (of {FEWEST})", FEWEST - found
    )]
    Thin { app: AppName, found: usize },
}

/// One stage, as it was seen.
struct Seen {
    stage: Stage,
    evidence: Option<Evidence>,
    is_remote: bool,
}

/// Whether stages are remote, where that is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) embed: Option<bool>,
    pub(super) vector: Option<bool>,
}

impl Known {
    /// Of an app whose newest generation was made with `recipe`. Vectors beside the keyword index may have been
    /// delayed, for a bench, so nothing is known of them.
    pub(super) fn of(recipe: &Recipe) -> Self {
        Self {
            embed: Some(!recipe.embedder.is_local()),
            vector: (recipe.vectors == VectorHome::Qdrant).then_some(true),
        }
    }

    fn stage(self, stage: Stage) -> Option<bool> {
        match stage {
            Stage::Embed => self.embed,
            Stage::Vector => self.vector,
            Stage::Normalize | Stage::Keyword | Stage::Generate | Stage::Template => None,
        }
    }
}

/// What the history says; `in_force` is the calibration that servers run under, if any.
pub(super) fn propose(
    config: &Config,
    app: &AppName,
    history: &History,
    known: Known,
    in_force: Option<&(u64, Values)>,
) -> Result<Proposal, Refusal> {
    let seen = STAGES.map(|stage| Seen::of(history, stage, known.stage(stage)));
    let found = remote_answers(history, &seen);
    let dealer = Dealer::of(history).filter(|_| found >= FEWEST);
    let dealer = dealer.ok_or_else(|| Refusal::Thin { app: app.clone(), found })?;
    let today = today(config, app, &seen, in_force);
    let speeds = sound_speeds(history, today.total());
    let expected = expected(config, &dealer);
    let in_force = in_force.map(|(number, values)| (*number, expected.measured(&values.speeds)));
    let (calibration, speeds_today) = in_force.unwrap_or_default();
    let replays = Replays {
        lucks: Replays::lucks(&dealer),
        standings: standings(&seen, today),
        writers: writers(config, &expected),
        speeds: expected.measured(&speeds),
        embedder: if seen[0].evidence.is_some() { Readiness::Ready } else { Readiness::NotWanted },
        generator: generator(&seen),
        reserve: today.reserve(),
    };
    let writes = replays.generator == Readiness::Ready;
    let as_today = Choice {
        minimums: 1.0,
        retrieval_cutoff: today.retrieval_cutoff(),
        first_token_cutoff: today.first_token_cutoff(),
    };
    // Without a model there is nothing to weigh the minimums against.
    let choice = if writes { replays.best(today.total(), as_today) } else { as_today };
    let proposed = replays.allotment(today.total(), choice).unwrap_or(today);
    Ok(Proposal {
        app: app.clone(),
        answered: history.answered,
        read: history.requests.len(),
        calibration,
        stages: lines(&seen, today, proposed),
        today: Cutoffs::of(today),
        proposed: Cutoffs::of(proposed),
        outlook: writes.then(|| Outlooks {
            today: replays.outlook(today, &speeds_today),
            proposed: replays.outlook(proposed, &replays.speeds),
            larger: LARGER.map(|factor| larger(&replays, proposed, choice, factor)),
        }),
        values: values(&seen, proposed, speeds),
    })
}

impl Seen {
    fn of(history: &History, stage: Stage, known: Option<bool>) -> Self {
        let evidence = Survival::of(samples(history, stage)).as_ref().map(Evidence::of);
        let ms = REMOTE.as_secs_f64() * 1000.0;
        let is_remote = evidence.is_some_and(|evidence| known.unwrap_or(evidence.p95.ms >= ms));
        Self { stage, evidence, is_remote }
    }

    /// Whether its minimum is moved.
    fn counts(&self) -> bool {
        self.is_remote && self.evidence.is_some_and(|evidence| evidence.n >= FEWEST)
    }

    fn remark(&self) -> Option<&'static str> {
        match self.evidence {
            None => Some("did not run"),
            Some(_) if !self.is_remote => Some("in the process"),
            Some(evidence) if evidence.n < FEWEST => Some("too few"),
            Some(evidence) if !evidence.may_lower() => Some("over 5 % cut: not lowered"),
            Some(_) => None,
        }
    }
}

/// Answers that a remote stage took part in.
fn remote_answers(history: &History, seen: &[Seen]) -> usize {
    let remote = || seen.iter().filter(|seen| seen.is_remote);
    let requests = history.requests.iter();
    requests.filter(|request| remote().any(|seen| request.stage(seen.stage).is_some())).count()
}

/// The shares in force.
fn today(
    config: &Config,
    app: &AppName,
    seen: &[Seen; 3],
    in_force: Option<&(u64, Values)>,
) -> Allotment {
    let [embed, vector, generate] = seen;
    let kind = Kind {
        remote_embedder: embed.is_remote,
        remote_vectors: vector.is_remote,
        writes: generate.evidence.is_some(),
    };
    let calibrated =
        in_force.and_then(|(_, values)| config.shares.calibrated(app, kind, values).ok());
    calibrated.unwrap_or_else(|| config.shares.of_app(Some(app), kind))
}

fn standings(seen: &[Seen; 3], today: Allotment) -> [Standing; 3] {
    let minimums = in_order(today.minimums());
    let mut minimums = minimums.into_iter();
    seen.each_ref().map(|seen| Standing {
        today: minimums.next().unwrap_or_default(),
        evidence: seen.evidence.filter(|_| seen.counts()),
    })
}

fn generator(seen: &[Seen; 3]) -> Readiness {
    match seen[2].evidence {
        Some(_) => Readiness::Ready,
        None => Readiness::Missing(Reason::NoGenerator),
    }
}

/// The speeds of models, without what servers would refuse.
fn sound_speeds(history: &History, total: Duration) -> Vec<Speed> {
    let mut speeds = speeds(history);
    speeds.retain(|speed| speed.check(ms(total)).is_ok());
    speeds
}

/// The models of the log, and what is configured or known of them.
fn expected(config: &Config, dealer: &Dealer<'_>) -> Expected {
    let known = |name: &str| (name.to_owned(), expected_speed(config, name));
    let (primary, lighter) = dealer.models();
    Expected { primary: primary.map(known), lighter: lighter.map(known) }
}

/// What the policy goes by where nothing was measured.
fn writers(config: &Config, expected: &Expected) -> Writers {
    let speed = |known: &Option<(String, policy::Speed)>| known.as_ref().map(|(_, speed)| *speed);
    Writers {
        primary: speed(&expected.primary).unwrap_or(policy::Speed::UNMEASURED),
        lighter: speed(&expected.lighter),
        answer_tokens: config.generate.answer_tokens,
        long_input: config.generate.long_input_tokens,
    }
}

/// The proposal with `factor` times the budget: minimums by the same rule, the retrieval cut-off in proportion.
fn larger(replays: &Replays, proposed: Allotment, choice: Choice, factor: f64) -> Outlook {
    let total = proposed.total().mul_f64(factor);
    let retrieval_cutoff = choice.retrieval_cutoff.mul_f64(factor);
    let grown = replays.allotment(total, Choice { retrieval_cutoff, ..choice });
    replays.outlook(grown.unwrap_or(proposed), &replays.speeds)
}

fn lines(seen: &[Seen; 3], today: Allotment, proposed: Allotment) -> [StageLine; 3] {
    let (today, proposed) = (in_order(today.minimums()), in_order(proposed.minimums()));
    let mut minimums = today.into_iter().zip(proposed);
    seen.each_ref().map(|seen| {
        let (today, proposed) = minimums.next().unwrap_or_default();
        StageLine {
            stage: seen.stage.as_str(),
            evidence: seen.evidence,
            today_ms: ms(today),
            proposed_ms: ms(proposed),
            remark: seen.remark(),
        }
    })
}

fn values(seen: &[Seen; 3], proposed: Allotment, speeds: Vec<Speed>) -> Values {
    let minimums = in_order(proposed.minimums());
    let moved = |at: usize| seen[at].counts().then(|| ms(minimums[at]).max(1));
    Values {
        total_ms: ms(proposed.total()),
        minimums: CalibratedMinimums {
            embed_ms: moved(0),
            vector_ms: moved(1),
            generate_ms: moved(2),
        },
        retrieval_cutoff_ms: ms(proposed.retrieval_cutoff()),
        first_token_cutoff_ms: ms(proposed.first_token_cutoff()),
        speeds,
    }
}

fn in_order(minimums: Minimums) -> [Duration; 3] {
    [minimums.embed, minimums.vector, minimums.generate]
}

impl Cutoffs {
    fn of(allotment: Allotment) -> Self {
        Self {
            retrieval_ms: ms(allotment.retrieval_cutoff()),
            first_token_ms: ms(allotment.first_token_cutoff()),
        }
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
