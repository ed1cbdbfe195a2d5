//! Whether the `[n]` marks of a text that a model wrote hold, and what they stand on.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use analysis::{Analyzer, Profile};
use domain::{Citation, Passage, PassageId};
use quick_cache::sync::Cache;

pub use crate::marks::disarmed;
use crate::{marks, part, sentence};

/// The share of a sentence's content words that the passages it cites must have for it to be supported.
///
/// Half: a faithful sentence repeats the passage's terms (buttons, plans, limits) and rephrases the rest.
pub const SUPPORTED_SHARE: f32 = 0.5;

/// A model's text with marks that hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The text; its marks are numbered from 1 in order of first appearance, each `[n]` by itself.
    pub text: String,
    /// One for every number in the text's marks, in order.
    pub citations: Vec<Citation>,
    /// Whether at least one sentence stands on what it cites.
    pub supported: bool,
}

/// Checks the marks of `text`, which number `passages` from 1.
///
/// Marks that name no passage are taken out, the others renumbered. Each citation quotes, exactly, the passage's
/// sentence that shares most words with the sentences citing it.
///
/// A sentence is supported if at least [`SUPPORTED_SHARE`] of its content words are among those of the passages it
/// cites, or of all cited ones if it has no mark of its own; the text is, if it has a mark and at least one
/// supported sentence. Where sentence and passage share no script, as in a Japanese answer from English articles,
/// words cannot be compared, and a mark of the sentence's own is taken at its word.
#[must_use]
pub fn check(
    text: &str,
    passages: &[Arc<Passage>],
    analyzer: &Analyzer,
    grounds: &Grounds,
) -> Checked {
    let analyzer = *analyzer;
    let (text, cited) = renumbered(&without_void_marks(text, passages.len()));
    let cited: Vec<&Passage> = cited.iter().filter_map(|&n| passage(passages, n)).collect();
    let claims = claims(&text, analyzer);
    let grounds: Vec<Arc<Ground>> =
        cited.iter().map(|passage| grounds.of(passage, analyzer)).collect();
    let supported = !cited.is_empty() && claims.iter().any(|claim| claim.is_supported(&grounds));
    let citations = (1..)
        .zip(&cited)
        .zip(&grounds)
        .map(|((n, passage), ground)| cite(passage, n, ground.quote(n, passage, &claims)));
    Checked { citations: citations.collect(), text, supported }
}

/// The citation of `passage` under number `n`.
pub(crate) fn cite(passage: &Passage, n: u32, quote: &str) -> Citation {
    Citation {
        n,
        article_id: passage.article_id.clone(),
        title: passage.title.clone(),
        heading: passage.heading().to_owned(),
        url: passage.url.clone(),
        quote: quote.to_owned(),
    }
}

/// The passage that a mark's number names.
fn passage(passages: &[Arc<Passage>], n: u32) -> Option<&Passage> {
    let index = usize::try_from(n).ok()?.checked_sub(1)?;
    passages.get(index).map(AsRef::as_ref)
}

/// `text` with every number that names none of `count` passages taken out.
fn without_void_marks(text: &str, count: usize) -> String {
    let names_a_passage = |n: &u32| usize::try_from(*n).is_ok_and(|n| (1..=count).contains(&n));
    let mut text = text.to_owned();
    // More than once, because taking a mark out of nested brackets can leave another one.
    while marks::marks(&text).iter().any(|mark| !mark.numbers.iter().all(names_a_passage)) {
        let mut kept = String::with_capacity(text.len());
        let mut at = 0;
        for mark in marks::marks(&text) {
            kept.push_str(part(&text, at..mark.range.start));
            at = mark.range.end;
            let valid: Vec<u32> = mark.numbers.into_iter().filter(names_a_passage).collect();
            if valid.is_empty() {
                at += close_gap(&mut kept, part(&text, at..text.len()));
            } else {
                push_marks(&mut kept, &valid);
            }
        }
        kept.push_str(part(&text, at..text.len()));
        text = kept;
    }
    text
}

/// Closes the gap that a mark leaves between `before` and `after`; the bytes of `after` to leave out.
fn close_gap(before: &mut String, after: &str) -> usize {
    if before.is_empty() || before.ends_with('\n') {
        return after.len() - after.trim_start_matches(' ').len();
    }
    let words_follow = after
        .chars()
        .next()
        .is_some_and(|c| !c.is_whitespace() && !".,;:!?)。、！？）".contains(c));
    if !words_follow {
        before.truncate(before.trim_end_matches(' ').len());
    }
    0
}

fn push_marks(text: &mut String, numbers: &[u32]) {
    for n in numbers {
        text.push_str(&format!("[{n}]"));
    }
}

