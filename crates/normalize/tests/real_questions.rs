//! How often the language of real questions is read rightly, and that no awkward one is too much.
//!
//! The questions may not be copied here; the tests read them from the folder that `KIWARI_SHARED` names, or
//! `../shared` beside the repository, and pass without a check where there is neither.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use domain::Language;
use normalize::{Limits, QuestionError, fold_text, question};
use serde::Deserialize;

#[derive(Deserialize)]
struct Asked {
    #[serde(alias = "query")]
    text: String,
    #[serde(default)]
    lang: String,
}

/// The development questions, if they are at hand.
fn development_set() -> Option<PathBuf> {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("KIWARI_SHARED").map_or_else(beside, PathBuf::from);
    Some(folder.join("eval/dev")).filter(|set| set.is_dir())
}

fn read(file: &Path) -> Vec<Asked> {
    let lines = std::fs::read_to_string(file).expect("the set is whole where it is there");
    lines.lines().map(|line| serde_json::from_str(line).expect("one question a line")).collect()
}

#[expect(clippy::print_stderr, reason = "figures and skips are for whoever runs the test")]
fn tell(line: &str) {
    eprintln!("{line}");
}

/// Reads every question of a set; the share whose language is `right`.
fn share_read_rightly(set: &Path, name: &str) -> f64 {
    let asked = read(&set.join(name));
    let mut wrong: BTreeMap<String, usize> = BTreeMap::new();
    let mut right = 0_u32;
    for Asked { text, lang } in &asked {
        let label: Language = lang.parse().expect("sets are labelled");
        let found = question(text, None, Limits::STANDARD).map(|read| read.lang());
        match found {
            Ok(found) if found == label => right += 1,
            other => {
                tell(&format!("  {label} read as {other:?}: {text}"));
                *wrong.entry(format!("{label} read as {other:?}")).or_default() += 1;
            }
        }
    }
    let share = f64::from(right) / asked.len() as f64;
    tell(&format!("{name}: {:.1} % of {} right {wrong:?}", share * 100.0, asked.len()));
    share
}

#[test]
fn english_and_japanese_questions_are_taken_for_what_they_are() {
    let Some(set) = development_set() else { return tell("skipped: no development questions") };
    let rows = [
        ("tb_kb_en/queries.jsonl", 0.98),
        ("stackfaq_en/queries.jsonl", 0.98),
        ("cranfield_en/queries.jsonl", 0.98),
        ("localgov_ja/queries.jsonl", 0.99),
        ("jsquad_ja/queries.jsonl", 0.99),
        ("mozjp_faq_ja/queries.jsonl", 0.99),
    ];
    for (name, least) in rows {
        let share = share_read_rightly(&set, name);
        assert!(share >= least, "{name}: {share:.3}");
    }
}

#[test]
fn questions_in_other_languages_are_mostly_told_apart_where_letters_help() {
    let Some(set) = development_set() else { return tell("skipped: no development questions") };
    let share = share_read_rightly(&set, "tb_kb_xling/queries.jsonl");
    // Forum titles of a few words, many without a letter beyond a–z, and a tenth of them English.
    assert!(share >= 0.3, "{share:.3}");
    let share = share_read_rightly(&set, "real_foreign_queries_for_tb_kb_en.jsonl");
    assert!(share >= 0.85, "{share:.3}");
}

#[test]
fn every_awkward_text_is_a_question_or_a_clear_error() {
    let Some(set) = development_set() else { return tell("skipped: no development questions") };
    for name in ["awkward_queries.jsonl", "real_messy_queries.jsonl"] {
        for Asked { text, .. } in read(&set.join(name)) {
            match question(&text, None, Limits::STANDARD) {
                Ok(read) => assert_eq!(fold_text(read.text()), read.text()),
                Err(QuestionError::NoWords) => {
                    assert!(!text.chars().any(char::is_alphanumeric), "{text:?}");
                }
                Err(QuestionError::TooLong { found, .. }) => {
                    assert_eq!(found, fold_text(&text).chars().count());
                }
                Err(QuestionError::Empty) => assert_eq!(text.trim(), ""),
            }
        }
    }
}
