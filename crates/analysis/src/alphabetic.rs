//! Words of alphabets that put spaces between them, and the names people search for among them.
//!
//! `TG-1042`, `wi-fi`, `support.example.org` and `jo@example.org` are found by each of their parts and as a
//! whole, with or without hyphens (`e-mail` = `email`); `c++` and `c#` keep their signs.

use std::ops::Range;

use crate::runs::{Kind, is_mark};
use crate::stems::Stems;

/// More parts than this are a path or a table row rather than a name.
const MOST_PARTS: usize = 5;
/// Longer words, in bytes, are data (keys, hashes, URLs with parameters) and are cut to this.
const LONGEST_WORD: usize = 64;

/// A word before stemming: letters as folded, and its place in the folded text.
struct Piece<'t> {
    text: &'t str,
    range: Range<usize>,
}

/// The words of all alphabetic stretches of a folded text, as stems with their places.
pub(crate) fn words(text: &str, stems: Stems) -> Vec<(String, Range<usize>)> {
    let mut words = Vec::new();
    let mut rest = 0;
    while let Some(chain) = next_chain(text, rest) {
        rest = chain.end;
        push_chain(text, chain, stems, &mut words);
    }
    // Stemmers may leave nothing of a stray mark.
    words.retain(|(stem, _)| !stem.is_empty());
    words
}

fn is_letter(c: char) -> bool {
    Kind::of(c) == Kind::Alphabetic || is_mark(c)
}

fn is_apostrophe(c: char) -> bool {
    matches!(c, '\'' | '’' | 'ʼ')
}

/// Signs that join the parts of a name when letters or digits stand on both sides.
fn is_joint(c: char) -> bool {
    matches!(c, '-' | '_' | '.' | '@' | '\u{2010}' | '\u{2011}') || is_apostrophe(c)
}

/// The next run of letters and digits from `from` on, with all that is joined to it.
fn next_chain(text: &str, from: usize) -> Option<Range<usize>> {
    let tail = text.get(from..)?;
    let start = from + tail.char_indices().find(|(_, c)| is_letter(*c) && !is_mark(*c))?.0;
    let mut end = start;
    let mut characters = text.get(start..)?.chars().peekable();
    while let Some(c) = characters.next() {
        let mut joins = || is_joint(c) && characters.peek().is_some_and(|next| is_letter(*next));
        if !is_letter(c) && !joins() {
            break;
        }
        end += c.len_utf8();
    }
    Some(start..end)
}

fn push_chain(
    text: &str,
    chain: Range<usize>,
    stems: Stems,
    words: &mut Vec<(String, Range<usize>)>,
) {
    let pieces = pieces(text, chain.clone(), stems.elides());
    for piece in &pieces {
        let stem = match signed(text, piece) {
            Some(signed) => Some(signed.to_owned()),
            None => stems.stem(&without_apostrophes(piece.text)),
        };
        words.extend(stem.map(|stem| (stem, piece.range.clone())));
    }
    if let Some(whole) = whole(&pieces, text, chain.clone(), stems) {
        words.push((whole, chain));
    }
}

/// The parts of a chain: split at its joints, possessive and elided articles off.
fn pieces(text: &str, chain: Range<usize>, elides: bool) -> Vec<Piece<'_>> {
    let is_split = |c| is_joint(c) && !is_apostrophe(c);
    let mut pieces = Vec::new();
    let mut next = chain.start;
    for part in text.get(chain).unwrap_or_default().split_inclusive(is_split) {
        let (skipped, word) = bare(part.trim_end_matches(is_split), elides);
        let start = next + skipped;
        next += part.len();
        let word = word.get(..word.floor_char_boundary(LONGEST_WORD)).unwrap_or_default();
        if !word.is_empty() {
            pieces.push(Piece { text: word, range: start..start + word.len() });
        }
    }
    pieces
}

