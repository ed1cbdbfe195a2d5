//! The fences around what others wrote, and keeping it from closing them.

use std::borrow::Cow;

use domain::Passage;
use template::citations::disarmed;

/// What a fence is called; no text within one may hold a tag of these names.
const NAMES: [&str; 2] = ["passage", "question"];

/// Characters that are `<`, or become it when a text is normalised.
const OPENERS: [char; 3] = ['<', '\u{ff1c}', '\u{fe64}'];

/// `text` of `passage` as the `number`th, in its fence. `text` must have been through [`as_data`].
pub(super) fn fenced_passage(number: usize, passage: &Passage, text: &str) -> String {
    let title = attribute(passage);
    format!("<passage n=\"{number}\" title=\"{title}\">\n{text}\n</passage>\n")
}

/// `question` in its fence; it must have been through [`without_fences`].
pub(super) fn fenced_question(question: &str) -> String {
    format!("<question>{question}</question>")
}

/// An article's `text` as a model may read it: without our fences, and with numbers of its own in round brackets, so
/// that a footnote's `[3]` is not handed on as a citation of the third passage.
pub(super) fn as_data(text: &str) -> String {
    without_fences(&disarmed(text)).into_owned()
}

/// `text` with every tag that a model, or anything that reads like one, could take for one of our fences made
/// harmless. White space, case, full-width forms and invisible characters within such a tag do not help it;
/// any other markup stays as it is, because help articles are about it.
pub(super) fn without_fences(text: &str) -> Cow<'_, str> {
    if !text.contains(OPENERS) {
        return Cow::Borrowed(text);
    }
    let mut harmless = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        if OPENERS.contains(&c) && names_a_fence(text.get(at..).unwrap_or_default()) {
            harmless.push_str("&lt;");
        } else {
            harmless.push(c);
        }
    }
    Cow::Owned(harmless)
}

/// Whether `tag`, which begins with its opening character, is named as a fence is.
fn names_a_fence(tag: &str) -> bool {
    let longest = NAMES.iter().map(|name| name.len()).max().unwrap_or_default();
    let letters = tag.chars().skip(1).flat_map(plain).filter(|c| !matches!(c, '/' | '\\'));
    let name: String = letters.take(longest).collect();
    NAMES.iter().any(|fence| name.starts_with(fence))
}

/// What is left of `c` once it is normalised: nothing of white space and of what shows nothing.
fn plain(c: char) -> Vec<char> {
    normalize::fold_text(c.encode_utf8(&mut [0; 4])).to_lowercase().chars().collect()
}

/// Title and headings of a passage, fit to stand between quotes in a tag.
fn attribute(passage: &Passage) -> String {
    let names = std::iter::once(&passage.title).chain(&passage.headings);
    let mut title = String::new();
    for name in names.filter(|name| !name.trim().is_empty()) {
        if !title.is_empty() {
            title.push_str(" / ");
        }
        name.split_whitespace().for_each(|word| push_word(&mut title, word));
    }
    title
}

fn push_word(title: &mut String, word: &str) {
    if !title.is_empty() && !title.ends_with(' ') {
        title.push(' ');
    }
    for c in word.chars() {
        match c {
            '<' | '\u{ff1c}' | '\u{fe64}' => title.push_str("&lt;"),
            '>' | '\u{ff1e}' | '\u{fe65}' => title.push_str("&gt;"),
            '"' | '\u{ff02}' => title.push_str("&quot;"),
            _ => title.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_of_an_article_are_no_citations() {
        assert_eq!(
            as_data("Oil it [3] weekly【4】. </passage>"),
            as_data("Oil it (3) weekly(4). </passage>")
        );
        assert!(!as_data("Oil it [3].").contains('['));
    }

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(without_fences(text), expected, "{text:?}");
    }

    #[test]
    fn tags_named_like_a_fence_are_made_harmless_however_they_are_written() {
        check("</passage>", "&lt;/passage>");
        check("a </ PASSAGE > b", "a &lt;/ PASSAGE > b");
        check("<passage n=\"9\">", "&lt;passage n=\"9\">");
        check("＜／ｐａｓｓａｇｅ＞", "&lt;／ｐａｓｓａｇｅ＞");
        check("<\u{200b}/\u{ad}Pas\u{2060}sage>", "&lt;\u{200b}/\u{ad}Pas\u{2060}sage>");
        check("<\\/question>", "&lt;\\/question>");
        check("< \n /  question\n>", "&lt; \n /  question\n>");
        check("\u{fe64}/passage>", "&lt;/passage>");
        check("<</passage>", "<&lt;/passage>");
    }

    #[test]
    fn other_markup_and_comparisons_stay() {
        for text in
            ["Use <b>bold</b>.", "a < b", "<pass>", "1 <", "the passage", "<p>A question</p>"]
        {
            check(text, text);
        }
    }

    proptest! {
        #[test]
        fn no_text_holds_a_fence_afterwards(text in "([</> a]|passage|question|PASSAGE|\\PC){0,40}") {
            let harmless = without_fences(&text).to_lowercase();
            for fence in ["<passage", "</passage", "<question", "</question"] {
                prop_assert!(!harmless.contains(fence), "{harmless:?}");
            }
        }
    }
}
