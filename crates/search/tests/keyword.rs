//! The keyword index through its public interface, on real files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use analysis::{Han, Profile};
use deadline::CancelFlag;
use domain::{ArticleId, Filter, Language, Passage, PassageId};
use proptest::prelude::*;
use search::{KeywordError, KeywordHit, KeywordHits, KeywordIndex, KeywordRequest, KeywordWriter};
use tempfile::TempDir;

const PROFILE: Profile = Profile { han: Han::Japanese, latin: Language::ENGLISH };

/// The name under which this program starts itself to be killed while it writes.
const KILLED: &str = "a_writer_that_is_killed";

fn passage(title: &str, heading: &str, text: &str) -> Passage {
    let mut passage = Passage {
        id: PassageId::from_bytes([0; 16]),
        article_id: ArticleId::new(title),
        title: title.to_owned(),
        headings: if heading.is_empty() { Vec::new() } else { vec![heading.to_owned()] },
        url: None,
        lang: if text.is_ascii() { Language::ENGLISH } else { Language::JAPANESE },
        tags: Vec::new(),
        ordinal: 0,
        text: text.to_owned(),
    };
    passage.id = passage.derive_id(0);
    passage
}

fn tagged(mut passage: Passage, tags: &[&str]) -> Passage {
    passage.tags = tags.iter().map(|&tag| tag.to_owned()).collect();
    passage
}

fn help() -> Vec<Passage> {
    vec![
        passage("Change your PIN", "Forgotten PIN", "Open Settings and choose a new PIN."),
        passage(
            "Pair a watch",
            "Before you start",
            "Turn on Bluetooth on the watch, error TG-1042.",
        ),
        passage(
            "Export your data",
            "",
            "Export everything as a spreadsheet; settings are left out.",
        ),
        passage("暗証番号を変える", "忘れたとき", "設定を開き、新しい暗証番号を選びます。"),
        passage("申込みの方法", "", "ﾊﾟｽﾜｰﾄﾞ🔑とＥメールで申し込みます。ﬁnish まで押します。"),
    ]
}

fn in_ram(passages: &[Passage]) -> KeywordIndex {
    KeywordIndex::in_ram(PROFILE, passages).expect("an index in memory always builds")
}

fn write(dir: &Path, passages: &[Passage]) {
    let mut writer = KeywordWriter::create(dir, PROFILE).expect("a new directory");
    passages.iter().for_each(|passage| writer.add(passage).expect("the disk takes writes"));
    writer.commit().expect("the disk takes writes");
}

fn open(dir: &Path) -> KeywordIndex {
    KeywordIndex::open(dir).expect("a finished index")
}

fn temporary() -> TempDir {
    tempfile::tempdir().expect("a temporary directory")
}

fn search(index: &KeywordIndex, text: &str, filter: &Filter) -> KeywordHits {
    let request = KeywordRequest { text, filter, k: 10, last_word_is_prefix: false };
    index.search(&request, &CancelFlag::default()).expect("any text is a question")
}

fn type_ahead(index: &KeywordIndex, text: &str) -> KeywordHits {
    let filter = Filter::default();
    let request = KeywordRequest { text, filter: &filter, k: 10, last_word_is_prefix: true };
    index.search(&request, &CancelFlag::default()).expect("any text is a question")
}

fn titles(hits: &KeywordHits) -> Vec<&str> {
    hits.hits.iter().map(|hit| hit.passage.title.as_str()).collect()
}

/// Titles, scores and coverages, to the bit.
fn outcome(hits: &KeywordHits) -> Vec<(PassageId, u32, u32)> {
    let bits = |hit: &KeywordHit| (hit.passage.id, hit.score.to_bits(), hit.coverage.to_bits());
    hits.hits.iter().map(bits).collect()
}

/// Every file below `dir` with its content.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(dir).expect("a readable directory");
    entries
        .map(|entry| {
            let entry = entry.expect("a readable directory");
            let content = fs::read(entry.path()).expect("a readable file");
            (entry.file_name().to_string_lossy().into_owned(), content)
        })
        .collect()
}

