//! What a prompt holds, for whoever pretends to be a model.
//!
//! Passages are fenced as `<passage n="1" title="…">` … `</passage>`, the question stands between `<question>`
//! and `</question>` (else it is the last line that is not of a passage), a wish for brevity is any number
//! before words, characters, 語, 文字 or 字 outside the passages, and the reply for "not answered here" is a
//! word in capitals with underscores after "exactly:", or in quotes.

use crate::tokens::is_ideographic;

/// One fenced passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Passage<'a> {
    pub(crate) n: u32,
    pub(crate) text: &'a str,
}

/// How long a reply the prompt wishes for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hint {
    Words(u32),
    Characters(u32),
    /// 文字 or 字: characters of a script whose characters are a token each.
    Ideographs(u32),
}

/// A prompt taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prompt<'a> {
    pub(crate) passages: Vec<Passage<'a>>,
    pub(crate) question: &'a str,
    pub(crate) hint: Option<Hint>,
    pub(crate) sentinel: Option<&'a str>,
}

impl Hint {
    /// The wish in tokens: a word is one and a half of them, space and mark included.
    #[must_use]
    pub fn tokens(self) -> u32 {
        match self {
            Self::Words(n) => n.saturating_mul(3).div_ceil(2),
            Self::Characters(n) => n.div_ceil(4),
            Self::Ideographs(n) => n,
        }
    }
}

impl<'a> Prompt<'a> {
    pub(crate) fn parse(system: &'a str, user: &'a str) -> Self {
        let (passages, outside) = split_passages(user);
        let question = question(&outside);
        let instructions = || outside.iter().copied().chain([system]);
        Self {
            passages,
            question,
            hint: instructions().find_map(hint),
            sentinel: sentinel(system).or_else(|| outside.iter().copied().find_map(sentinel)),
        }
    }
}

/// The fenced passages, and the text around them.
fn split_passages(text: &str) -> (Vec<Passage<'_>>, Vec<&str>) {
    const OPENING: &str = "<passage ";
    const CLOSING: &str = "</passage>";
    let (mut passages, mut outside, mut rest) = (Vec::new(), Vec::new(), text);
    while let Some((before, after)) = rest.split_once(OPENING) {
        outside.push(before);
        // A title may hold a bare `>`.
        let (attributes, after) = after.split_once("\">").unwrap_or((after, ""));
        let (inside, after) = after.split_once(CLOSING).unwrap_or((after, ""));
        if let Some(n) = attribute(attributes, "n").and_then(|n| n.parse().ok()) {
            passages.push(Passage { n, text: inside.trim() });
        }
        rest = after;
    }
    outside.push(rest);
    (passages, outside)
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let (_, value) = attributes.split_once(&format!("{name}=\""))?;
    // The last attribute has lost its closing quote to the end of the tag.
    Some(value.split_once('"').map_or(value, |(value, _)| value))
}

fn question<'a>(outside: &[&'a str]) -> &'a str {
    let fenced = outside.iter().rev().find_map(|part| {
        let (_, after) = part.rsplit_once("<question>")?;
        Some(after.split_once("</question>").map_or(after, |(inside, _)| inside).trim())
    });
    let last_line = || {
        let lines = outside.iter().rev().flat_map(|part| part.lines().rev());
        lines.map(str::trim).find(|line| !line.is_empty()).unwrap_or_default()
    };
    fenced.unwrap_or_else(last_line)
}

fn hint(text: &str) -> Option<Hint> {
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let from_digit = rest.get(at..)?;
        let end = from_digit.find(|c: char| !c.is_ascii_digit()).unwrap_or(from_digit.len());
        let (number, after) = from_digit.split_at_checked(end)?;
        if let (Ok(n), Some(hint)) = (number.parse(), unit(after)) {
            return Some(hint(n));
        }
        rest = after;
    }
    None
}

/// What a number becomes with its unit.
type MakeHint = fn(u32) -> Hint;

