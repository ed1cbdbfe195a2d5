//! What [`VERSION`] stands for.

use analysis::{Analyzer, Han, Profile, VERSION};
use domain::Language;

/// When this fails, indexes built before do not match today's questions any more: raise [`VERSION`] along with
/// the words.
#[track_caller]
fn check(han: Han, latin: &str, rows: &[(&str, &str)]) {
    let latin: Language = latin.parse().expect("tests name languages");
    let analyzer = Analyzer::new(Profile { han, latin });
    let words = |text: &str| analyzer.words(text).into_iter().map(|word| word.text);
    let found: Vec<(&str, String)> =
        rows.iter().map(|(text, _)| (*text, words(text).collect::<Vec<_>>().join(" "))).collect();
    let expected: Vec<(&str, String)> =
        rows.iter().map(|(text, words)| (*text, (*words).to_owned())).collect();
    assert_eq!((VERSION, found), (1, expected));
}

#[test]
fn words_of_a_japanese_and_english_collection_change_only_with_the_version() {
    check(
        Han::Japanese,
        "en",
        &[
            (
                "How do I turn off the notifications for TG-1042 on my café's Wi-Fi?",
                "turn off notif tg tg1042 1042 cafe wi wifi fi",
            ),
            ("パスワードの再設定メールが届きません。", "パスワード 再 設定 メール 届く"),
            ("비밀번호를 재설정하는 방법", "비밀 재설 방법"),
            ("เปลี่ยนรหัสผ่าน", "เปลี่ยน รหัส ผ่าน"),
        ],
    );
}

#[test]
fn words_of_a_chinese_and_german_collection_change_only_with_the_version() {
    check(
        Han::Chinese,
        "de",
        &[
            ("如何更改密码？", "如何 更改 密码"),
            ("Wie ändere ich die Einstellungen?", "wie and ich die einstell"),
        ],
    );
}
