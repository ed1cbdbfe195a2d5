//! `kiwari simulate-policy`: what the cut-offs are worth, by Monte Carlo through the real policy.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, ValueEnum};
use comfy_table::{CellAlignment, Table, presets};
use deadline::{Allotment, Deadline, Minimums};
use pipeline::policy::{Model, Plan, Readiness, Speed, Write, Writers};
use pipeline::replay::{Latencies, Replayed, Text, WriteLatency, replay};
use pipeline::{ExtraCalls, Reasoning};
use serde::Serialize;
use simulator::{Draws, Key, LIGHTER_SCALE, Physics, Profile};
use tokio::time::Instant;

use crate::output;

/// What to simulate.
#[derive(Debug, Args)]
pub(crate) struct SimulatePolicy {
    /// Why a slow generation is slow: split (late first token) or tokens (long text)
    #[arg(long, value_enum, default_value_t = PhysicsName::Split)]
    physics: PhysicsName,
    /// Requests per line
    #[arg(long, default_value_t = 100_000)]
    draws: u32,
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The budget
    #[arg(long, value_name = "DURATION", default_value = "4s", value_parser = humantime::parse_duration)]
    total: Duration,
    /// Replace a silent call by a fresh one of the same model instead of a lighter one
    #[arg(long)]
    same_model: bool,
    /// Retrieval cut-offs to try
    #[arg(long = "retrieval-cutoff", value_name = "DURATION", value_delimiter = ',',
          default_value = "1500ms,1750ms,2000ms,2250ms", value_parser = humantime::parse_duration)]
    retrieval_cutoffs: Vec<Duration>,
    /// First-token cut-offs to try; 0s waits for ever
    #[arg(long = "first-token-cutoff", value_name = "DURATION", value_delimiter = ',',
          default_value = "0s,1000ms,1200ms,1400ms", value_parser = humantime::parse_duration)]
    first_token_cutoffs: Vec<Duration>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PhysicsName {
    Split,
    Tokens,
}

/// One pair of cut-offs and what it comes to. Shares are of all requests, 0…1.
#[derive(Clone, Copy, Debug, Serialize)]
struct Line {
    retrieval_cutoff_ms: u128,
    first_token_cutoff_ms: u128,
    /// Whole generated answers.
    complete: f64,
    /// Whole, and from the hits of the vector search.
    semantic: f64,
    /// Any generated text.
    any_text: f64,
    /// Calls of a model beyond the first.
    extra_calls: f64,
}

pub(crate) fn run(arguments: &SimulatePolicy) -> anyhow::Result<ExitCode> {
    let mut lines = Vec::new();
    for &retrieval in &arguments.retrieval_cutoffs {
        for &first_token in &arguments.first_token_cutoffs {
            lines.push(simulate(arguments, retrieval, first_token)?);
        }
    }
    if arguments.json {
        output::json(&lines)?;
    } else {
        output::line(&table(&lines))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn simulate(
    arguments: &SimulatePolicy,
    retrieval_cutoff: Duration,
    first_token_cutoff: Duration,
) -> anyhow::Result<Line> {
    let reserve = Duration::from_millis(50);
    let allotment = Allotment::new(
        arguments.total,
        Minimums::REMOTE,
        reserve,
        retrieval_cutoff,
        first_token_cutoff,
    )?;
    let start = Instant::now();
    let plan = Plan {
        start,
        deadline: Deadline::from_start(start, arguments.total),
        allotment,
        embedder: Readiness::Ready,
        generator: Readiness::Ready,
        writers: writers(arguments.same_model),
        reasoning: Reasoning::Off,
    };
    let draws = Draws::new(arguments.seed, Profile::Field);
    let extra = ExtraCalls::new();
    let replayed = (0..u64::from(arguments.draws)).map(|number| {
        let luck =
            Luck { draws: &draws, key: Key::marker(number), physics: arguments.physics.into() };
        replay(&plan, &luck, &extra)
    });
    Ok(Line::of(retrieval_cutoff, first_token_cutoff, replayed))
}

fn writers(same_model: bool) -> Writers {
    let primary = Speed::UNMEASURED;
    let lighter = Speed { first_token: primary.first_token.mul_f64(LIGHTER_SCALE), ..primary };
    Writers { primary, lighter: (!same_model).then_some(lighter), ..Writers::UNMEASURED }
}

/// One request's latencies.
struct Luck<'a> {
    draws: &'a Draws,
    key: Key,
    physics: Physics,
}

impl Latencies for Luck<'_> {
    /// What the local index takes is nothing beside the others.
    fn keyword(&self) -> Duration {
        Duration::from_millis(5)
    }

    fn embed(&self) -> Duration {
        self.draws.embed(&self.key)
    }

    fn vector(&self) -> Duration {
        self.draws.vector(&self.key)
    }

    fn write(&self, write: Write, attempt: u32) -> WriteLatency {
        let key = self.key.attempt(attempt);
        let draw = match write.model {
            Model::Primary => self.draws.generate(&key, self.physics, 1.0),
            Model::Lighter => {
                self.draws.generate(&key.lighter("lighter"), self.physics, LIGHTER_SCALE)
            }
        };
        if self.physics == Physics::Split {
            let whole = draw.whole;
            return WriteLatency { first_token: draw.first_token, whole, truncated: false };
        }
        let asked = if draw.ignores_hint { u32::MAX } else { write.limits.answer_tokens };
        let length = draw.natural_tokens.min(asked);
        let written = length.min(write.limits.max_output_tokens);
        let decoding = Duration::from_secs_f64(f64::from(written) / draw.tokens_per_second);
        WriteLatency {
            first_token: draw.first_token,
            whole: draw.first_token + decoding,
            truncated: written < length,
        }
    }
}

