//! The fields of a front matter that we use, each checked by itself: a wrong one is noted and ignored.

use domain::Language;
use serde_json::Value;

use crate::address;
use crate::front_matter::Fields;
use crate::problem::{Note, is_unprintable};

/// What a page says about itself.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Metadata {
    pub(crate) id: Option<String>,
    pub(crate) title: Option<String>,
    pub(crate) place: Option<Place>,
    pub(crate) lang: Option<Language>,
    pub(crate) tags: Vec<String>,
    /// Why the page is not to be shown, if so.
    pub(crate) withheld: Option<&'static str>,
}

/// Where a page says that it stands. Checked: see [`address`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// An `http` or `https` URL.
    Absolute(String),
    /// A path from the site's root, beginning with `/`.
    FromRoot(String),
    /// The last part of the path, in place of the file's name.
    Slug(String),
}

/// Longest values kept, in characters. Longer ones are mistakes, and each is repeated in every passage.
const LONGEST_ID: usize = 200;
pub(crate) const LONGEST_TITLE: usize = 300;
const LONGEST_TAG: usize = 100;
const MOST_TAGS: usize = 100;

/// Fields that withhold a page, with the value that does, and how it is said.
const WITHHOLDING: [(&str, bool, &str); 6] = [
    ("draft", true, "draft"),
    ("published", false, "not published"),
    ("publish", false, "not published"),
    ("hidden", true, "hidden"),
    ("search", false, "left out of search"),
    ("excluded_in_search", true, "left out of search"),
];

/// Reads the fields; what is wrong with them is added to `notes`.
pub(crate) fn read(fields: &Fields<'_>, notes: &mut Vec<Note>) -> Metadata {
    let mut reader = Reader { fields, notes };
    Metadata {
        id: reader.id(),
        title: reader.title(),
        place: reader.place(),
        lang: reader.lang(),
        tags: reader.tags(),
        withheld: reader.withheld(),
    }
}

struct Reader<'page, 'notes> {
    fields: &'page Fields<'page>,
    notes: &'notes mut Vec<Note>,
}

impl Reader<'_, '_> {
    fn note(&mut self, key: &str, complaint: &str) {
        self.notes
            .push(Note::at(self.fields.line_of(key), format!("{key} {complaint}; it is ignored")));
    }

    /// A string or a number, trimmed; `None` with a note when it is something else.
    fn scalar(&mut self, key: &str) -> Option<String> {
        let text = scalar(self.fields.get(key)?);
        if text.is_none() {
            self.note(key, "is not text");
        }
        text.filter(|text| !text.is_empty())
    }

    fn id(&mut self) -> Option<String> {
        let id = self.scalar("id")?;
        if id.chars().any(is_unprintable) || id.chars().count() > LONGEST_ID {
            self.note("id", "holds control characters or is too long");
            return None;
        }
        Some(id)
    }

    fn title(&mut self) -> Option<String> {
        let title = self.scalar("title")?;
        let words = title.split_whitespace().collect::<Vec<_>>().join(" ");
        Some(words.chars().filter(|&c| !is_unprintable(c)).take(LONGEST_TITLE).collect())
    }

    /// The first field that names a place and may be used.
    fn place(&mut self) -> Option<Place> {
        for key in ["url", "permalink", "slug"] {
            let Some(written) = self.scalar(key) else { continue };
            let place = if key == "slug" {
                address::parse_slug(&written)
            } else {
                address::parse_place(&written)
            };
            match place {
                Ok(place) => return Some(place),
                Err(refusal) => self.note(key, &refusal.to_string()),
            }
        }
        None
    }

    fn lang(&mut self) -> Option<Language> {
        for key in ["lang", "language", "locale"] {
            let Some(tag) = self.scalar(key) else { continue };
            match tag.parse() {
                Ok(lang) => return Some(lang),
                Err(_) => self.note(key, "is not a language tag"),
            }
        }
        None
    }