#[track_caller]
fn check_best(question: &str, title: &str) {
    let hits = search(&in_ram(&help()), question, &Filter::default());
    assert_eq!(titles(&hits).first(), Some(&title), "{question}");
}

#[test]
fn the_passage_that_holds_the_question_is_best() {
    check_best("How do I change my PIN?", "Change your PIN");
    check_best("forgot pin", "Change your PIN");
    check_best("what does TG1042 mean", "Pair a watch");
    check_best("spreadsheets", "Export your data");
    check_best("暗証番号の変更", "暗証番号を変える");
    check_best("パスワードで申込", "申込みの方法");
    check_best("e-mail", "申込みの方法");
}

#[test]
fn query_syntax_is_only_text() {
    check_best("AND ((( \"pin title:[a TO", "Change your PIN");
}

#[test]
fn a_question_without_content_finds_nothing() {
    for question in ["", "?!", "how do i", "について教えて"] {
        let hits = search(&in_ram(&help()), question, &Filter::default());
        assert_eq!(hits.hits.len(), 0, "{question}");
    }
}

#[test]
fn words_that_nobody_knows_never_crowd_out_the_known_ones() {
    let log: String = (0..500).map(|number| format!("at frame{number:x}z, ")).collect();
    check_best(&format!("{log} spreadsheet {log}"), "Export your data");
    let log: String = (0..500).map(|number| format!("未知語彙{number} ")).collect();
    check_best(&format!("{log} 暗証番号"), "暗証番号を変える");
}

#[test]
fn the_rarest_words_of_a_long_question_decide() {
    let common: Vec<String> = (0..100).map(|number| format!("common{number}")).collect();
    let mut passages: Vec<Passage> =
        (0..3).map(|number| passage(&format!("Page {number}"), "", &common.join(" "))).collect();
    passages.push(passage("Rare", "", "platypus"));
    let question = format!("{} platypus", common.join(" "));
    let hits = search(&in_ram(&passages), &question, &Filter::default());
    assert!(titles(&hits).contains(&"Rare"), "{:?}", titles(&hits));
}

#[track_caller]
fn check_coverage(question: &str, range: std::ops::RangeInclusive<f32>) {
    let hits = search(&in_ram(&help()), question, &Filter::default());
    let coverage = hits.hits.first().map_or(0.0, |hit| hit.coverage);
    assert!(range.contains(&coverage), "{question}: {coverage}");
}

#[test]
fn coverage_is_the_share_of_the_question_that_the_best_hit_holds() {
    check_coverage("change the PIN", 1.0..=1.0);
    check_coverage("change the PIN in settings", 1.0..=1.0);
    // A word that nobody knows weighs more than a known one.
    check_coverage("PIN xylophone", 0.2..=0.5);
    check_coverage("xylophone", 0.0..=0.0);
}

#[test]
fn the_last_word_may_be_unfinished() {
    let index = in_ram(&help());
    for typed in ["spread", "export spreadshee", "Blue", "bluetooth", "TG-10", "パスワ"] {
        assert!(!type_ahead(&index, typed).hits.is_empty(), "{typed}");
    }
    assert_eq!(titles(&type_ahead(&index, "pair a wa")).first(), Some(&"Pair a watch"));
    assert!(search(&index, "spread", &Filter::default()).hits.is_empty());
}

