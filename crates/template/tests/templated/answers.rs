//! Templated answers as a user reads them.

use std::sync::Arc;

use crate::fixtures::{self, analyzer, hits, language, passage, question};
use domain::{AnswerKind, Passage};
use template::{TemplateSettings, no_match, out_of_time, templated};

/// The answer's text, then each citation's number, place and quote.
fn answer(lang: &str, asked: &str, passages: &[Arc<Passage>]) -> String {
    let hits = hits(passages.iter().cloned());
    let answer = templated(&question(lang, asked), &hits, &analyzer(), &TemplateSettings::STANDARD);
    assert_eq!(answer.kind, AnswerKind::Templated);
    let citations = answer.citations.iter().map(|cited| {
        format!("\n{} {} > {}: {:?}", cited.n, cited.title, cited.heading, cited.quote)
    });
    format!("{}\n{}", answer.text, citations.collect::<String>())
}

#[test]
fn a_how_to_question_gets_the_steps_together() {
    insta::assert_snapshot!(answer(
        "en",
        "How do I reset my forgotten password?",
        &[fixtures::reset_password(), fixtures::password_rules(), fixtures::cancel_plan(),]
    ));
    insta::assert_snapshot!(answer(
        "ja",
        "パスワードを忘れたのですが、再設定する方法は？",
        &[fixtures::reset_password_ja(), fixtures::cancel_plan_ja(),]
    ));
}

#[test]
fn a_question_for_a_fact_gets_the_sentence_with_it() {
    insta::assert_snapshot!(answer(
        "en",
        "how long do deleted photos stay in the trash",
        &[fixtures::trash(), fixtures::shared_albums(),]
    ));
    insta::assert_snapshot!(answer(
        "ja",
        "TG-1042とは",
        &[fixtures::error_1042_ja(), fixtures::trash_ja()]
    ));
    insta::assert_snapshot!(answer(
        "en",
        "what is TG-1042",
        &[fixtures::error_1042(), fixtures::trash()]
    ));
}

#[test]
fn another_relevant_article_adds_a_sentence() {
    insta::assert_snapshot!(answer(
        "en",
        "can I cancel my plan",
        &[fixtures::cancel_plan(), fixtures::refunds()]
    ));
}

#[test]
fn a_list_keeps_the_line_that_announces_it() {
    insta::assert_snapshot!(answer(
        "en",
        "which roles do shared album members have",
        &[fixtures::shared_albums()]
    ));
}

#[test]
fn of_a_table_only_the_rows_that_matter_are_quoted() {
    insta::assert_snapshot!(answer("en", "how much is Plus", &[fixtures::plans()]));
}

#[test]
fn a_question_that_shares_no_word_gets_the_start_of_the_best_passage() {
    insta::assert_snapshot!(answer("en", "bonjour", &[fixtures::trash(), fixtures::cancel_plan()]));
}

#[test]
fn what_completes_the_best_sentence_is_quoted_even_where_little_speaks_for_that() {
    // No word in common, far down the passage, and none of them can stand without the one before.
    let text = "Where does it go?\n\nWhen?\n\nIt goes to the bin. It stays there for a month.";
    let hits = hits([passage("en/bin", 0, "", "", text)]);
    let asked = question("en", "bonjour");
    let answer = templated(&asked, &hits, &analyzer(), &TemplateSettings::STANDARD);
    assert!(answer.text.contains("It stays there for a month."), "{}", answer.text);
}

#[test]
fn the_questions_language_is_preferred_among_hits_in_both() {
    let japanese_second = [fixtures::trash(), fixtures::trash_ja()];
    insta::assert_snapshot!(answer("ja", "削除した写真を元に戻したい", &japanese_second));
}

#[test]
fn our_words_are_in_english_where_a_language_has_none() {
    insta::assert_snapshot!(answer("fr", "annuler plan", &[fixtures::cancel_plan()]));
}

#[test]
fn what_is_too_long_is_cut() {
    let steps: String =
        (1..40).map(|n| format!("{n}. Open the long menu number {n} and wait for it.\n")).collect();
    insta::assert_snapshot!(answer(
        "en",
        "how to open the menu",
        &[passage("en/menu", 0, "Menus", "", &steps)]
    ));
    let clauses = "and then the photo is copied once more, ".repeat(30);
    insta::assert_snapshot!(answer(
        "en",
        "photo copied",
        &[passage("en/copy", 0, "Copies", "", &clauses)]
    ));
}

#[test]
fn a_passage_without_sentences_is_named() {
    insta::assert_snapshot!(answer(
        "en",
        "anything",
        &[passage("en/empty", 0, "An empty page", "", "")]
    ));
    insta::assert_snapshot!(answer("ja", "何か", &[passage("ja/empty", 0, "", "", " \n")]));
}

#[test]
fn no_match_names_near_articles_and_what_to_try() {
    let near = hits([
        fixtures::trash(),
        fixtures::reset_password(),
        fixtures::password_rules(),
        fixtures::plans(),
        fixtures::refunds(),
    ]);
    let english = no_match(&question("en", "who won the match"), &near);
    assert_eq!((english.kind, english.citations.len()), (AnswerKind::NoMatch, 0));
    insta::assert_snapshot!(english.text);
    insta::assert_snapshot!(no_match(&question("ja", "甲子園"), &[]).text);
}

#[test]
fn without_hits_there_is_no_match() {
    let asked = question("en", "anything");
    assert_eq!(
        templated(&asked, &[], &analyzer(), &TemplateSettings::STANDARD),
        no_match(&asked, &[])
    );
}

#[test]
fn a_search_that_did_not_finish_is_not_passed_off_as_no_match() {
    let english = out_of_time(&question("de", "Passwort"));
    assert_eq!((english.kind, english.lang), (AnswerKind::NoMatch, language("en")));
    insta::assert_snapshot!(english.text);
    let japanese = out_of_time(&question("ja", "パスワード"));
    assert_eq!(japanese.lang, language("ja"));
    insta::assert_snapshot!(japanese.text);
}
