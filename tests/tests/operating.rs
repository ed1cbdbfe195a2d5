//! Stopping, logging, reporting: what an operator sees.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use system_tests::{
    Database, Gate, Metrics, Server, Simulator, StandIn, get, kiwari, kiwari_with, post,
};
use tempfile::TempDir;

fn served() -> (TempDir, Server) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    index(folder.path(), &[]);
    let server = Server::start(folder.path(), &[]);
    (folder, server)
}

fn index(folder: &Path, environment: &[(&str, &str)]) {
    let help = folder.join("help");
    std::fs::create_dir(&help).expect("a writable folder");
    std::fs::write(help.join("a.md"), "# Export invoices\n\nOpen Billing and press Export.\n")
        .expect("a writable folder");
    let index = ["index", "help", "--data-dir", "data"];
    let indexed = kiwari_with(folder, &index, environment);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
}

/// Looks until what is seen is as wanted; gives the last look.
fn until<T: std::fmt::Debug>(look: impl Fn() -> T, wanted: impl Fn(&T) -> bool) -> T {
    for _ in 0..1200 {
        let seen = look();
        if wanted(&seen) {
            return seen;
        }
        pause(Duration::from_millis(50));
    }
    panic!("still {:?}", look())
}

#[expect(clippy::disallowed_methods, reason = "there is no executor here to block")]
fn pause(duration: Duration) {
    std::thread::sleep(duration);
}

