//! [`Auth`]: how an upstream is told who calls.

use std::fmt;

use reqwest::header::{AUTHORIZATION, HeaderName, HeaderValue};

/// A key. It never prints.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// How an upstream is told who calls.
#[derive(Clone, Debug)]
pub enum Auth {
    /// It does not ask.
    None,
    /// `x-goog-api-key: KEY`, which keeps the key out of access logs.
    GoogKey(Secret),
    /// `Authorization: Bearer KEY`.
    Bearer(Secret),
}

/// The header that carries a key.
pub(crate) type AuthHeader = (HeaderName, HeaderValue);

/// A key with characters that no header carries.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unsendable;

impl Secret {
    /// The key in `text`, without the white space around it: files and shells leave line ends.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// The key itself, for the header and nothing else.
    fn expose(&self) -> &str {
        &self.0
    }

    /// `text` without the key, should a far side have quoted it.
    fn out_of(&self, text: &str) -> String {
        if self.0.is_empty() { text.to_owned() } else { text.replace(&self.0, "***") }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Auth {
    pub(crate) fn header(&self) -> Result<Option<AuthHeader>, Unsendable> {
        let (name, text) = match self {
            Self::None => return Ok(None),
            Self::GoogKey(key) => {
                (HeaderName::from_static("x-goog-api-key"), key.expose().to_owned())
            }
            Self::Bearer(key) => (AUTHORIZATION, format!("Bearer {}", key.expose())),
        };
        let mut value = HeaderValue::from_str(&text).map_err(|_invalid| Unsendable)?;
        value.set_sensitive(true);
        Ok(Some((name, value)))
    }

    /// `text` without the key, should a far side have quoted it.
    pub(crate) fn out_of(&self, text: &str) -> String {
        match self {
            Self::None => text.to_owned(),
            Self::GoogKey(key) | Self::Bearer(key) => key.out_of(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_never_prints() {
        let auth = Auth::Bearer(Secret::new(" hush-hush\n"));
        let header = auth.header().unwrap();
        let printed = format!("{auth:?} {header:?} {}", Secret::new("hush-hush"));
        assert!(!printed.contains("hush"), "{printed}");
    }

    #[test]
    fn the_line_end_of_a_key_file_is_not_part_of_the_key() {
        let header = |auth: Auth| auth.header().unwrap().map(|(_, value)| value);
        let goog = header(Auth::GoogKey(Secret::new("key\r\n"))).unwrap();
        let bearer = header(Auth::Bearer(Secret::new("\tkey "))).unwrap();
        assert_eq!((goog.to_str().unwrap(), bearer.to_str().unwrap()), ("key", "Bearer key"));
        assert!(Auth::Bearer(Secret::new("two\nlines")).header().is_err());
    }
}
