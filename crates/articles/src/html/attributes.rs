//! The attributes of a tag.

use std::borrow::Cow;

use html5gum::StartTag;

/// Attributes by name.
#[derive(Clone, Copy, Debug)]
pub(super) struct Attributes<'tag>(&'tag StartTag<()>);

impl<'tag> Attributes<'tag> {
    pub(super) fn of(tag: &'tag StartTag<()>) -> Self {
        Self(tag)
    }

    /// The value of an attribute; empty where it has none.
    pub(super) fn get(self, name: &str) -> Option<Cow<'tag, str>> {
        self.0.attributes.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value))
    }

    pub(super) fn has(self, name: &str) -> bool {
        self.0.attributes.contains_key(name.as_bytes())
    }

    /// Whether the value is `expected`, letter case aside.
    pub(super) fn is(self, name: &str, expected: &str) -> bool {
        self.get(name).is_some_and(|value| value.trim().eq_ignore_ascii_case(expected))
    }

    /// Where links can lead to this element.
    pub(super) fn fragment_id(self) -> Option<String> {
        ["id", "name"]
            .iter()
            .find_map(|name| self.get(name))
            .map(Cow::into_owned)
            .filter(|id| !id.is_empty())
    }
}