fn unit(after_number: &str) -> Option<MakeHint> {
    let unit = after_number.trim_start_matches([' ', '-', '\u{a0}']);
    let units: [(&str, MakeHint); 5] = [
        ("words", Hint::Words),
        ("語", Hint::Words),
        ("characters", Hint::Characters),
        ("文字", Hint::Ideographs),
        ("字", Hint::Ideographs),
    ];
    units.into_iter().find(|(name, _)| unit.starts_with(name)).map(|(_, hint)| hint)
}

fn sentinel(text: &str) -> Option<&str> {
    let after_exactly = text.split("exactly").skip(1).filter_map(|after| {
        let word = after.trim_start_matches([':', ' ', '\n', '`', '"', '\'', '“']);
        leading_sentinel(word)
    });
    let quoted = text.split(['`', '"', '\'', '“', '「']).skip(1).filter_map(leading_sentinel);
    after_exactly.chain(quoted).next()
}

/// The word in capitals that `text` begins with: four letters at least.
fn leading_sentinel(text: &str) -> Option<&str> {
    let end = text.find(|c: char| !(c.is_ascii_uppercase() || c == '_')).unwrap_or(text.len());
    let next_is_letter = text.get(end..)?.starts_with(|c: char| c.is_alphanumeric());
    let word = text.get(..end)?;
    (word.len() >= 4 && !next_is_letter && !word.starts_with('_')).then_some(word)
}

/// Whether most letters of `text` are Chinese, Japanese or Korean ones.
pub(crate) fn is_mostly_ideographic(text: &str) -> bool {
    let letters = text.chars().filter(|c| c.is_alphabetic());
    let (ideographic, all) =
        letters.fold((0u32, 0u32), |(some, all), c| (some + u32::from(is_ideographic(c)), all + 1));
    ideographic * 2 > all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_taken_apart() {
        let system = "Answer only from the passages. If they do not answer, reply with exactly: \
                      NO_ANSWER_IN_PASSAGES";
        let user = "Use at most 80 words.\n<passage n=\"1\" title=\"a\">\nKeep 30 words.\n</passage>\n\
                    <passage n=\"2\" title=\"b\">\nOther.\n</passage>\n<question>\nWhy 5 words?\n</question>";
        let prompt = Prompt::parse(system, user);
        assert_eq!(prompt.passages.len(), 2);
        assert_eq!(prompt.passages[1], Passage { n: 2, text: "Other." });
        assert_eq!(prompt.question, "Why 5 words?");
        assert_eq!(prompt.hint, Some(Hint::Words(80)));
        assert_eq!(prompt.sentinel, Some("NO_ANSWER_IN_PASSAGES"));
    }

    #[test]
    fn hints_come_in_several_languages() {
        for (text, expected) in [
            ("in 120 characters or fewer", Some(Hint::Characters(120))),
            ("200文字以内で", Some(Hint::Ideographs(200))),
            ("50 語以内", Some(Hint::Words(50))),
            ("a 60-words reply", Some(Hint::Words(60))),
            ("cite [1] and 3 passages", None),
        ] {
            assert_eq!(hint(text), expected, "{text}");
        }
    }

    #[test]
    fn a_sentinel_is_a_word_in_capitals() {
        assert_eq!(sentinel("say `NOT_FOUND` then"), Some("NOT_FOUND"));
        assert_eq!(sentinel("answer exactly \"NO_ANSWER\"."), Some("NO_ANSWER"));
        assert_eq!(sentinel("「NO_ANSWER」とだけ"), Some("NO_ANSWER"));
        assert_eq!(sentinel("never say `No`, nor OK or HTML"), None);
    }

    #[test]
    fn a_plain_text_is_its_own_question() {
        let prompt = Prompt::parse("", "Hello\nWhat is this?\n");
        assert_eq!(prompt.question, "What is this?");
        assert!(prompt.passages.is_empty() && prompt.sentinel.is_none());
    }
}
