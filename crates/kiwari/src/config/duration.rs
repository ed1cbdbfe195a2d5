//! Durations as people write them.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// `4s`, `250ms`, `1m 30s`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written(pub(crate) Duration);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = Written;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a duration such as \"4s\" or \"250ms\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Written, E> {
                humantime::parse_duration(text)
                    .map(Written)
                    .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Reader)
    }
}

impl Serialize for Written {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&humantime::format_duration(self.0))
    }
}

/// A share of the budget: a duration, or left to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Share {
    Auto,
    Fixed(Duration),
}

const AUTO: &str = "auto";

impl<'de> Deserialize<'de> for Share {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl de::Visitor<'_> for Reader {
            type Value = Share;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"auto\" or a duration such as \"700ms\"")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Share, E> {
                if text == AUTO {
                    return Ok(Share::Auto);
                }
                humantime::parse_duration(text)
                    .map(Share::Fixed)
                    .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Reader)
    }
}

impl Serialize for Share {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Auto => serializer.serialize_str(AUTO),
            Self::Fixed(duration) => Written(*duration).serialize(serializer),
        }
    }
}
