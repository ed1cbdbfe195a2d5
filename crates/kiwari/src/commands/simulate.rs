//! `kiwari simulate`.

use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use simulator::{FaultPlan, Physics, Profile, Settings, Simulator};
use tokio::signal::unix::{SignalKind, signal};

use crate::output;

/// The command's arguments.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// Listen here
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8099")]
    bind: SocketAddr,
    /// Where latencies come from
    #[arg(long, value_enum, default_value_t = ProfileName::Zero)]
    profile: ProfileName,
    /// Why a slow generation is slow
    #[arg(long, value_enum, default_value_t = PhysicsName::Split)]
    physics: PhysicsName,
    /// Luck; the same number brings the same
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Multiply every delay by this
    #[arg(long, value_name = "FACTOR", default_value_t = 1.0, value_parser = time_scale)]
    time_scale: f64,
    /// A model that takes 0.6 of the time; may be given several times
    #[arg(long, value_name = "MODEL")]
    lighter: Vec<String>,
    /// How often what goes wrong, such as `unavailable=0.05` or `embed:hang_before_headers=0.01`; may be
    /// given several times
    #[arg(long, value_name = "KIND=RATE")]
    fault: Vec<String>,
    /// What rate-limited callers are told to wait
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = humantime::parse_duration)]
    retry_delay: Duration,
    /// Accept an X-Server-Timeout of less than ten seconds, which Gemini refuses
    #[arg(long)]
    no_deadline_floor: bool,
    /// Let OpenAI's paths be called without a key, as those of Ollama are
    #[arg(long)]
    keyless: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProfileName {
    /// No latency
    Zero,
    /// Embed 0.35/0.9 s, generate 0.8/3.2 s (p50/p95)
    Field,
    /// The field, with one call in a hundred ten times slower or worse
    Heavy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PhysicsName {
    /// The first token comes at half of the time
    Split,
    /// The first token comes soon, the rest is decoding
    Tokens,
}

pub(crate) async fn run(arguments: &Simulate) -> anyhow::Result<ExitCode> {
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot listen for Ctrl-C")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot listen for SIGTERM")?;
    let simulator = Simulator::start(arguments.settings()?)
        .await
        .with_context(|| format!("cannot listen on {}; choose --bind", arguments.bind))?;
    simulator.warm_up().await;
    output::line(&serde_json::json!({ "listening": simulator.base_url() }).to_string())?;
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    simulator.stop().await;
    Ok(ExitCode::SUCCESS)
}

impl Simulate {
    fn settings(&self) -> anyhow::Result<Settings> {
        let mut faults = FaultPlan::default();
        self.fault.iter().try_for_each(|rule| faults.add(rule))?;
        Ok(Settings {
            bind: self.bind,
            profile: match self.profile {
                ProfileName::Zero => Profile::Zero,
                ProfileName::Field => Profile::Field,
                ProfileName::Heavy => Profile::Heavy,
            },
            physics: match self.physics {
                PhysicsName::Split => Physics::Split,
                PhysicsName::Tokens => Physics::Tokens,
            },
            seed: self.seed,
            time_scale: self.time_scale,
            lighter: self.lighter.clone(),
            faults,
            retry_delay: self.retry_delay,
            deadline_floor: !self.no_deadline_floor,
            openai_needs_key: !self.keyless,
            ..Settings::quiet()
        })
    }
}

fn time_scale(text: &str) -> Result<f64, String> {
    let factor: f64 = text.parse().map_err(|_| "must be a number".to_owned())?;
    let usable = factor.is_finite() && factor >= 0.0;
    usable.then_some(factor).ok_or_else(|| "must not be negative".to_owned())
}
