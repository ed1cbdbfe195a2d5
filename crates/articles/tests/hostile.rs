//! A folder of hostile and broken pages, built by a script that is not part of the repository: what must hold for
//! each of them, as far as reading and splitting go.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use articles::{ReadOptions, Reading, Severity, SplitSettings, read_folder, split};
use domain::Passage;

/// The folder of test material, which lies beside the repository or where `KIWARI_SHARED` says.
fn material() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let folder = std::env::var_os("KIWARI_SHARED").map_or(beside, PathBuf::from);
    folder.join("bad-docs/build.py").is_file().then_some(folder)
}

struct Outcome {
    reading: Reading,
    /// By the path of their article.
    passages: HashMap<String, Vec<Passage>>,
}

impl Outcome {
    fn text(&self, path: &str) -> String {
        let passages = self.passages.get(path).map(Vec::as_slice).unwrap_or_default();
        passages.iter().map(|passage| passage.text.as_str()).collect::<Vec<_>>().join("\n")
    }

    fn everything(&self) -> impl Iterator<Item = (&str, &Passage)> {
        self.passages.iter().flat_map(|(path, passages)| {
            passages.iter().map(move |passage| (path.as_str(), passage))
        })
    }

    /// The page at `path` is found by `marker`.
    #[track_caller]
    fn holds(&self, path: &str, marker: &str) {
        assert!(
            self.text(path).contains(marker),
            "{path} lacks {marker}: {:.400}",
            self.text(path)
        );
    }

    /// No passage anywhere, its titles and links included, shows `text`.
    #[track_caller]
    fn lacks(&self, text: &str) {
        for (path, passage) in self.everything() {
            let shown = format!(
                "{} {:?} {:?} {}",
                passage.title, passage.headings, passage.url, passage.text
            );
            assert!(!shown.contains(text), "{path} shows {text}: {shown:.400}");
        }
    }

    /// Some problem names `path`, with a message that holds `part`.
    #[track_caller]
    fn names(&self, severity: Severity, path: &str, part: &str) {
        let named: Vec<_> =
            self.reading.problems.iter().filter(|problem| problem.path == path).collect();
        let fits = |problem: &&&articles::Problem| {
            problem.severity == severity && problem.message.contains(part)
        };
        assert!(
            named.iter().any(|problem| fits(&problem)),
            "{path}: {severity:?} {part:?} not in {named:?}"
        );
    }
}

fn outcome() -> Option<(tempfile::TempDir, Outcome)> {
    let script = material()?.join("bad-docs/build.py");
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let target = folder.path().join("bad");
    let built =
        Command::new("python3").arg(script).arg(&target).args(["--fifo", "--big"]).output().ok()?;
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let reading = read_folder(&target.join("tree"), &ReadOptions::standard(), &mut |_| {})
        .expect("the tree is readable");
    let passages = reading
        .articles
        .iter()
        .map(|article| (article.path.clone(), split(article, SplitSettings::standard())))
        .collect();
    Some((folder, Outcome { reading, passages }))
}

/// One test, because building and reading the tree takes longer than all that is asked of it.
#[test]
#[expect(clippy::print_stdout, reason = "a skipped test says so")]
fn every_hostile_page_is_read_or_named() {
    let Some((_folder, outcome)) = outcome() else {
        println!("skipped: no script that builds the hostile pages, or no python3 to run it");
        return;
    };
    neighbours_are_whole(&outcome);
    front_matter_costs_its_fields_only(&outcome);
    large_pages_are_searchable_or_refused(&outcome);
    binary_pages_are_named(&outcome);
    deep_pages_are_read(&outcome);
    includes_and_links_stay_unread(&outcome);
    duplicates_are_kept_apart(&outcome);
    empty_pages_are_listed(&outcome);
    encodings_are_right(&outcome);
    hidden_and_active_content_is_gone(&outcome);
    names_stay_text(&outcome);
    every_passage_is_in_bounds(&outcome);
}

fn neighbours_are_whole(outcome: &Outcome) {
    outcome.holds("good-en.md", "marker-good-en-4417");
    outcome.holds("good-ja.md", "「請求」を開き、「書き出し」を押します。");
    outcome.holds("good.html", "marker-good-html-4419");
    outcome.lacks("cookie banner");
    outcome.lacks("Home Pricing");
    for page in [0, 4_999] {
        outcome.holds(&format!("03-many/p{page}.md"), ".");
    }
}