/// `text` with its numbers made dense in order of first appearance, and the old number of each new one.
fn renumbered(text: &str) -> (String, Vec<u32>) {
    let mut order: Vec<u32> = Vec::new();
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for mark in marks::marks(text) {
        out.push_str(part(text, at..mark.range.start));
        at = mark.range.end;
        for n in mark.numbers {
            let known = order.iter().position(|&old| old == n);
            let index = known.unwrap_or_else(|| {
                order.push(n);
                order.len() - 1
            });
            out.push_str(&format!("[{}]", index + 1));
        }
    }
    out.push_str(part(text, at..text.len()));
    (out, order)
}

/// One sentence of the text: what it says, and on whose word.
struct Claim {
    words: HashSet<String>,
    scripts: Scripts,
    /// Numbers of its own marks.
    cites: Vec<u32>,
}

/// Passages as they are compared with texts, kept because taking one into words costs more than everything else
/// about a check. Bounded; what is used least goes first.
pub struct Grounds(Cache<(PassageId, Profile), Arc<Ground>>);

/// Some four kilobytes each.
const MOST_GROUNDS: usize = 4_000;

impl Default for Grounds {
    fn default() -> Self {
        Self(Cache::new(MOST_GROUNDS))
    }
}

impl fmt::Debug for Grounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Grounds").field("kept", &self.0.len()).finish_non_exhaustive()
    }
}

impl Grounds {
    /// A passage's id is of its text, so that what is kept never grows stale.
    fn of(&self, passage: &Passage, analyzer: Analyzer) -> Arc<Ground> {
        let key = (passage.id, analyzer.profile());
        self.0.get(&key).unwrap_or_else(|| {
            let ground = Arc::new(Ground::new(passage, analyzer));
            self.0.insert(key, Arc::clone(&ground));
            ground
        })
    }
}

/// A cited passage, as far as support goes.
struct Ground {
    /// Of its title and headings.
    titles: HashSet<String>,
    sentences: Vec<Said>,
    scripts: Scripts,
}

/// One sentence of a passage.
struct Said {
    range: Range<usize>,
    words: HashSet<String>,
}

/// Which kinds of letters a text has, as far as words can be compared.
#[derive(Clone, Copy)]
struct Scripts {
    ascii: bool,
    other: bool,
}

fn claims(text: &str, analyzer: Analyzer) -> Vec<Claim> {
    let sentences = sentence::sentences(text).into_iter().map(|range| part(text, range));
    sentences
        .map(|sentence| {
            let bare = marks::without(sentence);
            let cites = marks::marks(sentence).into_iter().flat_map(|mark| mark.numbers).collect();
            Claim { words: words(&bare, analyzer), scripts: Scripts::of(&bare), cites }
        })
        .collect()
}

impl Claim {
    fn is_supported(&self, grounds: &[Arc<Ground>]) -> bool {
        let own =
            || (1..).zip(grounds).filter(|(n, _)| self.cites.contains(n)).map(|(_, ground)| ground);
        let cited: Vec<&Arc<Ground>> =
            if self.cites.is_empty() { grounds.iter().collect() } else { own().collect() };
        if self.words.is_empty() || cited.is_empty() {
            return false;
        }
        if !cited.iter().any(|ground| self.scripts.share_one_with(ground.scripts)) {
            return !self.cites.is_empty();
        }
        let found = self.words.iter().filter(|word| cited.iter().any(|ground| ground.holds(word)));
        found.count() as f32 >= SUPPORTED_SHARE * self.words.len() as f32
    }
}

impl Ground {
    fn new(passage: &Passage, analyzer: Analyzer) -> Self {
        let titles = format!("{}\n{}", passage.title, passage.headings.join("\n"));
        let said = |range: Range<usize>| {
            let words = words(part(&passage.text, range.clone()), analyzer);
            Said { range, words }
        };
        Self {
            titles: words(&titles, analyzer),
            sentences: sentence::sentences(&passage.text).into_iter().map(said).collect(),
            scripts: Scripts::of(&passage.text),
        }
    }

    fn holds(&self, word: &str) -> bool {
        self.titles.contains(word) || self.sentences.iter().any(|said| said.words.contains(word))
    }

    /// The sentence of `passage` that is most like what cites it as number `n`; the first if none is.
    fn quote<'p>(&self, n: u32, passage: &'p Passage, claims: &[Claim]) -> &'p str {
        let citing: HashSet<&String> = claims
            .iter()
            .filter(|claim| claim.cites.contains(&n))
            .flat_map(|claim| &claim.words)
            .collect();
        let mut best = (0..0, -1.0);
        for Said { range, words } in &self.sentences {
            let shared = words.iter().filter(|word| citing.contains(word)).count() as f32;
            // Dice's coefficient, so that a long sentence does not win by its length.
            let likeness = 2.0 * shared / (words.len() + citing.len()).max(1) as f32;
            if likeness > best.1 {
                best = (range.clone(), likeness);
            }
        }
        part(&passage.text, best.0)
    }
}

impl Scripts {
    fn of(text: &str) -> Self {
        let letters = || text.chars().filter(|c| c.is_alphabetic());
        let ascii = letters().filter(char::is_ascii).count();
        let other = letters().count() - ascii;
        // A product's name in Latin letters makes no Japanese sentence comparable to an English passage.
        Self { ascii: ascii > 2 * other, other: other > 0 && ascii <= 2 * other }
    }

