//! How a simulator is set up.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use embed::LocalEmbedder;

use crate::draws::{Draws, Physics, Profile};
use crate::faults::FaultPlan;

/// Everything that can be set before starting.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where to listen; port 0 picks a free one.
    pub bind: SocketAddr,
    pub profile: Profile,
    pub physics: Physics,
    pub seed: u64,
    /// What every delay is multiplied by.
    pub time_scale: f64,
    /// Models that take [`LIGHTER_SCALE`](crate::LIGHTER_SCALE) of a draw of their own, besides those with
    /// `lighter` or `lite-light` in their name.
    pub lighter: Vec<String>,
    pub faults: FaultPlan,
    /// What rate-limited callers are told to wait.
    pub retry_delay: Duration,
    /// Beginnings of keys that are not valid; all others are.
    pub bad_keys: Vec<String>,
    /// Whether `/v1/chat/completions` and its like want a key, as OpenAI does and Ollama does not.
    pub openai_needs_key: bool,
    /// Whether an `X-Server-Timeout` of less than ten seconds is refused, as Gemini does.
    pub deadline_floor: bool,
    /// Calls that the journal keeps; later ones are counted only.
    pub journal_capacity: usize,
    /// What makes vectors; without it, the bundled model is loaded when first needed.
    pub embedder: Option<LocalEmbedder>,
}

impl Settings {
    /// No latency, no faults, a free port of this machine, and the API's own strictness.
    #[must_use]
    pub fn quiet() -> Self {
        Self {
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            profile: Profile::Zero,
            physics: Physics::Split,
            seed: 1,
            time_scale: 1.0,
            lighter: Vec::new(),
            faults: FaultPlan::default(),
            retry_delay: Duration::from_secs(3),
            bad_keys: vec!["bad".to_owned()],
            openai_needs_key: true,
            deadline_floor: true,
            journal_capacity: 1_000_000,
            embedder: None,
        }
    }

    /// The latencies of the field.
    #[must_use]
    pub fn field(physics: Physics) -> Self {
        Self { profile: Profile::Field, physics, ..Self::quiet() }
    }

    /// The draws that a simulator so set up makes.
    #[must_use]
    pub fn draws(&self) -> Draws {
        Draws::new(self.seed, self.profile).time_scaled(self.time_scale)
    }

    /// Whether `model` counts as a lighter one.
    #[must_use]
    pub fn is_lighter(&self, model: &str) -> bool {
        const LIGHTER_NAMES: [&str; 2] = ["lite-light", "lighter"];
        self.lighter.iter().any(|lighter| lighter == model)
            || LIGHTER_NAMES.iter().any(|part| model.contains(part))
    }
}