impl Line {
    fn of(
        retrieval_cutoff: Duration,
        first_token_cutoff: Duration,
        replayed: impl Iterator<Item = Replayed>,
    ) -> Self {
        let [mut all, mut complete, mut semantic, mut any_text, mut extra] = [0_u32; 5];
        for request in replayed {
            let is_whole = request.text == Text::Whole;
            all += 1;
            complete += u32::from(is_whole);
            semantic += u32::from(is_whole && request.semantic);
            any_text += u32::from(request.text != Text::None);
            extra += request.calls.generate.saturating_sub(1);
        }
        let share = |count: u32| f64::from(count) / f64::from(all.max(1));
        Self {
            retrieval_cutoff_ms: retrieval_cutoff.as_millis(),
            first_token_cutoff_ms: first_token_cutoff.as_millis(),
            complete: share(complete),
            semantic: share(semantic),
            any_text: share(any_text),
            extra_calls: share(extra),
        }
    }
}

impl From<PhysicsName> for Physics {
    fn from(name: PhysicsName) -> Self {
        match name {
            PhysicsName::Split => Self::Split,
            PhysicsName::Tokens => Self::Tokens,
        }
    }
}

fn table(lines: &[Line]) -> String {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(["R ms", "F ms", "complete %", "semantic %", "any text %", "extra calls %"]);
    for line in lines {
        let percent = |share: f64| format!("{:.2}", share * 100.0);
        table.add_row([
            line.retrieval_cutoff_ms.to_string(),
            line.first_token_cutoff_ms.to_string(),
            percent(line.complete),
            percent(line.semantic),
            percent(line.any_text),
            percent(line.extra_calls),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn simulated(
        physics: PhysicsName,
        same_model: bool,
        retrieval_ms: u64,
        first_token_ms: u64,
    ) -> Line {
        let arguments = SimulatePolicy {
            physics,
            draws: 20_000,
            seed: 1,
            total: Duration::from_secs(4),
            same_model,
            retrieval_cutoffs: Vec::new(),
            first_token_cutoffs: Vec::new(),
            json: false,
        };
        let ms = Duration::from_millis;
        simulate(&arguments, ms(retrieval_ms), ms(first_token_ms)).unwrap()
    }

    #[track_caller]
    fn near(measured: f64, published: f64) {
        // Three standard errors of a share near 0.9 among 20,000, and a little for the stages' minimums.
        assert!((measured - published).abs() < 0.01, "{measured} is not near {published}");
    }

    /// The shares that an independent simulation of the same latencies gives.
    #[test]
    fn the_policy_is_worth_what_an_independent_simulation_says() {
        let without = simulated(PhysicsName::Split, true, 2000, 0);
        near(without.complete, 0.935);
        near(without.semantic, 0.871);
        near(without.any_text, 0.990);
        let with = simulated(PhysicsName::Split, false, 2000, 1200);
        near(with.complete, 0.997);
        near(with.semantic, 0.923);
        assert!(with.extra_calls < 0.15, "{with:?}");
    }

    #[test]
    fn a_shorter_answer_helps_where_slow_means_long() {
        let line = simulated(PhysicsName::Tokens, false, 2000, 1200);
        assert!(line.complete > 0.95, "{line:?}");
        assert!(line.any_text > 0.996, "{line:?}");
    }
}