#[test]
fn filters_admit_exactly_what_they_say() {
    let passages = [
        tagged(passage("One", "", "reset the device"), &["ios", "beta"]),
        tagged(passage("Two", "", "reset the device"), &["ios"]),
        passage("Three", "", "reset the device"),
        passage("四", "", "reset します"),
    ];
    let index = in_ram(&passages);
    let check = |lang: Option<Language>, tags: &[&str]| {
        let filter = Filter { lang, tags: tags.iter().map(|&tag| tag.to_owned()).collect() };
        let mut found: Vec<_> =
            search(&index, "reset", &filter).hits.into_iter().map(|hit| hit.passage.id).collect();
        let mut expected: Vec<_> = passages
            .iter()
            .filter(|passage| filter.admits(passage))
            .map(|passage| passage.id)
            .collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{filter:?}");
    };
    check(None, &[]);
    check(Some(Language::JAPANESE), &[]);
    check(Some(Language::KOREAN), &[]);
    check(None, &["ios"]);
    check(None, &["ios", "ios"]);
    check(Some(Language::ENGLISH), &["beta", "ios"]);
    check(None, &["IOS"]);
}

#[test]
fn words_of_a_hit_are_exact_in_its_original_text() {
    let index = in_ram(&help());
    let hits = search(&index, "パスワード finish メール", &Filter::default());
    let text = &hits.hits.first().expect("one passage holds all").passage.text;
    let written: Vec<&str> = index
        .analyzer()
        .words(text)
        .into_iter()
        .filter(|word| ["パスワード", "finish", "メール"].contains(&word.text.as_str()))
        .filter_map(|word| text.get(word.range))
        .collect();
    assert_eq!(written, ["ﾊﾟｽﾜｰﾄﾞ", "メール", "ﬁnish"]);
}

#[test]
fn equal_passages_are_ordered_by_their_ids_whatever_the_order_of_adding() {
    let mut passages: Vec<Passage> =
        (0..40).map(|number| passage(&format!("Page {number}"), "", "reset the device")).collect();
    let forwards = outcome(&search(&in_ram(&passages), "reset device", &Filter::default()));
    passages.reverse();
    let backwards = outcome(&search(&in_ram(&passages), "reset device", &Filter::default()));
    assert_eq!(forwards, backwards);
    let mut least: Vec<PassageId> = passages.iter().map(|passage| passage.id).collect();
    least.sort_unstable();
    assert_eq!(forwards.iter().map(|(id, ..)| *id).collect::<Vec<_>>(), least[..10]);
}

#[test]
fn passages_are_kept_whole_and_found_by_id() {
    let index = in_ram(&help());
    for passage in help() {
        assert_eq!(index.passage(passage.id).unwrap().as_deref(), Some(&passage));
    }
    let unknown = PassageId::from_bytes([7; 16]);
    assert_eq!(index.passage(unknown).unwrap(), None);
}

#[test]
fn a_raised_flag_stops_the_search() {
    let flag = CancelFlag::default();
    flag.raise();
    let check = |text: &str, tags: &[&str], last_word_is_prefix: bool| {
        let filter = Filter { lang: None, tags: tags.iter().map(|&tag| tag.to_owned()).collect() };
        let request = KeywordRequest { text, filter: &filter, k: 10, last_word_is_prefix };
        let found = in_ram(&help()).search(&request, &flag);
        assert!(matches!(found, Err(KeywordError::Cancelled)), "{text:?} {tags:?}");
    };
    check("pin", &[], false);
    // While it filters, and while it looks for what a word may become.
    check("xylophone", &["ios"], false);
    check("xylopho", &[], true);
}

#[test]
fn what_was_committed_is_there_after_opening() {
    let root = temporary();
    let dir = root.path().join("1");
    write(&dir, &help());
    let index = open(&dir);
    assert_eq!(index.passage_count(), 5);
    assert_eq!(index.analyzer().profile(), PROFILE);
    let (on_disk, in_memory) = (
        outcome(&search(&index, "settings 設定", &Filter::default())),
        outcome(&search(&in_ram(&help()), "settings 設定", &Filter::default())),
    );
    assert!(!on_disk.is_empty());
    assert_eq!(on_disk, in_memory);
}

