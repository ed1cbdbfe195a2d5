//! [`Segmenter`]: the cheapest way through all possible words of a text (Viterbi).

use std::fmt;
use std::ops::Range;

use crate::dictionary::{Dictionary, Entry};
use crate::script::Script;

/// Longest stretch, in bytes, that is put into one lattice; bounds its memory.
const LONGEST_SPAN: usize = 3000;
/// Longest word of one script outside the dictionary, in bytes.
const LONGEST_UNKNOWN: usize = 255;

/// A word of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// Bytes of the text.
    pub range: Range<usize>,
    /// The dictionary's lemma, or the surface of a word that it lacks.
    pub lemma: &'t str,
    /// Noun, verb, adjective, prefix or suffix, without light verbs such as する and いる; true for words
    /// that the dictionary lacks.
    pub is_content: bool,
}

/// Cuts texts into words. Holds the lattice's memory, so that it is reused from text to text.
pub struct Segmenter<'d> {
    dictionary: &'d Dictionary,
    nodes: Vec<Node>,
    /// Per byte of the span, the nodes that end there.
    ending_at: Vec<Vec<usize>>,
}

/// A possible word, with the cheapest way from the start of the span through it.
#[derive(Clone, Copy)]
struct Node {
    right: u16,
    /// `None` for words that the dictionary lacks, and for the start of the span.
    entry: Option<u32>,
    cost: i32,
    start: usize,
    previous: usize,
}

impl<'d> Segmenter<'d> {
    /// A segmenter with an empty lattice.
    #[must_use]
    pub fn new(dictionary: &'d Dictionary) -> Self {
        Self { dictionary, nodes: Vec::new(), ending_at: Vec::new() }
    }

    /// The words of `text`, in order; spaces, punctuation and symbols lie between them.
    pub fn tokens<'t>(&mut self, text: &'t str) -> Vec<Token<'t>>
    where
        'd: 't,
    {
        let mut tokens = Vec::new();
        for span in spans(text) {
            let start = span.start;
            let words = text.get(span).unwrap_or_default();
            self.fill(words);
            self.read_back(words, start, &mut tokens);
        }
        tokens
    }

    /// Puts every possible word of `span` into the lattice.
    fn fill(&mut self, span: &str) {
        self.clear(span.len());
        for (at, c) in span.char_indices() {
            if self.ending_at[at].is_empty() {
                continue;
            }
            let rest = span.get(at..).unwrap_or_default();
            let script = Script::of(c);
            let known = script != Script::Other && self.add_known(at, rest);
            match script {
                Script::Katakana | Script::Other => {
                    self.add_unknown(at, run_length(rest, script), script);
                }
                Script::Kanji | Script::Hiragana if !known => {
                    // One or two characters, so that a neighbouring known word is not swallowed.
                    let mut end = 0;
                    for c in rest.chars().take(2).take_while(|c| Script::of(*c) == script) {
                        end += c.len_utf8();
                        self.add_unknown(at, end, script);
                    }
                }
                Script::Kanji | Script::Hiragana | Script::Break => {}
            }
        }
    }

    fn clear(&mut self, span_length: usize) {
        if self.ending_at.len() <= span_length {
            self.ending_at.resize(span_length + 1, Vec::new());
        }
        self.ending_at.iter_mut().take(span_length + 1).for_each(Vec::clear);
        self.nodes.clear();
        let right = self.dictionary.connections.start;
        self.nodes.push(Node { right, entry: None, cost: 0, start: 0, previous: 0 });
        self.ending_at[0].push(0);
    }

    /// Adds the dictionary's words that `rest` starts with; whether there are any.
    fn add_known(&mut self, at: usize, rest: &str) -> bool {
        let dictionary = self.dictionary;
        let mut any = false;
        dictionary.prefixes(rest.as_bytes(), |length, entry| {
            any = true;
            let Entry { number, left, right, cost } = entry;
            self.add(at..at + length, left, right, cost, Some(number));
        });
        any
    }

    fn add_unknown(&mut self, at: usize, length: usize, script: Script) {
        let connections = &self.dictionary.connections;
        let (left, right) = connections.unknown;
        let [katakana, kanji, hiragana, other] = connections.unknown_costs;
        let cost = match script {
            Script::Katakana => katakana,
            Script::Kanji => kanji,
            Script::Hiragana => hiragana,
            Script::Other | Script::Break => other,
        };
        self.add(at..at + length, left, right, cost, None);
    }

    /// Adds a word, or replaces a dearer one that ends alike: what follows could not tell them apart.
    fn add(&mut self, at: Range<usize>, left: u16, right: u16, cost: i32, entry: Option<u32>) {
        let (cost_before, previous) = self.cheapest_before(at.start, left);
        let node = Node { right, entry, cost: cost_before + cost, start: at.start, previous };
        let twin = self.ending_at[at.end].iter().find(|other| self.nodes[**other].right == right);
        match twin {
            Some(twin) if node.cost < self.nodes[*twin].cost => self.nodes[*twin] = node,
            Some(_) => {}
            None => {
                self.ending_at[at.end].push(self.nodes.len());
                self.nodes.push(node);
            }
        }
    }

    /// The cheapest way to `at` for a word of class `left` that starts there: its cost, its last node.
    fn cheapest_before(&self, at: usize, left: u16) -> (i32, usize) {
        let connections = &self.dictionary.connections;
        let through = |&index: &usize| {
            let node = &self.nodes[index];
            (node.cost + connections.cost(node.right, left), index)
        };
        self.ending_at[at].iter().map(through).min().unwrap_or((0, 0))
    }

    /// Appends the words of the cheapest way through `span`, which starts at `offset` in the text.
    fn read_back<'t>(&self, span: &'t str, offset: usize, tokens: &mut Vec<Token<'t>>)
    where
        'd: 't,
    {
        let dictionary = self.dictionary;
        let first = tokens.len();
        let mut end = span.len();
        let (_, mut index) = self.cheapest_before(end, dictionary.connections.end);
        while index != 0 {
            let node = &self.nodes[index];
            let surface = span.get(node.start..end).unwrap_or_default();
            let (lemma, is_content) = match node.entry {
                Some(entry) => (dictionary.lemma(entry), dictionary.is_content_word(entry)),
                None => (surface, true),
            };
            tokens.push(Token { range: offset + node.start..offset + end, lemma, is_content });
            end = node.start;
            index = node.previous;
        }
        tokens[first..].reverse();
    }
}

