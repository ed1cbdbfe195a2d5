//! Sentences and content words, crudely: enough to pick the sentence that a question is about.

use std::collections::HashSet;

use crate::tokens::is_ideographic;

/// Words that say nothing about a subject.
const EMPTY_WORDS: [&str; 48] = [
    "about", "after", "all", "and", "any", "are", "before", "but", "can", "could", "did", "does",
    "for", "from", "get", "had", "has", "have", "help", "her", "his", "how", "into", "its", "just",
    "may", "more", "must", "not", "our", "out", "please", "she", "should", "that", "the", "their",
    "them", "there", "they", "this", "was", "what", "when", "where", "which", "will", "with",
];
const MORE_EMPTY_WORDS: [&str; 8] = ["who", "why", "would", "you", "your", "want", "need", "then"];

/// The sentences of a passage, trimmed; headings and list items count as sentences.
pub(super) fn sentences(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for line in text.lines() {
        let mut start = 0;
        let mut characters = line.char_indices().peekable();
        while let Some((at, c)) = characters.next() {
            let next = characters.peek().map(|(_, next)| *next);
            if ends_sentence(c, next) {
                let end = at + c.len_utf8();
                found.extend(line.get(start..end));
                start = end;
            }
        }
        found.extend(line.get(start..));
    }
    let bare = found.into_iter().map(|sentence| sentence.trim_matches(is_decoration));
    bare.filter(|sentence| sentence.chars().filter(|c| c.is_alphanumeric()).count() >= 2).collect()
}

fn ends_sentence(c: char, next: Option<char>) -> bool {
    let latin_end = matches!(c, '.' | '!' | '?') && next.is_none_or(char::is_whitespace);
    latin_end || matches!(c, '。' | '！' | '？')
}

/// What surrounds a sentence in Markdown without being of it.
fn is_decoration(c: char) -> bool {
    c.is_whitespace() || matches!(c, '#' | '*' | '-' | '>' | '|' | '•' | '・')
}

/// The words of `text` that say what it is about: Latin words of three letters or more but the commonest,
/// without a plural's s; of Japanese, pairs of characters with a kanji or katakana among them.
pub(super) fn content_words(text: &str) -> HashSet<String> {
    let lower = text.to_lowercase();
    let mut words = HashSet::new();
    for run in lower.split(|c: char| !c.is_alphanumeric() && c != 'ー') {
        for (ideographic, part) in by_script(run) {
            if ideographic {
                words.extend(pairs(&part));
            } else {
                words.extend(content_word(&part));
            }
        }
    }
    words
}

/// `run` in stretches of one kind of script.
fn by_script(run: &str) -> Vec<(bool, String)> {
    let mut parts: Vec<(bool, String)> = Vec::new();
    for c in run.chars() {
        let ideographic = is_ideographic(c);
        match parts.last_mut() {
            Some((same, part)) if *same == ideographic => part.push(c),
            _ => parts.push((ideographic, c.to_string())),
        }
    }
    parts
}

fn content_word(word: &str) -> Option<String> {
    let empty = EMPTY_WORDS.contains(&word) || MORE_EMPTY_WORDS.contains(&word);
    if empty || word.chars().count() < 3 {
        return None;
    }
    let singular = word.strip_suffix('s').filter(|stem| stem.len() >= 3 && !stem.ends_with('s'));
    Some(singular.unwrap_or(word).to_owned())
}

fn pairs(text: &str) -> Vec<String> {
    let characters: Vec<char> = text.chars().collect();
    let telling = |pair: &&[char]| pair.iter().any(|c| !matches!(c, '\u{3040}'..='\u{309f}'));
    characters.windows(2).filter(telling).map(|pair| pair.iter().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_end_at_marks_and_lines() {
        let text = "# Badges\n\nOpen Settings v1.2 now. Then save!\n- 設定を開きます。保存します";
        let expected =
            ["Badges", "Open Settings v1.2 now.", "Then save!", "設定を開きます。", "保存します"];
        assert_eq!(sentences(text), expected);
    }

    #[test]
    fn content_words_are_what_a_text_is_about() {
        let words = content_words("How do I reset the badges?");
        assert_eq!(words, HashSet::from(["reset".to_owned(), "badge".to_owned()]));
        let words = content_words("パスワードを変更するには");
        assert!(words.contains("変更") && words.contains("スワ") && !words.contains("には"));
    }
}
