//! [`EmbedderChoice`]: which embedder `kiwari index` uses, as people write it.

use std::fmt;
use std::str::FromStr;

use domain::EmbedderId;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use thiserror::Error;

/// What to embed with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum EmbedderChoice {
    /// What the app's published generation was embedded with; the local model for a new app.
    #[default]
    Auto,
    Local,
    Remote(RemoteEmbedder),
}

/// A model behind an API.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteEmbedder {
    pub(crate) provider: EmbedProvider,
    /// `None`: the provider's default.
    pub(crate) model: Option<String>,
    /// `None`: the model's default.
    pub(crate) dimensions: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EmbedProvider {
    Gemini,
    OpenAi,
}

/// Words that name no embedder.
#[derive(Debug, Error)]
#[error(
    "{0:?} names no embedder; write auto, local, gemini, gemini/MODEL@DIMENSIONS or openai/MODEL@DIMENSIONS"
)]
pub(crate) struct InvalidChoice(String);

impl RemoteEmbedder {
    /// The embedder that made vectors of `id`, if it is a remote one.
    pub(crate) fn of(id: &EmbedderId) -> Option<Self> {
        match id.to_string().parse() {
            Ok(EmbedderChoice::Remote(remote)) => Some(remote),
            Ok(EmbedderChoice::Auto | EmbedderChoice::Local) | Err(_) => None,
        }
    }
}

impl FromStr for EmbedderChoice {
    type Err = InvalidChoice;

    fn from_str(text: &str) -> Result<Self, InvalidChoice> {
        let invalid = || InvalidChoice(text.to_owned());
        match text {
            "auto" => return Ok(Self::Auto),
            "local" => return Ok(Self::Local),
            _ => {}
        }
        let (provider, rest) = match text.split_once('/') {
            Some((provider, rest)) => (provider, Some(rest)),
            None => (text, None),
        };
        let provider = match provider {
            "gemini" => EmbedProvider::Gemini,
            "openai" if rest.is_some() => EmbedProvider::OpenAi,
            _ => return Err(invalid()),
        };
        let (model, dimensions) = match rest.map(|rest| rest.rsplit_once('@').unwrap_or((rest, "")))
        {
            None => (None, None),
            Some((model, "")) => (Some(model), None),
            Some((model, digits)) => {
                (Some(model), Some(digits.parse().map_err(|_no_number| invalid())?))
            }
        };
        if model.is_some_and(|model| model.trim().is_empty()) || dimensions == Some(0) {
            return Err(invalid());
        }
        Ok(Self::Remote(RemoteEmbedder { provider, model: model.map(str::to_owned), dimensions }))
    }
}

impl fmt::Display for EmbedderChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Remote(remote) = self else {
            return f.write_str(if *self == Self::Local { "local" } else { "auto" });
        };
        f.write_str(match remote.provider {
            EmbedProvider::Gemini => "gemini",
            EmbedProvider::OpenAi => "openai",
        })?;
        if let Some(model) = &remote.model {
            write!(f, "/{model}")?;
        }
        if let Some(dimensions) = remote.dimensions {
            write!(f, "@{dimensions}")?;
        }
        Ok(())
    }
}

impl<'de> Deserialize<'de> for EmbedderChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl Serialize for EmbedderChoice {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_written_the_same() {
        for text in [
            "auto",
            "local",
            "gemini",
            "gemini/gemini-embedding-001@768",
            "openai/org/model:latest@384",
            "openai/bge-m3",
        ] {
            assert_eq!(text.parse::<EmbedderChoice>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn nonsense_is_refused() {
        for text in ["", "openai", "gemini/", "gemini/m@x", "openai/m@0", "cohere/x", "local/x@2"] {
            assert!(text.parse::<EmbedderChoice>().is_err(), "{text}");
        }
    }
}
