//! What holds for every templated and every checked answer, whatever the hits and the question.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::fixtures::{self, analyzer, hits, passage, question};
use domain::{Answer, Citation, Passage, PassageId};
use proptest::prelude::*;
use template::citations::{self, Grounds};
use template::{TemplateSettings, templated};

/// Characters of a lead-in and mark at most: a title of 80, our words, and `[n]` for each sentence.
const LONGEST_FRAME: usize = 140;

/// Text dense in what can go wrong: marks, list markers, brackets, terminators, line breaks.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("[1]".to_owned()),
        Just("[2, 9]".to_owned()),
        Just("【3】".to_owned()),
        Just("[[1]2]".to_owned()),
        Just("\n1. ".to_owned()),
        Just("\n- ".to_owned()),
        Just("\n\n".to_owned()),
        Just(" | ".to_owned()),
        Just("写真を削除します。".to_owned()),
        Just("「開く。」".to_owned()),
        Just("Open the album. ".to_owned()),
        Just("See also ".to_owned()),
        "[\\[\\]0-9,.:!?()「」。 \n-]{0,6}",
        "\\PC{0,12}",
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

fn passages() -> impl Strategy<Value = Vec<Arc<Passage>>> {
    let drawn = ("(en|ja)/[a-c]", 0_u32..4, text(), text(), text()).prop_map(
        |(article, ordinal, title, heading, text)| {
            passage(&article, ordinal, &title, &heading, &text)
        },
    );
    let one = prop_oneof![drawn, prop::sample::select(fixtures::all())];
    prop::collection::vec(one, 1..8)
}

fn settings() -> impl Strategy<Value = TemplateSettings> {
    (0_usize..5, 0_usize..7, 0_usize..800).prop_map(|(most_passages, most_sentences, longest)| {
        TemplateSettings { most_passages, most_sentences, longest }
    })
}

/// Numbers in `[n]` marks, read in the plainest way.
fn numbers(text: &str) -> BTreeSet<u32> {
    let after_brackets = text.split('[').skip(1);
    after_brackets.filter_map(|rest| rest.split_once(']')?.0.parse().ok()).collect()
}

fn check_citations(text: &str, citations: &[Citation], passages: &[Arc<Passage>]) {
    let cited: BTreeSet<u32> = citations.iter().map(|citation| citation.n).collect();
    assert_eq!(numbers(text), cited, "marks and citations differ in {text:?}");
    assert_eq!(cited, (1..).take(citations.len()).collect(), "numbers are not dense");
    for citation in citations {
        let holds = |passage: &&Arc<Passage>| {
            passage.article_id == citation.article_id && passage.text.contains(&citation.quote)
        };
        assert!(
            passages.iter().any(|passage| holds(&passage)),
            "no passage says {:?}",
            citation.quote
        );
    }
}

fn check_templated(answer: &Answer, passages: &[Arc<Passage>], settings: &TemplateSettings) {
    assert!(!answer.text.trim().is_empty());
    assert!(!answer.citations.is_empty());
    check_citations(&answer.text, &answer.citations, passages);
    let frames = settings.most_sentences.max(1) * LONGEST_FRAME;
    let length = answer.text.chars().count();
    assert!(
        length <= settings.longest + frames,
        "{length} characters with {settings:?}: {}",
        answer.text
    );
}

proptest! {
    #[test]
    fn a_templated_answer_is_bounded_and_its_citations_hold(
        asked in text(), lang in "en|ja|fr", passages in passages(), settings in settings()
    ) {
        let answer = templated(&question(&lang, &asked), &hits(passages.clone()), &analyzer(), &settings);
        check_templated(&answer, &passages, &settings);
    }

    #[test]
    fn a_checked_text_has_only_marks_that_hold(written in text(), passages in passages()) {
        let checked = citations::check(&written, &passages, &analyzer(), &Grounds::default());
        check_citations(&checked.text, &checked.citations, &passages);
        prop_assert!(!checked.supported || !checked.citations.is_empty());
    }

    #[test]
    fn a_text_checked_again_stays_as_it_is(written in text(), passages in passages()) {
        let once = citations::check(&written, &passages, &analyzer(), &Grounds::default());
        let by_number: Vec<Arc<Passage>> = once.citations.iter().map(|cited| {
            let mut passage = (*passage("en/x", 0, &cited.title, &cited.heading, &cited.quote)).clone();
            passage.id = PassageId::from_bytes([1; 16]);
            Arc::new(passage)
        }).collect();
        let twice = citations::check(&once.text, &by_number, &analyzer(), &Grounds::default());
        prop_assert_eq!(twice.text, once.text);
    }
}