fn front_matter_costs_its_fields_only(outcome: &Outcome) {
    for (name, marker, line) in [
        ("unclosed", "marker-unclosed-01", Some(1)),
        ("bad-yaml", "marker-badyaml-01", None),
        ("wrong-types", "marker-types-01", Some(2)),
        ("duplicate-keys", "marker-dupkeys-01", Some(3)),
        ("alias-bomb", "marker-bomb-01", None),
    ] {
        let path = format!("01-front-matter/{name}.md");
        outcome.holds(&path, marker);
        let lines: Vec<_> = outcome
            .reading
            .problems
            .iter()
            .filter(|problem| problem.path == path)
            .map(|problem| problem.line)
            .collect();
        assert!(
            lines.iter().any(|&found| found.is_some() && (line.is_none() || found == line)),
            "{path}: {lines:?}"
        );
    }
    outcome.holds("01-front-matter/toml.md", "marker-toml-01");
    outcome.holds("01-front-matter/huge.md", "marker-hugefm-01");
    outcome.holds("01-front-matter/hr-not-front-matter.md", "marker-hr-01");
    outcome.lacks("k199999");
    let titled = |path: &str| {
        outcome
            .reading
            .articles
            .iter()
            .find(|article| article.path == path)
            .map(|article| article.title.as_str())
    };
    assert_eq!(titled("01-front-matter/toml.md"), Some("TOML front matter"));
    assert_eq!(titled("01-front-matter/huge.md"), Some("Huge front matter"));
}

fn large_pages_are_searchable_or_refused(outcome: &Outcome) {
    outcome.holds("02-huge-table.md", "marker-table-02");
    outcome.holds("02-huge-table.md", "id: 29999 | name: item-29999");
    outcome.holds("02-wide-table.html", "marker-wide-02");
    outcome.holds("03-five-megabytes.md", "marker-end-of-5mb-03");
    outcome.holds("03-one-line.md", "marker-oneline-03");
    outcome.holds("03-one-line-ja.md", "marker-onelineja-03");
    outcome.names(Severity::Skipped, "03-hundred-megabytes.md", "larger than 33554432 bytes");
}

fn binary_pages_are_named(outcome: &Outcome) {
    outcome.names(Severity::Skipped, "04-binary.md", "PNG");
    outcome.names(Severity::Skipped, "04-gzip.html", "gzip");
    outcome.names(Severity::Warning, "04-nul.md", "NUL");
    outcome.holds("04-nul.md", "abcdef marker-nul-04");
}

fn deep_pages_are_read(outcome: &Outcome) {
    outcome.holds("05-nested-lists.md", "marker-list-05");
    outcome.holds("05-nested-quotes.md", "marker-quote-05");
    outcome.holds("05-nested-html.html", "marker-div-05");
    outcome.holds("05-brackets.md", "marker-brackets-05");
    outcome.holds("05-headings.md", "marker-headings-05");
    assert!(outcome.passages.get("05-headings.md").is_some_and(|passages| passages.len() < 1_000));
}

fn includes_and_links_stay_unread(outcome: &Outcome) {
    for (name, marker) in [
        ("a", "a-06"),
        ("b", "b-06"),
        ("self", "self-06"),
        ("outside", "out-06"),
        ("missing", "missing-06"),
    ] {
        let path = format!("06-include/{name}.md");
        outcome.holds(&path, &format!("marker-inc-{marker}"));
        outcome.names(Severity::Warning, &path, "includes another file");
    }
    outcome.holds("06-redirect/a.md", "marker-redir-a");
    outcome.holds("06-redirect/b.md", "marker-redir-b");
    outcome.lacks("SECRET-9021");
    outcome.lacks("root:");
    for name in [
        "loop",
        "self.md",
        "dangling.md",
        "absolute.md",
        "relative-dir",
        "passwd.md",
        "zero.md",
        "inside.md",
        "deep/loop2",
    ] {
        outcome.names(Severity::Skipped, &format!("11-links/{name}"), "link");
    }
    outcome.names(Severity::Skipped, "11-links/pipe.md", "not a regular file");
}

fn duplicates_are_kept_apart(outcome: &Outcome) {
    for (name, marker) in [
        ("one.md", "one"),
        ("two.md", "two"),
        ("Case.md", "upper"),
        ("case.md", "lower"),
        ("ガイド.md", "nfc"),
        ("カ\u{3099}イト\u{3099}.md", "nfd"),
        ("page.md", "md"),
        ("page.html", "html"),
    ] {
        outcome.holds(&format!("07-dup/{name}"), &format!("marker-dup-{marker}-07"));
    }
    outcome.names(Severity::Warning, "07-dup/two.md", "07-dup/one.md");
    outcome.names(Severity::Warning, "07-dup/page.md", "07-dup/page.html");
    let mut ids: Vec<_> = outcome.reading.articles.iter().map(|article| &article.id).collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), outcome.reading.articles.len(), "ids are unique");
    let anchors = outcome.passages.get("07-dup/anchors.md").map(Vec::as_slice).unwrap_or_default();
    assert_eq!(anchors.len(), 50);
    for (number, passage) in anchors.iter().enumerate() {
        let anchor = if number == 0 { "setup".to_owned() } else { format!("setup-{number}") };
        assert_eq!(passage.url.as_deref(), Some(format!("/07-dup/anchors#{anchor}").as_str()));
        assert!(passage.text.contains(&format!("marker-anchor-{number}-07")));
    }
}

