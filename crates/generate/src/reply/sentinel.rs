//! [`Sentinel`]: keeps the model's word for "not answered here" out of what users read.

use crate::prompt::NO_ANSWER;

/// What is known after some more text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// This much may be shown; it may be empty.
    Text(String),
    /// The passages do not answer, the model says. Nothing more is to be shown.
    NoAnswer,
}

/// Watches a text, given in any pieces, for [`NO_ANSWER`], wherever it stands and whatever it is wrapped in.
///
/// Held back is no more than an end that could still become it; and, as long as nothing else has come, quotes
/// and white space before that.
#[derive(Debug, Default)]
pub(crate) struct Sentinel {
    held: String,
    /// Something has been shown.
    begun: bool,
}

enum Match {
    /// From this byte on, the text could still become it.
    Partial(usize),
    Whole,
    None,
}

impl Sentinel {
    /// Takes in the next piece.
    pub(crate) fn hear(&mut self, text: &str) -> Heard {
        self.held.push_str(text);
        let keep_from = match find(&self.held) {
            Match::Whole => return Heard::NoAnswer,
            Match::Partial(at) => at,
            Match::None => self.held.len(),
        };
        let before = self.held.get(..keep_from).unwrap_or_default();
        if !self.begun && before.chars().all(is_wrapper) {
            return Heard::Text(String::new());
        }
        self.begun = true;
        let held = self.held.split_off(keep_from);
        Heard::Text(std::mem::replace(&mut self.held, held))
    }

    /// What is held back, once nothing can follow.
    pub(crate) fn rest(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Whether what is held back has gone so far that it is no word of any language.
    pub(crate) fn is_recognisable(&self) -> bool {
        let recognisable = NO_ANSWER.find('_').unwrap_or_default() + 1;
        matches!(find(&self.held), Match::Partial(at) if self.held.len() - at >= recognisable)
    }
}

fn find(text: &str) -> Match {
    let mut partial = Match::None;
    for (at, _) in text.match_indices(NO_ANSWER.chars().next().unwrap_or_default()) {
        match compare(text.get(at..).unwrap_or_default()) {
            Match::Whole => return Match::Whole,
            // An earlier one is longer.
            Match::Partial(_) if matches!(partial, Match::None) => partial = Match::Partial(at),
            Match::Partial(_) | Match::None => {}
        }
    }
    partial
}

/// Compares the start of `text`, in which `_` may be escaped, as models do that write Markdown.
fn compare(text: &str) -> Match {
    let mut bytes = text.bytes();
    for expected in NO_ANSWER.bytes() {
        let mut next = bytes.next();
        if expected == b'_' && next == Some(b'\\') {
            next = bytes.next();
        }
        match next {
            None => return Match::Partial(0),
            Some(byte) if byte == expected => {}
            Some(_) => return Match::None,
        }
    }
    Match::Whole
}

fn is_wrapper(c: char) -> bool {
    c.is_whitespace() || "\"'`*“”‘’「『«([".contains(c)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What is shown of `pieces`, and whether the sentinel was in them.
    fn shown(pieces: &[&str]) -> (String, bool) {
        let (mut sentinel, mut text) = (Sentinel::default(), String::new());
        for piece in pieces {
            match sentinel.hear(piece) {
                Heard::Text(more) => text.push_str(&more),
                Heard::NoAnswer => return (text, true),
            }
        }
        (text + &sentinel.rest(), false)
    }

    #[test]
    fn it_is_found_alone_wrapped_within_and_in_pieces() {
        for pieces in [
            &["NO_ANSWER_IN_PASSAGES"][..],
            &["`NO_ANSWER_IN_PASSAGES`."],
            &[" \n\"", "NO_ANSWER", "_IN_PASSAGES\""],
            &["N", "O", "_", "A", "NSWER_IN_PASSAGE", "S"],
            &["NO\\_ANSWER\\", "_IN\\_PASSAGES"],
            &["**", "NO_ANSWER_IN_PASSAGES**"],
            &["「", "NO_ANSWER_IN_PASSAGES」"],
            &["NNO_ANSWER_IN_PASSAGES"],
            &["NO_NO_ANSWER_IN_PASSAGES"],
        ] {
            let (text, found) = shown(pieces);
            assert!(found && !text.contains('_'), "{pieces:?}: {text:?}");
        }
        assert_eq!(shown(&["Sorry. ", "NO_ANSWER_IN_PASSAGES"]), ("Sorry. ".to_owned(), true));
    }

    #[test]
    fn a_wrapped_one_shows_nothing_at_all() {
        assert_eq!(shown(&["\"", "`", "NO", "_ANSWER_IN_PASSAGES"]), (String::new(), true));
    }

    #[test]
    fn only_what_could_become_it_is_held_back() {
        let mut sentinel = Sentinel::default();
        let mut hear = |text: &str| match sentinel.hear(text) {
            Heard::Text(text) => text,
            Heard::NoAnswer => unreachable!("it is not in these texts"),
        };
        assert_eq!(hear("Press N"), "Press ");
        assert_eq!(hear("ext. NO"), "Next. ");
        assert_eq!(hear("_ANSWER_IN"), "");
        assert_eq!(hear("BOX is \""), "NO_ANSWER_INBOX is \"");
    }

    #[test]
    fn a_broken_off_one_is_recognised_from_its_first_underscore_on() {
        for (text, recognisable) in
            [("N", false), ("NO", false), ("NO_", true), ("Well. NO_ANSWER", true), ("NO_B", false)]
        {
            let mut sentinel = Sentinel::default();
            sentinel.hear(text);
            assert_eq!(sentinel.is_recognisable(), recognisable, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn other_text_passes_unchanged_in_any_pieces(
            pieces in prop::collection::vec("(NO_ANSWER_IN_|PASSAGE|N|NO|_|\\\\|\"|あ|[a-z ]){0,6}", 0..8)
        ) {
            let pieces: Vec<_> = pieces.iter().map(String::as_str).collect();
            let whole = pieces.concat();
            if !whole.replace("\\_", "_").contains(NO_ANSWER) {
                prop_assert_eq!(shown(&pieces), (whole, false));
            }
        }
    }
}