#[test]
fn adding_a_passage_again_replaces_it() {
    let root = temporary();
    let (first, second) = (root.path().join("1"), root.path().join("2"));
    let retagged = tagged(help().remove(0), &["new"]);
    let mut twice = help();
    twice.push(retagged.clone());
    write(&first, &twice);
    assert_eq!(open(&first).passage_count(), 5);
    assert_eq!(open(&first).passage(retagged.id).unwrap().as_deref(), Some(&retagged));

    let mut writer = KeywordWriter::derive(&second, &first).unwrap();
    writer.add(&help()[0]).unwrap();
    assert_eq!(writer.commit().unwrap().passages, 5);
    assert_eq!(open(&second).passage(retagged.id).unwrap().as_deref(), Some(&help()[0]));
}

#[test]
fn a_derived_index_equals_one_built_afresh_and_leaves_the_previous_untouched() {
    let root = temporary();
    let (first, second) = (root.path().join("1"), root.path().join("2"));
    write(&first, &help());
    let before = contents(&first);
    let pinned = open(&first);

    let new = passage("Delete your account", "", "Settings, then delete. 設定から削除します。");
    let mut writer = KeywordWriter::derive(&second, &first).unwrap();
    writer.remove(help()[2].id).unwrap();
    writer.add(&new).unwrap();
    assert_eq!(writer.commit().unwrap().passages, 5);

    assert_eq!(contents(&first), before);
    assert_eq!(titles(&search(&pinned, "spreadsheet", &Filter::default())), ["Export your data"]);

    let mut afresh = help();
    afresh.remove(2);
    afresh.push(new);
    let (derived, afresh) = (open(&second), in_ram(&afresh));
    for question in ["settings", "delete my account", "設定 pin", "spreadsheet", "暗証番号を削除"]
    {
        let derived = outcome(&search(&derived, question, &Filter::default()));
        assert_eq!(derived, outcome(&search(&afresh, question, &Filter::default())), "{question}");
    }
}

#[test]
fn a_dropped_writer_changes_nothing() {
    let root = temporary();
    let (first, second, third) =
        (root.path().join("1"), root.path().join("2"), root.path().join("3"));
    write(&first, &help());
    let before = contents(&first);
    let mut writer = KeywordWriter::derive(&second, &first).unwrap();
    writer.remove(help()[0].id).unwrap();
    drop(writer);
    assert_eq!(contents(&first), before);
    assert_eq!(open(&first).passage_count(), 5);

    let mut writer = KeywordWriter::create(&third, PROFILE).unwrap();
    writer.add(&help()[0]).unwrap();
    drop(writer);
    assert!(
        matches!(KeywordIndex::open(&third), Err(KeywordError::Missing { dir }) if dir == third)
    );
}

#[test]
fn a_killed_writer_leaves_the_previous_index_whole() {
    let root = temporary();
    let (first, second) = (root.path().join("1"), root.path().join("2"));
    write(&first, &help());
    let before = contents(&first);
    let program = std::env::current_exe().expect("a running program has a path");
    let status = std::process::Command::new(program)
        .args([KILLED, "--exact", "--ignored"])
        .env("KEYWORD_TEST_ROOT", root.path())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .expect("this program starts");
    assert!(!status.success());
    assert!(second.exists(), "the other process got as far as writing");
    assert_eq!(contents(&first), before);
    assert_eq!(open(&first).passage_count(), 5);
    // Its directory is no obstacle once deleted.
    fs::remove_dir_all(&second).unwrap();
    assert_eq!(KeywordWriter::derive(&second, &first).unwrap().commit().unwrap().passages, 5);
}

#[test]
#[ignore = "started by the test above, which kills it"]
fn a_writer_that_is_killed() {
    let Some(root) = std::env::var_os("KEYWORD_TEST_ROOT") else { return };
    let root = Path::new(&root);
    let mut writer = KeywordWriter::derive(&root.join("2"), &root.join("1")).unwrap();
    for number in 0..500 {
        writer.add(&passage(&format!("Page {number}"), "", "reset the device")).unwrap();
    }
    std::process::abort();
}

