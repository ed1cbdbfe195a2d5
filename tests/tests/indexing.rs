//! `kiwari index` and `kiwari ask`, the wrong ways too.

use std::fs;
use std::path::Path;

use serde_json::Value;
use system_tests::{kiwari, start};
use tempfile::TempDir;

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn write(folder: &Path, path: &str, text: impl AsRef<[u8]>) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().expect("a parent")).expect("a writable folder");
    fs::write(path, text).expect("a writable folder");
}

fn index(folder: &Path) -> Value {
    let indexed = kiwari(folder, &["index", "help", "--data-dir", "data", "--json"]);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    serde_json::from_str(&indexed.stdout).expect("JSON")
}

fn ask(folder: &Path, question: &str) -> Value {
    let asked = kiwari(folder, &["ask", question, "--data-dir", "data", "--json"]);
    assert_eq!(asked.code, Some(0), "{}", asked.stderr);
    serde_json::from_str(&asked.stdout).expect("JSON")
}

fn cited(answer: &Value) -> Vec<&str> {
    let citations = answer["citations"].as_array().expect("citations");
    citations.iter().filter_map(|citation| citation["article_id"].as_str()).collect()
}

#[test]
fn only_what_has_changed_is_embedded_again() {
    let folder = folder();
    let at = folder.path();
    write(at, "help/invoices.md", "# Invoices\n\nOpen Billing and press Export to get invoices.\n");
    write(at, "help/password.md", "# Password\n\nChoose Reset password in Settings.\n");
    let first = index(at);
    assert_eq!(
        (&first["generation"], &first["added"], &first["embedded"]),
        (&1.into(), &2.into(), &2.into())
    );

    let again = index(at);
    assert_eq!((&again["generation"], &again["published"]), (&1.into(), &false.into()));

    write(at, "help/password.md", "# Password\n\nChoose Forgot password on the sign-in screen.\n");
    write(at, "help/plans.md", "# Plans\n\nPlus costs five euros a month.\n");
    let second = index(at);
    assert_eq!(second["generation"], 2);
    assert_eq!(
        (&second["added"], &second["changed"], &second["unchanged"]),
        (&1.into(), &1.into(), &1.into())
    );
    assert_eq!(second["embedded"], 2);
    let answer = ask(at, "forgot password");
    assert_eq!(cited(&answer), ["password"]);
    assert!(answer["answer"]["text"].as_str().expect("text").contains("sign-in screen"));

    fs::remove_file(at.join("help/invoices.md")).expect("it is there");
    let third = index(at);
    assert_eq!((&third["removed"], &third["embedded"]), (&1.into(), &0.into()));
    assert!(!cited(&ask(at, "export invoices in billing")).contains(&"invoices"));
}

#[test]
fn a_broken_page_is_named_and_its_neighbours_are_indexed() {
    let folder = folder();
    let at = folder.path();
    write(at, "help/good.md", "# Export invoices\n\nOpen Billing and press Export.\n");
    write(at, "help/broken.md", "---\ntitle: \"not closed\n---\n\n# Broken\n\nStill readable.\n");
    write(at, "help/picture.md", [0x89, b'P', b'N', b'G', 0, 0, 0, 13, 0, 0, 0, 0]);
    write(at, "help/sjis.md", b"# \x83p\x83X\x83\x8f\x81[\x83h\n\n\x90\xdd\x92\xe8\x82\xf0\x8aJ\x82\xab\x82\xdc\x82\xb7\x81B\n");
    let indexed = index(at);
    let problems: Vec<&str> = indexed["problems"]
        .as_array()
        .expect("problems")
        .iter()
        .filter_map(|problem| problem["path"].as_str())
        .collect();
    assert!(problems.contains(&"broken.md") && problems.contains(&"picture.md"), "{indexed}");
    assert_eq!(cited(&ask(at, "export invoices")), ["good"]);
}

#[test]
fn what_cannot_be_indexed_is_said_and_the_index_stays() {
    let folder = folder();
    let at = folder.path();
    write(at, "help/good.md", "# Export invoices\n\nOpen Billing and press Export.\n");
    index(at);
    fs::create_dir(at.join("empty")).expect("a writable folder");
    write(at, "pictures/a.png", "no help");
    write(at, "blank/a.md", " \n");
    for (dir, part) in [
        ("missing", "missing"),
        ("help/good.md", "good.md"),
        ("empty", "no articles"),
        ("pictures", "no articles"),
        ("blank", "no articles"),
    ] {
        let refused = kiwari(at, &["index", dir, "--data-dir", "data"]);
        assert_eq!(refused.code, Some(1), "{dir}: {}", refused.stdout);
        assert!(refused.stderr.contains(part), "{dir}: {}", refused.stderr);
    }
    let refused = kiwari(at, &["index", "help", "--data-dir", "data", "--app", "Not A Name"]);
    assert_eq!(refused.code, Some(64), "{}", refused.stderr);
    assert_eq!(ask(at, "export invoices")["generation"], 1);
}

#[test]
fn a_run_killed_at_any_moment_leaves_the_published_index_whole() {
    let folder = folder();
    let at = folder.path();
    write(at, "help/good.md", "# Export invoices\n\nOpen Billing and press Export.\n");
    index(at);
    for n in 0..400 {
        let text = format!("# Page {n}\n\nWords about topic {n} and how to set it up in detail.\n");
        write(at, &format!("help/more/{n}.md"), text);
    }
    for pause_ms in [20, 120, 250, 400, 700] {
        let mut run = start(at, &["index", "help", "--data-dir", "data"], &[]);
        #[expect(
            clippy::disallowed_methods,
            reason = "a test program of its own, not the runtime"
        )]
        std::thread::sleep(std::time::Duration::from_millis(pause_ms));
        run.kill().expect("it can be killed, ended or not");
        run.wait().expect("a child can be waited for");
        let answer = ask(at, "export invoices");
        assert_eq!(cited(&answer).first(), Some(&"good"), "killed after {pause_ms} ms: {answer}");
    }
    let finished = index(at);
    assert_eq!(finished["articles"], 401);
}

#[test]
fn asking_without_an_index_says_what_to_do() {
    let folder = folder();
    let asked = kiwari(folder.path(), &["ask", "hello", "--data-dir", "data"]);
    assert_eq!(asked.code, Some(1));
    assert!(asked.stderr.contains("kiwari index"), "{}", asked.stderr);
}

#[test]
fn a_question_that_is_none_is_an_error_that_says_so() {
    let folder = folder();
    write(folder.path(), "help/a.md", "# A\n\nText about exports.\n");
    index(folder.path());
    for question in ["", "  ", "?!"] {
        let asked = kiwari(folder.path(), &["ask", question, "--data-dir", "data"]);
        assert_eq!(asked.code, Some(1), "{question:?}: {}", asked.stdout);
    }
    let refused =
        kiwari(folder.path(), &["ask", "exports", "--budget", "soon", "--data-dir", "data"]);
    assert_eq!(refused.code, Some(64), "{}", refused.stderr);
}
