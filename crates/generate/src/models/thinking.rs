//! How a model is told how long to think before it writes.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::ModelError;

/// What a model is told about thinking.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Thinking {
    /// Nothing: it does not think, or we do not know how to say it.
    None,
    /// Tokens it may think for; they count as output.
    Budget { least: i32, reasoning: i32 },
    /// One of the levels its family knows.
    Level { least: Level, reasoning: Level },
}

/// In what terms a model is told how long to think. Sending a family the other's terms is an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Knob {
    None,
    Budget,
    Level,
}

/// How long to think, in a word; in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Not at all; OpenAI's models only.
    None,
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
}

/// A level, or a budget in tokens, where −1 leaves it to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "none, minimal, low, medium, high or xhigh, or a budget in tokens")]
pub enum Depth {
    Budget(i32),
    Level(Level),
}

/// What is written about a model's thinking.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThinkingSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub knob: Option<Knob>,
    /// The levels it takes, least first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub levels: Option<Vec<Level>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub smallest_budget: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub largest_budget: Option<i32>,
    /// Whether it takes a budget of 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub can_be_off: Option<bool>,
    /// Sent where time is short, which is always unless reasoning was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least: Option<Depth>,
    /// Sent where the request asks for reasoning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<Depth>,
}

impl Level {
    /// As OpenAI's wire has it; Gemini's has it in capitals.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        }
    }
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::None => "none",
            Self::Budget => "budget",
            Self::Level => "level",
        })
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget(tokens) => tokens.fmt(f),
            Self::Level(level) => f.write_str(level.as_str()),
        }
    }
}

/// What `model` is told, given what is `known` of it and what is `wanted`.
pub(super) fn resolved(
    model: &str,
    known: Option<&ThinkingSettings>,
    wanted: Option<&ThinkingSettings>,
) -> Result<Thinking, ModelError> {
    let (known, wanted) = (known.cloned().unwrap_or_default(), wanted.cloned().unwrap_or_default());
    let knob = agreed_knob(model, &known, &wanted)?;
    let reading = Reading { model, settings: overlaid(known, wanted) };
    match knob {
        None => reading.without_knob(),
        Some(Knob::None) => Ok(Thinking::None),
        Some(Knob::Level) => {
            reading.check_levels()?;
            let least = reading.level("least", reading.settings.least)?;
            let deeper = reading.settings.reasoning.or(reading.settings.least);
            Ok(Thinking::Level { least, reasoning: reading.level("reasoning", deeper)? })
        }
        Some(Knob::Budget) => {
            let least = reading.budget("least", reading.settings.least)?;
            let deeper = reading.settings.reasoning.or(reading.settings.least);
            Ok(Thinking::Budget { least, reasoning: reading.budget("reasoning", deeper)? })
        }
    }
}

/// Saying nothing is always possible; otherwise the family's knob is the only one.
fn agreed_knob(
    model: &str,
    known: &ThinkingSettings,
    wanted: &ThinkingSettings,
) -> Result<Option<Knob>, ModelError> {
    match (known.knob, wanted.knob) {
        (Some(known), Some(wanted)) if wanted != Knob::None && wanted != known => {
            Err(ModelError::WrongKnob { model: model.to_owned(), known, wanted })
        }
        (known, wanted) => Ok(wanted.or(known)),
    }
}

fn overlaid(known: ThinkingSettings, wanted: ThinkingSettings) -> ThinkingSettings {
    ThinkingSettings {
        knob: wanted.knob.or(known.knob),
        levels: wanted.levels.or(known.levels),
        smallest_budget: wanted.smallest_budget.or(known.smallest_budget),
        largest_budget: wanted.largest_budget.or(known.largest_budget),
        can_be_off: wanted.can_be_off.or(known.can_be_off),
        least: wanted.least.or(known.least),
        reasoning: wanted.reasoning.or(known.reasoning),
    }
}

/// Settings being read for a model.
struct Reading<'a> {
    model: &'a str,
    settings: ThinkingSettings,
}

impl Reading<'_> {
    fn without_knob(&self) -> Result<Thinking, ModelError> {
        let values = [("least", self.settings.least), ("reasoning", self.settings.reasoning)];
        match values.iter().find(|(_, value)| value.is_some()) {
            Some(&(setting, _)) => {
                Err(ModelError::NoKnob { model: self.model.to_owned(), setting })
            }
            None => Ok(Thinking::None),
        }
    }

    fn check_levels(&self) -> Result<(), ModelError> {
        let levels = self.settings.levels.as_deref().unwrap_or_default();
        let in_order = levels.is_sorted_by(|one, next| one < next);
        if in_order { Ok(()) } else { Err(ModelError::Levels { model: self.model.to_owned() }) }
    }

    fn level(&self, setting: &'static str, value: Option<Depth>) -> Result<Level, ModelError> {
        let value = self.given(setting, value)?;
        match (value, &self.settings.levels) {
            (Depth::Level(level), Some(levels)) if levels.contains(&level) => Ok(level),
            // Whoever configures an unknown model knows what it takes.
            (Depth::Level(level), None) => Ok(level),
            (_, levels) => {
                let levels = levels.as_deref().unwrap_or_default();
                let names: Vec<_> = levels.iter().map(|level| level.as_str()).collect();
                let allowed =
                    if names.is_empty() { "a level".to_owned() } else { names.join(", ") };
                Err(self.refused(setting, value, allowed))
            }
        }
    }

    fn budget(&self, setting: &'static str, value: Option<Depth>) -> Result<i32, ModelError> {
        let value = self.given(setting, value)?;
        let smallest = self.settings.smallest_budget.unwrap_or(1);
        let largest = self.settings.largest_budget.unwrap_or(i32::MAX);
        let off = self.settings.can_be_off.unwrap_or(false);
        match value {
            Depth::Budget(-1) => Ok(-1),
            Depth::Budget(0) if off => Ok(0),
            Depth::Budget(tokens) if (smallest..=largest).contains(&tokens) => Ok(tokens),
            Depth::Budget(_) | Depth::Level(_) => {
                let zero = if off { "0, " } else { "" };
                let allowed = format!("-1, {zero}or {smallest} to {largest} tokens");
                Err(self.refused(setting, value, allowed))
            }
        }
    }

    fn given(&self, setting: &'static str, value: Option<Depth>) -> Result<Depth, ModelError> {
        value.ok_or_else(|| ModelError::Missing { model: self.model.to_owned(), setting })
    }

    fn refused(&self, setting: &'static str, value: Depth, allowed: String) -> ModelError {
        ModelError::Depth { model: self.model.to_owned(), setting, value, allowed }
    }
}