#[test]
fn a_directory_takes_one_index_and_one_writer() {
    let root = temporary();
    let (first, second) = (root.path().join("1"), root.path().join("2"));
    write(&first, &help());
    assert!(matches!(KeywordWriter::create(&first, PROFILE), Err(KeywordError::Exists { .. })));
    let _writer = KeywordWriter::create(&second, PROFILE).unwrap();
    let error = KeywordWriter::create(&second, PROFILE).unwrap_err();
    assert!(matches!(&error, KeywordError::Locked { dir } if *dir == second), "{error}");
    let error = KeywordWriter::derive(&second, &first).unwrap_err();
    assert!(matches!(error, KeywordError::Locked { .. }));
}

#[test]
fn what_is_no_index_is_called_missing() {
    let root = temporary();
    let nowhere = root.path().join("nowhere");
    let error = KeywordIndex::open(&nowhere).unwrap_err();
    assert_eq!(error.to_string(), format!("{} holds no finished keyword index", nowhere.display()));
    assert!(matches!(KeywordIndex::open(root.path()), Err(KeywordError::Missing { .. })));
    let error = KeywordWriter::derive(&root.path().join("2"), &nowhere).unwrap_err();
    assert!(matches!(error, KeywordError::Missing { dir } if dir == nowhere));
}

#[test]
fn damage_is_an_error_that_names_the_directory_or_does_not_matter() {
    let root = temporary();
    let whole = root.path().join("whole");
    write(&whole, &help());
    let question = "settings 設定";
    let undamaged = outcome(&search(&open(&whole), question, &Filter::default()));
    for (name, content) in contents(&whole) {
        let flipped: Vec<u8> = content
            .iter()
            .enumerate()
            .map(|(at, byte)| if at == content.len() / 2 { !byte } else { *byte })
            .collect();
        let cut = content.get(..content.len() / 2).unwrap_or_default().to_vec();
        for (kind, damaged) in [("flipped", flipped), ("cut", cut), ("emptied", Vec::new())] {
            if damaged == content {
                continue;
            }
            let dir = root.path().join(format!("{name}-{kind}"));
            fs::create_dir(&dir).unwrap();
            for (other, content) in contents(&whole) {
                fs::write(dir.join(&other), if other == name { &damaged } else { &content })
                    .unwrap();
            }
            match KeywordIndex::open(&dir) {
                Err(error) => {
                    assert!(error.to_string().contains(&dir.display().to_string()), "{error}");
                }
                // A list of files that only a writer looks at.
                Ok(index) if name == ".managed.json" => {
                    let found = outcome(&search(&index, question, &Filter::default()));
                    assert_eq!(found, undamaged, "{kind} {name}");
                }
                Ok(_) => panic!("{kind} {name} went unnoticed"),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_text_is_a_question(
        text in prop_oneof![
            any::<String>(),
            "[a-z\"'():\\[\\]{}^~*?+!&|/\\\\ -]{0,80}",
            "(AND|OR|NOT|TO|pin|title:|body:|設定|ﾊﾟｽ|🔑| ){0,30}",
        ],
        last_word_is_prefix in any::<bool>(),
        k in 0_usize..20,
    ) {
        let index = in_ram(&help());
        let filter = Filter::default();
        let request = KeywordRequest { text: &text, filter: &filter, k, last_word_is_prefix };
        let found = index.search(&request, &CancelFlag::default());
        let hits = found.map_err(|error| TestCaseError::fail(error.to_string()))?.hits;
        prop_assert!(hits.len() <= k);
        let order = |a: &KeywordHit, b: &KeywordHit| {
            b.score.total_cmp(&a.score).then(a.passage.id.cmp(&b.passage.id)).is_lt()
        };
        prop_assert!(hits.is_sorted_by(order));
        prop_assert!(hits.iter().all(|hit| 0.0 < hit.score && (0.0..=1.0).contains(&hit.coverage)));
    }
}