    fn share_one_with(self, other: Self) -> bool {
        (self.ascii && other.ascii) || (self.other && other.other)
    }
}

fn words(text: &str, analyzer: Analyzer) -> HashSet<String> {
    analyzer.words(text).into_iter().map(|word| word.text).collect()
}

#[cfg(test)]
mod tests {
    use analysis::{Han, Profile};
    use domain::{ArticleId, Language, PassageId};

    use super::*;

    fn passages() -> Vec<Arc<Passage>> {
        let passage = |title: &str, text: &str| {
            let mut passage = Passage {
                id: PassageId::from_bytes([0; 16]),
                article_id: ArticleId::new(title),
                title: title.to_owned(),
                headings: Vec::new(),
                url: None,
                lang: Language::ENGLISH,
                tags: Vec::new(),
                ordinal: 0,
                text: text.to_owned(),
            };
            passage.id = passage.derive_id(0);
            Arc::new(passage)
        };
        vec![
            passage("Trash", "Deleted photos go to the trash. They stay there for 30 days."),
            passage(
                "Plans",
                "The Plus plan costs $4.99 a month. Cancel it in Settings at any time.",
            ),
            passage("解約", "Plusプランはいつでも解約できます。写真は消えません。"),
        ]
    }

    fn checked(text: &str) -> Checked {
        let analyzer = Analyzer::new(Profile { han: Han::Japanese, latin: Language::ENGLISH });
        check(text, &passages(), &analyzer, &Grounds::default())
    }

    #[track_caller]
    fn check_text(text: &str, expected: &str, titles: &[&str]) {
        let checked = checked(text);
        assert_eq!(checked.text, expected);
        let cited: Vec<&str> =
            checked.citations.iter().map(|citation| citation.title.as_str()).collect();
        assert_eq!(cited, titles, "{text:?}");
    }

    #[test]
    fn marks_are_renumbered_in_order_of_first_appearance() {
        check_text(
            "Cancel in Settings. [2] Photos stay. [1][2]",
            "Cancel in Settings. [1] Photos stay. [2][1]",
            &["Plans", "Trash"],
        );
        check_text("A [3, 1]. B 【3】.", "A [1][2]. B [1].", &["解約", "Trash"]);
        check_text("A [1-3].", "A [1][2][3].", &["Trash", "Plans", "解約"]);
    }

    #[test]
    fn marks_that_name_no_passage_go_with_their_space() {
        check_text(
            "Tap it [7]. Then wait [0] a day. [9][1]",
            "Tap it. Then wait a day. [1]",
            &["Trash"],
        );
        check_text("[5] Tap it [1, 8].\n[4]", "Tap it [1].\n", &["Trash"]);
        check_text("タップします。[9]待ちます。", "タップします。待ちます。", &[]);
        check_text("Tap [Settings].", "Tap [Settings].", &[]);
        check_text("A ［2］. B ［９］.", "A [1]. B.", &["Plans"]);
    }

    #[test]
    fn a_mark_that_removal_brings_about_is_checked_too() {
        check_text("A [[9]1] and [[9]8].", "A [1] and.", &["Trash"]);
    }

    #[track_caller]
    fn check_quote(text: &str, expected: &str) {
        assert_eq!(checked(text).citations[0].quote, expected, "{text:?}");
    }

    #[test]
    fn the_quote_is_the_sentence_most_like_what_cites_it() {
        check_quote("They remain for 30 days. [1]", "They stay there for 30 days.");
        check_quote("Photos you deleted are in the trash. [1]", "Deleted photos go to the trash.");
        check_quote("Ask a friend. [2]", "The Plus plan costs $4.99 a month.");
    }

    #[track_caller]
    fn check_supported(text: &str, expected: bool) {
        assert_eq!(checked(text).supported, expected, "{text:?}");
    }

    #[test]
    fn one_sentence_that_stands_on_what_it_cites_is_enough() {
        check_supported("Deleted photos stay 30 days. [1]", true);
        check_supported("Bananas grow in Ecuador. [1] The plan costs $4.99 a month. [2]", true);
        check_supported("The plan costs $4.99. Bananas grow in Ecuador. [2]", true);
        check_supported("解約はいつでもできます。[3]", true);
    }

    #[test]
    fn a_text_is_not_supported_without_marks_or_by_passages_about_something_else() {
        check_supported("Deleted photos stay 30 days.", false);
        check_supported("Deleted photos stay 30 days. [8]", false);
        check_supported("Bananas grow in Ecuador. [1]", false);
        check_supported("Deleted photos stay 30 days. [2]", false);
        check_supported("[1]", false);
        check_supported("", false);
    }

    #[test]
    fn across_scripts_a_mark_is_taken_at_its_word() {
        check_supported("削除した写真は30日間ゴミ箱に残ります。[1]", true);
        check_supported("The plan can be cancelled whenever you like. [3]", true);
    }
}