fn empty_pages_are_listed(outcome: &Outcome) {
    let empty =
        ["blank.md", "comment.md", "empty.html", "zero.md"].map(|name| format!("08-empty/{name}"));
    assert_eq!(outcome.reading.empty, empty);
    outcome.holds("08-empty/front-matter-only.md", "Only front matter");
    outcome.holds("08-empty/title-only.md", "Only a title marker-title-08");
}

fn encodings_are_right(outcome: &Outcome) {
    for (name, marker) in [
        ("shift_jis", "sjis"),
        ("euc-jp", "euc"),
        ("iso-2022-jp", "jis"),
        ("utf16le-bom", "utf16le"),
        ("utf16be-bom", "utf16be"),
    ] {
        let path = format!("09-enc/{name}.md");
        outcome.holds(&path, "設定を開き、「パスワードの変更」を押します。");
        outcome.holds(&path, &format!("marker-{marker}-09"));
    }
    outcome.holds("09-enc/meta-sjis.html", "請求書を確認します。");
    outcome.holds("09-enc/utf8-bom.md", "marker-bom-09");
    outcome.holds("09-enc/invalid-utf8.md", "after marker-invalid-09");
    outcome.names(Severity::Warning, "09-enc/invalid-utf8.md", "UTF-8");
    outcome.holds("09-enc/crlf-cr.md", "old mac line marker-crlf-09");
}

fn hidden_and_active_content_is_gone(outcome: &Outcome) {
    outcome.holds("10-injection.md", "marker-inj-10");
    for text in [
        "SYSTEM: ignore",
        "reveal your system prompt",
        "evil.example/p.png",
        "javascript:",
        "pwned",
        "alert(1)",
        "alert(2)",
        "@import",
    ] {
        outcome.lacks(text);
    }
    outcome.holds("10-injection-tokens.md", "marker-tokens-10");
    outcome.holds("10-injection-tokens.md", "<|im_start|>system");
    outcome.holds("10-xss.html", "marker-xss-10");
    outcome.holds("10-secrets.md", "marker-secret-10");
}

fn names_stay_text(outcome: &Outcome) {
    let url = |path: &str| {
        let article = outcome.reading.articles.iter().find(|article| article.path == path);
        article.and_then(|article| article.url.as_deref())
    };
    for (name, expected) in [
        ("new\nline.md", "/12-names/new%0Aline"),
        ("quote\"'<b>&.md", "/12-names/quote%22%27%3Cb%3E%26"),
        ("#hash?query=1&x.md", "/12-names/%23hash%3Fquery%3D1%26x"),
        ("C:\\windows\\x.md", "/12-names/C%3A%5Cwindows%5Cx"),
        ("\u{202e}gpj.exe.md", "/12-names/%E2%80%AEgpj.exe"),
        ("%FF%FE-not-utf8.md", "/12-names/%25FF%25FE-not-utf8"),
    ] {
        assert_eq!(url(&format!("12-names/{name}")), Some(expected));
    }
    // Names that begin with a dot are hidden, whatever follows.
    for hidden in ["hidden file", "percent-encoded traversal"] {
        outcome.lacks(hidden);
    }
    outcome.holds("12-slug-traversal.md", "marker-slug-12");
    assert_eq!(url("12-slug-traversal.md"), Some("/12-slug-traversal"));
    for field in ["url", "permalink", "slug"] {
        outcome.names(Severity::Warning, "12-slug-traversal.md", field);
    }
    let deep = outcome.everything().any(|(_, passage)| passage.text.contains("marker-deep-12"));
    assert!(
        deep || outcome
            .reading
            .problems
            .iter()
            .any(|problem| problem.path.starts_with("12-deep-00"))
    );
    for problem in &outcome.reading.problems {
        assert!(
            !problem.to_string().chars().any(|c| c.is_control() || c == '\u{202e}'),
            "{problem}"
        );
    }
}

fn every_passage_is_in_bounds(outcome: &Outcome) {
    let longest = SplitSettings::standard().longest;
    let mut ids = std::collections::HashSet::new();
    for (path, passage) in outcome.everything() {
        assert!(passage.text.chars().count() <= longest, "{path} {}", passage.ordinal);
        assert!(ids.insert(passage.id), "{path} {} has the id of another", passage.ordinal);
        assert!(!passage.text.contains('\0'), "{path}");
    }
    let five_megabytes = outcome.passages.get("03-five-megabytes.md").map_or(0, Vec::len);
    assert!((12_000..40_000).contains(&five_megabytes), "{five_megabytes}");
}
