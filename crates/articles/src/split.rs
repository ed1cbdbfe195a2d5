//! Splits an article into passages: section by section, and a long section at its paragraphs, lines, sentences,
//! words or characters, whichever is the largest unit that fits.

use std::collections::HashMap;

use domain::{Article, Passage, PassageId, Section};
use text_splitter::{Characters, ChunkConfig, TextSplitter};

use crate::address;

/// Changes whenever an equal article would be split otherwise, so that an index knows that its passages are stale.
pub const SPLITTER_VERSION: u32 = 1;

/// How long passages are, in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitSettings {
    /// No passage is longer.
    pub longest: usize,
    /// At most so much of a passage is repeated at the head of the next one of its section; held below half of
    /// `longest`.
    pub overlap: usize,
}

impl SplitSettings {
    /// 700 characters, which several times over fit a prompt and are read at a glance; an overlap of 80, about one
    /// sentence, so that a sentence is not cut off from the one it leans on.
    #[must_use]
    pub fn standard() -> Self {
        Self { longest: 700, overlap: 80 }
    }

    fn splitter(self) -> TextSplitter<Characters> {
        let longest = self.longest.max(1);
        let config = ChunkConfig::new(longest)
            .with_overlap(self.overlap.min(longest / 2))
            .expect("an overlap of at most half a passage is less than a passage");
        TextSplitter::new(config)
    }
}

/// The passages of an article, in reading order. Text without a letter or digit is dropped; an article without
/// any other text has one passage, its title.
#[must_use]
pub fn split(article: &Article, settings: SplitSettings) -> Vec<Passage> {
    let splitter = settings.splitter();
    let mut passages = Passages::of(article);
    for section in &article.sections {
        if section.text.chars().nth(settings.longest).is_none() {
            passages.add(section, &section.text);
        } else {
            let chunks =
                stretches(&section.text, settings).flat_map(|stretch| splitter.chunks(stretch));
            chunks.for_each(|text| passages.add(section, text));
        }
    }
    if passages.done.is_empty() {
        let title: String = article.title.chars().take(settings.longest).collect();
        passages.add(&Section { headings: Vec::new(), anchor: None, text: String::new() }, &title);
    }
    passages.done
}

/// A section is handed to the splitter in stretches of about so many passages. The splitter's time grows with the
/// square of a text without paragraphs (ten seconds for a word of a million letters); the price is an overlap less
/// between stretches.
const PASSAGES_PER_STRETCH: usize = 8;

/// Cuts a text after a line, sentence or word; a text that has none of them is cut into passages right away.
fn stretches(text: &str, settings: SplitSettings) -> impl Iterator<Item = &str> {
    let passage = settings.longest.max(1);
    let stretch = passage.saturating_mul(PASSAGES_PER_STRETCH);
    let mut rest = text;
    std::iter::from_fn(move || {
        let end = place_of(rest, stretch);
        let fitting = rest.get(..end).filter(|fitting| !fitting.is_empty())?;
        let cut = if end == rest.len() {
            end
        } else {
            last_end(fitting).unwrap_or(place_of(rest, passage))
        };
        let (stretch, after) = rest.split_at(cut);
        rest = after;
        Some(stretch)
    })
}

/// The byte offset of a character, or of the end of a shorter text.
fn place_of(text: &str, character: usize) -> usize {
    text.char_indices().nth(character).map_or(text.len(), |(place, _)| place)
}

/// The place behind the last line, sentence or word, the greatest of them first; all of them are sought in the
/// second half before the first, so that stretches stay long.
fn last_end(text: &str) -> Option<usize> {
    const ENDS: [&[char]; 3] = [&['\n'], &['。', '！', '？'], &[' ']];
    let places = ENDS.map(|ends| text.char_indices().rfind(|(_, c)| ends.contains(c)));
    let behind = |least: usize| {
        places
            .iter()
            .flatten()
            .find(|&&(place, _)| place >= least)
            .map(|&(place, c)| place + c.len_utf8())
    };
    behind(text.len() / 2).or_else(|| behind(1))
}

struct Passages<'article> {
    article: &'article Article,
    done: Vec<Passage>,
    /// How often a text was seen under the same headings, by the id of its first passage.
    twins: HashMap<PassageId, u32>,
}

impl<'article> Passages<'article> {
    fn of(article: &'article Article) -> Self {
        Self { article, done: Vec::new(), twins: HashMap::new() }
    }

    fn add(&mut self, section: &Section, text: &str) {
        if !text.chars().any(char::is_alphanumeric) {
            return;
        }
        let article = self.article;
        let mut passage = Passage {
            id: PassageId::from_bytes([0; 16]),
            article_id: article.id.clone(),
            title: article.title.clone(),
            headings: section.headings.clone(),
            url: article.url.as_deref().map(|url| url_of(url, section.anchor.as_deref())),
            lang: article.lang,
            tags: article.tags.clone(),
            ordinal: u32::try_from(self.done.len()).unwrap_or(u32::MAX),
            text: text.to_owned(),
        };
        let first = passage.derive_id(0);
        let twin = self.twins.entry(first).or_default();
        passage.id = if *twin == 0 { first } else { passage.derive_id(*twin) };
        *twin += 1;
        self.done.push(passage);
    }
}

