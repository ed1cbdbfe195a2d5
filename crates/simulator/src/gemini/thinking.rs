//! Which knob of thinking each family of models has, and how much it thinks.

use serde_json::Value;

use super::refusal::Refusal;

/// How hard a model thinks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    Minimal,
    Low,
    Medium,
    High,
    XHigh,
}

/// A family's knob.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Knob {
    /// `thinkingBudget`, from `least` to `most`, 0 if it can be switched off, -1 for as it likes.
    Budget { least: i64, most: i64, can_be_zero: bool, default: u32 },
    /// `thinkingLevel`, from `least` to `most`; a budget too where `takes_budget`.
    Level { least: Level, most: Level, default: Level, takes_budget: bool },
    /// A model that nobody knows: takes anything, thinks nothing.
    Unknown,
}

/// What a request comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Thinking {
    /// Tokens that are thought before the answer.
    pub(crate) tokens: u32,
    pub(crate) shown: bool,
}

impl Level {
    fn parse(text: &str) -> Option<Self> {
        Some(match text.to_ascii_uppercase().as_str() {
            "MINIMAL" => Self::Minimal,
            "LOW" => Self::Low,
            "MEDIUM" => Self::Medium,
            "HIGH" => Self::High,
            "XHIGH" => Self::XHigh,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Minimal => "MINIMAL",
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
            Self::XHigh => "XHIGH",
        }
    }

    /// Tokens thought at this level; made up, but they count against the cap as real ones do.
    fn tokens(self) -> u32 {
        match self {
            Self::Minimal => 0,
            Self::Low => 24,
            Self::Medium => 96,
            Self::High => 192,
            Self::XHigh => 384,
        }
    }
}

/// Tokens thought by models that choose for themselves.
const DYNAMIC: u32 = 96;
const MOST_BUDGET: i64 = 32_768;

fn knob(model: &str) -> Knob {
    use Level::{High, Low, Medium, Minimal, XHigh};
    let budget =
        |least, most, can_be_zero, default| Knob::Budget { least, most, can_be_zero, default };
    let level = |least, default| Knob::Level { least, most: High, default, takes_budget: true };
    // The first that a model's name begins with holds.
    let families = [
        ("gemini-2.5-flash-lite", budget(512, 24_576, true, 0)),
        ("gemini-2.5-flash", budget(1, 24_576, true, DYNAMIC)),
        ("gemini-2.5-pro", budget(128, MOST_BUDGET, false, DYNAMIC)),
        ("gemini-3.1-pro", level(Low, High)),
        ("gemini-3.1-flash-lite", level(Minimal, Minimal)),
        ("gemini-3.5-flash-lite", level(Minimal, Minimal)),
        ("gemini-3.5-flash", level(Minimal, Medium)),
        ("gemini-3.6-flash", level(Minimal, Medium)),
        ("gemini-3.7-flash", level(Low, Medium)),
        ("gemini-3.8-flash", level(Low, Medium)),
        (
            "gemini-4-argon",
            Knob::Level { least: Low, most: XHigh, default: Medium, takes_budget: false },
        ),
        ("gemini-4-", Knob::Level { least: Low, most: XHigh, default: High, takes_budget: false }),
    ];
    let found = families.into_iter().find(|(name, _)| model.starts_with(name));
    found.map_or(Knob::Unknown, |(_, knob)| knob)
}

/// What `model` makes of a `thinkingConfig` (null if there is none).
///
/// # Errors
///
/// The refusal of a knob or a setting that the model has not.
pub(crate) fn thinking(model: &str, config: &Value) -> Result<Thinking, Refusal> {
    let level = config["thinkingLevel"].as_str().filter(|level| !level.is_empty());
    let budget = config["thinkingBudget"].as_i64();
    if level.is_some() && budget.is_some() {
        let message = "You can only set only one of thinking budget and thinking level.";
        return Err(Refusal::invalid(message));
    }
    let level = match level.map(|text| (text, Level::parse(text))) {
        None | Some(("THINKING_LEVEL_UNSPECIFIED", _)) => None,
        Some((_, Some(level))) => Some(level),
        Some((text, None)) => {
            let place = "generation_config.thinking_config.thinking_level";
            return Err(Refusal::invalid(format!("Invalid value at '{place}', \"{text}\"")));
        }
    };
    let tokens = match knob(model) {
        Knob::Unknown => 0,
        knob @ Knob::Budget { .. } => by_budget(knob, level, budget)?,
        knob @ Knob::Level { .. } => by_level(knob, level, budget)?,
    };
    let shown = config["includeThoughts"].as_bool().unwrap_or(false);
    Ok(Thinking { tokens, shown })
}

fn by_budget(knob: Knob, level: Option<Level>, budget: Option<i64>) -> Result<u32, Refusal> {
    let Knob::Budget { least, most, can_be_zero, default } = knob else { return Ok(0) };
    if level.is_some() {
        return Err(Refusal::invalid("Thinking level is not supported for this model."));
    }
    match budget {
        None => Ok(default),
        Some(-1) => Ok(DYNAMIC),
        Some(0) if can_be_zero => Ok(0),
        Some(budget) if (least..=most).contains(&budget) => Ok(tokens_of(budget)),
        Some(budget) => Err(Refusal::invalid(format!(
            "The thinking budget {budget} is invalid. Please choose a value between {least} and {most}."
        ))),
    }
}

fn by_level(knob: Knob, level: Option<Level>, budget: Option<i64>) -> Result<u32, Refusal> {
    let Knob::Level { least, most, default, takes_budget } = knob else { return Ok(0) };
    if budget.is_some() && !takes_budget {
        return Err(Refusal::invalid("Thinking budget is not supported for this model."));
    }
    let level = match budget {
        // Of these models' two knobs, one is translated into the other.
        Some(0) => Some(Level::Minimal),
        Some(budget) if budget > 0 => return Ok(tokens_of(budget)),
        _ => level,
    };
    match level {
        None => Ok(default.tokens()),
        Some(level) if level < least || level > most => Err(Refusal::invalid(format!(
            "Thinking level {} is not supported for this model. Please retry with other thinking level.",
            level.name()
        ))),
        Some(level) => Ok(level.tokens()),
    }
}

/// What is thought of a budget: it is seldom spent.
fn tokens_of(budget: i64) -> u32 {
    u32::try_from(budget).unwrap_or(DYNAMIC).min(DYNAMIC)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(model: &str, config: &Value, expected: Option<u32>) {
        let got = thinking(model, config).map(|thinking| thinking.tokens);
        assert_eq!(got.as_ref().ok(), expected.as_ref(), "{model} {config}: {got:?}");
    }

    #[test]
    fn families_have_their_knobs() {
        let level = |level: &str| json!({ "thinkingLevel": level });
        let budget = |budget: i64| json!({ "thinkingBudget": budget });
        check("gemini-3.5-flash-lite", &Value::Null, Some(0));
        check("gemini-3.5-flash-lite", &level("minimal"), Some(0));
        check("gemini-3.5-flash-lite", &level("XHIGH"), None);
        check("gemini-3.8-flash", &level("MINIMAL"), None);
        check("gemini-3.8-flash", &level("LOW"), Some(24));
        check("gemini-3.8-flash", &budget(0), None);
        check("gemini-3.6-flash", &budget(0), Some(0));
        check("gemini-3.1-pro-preview", &level("MINIMAL"), None);
        check("gemini-2.5-flash", &level("LOW"), None);
        check("gemini-2.5-flash", &budget(0), Some(0));
        check("gemini-2.5-flash-lite", &budget(100), None);
        check("gemini-2.5-pro", &budget(0), None);
        check("gemini-2.5-pro", &budget(-1), Some(96));
        check("gemini-4-hydrogen", &budget(512), None);
        check("gemini-4-hydrogen", &level("XHIGH"), Some(384));
        check("gemini-4-argon", &Value::Null, Some(96));
        check("m", &level("MINIMAL"), Some(0));
        check("m", &level("SOME"), None);
        let both = json!({ "thinkingLevel": "LOW", "thinkingBudget": 5 });
        check("gemini-3.6-flash", &both, None);
    }

    #[test]
    fn a_level_that_is_not_supported_is_named() {
        let refusal =
            thinking("gemini-3.7-flash", &json!({ "thinkingLevel": "MINIMAL" })).unwrap_err();
        assert!(
            refusal.message.starts_with("Thinking level MINIMAL is not supported for this model.")
        );
    }
}
