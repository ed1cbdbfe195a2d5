//! [`AppName`]: which of an operator's apps a question belongs to.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, de};
use thiserror::Error;

/// An app's name: lower-case letters, digits, `-` and `_`, starting with a letter or digit, at most 64.
/// It names folders and collections, hence the narrow alphabet.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct AppName(String);

/// A name that is not an app's.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error(
    "{0:?} is not an app name; use 1 to 64 lower-case letters, digits, '-' or '_', \
     starting with a letter or digit"
)]
pub struct InvalidAppName(pub String);

impl AppName {
    const LONGEST: usize = 64;

    /// The name of the only app of those who have one.
    #[must_use]
    pub fn default_app() -> Self {
        Self("default".to_owned())
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for AppName {
    type Err = InvalidAppName;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let allowed = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || b"-_".contains(&c);
        let starts_well = name.bytes().next().is_some_and(|c| c.is_ascii_alphanumeric());
        if starts_well && name.len() <= Self::LONGEST && name.bytes().all(allowed) {
            Ok(Self(name.to_owned()))
        } else {
            Err(InvalidAppName(name.to_owned()))
        }
    }
}

impl fmt::Display for AppName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for AppName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        name.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_could_leave_a_folder_are_refused() {
        for name in ["", "..", "a/b", "A", "-a", "a b", "アプリ", &"a".repeat(65)] {
            assert!(name.parse::<AppName>().is_err(), "{name:?}");
        }
        for name in ["a", "my-app_2", "0", &"a".repeat(64)] {
            assert!(name.parse::<AppName>().is_ok(), "{name:?}");
        }
    }
}