/// The page's URL with the fragment of one of its sections.
fn url_of(page: &str, anchor: Option<&str>) -> String {
    let page = page.split('#').next().unwrap_or(page);
    anchor.map_or_else(
        || page.to_owned(),
        |anchor| format!("{page}#{}", address::encode_fragment(anchor)),
    )
}

#[cfg(test)]
mod tests {
    use domain::{ArticleId, Language};
    use proptest::prelude::*;

    use super::*;

    fn article(sections: &[(&str, &str)]) -> Article {
        Article {
            id: ArticleId::new("plan"),
            title: "Plans".to_owned(),
            lang: Language::ENGLISH,
            url: Some("/plan".to_owned()),
            tags: vec!["billing".to_owned()],
            path: "plan.md".to_owned(),
            sections: sections
                .iter()
                .map(|&(heading, text)| Section {
                    headings: if heading.is_empty() {
                        Vec::new()
                    } else {
                        vec![heading.to_owned()]
                    },
                    anchor: (!heading.is_empty()).then(|| heading.to_lowercase()),
                    text: text.to_owned(),
                })
                .collect(),
        }
    }

    #[track_caller]
    fn check(text: &str, settings: SplitSettings, expected: &[&str]) {
        let passages = split(&article(&[("", text)]), settings);
        let texts: Vec<_> = passages.iter().map(|passage| passage.text.as_str()).collect();
        assert_eq!(texts, expected);
    }

    const fn of(longest: usize, overlap: usize) -> SplitSettings {
        SplitSettings { longest, overlap }
    }

    #[test]
    fn a_passage_carries_its_place() {
        let passages =
            split(&article(&[("", "Intro."), ("設定 A", "Text.")]), SplitSettings::standard());
        let places: Vec<_> = passages
            .iter()
            .map(|passage| {
                (passage.ordinal, passage.headings.join("/"), passage.url.clone().unwrap())
            })
            .collect();
        let expected = [
            (0, String::new(), "/plan".to_owned()),
            (1, "設定 A".to_owned(), "/plan#%E8%A8%AD%E5%AE%9A%20a".to_owned()),
        ];
        assert_eq!(places, expected);
        assert!(
            passages
                .iter()
                .all(|passage| passage.tags == ["billing"] && passage.id == passage.derive_id(0))
        );
    }

    #[test]
    fn the_largest_unit_that_fits_is_kept_whole() {
        check("One two.\n\nThree four.", of(12, 0), &["One two.", "Three four."]);
        check("- first item\n- second item", of(15, 0), &["- first item", "- second item"]);
        check("One two. Three four.", of(12, 0), &["One two.", "Three four."]);
        check("設定を開く。保存を押す。", of(7, 0), &["設定を開く。", "保存を押す。"]);
        check("あいうえおかきくけこ", of(4, 0), &["あいうえ", "おかきく", "けこ"]);
        check("xxxxxxxxxx", of(4, 0), &["xxxx", "xxxx", "xx"]);
    }

    #[test]
    fn neighbours_of_one_section_overlap() {
        check("One. Two. Three.", of(11, 5), &["One. Two.", "Two. Three."]);
        let passages = split(&article(&[("A", "One."), ("B", "Two.")]), of(11, 5));
        assert_eq!(passages.len(), 2);
    }

    #[test]
    fn text_without_letters_is_dropped_and_a_title_stands_in() {
        check("---", SplitSettings::standard(), &["Plans"]);
        assert_eq!(split(&article(&[]), SplitSettings::standard()).len(), 1);
        assert_eq!(
            split(&article(&[("A", "* * *"), ("B", "Text.")]), SplitSettings::standard()).len(),
            1
        );
    }

    #[test]
    fn equal_passages_have_different_ids() {
        let passages = split(
            &article(&[("A", "Same."), ("A", "Same."), ("A", "Same.")]),
            SplitSettings::standard(),
        );
        for (twin, passage) in (0..).zip(&passages) {
            assert_eq!(passage.id, passage.derive_id(twin));
        }
        assert_eq!(passages.len(), 3);
    }

    #[test]
    fn long_sections_are_cut_into_stretches_at_their_ends() {
        let lines = "- an item\n".repeat(40);
        let cut: Vec<_> = stretches(&lines, of(10, 0)).collect();
        assert_eq!(cut.concat(), lines);
        assert!(cut.len() > 2 && cut.iter().all(|stretch| stretch.ends_with('\n')));
        let word = "あ".repeat(400);
        let cut: Vec<_> = stretches(&word, of(10, 0)).collect();
        assert_eq!(cut.concat(), word);
        assert_eq!(cut.first().map(|stretch| stretch.chars().count()), Some(10));
    }

    proptest! {
        #[test]
        fn no_passage_is_too_long_and_no_letter_is_lost(
            text in "[a-zあ-ん漢。．. \n\u{301}👩]{0,300}",
            longest in 1_usize..60,
            overlap in 0_usize..80,
        ) {
            let passages = split(&article(&[("", &text)]), of(longest, overlap));
            prop_assert!(passages.iter().all(|passage| passage.text.chars().count() <= longest));
            let found: String = passages.iter().map(|passage| passage.text.as_str()).collect();
            for letter in text.chars().filter(|c| c.is_alphanumeric()) {
                prop_assert!(found.contains(letter));
            }
        }
    }
}
