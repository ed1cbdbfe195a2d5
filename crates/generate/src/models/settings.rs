//! [`ModelSettings`]: what is written about a model, in the table or in the configuration.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::thinking::{self, ThinkingSettings};
use super::{Capabilities, ModelError, Prices};

/// The longest prompt sent to a model unless it is said otherwise, in tokens: smaller servers come with contexts
/// of 4,096 tokens, and the answer needs room too.
const INPUT_TOKEN_LIMIT: u64 = 3_000;

/// The same for models of the table, all of which read a hundred times as much: eight passages in any language.
const KNOWN_INPUT_TOKEN_LIMIT: u64 = 8_000;

/// What an unmeasured model is expected to take for its first token, and to write in a second.
const FIRST_TOKEN: Duration = Duration::from_millis(800);
const TOKENS_PER_SECOND: f64 = 60.0;

/// What is written about a model; what is left out is taken from the table, and of a model that is not there,
/// nothing optional is assumed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking: Option<ThinkingSettings>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explicit_cache: Option<bool>,
    /// Whether it takes a temperature.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampling: Option<bool>,
    /// From 0 to 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub temperature: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output_tokens: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_tokens_field: Option<MaxTokensField>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub input_token_limit: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<Prices>,
    /// Written `400ms`.
    #[serde(
        deserialize_with = "read_duration",
        serialize_with = "write_duration",
        skip_serializing_if = "Option::is_none"
    )]
    pub first_token: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tokens_per_second: Option<f64>,
}

/// How an OpenAI-compatible server calls the cap on output: older ones know only the first, OpenAI's reasoning
/// models only the second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MaxTokensField {
    #[default]
    MaxTokens,
    MaxCompletionTokens,
}

/// What `known`, overlaid with `settings`, makes of `model`.
pub(super) fn resolved(
    model: &str,
    known: &ModelSettings,
    settings: &ModelSettings,
) -> Result<Capabilities, ModelError> {
    let capabilities = Capabilities {
        thinking: thinking::resolved(model, known.thinking.as_ref(), settings.thinking.as_ref())?,
        explicit_cache: settings.explicit_cache.or(known.explicit_cache).unwrap_or(false),
        temperature: temperature(model, known, settings)?,
        max_output_tokens: settings.max_output_tokens.or(known.max_output_tokens),
        max_tokens_field: settings.max_tokens_field.or(known.max_tokens_field).unwrap_or_default(),
        input_token_limit: settings.input_token_limit.unwrap_or(input_token_limit(known)),
        prices: settings.prices.or(known.prices),
        first_token: settings.first_token.or(known.first_token).unwrap_or(FIRST_TOKEN),
        tokens_per_second: settings
            .tokens_per_second
            .or(known.tokens_per_second)
            .unwrap_or(TOKENS_PER_SECOND),
    };
    check_ranges(model, &capabilities)?;
    Ok(capabilities)
}

/// The rules, the question and one short passage.
const LEAST_INPUT_TOKENS: f64 = 500.0;

fn input_token_limit(known: &ModelSettings) -> u64 {
    let is_known = *known != ModelSettings::default();
    if is_known { KNOWN_INPUT_TOKEN_LIMIT } else { INPUT_TOKEN_LIMIT }
}

fn temperature(
    model: &str,
    known: &ModelSettings,
    settings: &ModelSettings,
) -> Result<Option<f64>, ModelError> {
    let wanted = settings.temperature.or(known.temperature);
    // Whoever sets a temperature for a model we do not know says thereby that it takes one.
    let taken = settings.sampling.or(known.sampling).unwrap_or(true);
    match wanted {
        Some(_) if !taken => Err(ModelError::Sampling { model: model.to_owned() }),
        _ => Ok(wanted),
    }
}

fn check_ranges(model: &str, capabilities: &Capabilities) -> Result<(), ModelError> {
    let within = |setting, value: f64, least: f64, most: f64| {
        let model = model.to_owned();
        let ok = (least..=most).contains(&value);
        if ok { Ok(()) } else { Err(ModelError::Range { model, setting, value, least, most }) }
    };
    if let Some(temperature) = capabilities.temperature {
        within("temperature", temperature, 0.0, 2.0)?;
    }
    if let Some(most) = capabilities.max_output_tokens {
        within("max_output_tokens", f64::from(most), 1.0, f64::from(u32::MAX))?;
    }
    let limit = u32::try_from(capabilities.input_token_limit).unwrap_or(u32::MAX);
    within("input_token_limit", f64::from(limit), LEAST_INPUT_TOKENS, f64::from(u32::MAX))?;
    for (name, price) in capabilities.prices.iter().flat_map(Prices::named) {
        within(name, price, 0.0, 10_000.0)?;
    }
    within("tokens_per_second", capabilities.tokens_per_second, 0.1, 100_000.0)
}

fn read_duration<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
    let text = String::deserialize(deserializer)?;
    humantime::parse_duration(&text).map(Some).map_err(|error| {
        de::Error::custom(format_args!("{text:?} is no duration such as \"400ms\": {error}"))
    })
}

#[expect(clippy::ref_option, reason = "serde passes the field")]
fn write_duration<S: Serializer>(
    duration: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let written = duration.map(|duration| humantime::format_duration(duration).to_string());
    written.serialize(serializer)
}