fn health(server: &Server) -> Value {
    get(&format!("{}/health", server.address)).json()
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

/// The sum of a metric's samples with these labels.
type Expected<'a> = (&'a str, &'a [(&'a str, &'a str)], u32);

/// Exactly: counts are whole numbers, however they are written.
#[track_caller]
fn counts(metrics: &Metrics, expected: &[Expected<'_>]) {
    for (name, labels, count) in expected {
        let found = metrics.sum(name, labels);
        let is_equal = (found - f64::from(*count)).abs() < 1e-9;
        assert!(is_equal, "{name}{labels:?} is {found}, not {count}");
    }
}

#[test]
fn metrics_count_what_was_sent_and_keep_to_their_format() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    index(folder.path(), &[]);
    let simulator = Simulator::start(folder.path(), &[]);
    let server = Server::start_with(folder.path(), &[], &simulator.as_gemini());
    let quiet = Metrics::of(&server.address);
    counts(&quiet, &[("kiwari_generation", &[("app", "default")], 1), ("kiwari_ready", &[], 1)]);
    assert!(!quiet.has("kiwari_requests_total") && !quiet.has("kiwari_outbox_depth"));

    let answers = ask(&server, 5);
    let url = format!("{}/v1/answer", server.address);
    for _ in 0..2 {
        let body = json!({"question": format!("export invoices {SECRET}"), "stream": true});
        assert!(post(&url, &body, &[]).text.contains("event: done"));
    }
    let search = format!("{}/v1/search", server.address);
    for _ in 0..4 {
        assert_eq!(post(&search, &json!({"question": "expor"}), &[]).status, 200);
    }
    for _ in 0..3 {
        assert_eq!(post(&url, &json!({"question": ""}), &[]).code(), "question_empty");
    }
    let written = ("kiwari_ledger_written_total", 11.0);
    let metrics =
        until(|| Metrics::of(&server.address), |metrics| metrics.sum(written.0, &[]) >= written.1);
    let answer: &[_] = &[("app", "default"), ("endpoint", "answer")];
    let searched: &[_] = &[("app", "default"), ("endpoint", "search")];
    let model = ("model", "gemini-3.5-flash-lite");
    let upstream = ("upstream", "gemini/gemini-3.5-flash-lite");
    counts(
        &metrics,
        &[
            ("kiwari_requests_total", answer, 7),
            ("kiwari_requests_total", searched, 4),
            ("kiwari_requests_total", &[("kind", "hits")], 4),
            ("kiwari_request_duration_seconds_count", answer, 7),
            ("kiwari_request_duration_seconds_count", searched, 4),
            ("kiwari_first_content_seconds_count", &[("streamed", "true")], 2),
            ("kiwari_first_content_seconds_count", &[("streamed", "false")], 5),
            ("kiwari_stage_outcomes_total", answer, 42),
            ("kiwari_stage_outcomes_total", &[("stage", "keyword"), ("outcome", "ok")], 11),
            ("kiwari_stage_duration_seconds_count", &[("stage", "keyword")], 11),
            ("kiwari_stage_duration_seconds_count", &[("stage", "generate")], 7),
            ("kiwari_refused_requests_total", &[("code", "question_empty")], 3),
            ("kiwari_open_requests", &[], 0),
            ("kiwari_cancelled_requests_total", &[], 0),
            ("kiwari_model_calls_total", &[model], 7),
            ("kiwari_model_first_token_seconds_count", &[model], 7),
            ("kiwari_upstream_calls_total", &[upstream, ("outcome", "succeeded")], 7),
            ("kiwari_upstream_breaker_state", &[upstream, ("state", "closed")], 1),
            ("kiwari_upstream_breaker_state", &[upstream], 1),
            ("kiwari_ledger_queued_total", &[], 11),
            ("kiwari_ledger_waiting", &[], 0),
            ("kiwari_ledger_dropped_total", &[], 0),
            ("kiwari_calibration", &[("app", "default")], 0),
            ("kiwari_articles", &[("app", "default")], 1),
            ("kiwari_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1),
        ],
    );
    // The two streamed answers cost about what the others did.
    let tokens = |kind: &str| metrics.sum("kiwari_model_tokens_total", &[model, ("kind", kind)]);
    let told = |key: &str| -> f64 {
        answers.iter().filter_map(|answer| answer["model"][key].as_f64()).sum()
    };
    for (kind, key) in [("input", "input_tokens"), ("output", "output_tokens")] {
        assert!(told(key) > 0.0 && tokens(kind) > told(key) && tokens(kind) < told(key) * 3.0);
    }
    assert!(metrics.sum("kiwari_model_cost_dollars_total", &[model]) > 0.0);
    assert!(!get(&format!("{}/metrics", server.address)).text.contains(SECRET));
}

#[test]
fn a_breaker_that_opens_is_seen() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    index(folder.path(), &[]);
    let simulator = Simulator::start(folder.path(), &[]);
    let environment = [("GEMINI_API_KEY", "bad-key"), ("GEMINI_BASE_URL", &*simulator.address)];
    let server = Server::start_with(folder.path(), &[], &environment);
    assert_eq!(ask(&server, 3).len(), 3);
    let seen = &health(&server)["upstreams"][0];
    assert_eq!(seen["breaker"], "bad_key", "{seen}");
    let metrics = Metrics::of(&server.address);
    counts(
        &metrics,
        &[
            ("kiwari_upstream_breaker_state", &[("state", "bad_key")], 1),
            ("kiwari_upstream_breaker_state", &[("state", "closed")], 0),
            ("kiwari_degraded_requests_total", &[], 3),
        ],
    );
    let refused = metrics.sum("kiwari_upstream_calls_total", &[("outcome", "refused")]);
    let failed = metrics.sum("kiwari_upstream_calls_total", &[("outcome", "error")]);
    assert!(refused >= 1.0 && failed >= 1.0, "{refused} refused, {failed} failed");
}

#[test]
fn postgres_away_is_seen_and_is_no_reason_not_to_be_ready() {
    let Some(database) = Database::fresh() else { return };
    let mut gate = Gate::to(&database.host());
    let url = database.url_through(gate.port);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let environment = [("DATABASE_URL", &*url), ("KIWARI__LEDGER__LONGEST_PAUSE", "100ms")];
    index(folder.path(), &environment);
    let server = Server::start_with(folder.path(), &[], &environment);
    assert_eq!(ask(&server, 4).len(), 4);
    let shipped = |count: u64| move |health: &Value| health["ledger"]["outbox"]["shipped"] == count;
    let well = until(|| health(&server), shipped(4));
    assert_eq!(well["ledger"]["outbox"]["state"], "ok", "{well}");

    gate.shut();
    assert_eq!(ask(&server, 6).len(), 6);
    let away = until(
        || health(&server),
        |health| {
            let outbox = &health["ledger"]["outbox"];
            outbox["state"] == "away" && outbox["depth"] == 6 && outbox["lag_ms"] != 0
        },
    );
    assert_eq!((&away["status"], &away["ledger"]["state"]), (&json!("ok"), &json!("ok")));
    assert_eq!(get(&format!("{}/readyz", server.address)).status, 200);
    let metrics = Metrics::of(&server.address);
    counts(&metrics, &[("kiwari_outbox_depth", &[], 6), ("kiwari_outbox_shipped_total", &[], 4)]);
    assert!(metrics.sum("kiwari_outbox_failures", &[]) >= 1.0);
    assert!(metrics.sum("kiwari_outbox_lag_seconds", &[]) > 0.0);
    let report = get(&format!("{}/v1/reports/stages", server.address));
    assert_eq!((report.status, report.code().as_str()), (503, "report_unavailable"));

    gate.open();
    let back = until(|| health(&server), shipped(10));
    assert_eq!(back["ledger"]["outbox"]["depth"], 0);
    assert_eq!(back["ledger"]["outbox"]["state"], "ok");
    assert_eq!(database.number("SELECT count(*) FROM request_log"), 10);
}

#[test]
fn qdrant_away_is_seen_and_is_no_reason_not_to_be_ready() {
    let mut stand_in = StandIn::start();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = stand_in.url.clone();
    let environment = [("QDRANT_URL", &*url)];
    index(folder.path(), &environment);
    let server = Server::start_with(folder.path(), &[], &environment);
    let is = |state: &'static str| move |health: &Value| health["vectors"]["state"] == state;
    let well = until(|| health(&server), is("ok"));
    assert_eq!(well["vectors"]["in"], "qdrant");
    counts(&Metrics::of(&server.address), &[("kiwari_vectors_up", &[("service", "qdrant")], 1)]);
    stand_in.end();
    let away = until(|| health(&server), is("away"));
    assert!(away["vectors"]["error"].is_string(), "{away}");
    counts(&Metrics::of(&server.address), &[("kiwari_vectors_up", &[("service", "qdrant")], 0)]);
    assert_eq!(get(&format!("{}/readyz", server.address)).status, 200);
}

/// Every report over HTTP is what the command prints, from the same database.
fn check_reports(folder: &Path, server: &Server, environment: &[(&str, &str)]) {
    let listed = get(&format!("{}/v1/reports", server.address)).json();
    let names: Vec<&str> =
        listed.as_array().expect("a list").iter().filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(names.len(), 8);
    for name in names {
        // Neither edge of the window cuts off anything, so that it does not matter that it moves; nothing else does.
        let command = |format: &str| {
            let report = ["report", name, "--since", "7d", "--app", "default", format];
            let report: Vec<&str> = report.into_iter().chain(["--data-dir", "data"]).collect();
            let printed = kiwari_with(folder, &report, environment);
            assert_eq!(printed.code, Some(0), "{}", printed.stderr);
            printed.stdout
        };
        let url = format!("{}/v1/reports/{name}?since=7d&app=default", server.address);
        let json = get(&url);
        assert_eq!(json.status, 200, "{}", json.text);
        let printed: Value = serde_json::from_str(&command("--json")).expect("JSON");
        assert_eq!(without_window(json.json()), without_window(printed), "{name}");
        let csv = get(&format!("{url}&format=csv"));
        assert_eq!(csv.headers["content-type"], "text/csv; charset=utf-8");
        let heading = csv.text.lines().next().map(str::to_owned);
        assert_eq!(heading, command("--csv").lines().next().map(str::to_owned), "{name}");
        let rows = json.json().as_array().expect("rows").len();
        assert_eq!(csv.text.lines().count(), rows + 1, "{name}");
        assert!(!json.text.contains(SECRET) && !csv.text.contains(SECRET));
    }
}

/// The window's own rows say when it starts, which is later with every look.
fn without_window(mut rows: Value) -> Value {
    for row in rows.as_array_mut().expect("rows") {
        if row["per"] == "window" {
            row["starts_at"] = Value::Null;
        }
    }
    rows
}

#[test]
fn reports_over_http_are_those_of_the_command() {
    let (folder, server) = served();
    assert_eq!(ask(&server, 5).len(), 5);
    until(|| health(&server), |health| health["ledger"]["written"] == 5);
    check_reports(folder.path(), &server, &[]);
}

#[test]
fn reports_over_http_come_from_postgres_where_there_is_one() {
    let Some(database) = Database::fresh() else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let url = database.url();
    let environment = [("DATABASE_URL", &*url)];
    index(folder.path(), &environment);
    let server = Server::start_with(folder.path(), &[], &environment);
    assert_eq!(ask(&server, 5).len(), 5);
    until(|| health(&server), |health| health["ledger"]["outbox"]["shipped"] == 5);
    check_reports(folder.path(), &server, &environment);
}

#[test]
fn a_report_that_is_asked_for_wrongly_is_a_problem_that_names_what_is_wrong() {
    let (_folder, server) = served();
    let cases = [
        ("nothing", 404, "unknown_report", Value::Null),
        ("stages?since=soon", 400, "invalid_field", json!("since")),
        ("stages?app=..%2Fetc", 400, "invalid_field", json!("app")),
        ("stages?format=xml", 400, "invalid_field", json!("format")),
        ("stages?sinse=1h", 400, "unknown_field", json!("sinse")),
        ("stages?since=1h&since=2h", 400, "invalid_field", json!("since")),
        ("stages?app=%FF", 400, "invalid_field", json!("app")),
        ("stages?per=hour", 400, "invalid_field", json!("per")),
        ("slo?per=hour", 400, "invalid_field", json!("per")),
        ("stages/more", 404, "not_found", Value::Null),
    ];
    for (path, status, code, field) in cases {
        let reply = get(&format!("{}/v1/reports/{path}", server.address));
        assert_eq!((reply.status, reply.code().as_str()), (status, code), "{path}: {}", reply.text);
        assert_eq!(reply.json()["field"], field, "{path}");
        assert_eq!(reply.headers["content-type"], "application/problem+json");
    }
    let unknown = get(&format!("{}/v1/reports/nothing", server.address)).json();
    assert!(unknown["detail"].as_str().expect("words").contains("stage_latency"), "{unknown}");
    for path in ["/metrics", "/v1/reports", "/v1/reports/stages"] {
        let reply = post(&format!("{}{path}", server.address), &json!({}), &[]);
        assert_eq!((reply.status, &*reply.headers["allow"]), (405, "GET, HEAD"), "{path}");
    }
}

#[test]
fn what_only_operators_want_to_see_can_be_switched_off() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    index(folder.path(), &[]);
    let off = [("KIWARI__SERVER__OPERATIONS", "false")];
    let server = Server::start_with(folder.path(), &[], &off);
    for path in ["/metrics", "/v1/reports", "/v1/reports/stages"] {
        assert_eq!(get(&format!("{}{path}", server.address)).code(), "not_found", "{path}");
    }
    assert_eq!(get(&format!("{}/health", server.address)).status, 200);
}

#[test]
fn settings_of_the_latency_log_are_shown_and_the_wrong_ones_named() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let with = |name: &str, value: &str| {
        kiwari_with(folder.path(), &["config"], &[(&format!("KIWARI__LEDGER__{name}"), value)])
    };
    let shown = with("KEEP_DAYS", "90");
    assert!(shown.stdout.contains("keep_days = 90"), "{} {}", shown.stdout, shown.stderr);
    let wrong = with("FLUSH_EVERY", "3s");
    assert_eq!(wrong.code, Some(64));
    assert!(wrong.stderr.contains("ledger.flush_every: must lie between"), "{}", wrong.stderr);
}