impl fmt::Debug for Segmenter<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Segmenter").field("dictionary", self.dictionary).finish_non_exhaustive()
    }
}

/// The stretches between breaks, none much longer than [`LONGEST_SPAN`].
fn spans(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut characters = text.char_indices().peekable();
    std::iter::from_fn(move || {
        let is_break = |&(_, c): &(usize, char)| Script::of(c) == Script::Break;
        while characters.next_if(is_break).is_some() {}
        let start = characters.peek()?.0;
        let mut end = start;
        while let Some((at, c)) =
            characters.next_if(|next| !is_break(next) && next.0 - start < LONGEST_SPAN)
        {
            end = at + c.len_utf8();
        }
        Some(start..end)
    })
}

/// Bytes of the run of `script` that `text` starts with, at least one character.
fn run_length(text: &str, script: Script) -> usize {
    text.char_indices()
        .find(|(at, c)| Script::of(*c) != script || LONGEST_UNKNOWN < at + c.len_utf8())
        .map_or(text.len(), |(at, _)| at)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, content_lemmas: &[&str]) {
        let tokens = Segmenter::new(Dictionary::bundled()).tokens(text);
        let lemmas: Vec<&str> =
            tokens.iter().filter(|token| token.is_content).map(|token| token.lemma).collect();
        assert_eq!(lemmas, content_lemmas, "{text}");
    }

    #[test]
    fn spellings_of_one_word_have_one_lemma() {
        check("申込の方法", &["申し込み", "方法"]);
        check("申込みの方法", &["申し込み", "方法"]);
        check("申し込みの方法", &["申し込み", "方法"]);
    }

    #[test]
    fn inflected_forms_have_one_lemma() {
        check("パスワードを忘れました", &["パスワード", "忘れる"]);
        check("パスワードを忘れたら", &["パスワード", "忘れる"]);
    }

    #[test]
    fn words_outside_the_dictionary_are_content() {
        check("thunderbirdの設定", &["thunderbird", "設定"]);
        check("ゾンゲルミョル", &["ゾンゲルミョル"]);
    }

    #[test]
    fn long_texts_without_breaks_are_covered_completely() {
        let mut segmenter = Segmenter::new(Dictionary::bundled());
        for unit in ["あ", "ア", "漢", "a", "すもももももももものうち"] {
            let long = unit.repeat(20_000);
            let covered: usize =
                segmenter.tokens(&long).iter().map(|token| token.range.len()).sum();
            assert_eq!(covered, long.len(), "{unit}");
        }
    }

    /// Words lie in order, within the text and on its character boundaries, and only breaks lie between.
    fn check_ranges(text: &str) -> Result<(), TestCaseError> {
        let mut last = 0;
        for token in Segmenter::new(Dictionary::bundled()).tokens(text) {
            let between = text.get(last..token.range.start);
            prop_assert!(
                between.is_some_and(|gap| gap.chars().all(|c| Script::of(c) == Script::Break))
            );
            prop_assert!(text.get(token.range.clone()).is_some_and(|word| !word.is_empty()));
            prop_assert!(!token.lemma.is_empty());
            last = token.range.end;
        }
        let after = text.get(last..);
        prop_assert!(after.is_some_and(|gap| gap.chars().all(|c| Script::of(c) == Script::Break)));
        Ok(())
    }

    proptest! {
        #[test]
        fn any_text_is_cut_into_ordered_words(text in any::<String>()) {
            check_ranges(&text)?;
        }

        #[test]
        fn any_japanese_looking_text_is_cut_into_ordered_words(
            text in "[ぁ-ゟァ-ヿ一-鿿々〆ー・、。a-z0-9 ｱ-ﾟ𠮷😀한]{0,80}",
        ) {
            check_ranges(&text)?;
        }
    }
}