    /// A list, or text with commas.
    fn tags(&mut self) -> Vec<String> {
        let tags: Vec<String> = match self.fields.get("tags") {
            None => Vec::new(),
            Some(Value::String(text)) => text.split(',').map(|tag| tag.trim().to_owned()).collect(),
            Some(Value::Array(items)) => items.iter().filter_map(scalar).collect(),
            Some(Value::Number(number)) => vec![number.to_string()],
            Some(Value::Null | Value::Bool(_) | Value::Object(_)) => {
                self.note("tags", "is not a list");
                Vec::new()
            }
        };
        let mut kept: Vec<String> = Vec::new();
        for tag in tags {
            let tag: String =
                tag.chars().filter(|&c| !is_unprintable(c)).take(LONGEST_TAG).collect();
            if !tag.is_empty() && !kept.contains(&tag) && kept.len() < MOST_TAGS {
                kept.push(tag);
            }
        }
        kept
    }

    fn withheld(&self) -> Option<&'static str> {
        let says = |&&(key, value, _): &&(&str, bool, &str)| {
            self.fields.get(key).and_then(truth) == Some(value)
        };
        WITHHOLDING.iter().find(says).map(|&(_, _, reason)| reason)
    }
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.trim().to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A truth value, also as the words that older YAML took for one.
fn truth(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" => Some(false),
            _ => None,
        },
        Value::Null | Value::Number(_) | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::front_matter::part;

    #[track_caller]
    fn check(fields: &str, expected: &Metadata, noted: &[&str]) {
        let source = format!("---\n{fields}\n---\n");
        let page = part(&source);
        assert_eq!(page.notes, []);
        let mut notes = Vec::new();
        assert_eq!(read(&page.fields, &mut notes), *expected, "{fields:?}");
        let messages: Vec<_> = notes.iter().map(|note| note.message.as_str()).collect();
        assert_eq!(messages, noted, "{fields:?}");
    }

    #[test]
    fn every_field_is_read() {
        let expected = Metadata {
            id: Some("360".to_owned()),
            title: Some("Change your plan".to_owned()),
            place: Some(Place::Slug("plan".to_owned())),
            lang: Some(Language::JAPANESE),
            tags: vec!["a".to_owned(), "b".to_owned()],
            withheld: None,
        };
        check(
            "id: 360\ntitle:  Change your\n  plan\nslug: plan\nlang: ja-JP\ntags: [a, b, a]",
            &expected,
            &[],
        );
        check(
            "id: '360'\ntitle: Change your plan\nslug: plan\nlanguage: ja\ntags: a, b",
            &expected,
            &[],
        );
    }

    #[test]
    fn wrong_types_are_noted_one_by_one() {
        let expected =
            Metadata { place: Some(Place::Slug("42".to_owned())), ..Metadata::default() };
        check(
            "title: [1, {a: b}]\nslug: 42\ntags: true\nlang: null\nid: {}",
            &expected,
            &[
                "id is not text; it is ignored",
                "title is not text; it is ignored",
                "tags is not a list; it is ignored",
            ],
        );
    }

    #[test]
    fn a_foreign_scheme_is_refused_and_the_next_field_is_tried() {
        let expected =
            Metadata { place: Some(Place::Slug("ok".to_owned())), ..Metadata::default() };
        check(
            "slug: ok\nurl: javascript:alert(1)",
            &expected,
            &["url is neither an http(s) URL nor a path; it is ignored"],
        );
    }

    #[test]
    fn pages_can_be_withheld() {
        for (fields, reason) in [
            ("draft: true", Some("draft")),
            ("draft: yes", Some("draft")),
            ("draft: false", None),
            ("published: false", Some("not published")),
            ("publish: no", Some("not published")),
            ("publish: true", None),
            ("excluded_in_search: true", Some("left out of search")),
        ] {
            check(fields, &Metadata { withheld: reason, ..Metadata::default() }, &[]);
        }
    }
}
