//! Fragment ids of headings, unique within their page.

use std::collections::HashMap;

/// How headings without an id of their own are addressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AnchorStyle {
    /// A slug of the heading's text, as Markdown renderers make it.
    Slug,
    /// Not at all: a fragment that the page does not have would lead nowhere.
    Written,
}

/// The anchors given on one page so far.
#[derive(Debug)]
pub(crate) struct Anchors {
    style: AnchorStyle,
    /// How often each slug was asked for, and 1 for each id handed out.
    given: HashMap<String, u32>,
}

/// Longest anchor, in characters.
const LONGEST: usize = 200;

impl Anchors {
    pub(crate) fn new(style: AnchorStyle) -> Self {
        Self { style, given: HashMap::new() }
    }

    /// The anchor of the next heading: its own id if no earlier heading has it, else by style.
    pub(crate) fn next(&mut self, id: Option<&str>, heading: &str) -> Option<String> {
        let written =
            id.map(str::trim).filter(|id| !id.is_empty() && id.chars().count() <= LONGEST);
        if let Some(id) = written
            && !self.given.contains_key(id)
        {
            self.given.insert(id.to_owned(), 0);
            return Some(id.to_owned());
        }
        match self.style {
            AnchorStyle::Slug => self.number(slug(heading)),
            AnchorStyle::Written => None,
        }
    }

    /// The slug itself for its first heading, then with `-1`, `-2`, … as GitHub numbers them.
    fn number(&mut self, slug: String) -> Option<String> {
        if slug.is_empty() {
            return None;
        }
        let mut number = self.given.get(&slug).map_or(0, |last| last + 1);
        let mut anchor = if number == 0 { slug.clone() } else { format!("{slug}-{number}") };
        while self.given.contains_key(&anchor) {
            number += 1;
            anchor = format!("{slug}-{number}");
        }
        self.given.insert(slug, number);
        self.given.entry(anchor.clone()).or_insert(0);
        Some(anchor)
    }
}

/// GitHub's rule: lower case; letters, digits, `_` and `-` stay; a space becomes `-`; everything else goes.
fn slug(heading: &str) -> String {
    heading
        .chars()
        .flat_map(char::to_lowercase)
        .filter_map(|c| match c {
            ' ' => Some('-'),
            '-' | '_' => Some(c),
            _ => c.is_alphanumeric().then_some(c),
        })
        .take(LONGEST)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(style: AnchorStyle, headings: &[(Option<&str>, &str)], expected: &[Option<&str>]) {
        let mut anchors = Anchors::new(style);
        let given: Vec<_> =
            headings.iter().map(|(id, heading)| anchors.next(*id, heading)).collect();
        assert_eq!(given.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn slugs_follow_the_text() {
        check(
            AnchorStyle::Slug,
            &[
                (None, "Set up: Wi-Fi & more"),
                (None, "パスワードを変更"),
                (None, "snake_case"),
                (None, "!?"),
            ],
            &[Some("set-up-wi-fi--more"), Some("パスワードを変更"), Some("snake_case"), None],
        );
    }

    #[test]
    fn equal_headings_are_numbered() {
        check(
            AnchorStyle::Slug,
            &[(None, "Setup"), (None, "Setup"), (None, "Setup 1"), (None, "Setup")],
            &[Some("setup"), Some("setup-1"), Some("setup-1-1"), Some("setup-2")],
        );
    }

    #[test]
    fn an_id_of_its_own_goes_first() {
        check(
            AnchorStyle::Slug,
            &[(Some("x"), "Setup"), (Some("x"), "Setup"), (None, "X")],
            &[Some("x"), Some("setup"), Some("x-1")],
        );
        check(
            AnchorStyle::Written,
            &[(Some("x"), "A"), (Some("x"), "B"), (None, "C")],
            &[Some("x"), None, None],
        );
    }
}
