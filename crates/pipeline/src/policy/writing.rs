//! Which model writes, how much, and when another one takes over.

use domain::GenerateLimits;
use tokio::time::{Duration, Instant};

use super::{Action, Model, Plan, Reasoning, Speed, State, Write};

/// Fewer tokens than this are no sentence.
pub(super) const FEWEST_TOKENS: u32 = 32;
/// A cap below this cuts answers that would still have come in time.
const LEAST_CAP: u32 = 128;
/// More than any help answer needs.
const MOST_CAP: u32 = 1024;
/// What thinking is given on top of the answer.
const REASONING_TOKENS: u32 = 512;
/// `auto` thinks where there is time for this many tokens: an order of magnitude more than an answer has.
const PLENTY_OF_TOKENS: u32 = 4096;
/// One call, one that takes over from it, and one from that.
const MOST_CALLS: u32 = 3;
/// An answer is asked for shorter than what would just fit, because models overrun what they are asked for.
const ASKED_SHARE: f64 = 0.8;

/// The first call: `None` if what fits before `until` is not worth it.
pub(super) fn first(plan: &Plan, state: State, now: Instant, until: Instant) -> Option<Action> {
    let left = until.saturating_duration_since(now);
    let model = route(plan, state, left);
    let limits = size(plan, model, left, plan.reasoning)?;
    Some(Action::Write(Write { model, until, limits, why: Why::First }))
}

/// Why a model is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    First,
    /// The call before it failed.
    Retry,
    /// The call before it was too slow to give a first token.
    Replace,
}

impl Why {
    /// The stable name in the trace.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::First => "start",
            Self::Retry => "retry",
            Self::Replace => "replace",
        }
    }
}

/// Prompts that thicken the tail go to the lighter model at once, and so does everything that the primary one
/// would not finish in the time that is left.
fn route(plan: &Plan, state: State, left: Duration) -> Model {
    let Some(lighter) = plan.writers.lighter else { return Model::Primary };
    let is_long = state.input_tokens > plan.writers.long_input;
    let fits = |speed: Speed| speed.tokens_within(left) >= LEAST_CAP;
    if is_long || (!fits(plan.writers.primary) && fits(lighter)) {
        Model::Lighter
    } else {
        Model::Primary
    }
}

/// How much `model` may write within `left`; `None` below [`FEWEST_TOKENS`].
fn size(plan: &Plan, model: Model, left: Duration, reasoning: Reasoning) -> Option<GenerateLimits> {
    let fits = plan.writers.speed(model).tokens_within(left);
    if fits < FEWEST_TOKENS {
        return None;
    }
    let thinks = model == Model::Primary
        && match reasoning {
            Reasoning::On => fits >= LEAST_CAP + REASONING_TOKENS,
            Reasoning::Auto => fits >= PLENTY_OF_TOKENS,
            Reasoning::Off => false,
        };
    let thinking = if thinks { REASONING_TOKENS } else { 0 };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a share of a u32 is a u32"
    )]
    let comfortable = (f64::from(fits - thinking) * ASKED_SHARE) as u32;
    Some(GenerateLimits {
        max_output_tokens: (fits - thinking).clamp(LEAST_CAP, MOST_CAP) + thinking,
        answer_tokens: comfortable
            .clamp(FEWEST_TOKENS, plan.writers.answer_tokens.max(FEWEST_TOKENS)),
        reasoning: thinks,
    })
}

/// Another call in place of one that failed or was too slow.
pub(super) fn another(plan: &Plan, now: Instant, until: Instant, why: Why) -> Option<Action> {
    let model = plan.writers.substitute();
    let left = until.saturating_duration_since(now);
    // Time has been lost already, so nobody thinks any more.
    let limits = size(plan, model, left, Reasoning::Off)?;
    Some(Action::Write(Write { model, until, limits, why }))
}

/// Whether another call from `at` on could still write something before `until`.
pub(super) fn is_worth_another(plan: &Plan, state: State, at: Instant, until: Instant) -> bool {
    let needed = plan.writers.speed(plan.writers.substitute()).time_for(FEWEST_TOKENS);
    state.calls.generate < MOST_CALLS && !state.told && at + needed <= until
}

/// When the generation under way has had its time for a first token and another is called beside it; `None` if
/// none will be.
pub(super) fn takeover(plan: &Plan, state: State, until: Instant) -> Option<Instant> {
    let draft = state.draft.filter(|draft| !draft.has_text)?;
    let cutoff = plan.allotment.first_token_cutoff();
    if cutoff.is_zero() || !state.purse.replacement {
        return None;
    }
    // What takes over has less time left, and is given less to show itself.
    let patience = if state.calls.generate <= 1 { cutoff } else { cutoff * 3 / 4 };
    // Waiting longer for one call than this leaves the next one too little.
    let patience = patience.min(until.saturating_duration_since(draft.began) * 2 / 5);
    let at = draft.began + patience;
    is_worth_another(plan, state, at, until).then_some(at)
}