/// A part without possessive `'s` and, where the language elides, without `l'`; and the bytes left out in
/// front.
fn bare(part: &str, elides: bool) -> (usize, &str) {
    let possessive = part.strip_suffix('s').and_then(|stem| stem.strip_suffix(is_apostrophe));
    let part = possessive.unwrap_or(part);
    match part.char_indices().find(|(_, c)| is_apostrophe(*c)) {
        Some((at, c)) if elides && at <= 3 => {
            let skipped = at + c.len_utf8();
            (skipped, part.get(skipped..).unwrap_or_default())
        }
        _ => (0, part),
    }
}

fn without_apostrophes(word: &str) -> String {
    word.chars().filter(|c| !is_apostrophe(*c)).collect()
}

/// `c++` or `c#`, when the signs follow the piece directly and nothing follows them.
fn signed<'t>(text: &'t str, piece: &Piece<'_>) -> Option<&'t str> {
    let after = text.get(piece.range.end..)?;
    let signs = ["++", "#"].into_iter().find(|signs| after.starts_with(signs))?;
    let closed =
        !after.get(signs.len()..)?.starts_with(|c: char| is_letter(c) || c == '#' || c == '+');
    let named = piece.text.starts_with(|c: char| c.is_alphabetic()) && piece.text.len() <= 2;
    (closed && named).then(|| text.get(piece.range.start..piece.range.end + signs.len()))?
}

/// The chain as one word, for names of several parts: hyphens and underscores left out.
fn whole(pieces: &[Piece<'_>], text: &str, chain: Range<usize>, stems: Stems) -> Option<String> {
    if !(2..=MOST_PARTS).contains(&pieces.len()) || LONGEST_WORD < chain.len() {
        return None;
    }
    let last = pieces.last()?;
    let name = text.get(chain.start..last.range.end)?;
    let joined: String = name.chars().filter(|c| matches!(c, '.' | '@') || !is_joint(*c)).collect();
    stems.stem(&joined)
}

#[cfg(test)]
mod tests {
    use domain::Language;

    use super::*;

    #[track_caller]
    fn check_in(latin: &str, text: &str, expected: &[&str]) {
        let stems = Stems::new(latin.parse().unwrap());
        let found: Vec<String> = words(text, stems).into_iter().map(|(stem, _)| stem).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        check_in("en", text, expected);
    }

    #[test]
    fn words_are_stemmed_without_stop_words() {
        check("how do i change my passwords?", &["chang", "password"]);
    }

    #[test]
    fn names_are_found_by_their_parts_and_as_a_whole() {
        check("error tg-1042", &["error", "tg", "1042", "tg1042"]);
        check("0x80070005", &["0x80070005"]);
        check("mail.example.org", &["mail", "exampl", "org", "mail.example.org"]);
        check("version 78.6", &["version", "78", "6", "78.6"]);
        check("wi-fi", &["wi", "fi", "wifi"]);
        check("wifi", &["wifi"]);
    }

    #[test]
    fn programming_languages_keep_their_signs() {
        check("c++ or c#", &["c++", "c#"]);
        check("c++11", &["c", "11"]);
    }

    #[test]
    fn possessives_and_contractions_are_unwrapped() {
        check("the user's account isn’t active", &["user", "account", "activ"]);
        check("can't", &[]);
        check_in("fr", "l'utilisateur", &["utilis"]);
    }

    #[test]
    fn paths_and_sentences_are_no_names() {
        check("and/or", &[]);
        check("end. next", &["end", "next"]);
        check("a.b.c.d.e.f", &["b", "c", "d", "e", "f"]);
    }

    #[test]
    fn ranges_cover_the_written_word() {
        let text = "the user's tg-1042";
        let found: Vec<_> = words(text, Stems::new(Language::ENGLISH));
        let written: Vec<&str> =
            found.iter().filter_map(|(_, range)| text.get(range.clone())).collect();
        assert_eq!(written, ["user", "tg", "1042", "tg-1042"]);
    }
}
