//! Stopping, logging, reporting: what an operator sees.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use system_tests::{Server, kiwari, post};
use tempfile::TempDir;

fn served() -> (TempDir, Server) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = folder.path().join("help");
    std::fs::create_dir(&help).expect("a writable folder");
    std::fs::write(help.join("a.md"), "# Export invoices\n\nOpen Billing and press Export.\n")
        .expect("a writable folder");
    let indexed = kiwari(folder.path(), &["index", "help", "--data-dir", "data"]);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    let server = Server::start(folder.path(), &[]);
    (folder, server)
}

const SECRET: &str = "hunter2horse";

fn ask(server: &Server, count: usize) -> Vec<Value> {
    let url = format!("{}/v1/answer", server.address);
    let question = json!({"question": format!("export invoices {SECRET}")});
    (0..count).map(|_| post(&url, &question, &[]).json()).collect()
}

#[test]
fn told_to_stop_it_ends_well_and_has_logged_every_request_without_its_text() {
    let (_folder, server) = served();
    let answers = ask(&server, 20);
    server.signal("TERM");
    let (status, log) = server.join();
    assert!(status.success(), "{status}");
    let lines: Vec<&Value> =
        log.iter().filter(|line| line["target"] == "kiwari::request").collect();
    assert_eq!(lines.len(), 20);
    let ids = |values: Vec<&Value>, key: &str| -> BTreeSet<String> {
        values.iter().map(|value| value[key].as_str().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(ids(lines.clone(), "request_id"), ids(answers.iter().collect(), "id"));
    for line in lines {
        assert_eq!(line["kind"], "templated");
        assert_eq!(line["reasons"], "generate:no_generator");
        assert!(line["keyword_ms"].is_number() && line["spent_ms"].is_number(), "{line}");
    }
    assert!(!format!("{log:?}").contains(SECRET));
}

#[test]
fn the_stage_report_counts_every_request_and_equals_what_the_responses_said() {
    let (folder, server) = served();
    let answers = ask(&server, 25);
    server.signal("INT");
    let (status, _) = server.join();
    assert!(status.success());
    let arguments = ["report", "stages", "--since", "1h", "--json", "--data-dir", "data"];
    let report = kiwari(folder.path(), &arguments);
    let rows: Vec<Value> = serde_json::from_str(&report.stdout).expect("JSON");
    for stage in ["normalize", "keyword", "embed", "vector", "generate", "template"] {
        let row = rows.iter().find(|row| row["stage"] == stage).expect("every stage is there");
        assert_eq!(row["count"], 25, "{row}");
        if stage == "generate" {
            assert_eq!(row["skipped"], 1.0);
            assert_eq!(row["p50_ms"], Value::Null);
            continue;
        }
        let mut times: Vec<f64> = answers
            .iter()
            .flat_map(|answer| answer["stages"].as_array().expect("stages"))
            .filter(|report| report["stage"] == stage)
            .map(|report| report["ms"].as_f64().expect("a time"))
            .collect();
        times.sort_by(f64::total_cmp);
        // Nearest rank: the 13th of 25, the 24th of 25.
        let near = |found: &Value, expected: f64| {
            (found.as_f64().expect("a time") - expected).abs() <= 0.001
        };
        assert!(near(&row["p50_ms"], times[12]), "{row} {times:?}");
        assert!(near(&row["p95_ms"], times[23]), "{row} {times:?}");
    }
    let table = kiwari(folder.path(), &["report", "stages", "--data-dir", "data"]);
    assert!(table.stdout.contains("p95 ms"), "{}", table.stdout);
}

#[test]
fn a_report_without_a_log_says_where_one_comes_from() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let report = kiwari(folder.path(), &["report", "stages", "--data-dir", "data"]);
    assert_eq!(report.code, Some(1));
    assert!(report.stderr.contains("kiwari serve"), "{}", report.stderr);
}

#[test]
fn wrong_settings_are_refused_by_name_before_anything_starts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("kiwari.toml"), "[budget]\ntotl = \"3s\"\n")
        .expect("writable");
    let refused = kiwari(folder.path(), &["serve"]);
    assert_eq!(refused.code, Some(64));
    assert!(refused.stderr.contains("budget.totl"), "{}", refused.stderr);
    assert!(refused.stderr.contains("kiwari.toml"), "{}", refused.stderr);
}

#[test]
fn the_effective_settings_are_printed_and_can_be_read_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("kiwari.toml"), "[budget]\ntotal = \"3s\"\n")
        .expect("writable");
    let printed = kiwari(folder.path(), &["config"]);
    assert_eq!(printed.code, Some(0), "{}", printed.stderr);
    assert!(printed.stdout.contains("total = \"3s\""), "{}", printed.stdout);
    std::fs::write(folder.path().join("again.toml"), &printed.stdout).expect("writable");
    let again = kiwari(folder.path(), &["config", "--config", "again.toml"]);
    assert_eq!(again.stdout, printed.stdout);
}
