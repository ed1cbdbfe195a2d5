//! [`Plan`]: what is fixed for one request before its first decision.

use deadline::{Allotment, Deadline};
use domain::{Reason, Stage};
use tokio::time::{Duration, Instant};

/// What is fixed for one request before its first decision.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// When the request began.
    pub start: Instant,
    /// When the response must leave.
    pub deadline: Deadline,
    pub allotment: Allotment,
    pub embedder: Readiness,
    pub generator: Readiness,
    pub writers: Writers,
    pub reasoning: Reasoning,
}

/// Whether a stage's implementation can be called for this request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// It is not part of this request, and nothing is missing: no reason is given.
    NotWanted,
    /// It should be there and is not, or is not configured.
    Missing(Reason),
}

/// Whether a model may think before it writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reasoning {
    /// Where there is time in plenty.
    #[default]
    Auto,
    /// Where there is time at all.
    On,
    Off,
}

/// What is known of the models that write.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Writers {
    pub primary: Speed,
    /// The model that takes over when the first one is slow, where one is configured; else a fresh call of
    /// the same one does.
    pub lighter: Option<Speed>,
    /// How long an answer is asked for at most, in tokens.
    pub answer_tokens: u32,
    /// Prompts of more tokens go to the lighter model at once: they are slow from the start.
    pub long_input: u64,
}

/// How fast a model writes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed {
    /// From the call to the first piece of text; the median.
    pub first_token: Duration,
    /// From then on.
    pub tokens_per_second: f64,
}

/// Speeds that were measured, of the models that were. They go over what is expected of these.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    pub primary: Option<Speed>,
    pub lighter: Option<Speed>,
}

/// Which model writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Model {
    Primary,
    Lighter,
}

impl Model {
    /// The stable name in the trace.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Primary => "primary",
            Self::Lighter => "lighter",
        }
    }
}

impl Writers {
    /// Before anything has been measured: the field profile's first token, and the pace at which hosted
    /// models of the light class are seen to write.
    pub const UNMEASURED: Self =
        Self { primary: Speed::UNMEASURED, lighter: None, answer_tokens: 200, long_input: 12_000 };

    /// The same models, at the speeds that were `measured`. It takes more than a speed to make a lighter model.
    #[must_use]
    pub fn at(self, measured: Measured) -> Self {
        Self {
            primary: measured.primary.unwrap_or(self.primary),
            lighter: self.lighter.map(|expected| measured.lighter.unwrap_or(expected)),
            ..self
        }
    }

    /// What is known of `model`; of the primary one where there is no lighter.
    #[must_use]
    pub fn speed(&self, model: Model) -> Speed {
        match model {
            Model::Primary => self.primary,
            Model::Lighter => self.lighter.unwrap_or(self.primary),
        }
    }

    /// The model that takes over from a slow or failed one.
    #[must_use]
    pub fn substitute(&self) -> Model {
        if self.lighter.is_some() { Model::Lighter } else { Model::Primary }
    }
}

impl Speed {
    /// See [`Writers::UNMEASURED`].
    pub const UNMEASURED: Self =
        Self { first_token: Duration::from_millis(400), tokens_per_second: 75.0 };

    /// How many tokens a call made now would have written after `left`.
    #[must_use]
    pub fn tokens_within(&self, left: Duration) -> u32 {
        let writing = left.saturating_sub(self.first_token).as_secs_f64();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a cast from float saturates, and neither factor is negative"
        )]
        let tokens = (writing * self.tokens_per_second.max(0.0)) as u32;
        tokens
    }

    /// How long `tokens` take, first one included.
    #[must_use]
    pub fn time_for(&self, tokens: u32) -> Duration {
        let writing = f64::from(tokens) / self.tokens_per_second.max(f64::MIN_POSITIVE);
        self.first_token
            .saturating_add(Duration::try_from_secs_f64(writing).unwrap_or(Duration::MAX))
    }
}

impl Plan {
    /// The least time `stage` is worth starting with.
    pub(super) fn minimum(&self, stage: Stage) -> Duration {
        let minimums = self.allotment.minimums();
        match stage {
            Stage::Embed => minimums.embed,
            Stage::Vector => minimums.vector,
            Stage::Generate => minimums.generate,
            Stage::Normalize | Stage::Keyword | Stage::Template => Duration::ZERO,
        }
    }

    /// What a call of `stage` usually takes. Minimums lie near the 95th percentile; in the field's
    /// long-tailed latencies the median is less than half of that.
    pub(super) fn usual(&self, stage: Stage) -> Duration {
        self.minimum(stage) / 2
    }

    /// What is kept back for putting the response on the wire: the configured reserve, or a quarter of a
    /// budget so short that the reserve would eat it.
    fn reserve(&self) -> Duration {
        self.allotment.reserve().min(self.deadline.remaining_at(self.start) / 4)
    }

    /// The moment that leaves `held` and the reserve before the deadline; never before the start.
    pub(super) fn leaving(&self, held: Duration) -> Instant {
        let held = held + self.reserve();
        self.deadline.instant().checked_sub(held).map_or(self.start, |at| at.max(self.start))
    }

    /// Without a generator, what it would need is free for the others.
    pub(super) fn generate_minimum(&self) -> Duration {
        match self.generator {
            Readiness::Ready => self.allotment.minimums().generate,
            Readiness::NotWanted | Readiness::Missing(_) => Duration::ZERO,
        }
    }
}
