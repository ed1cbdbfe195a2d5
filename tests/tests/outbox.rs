//! The latency log on its way to Postgres, with the real binary: killed, stopped, read again.
#![expect(clippy::print_stdout, reason = "the figures are what this is for")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use system_tests::{Outcome, Server, get, kiwari, kiwari_with, post};
use tempfile::TempDir;
use ureq::Agent;

/// How long before a kill an answer must have been given for its rows to be on disk for certain. What is
/// gathered waits 30 ms; the rest is for a machine busy with other tests.
const CERTAIN: Duration = Duration::from_secs(1);

/// A database of the test's own, dropped with it.
struct Database {
    server: String,
    name: String,
}

impl Database {
    /// `None`, and a word about it, where there is no Postgres to test with.
    #[expect(clippy::print_stderr, reason = "what is not tested should be seen")]
    fn fresh() -> Option<Self> {
        let Some(server) = std::env::var_os("KIWARI_TEST_DATABASE_URL") else {
            eprintln!(
                "skipped: KIWARI_TEST_DATABASE_URL is not set; scripts/postgres-for-tests prints one"
            );
            return None;
        };
        let server = server.into_string().expect("an address is plain text");
        let name = format!("kiwari_system_{}_{:?}", std::process::id(), thread::current().id());
        let name = name.to_lowercase().replace(['(', ')'], "");
        psql(&server, &format!("CREATE DATABASE {name}"));
        Some(Self { server, name })
    }

    fn url(&self) -> String {
        let (host, _) = self.server.rsplit_once('/').expect("an address with a database");
        format!("{host}/{}", self.name)
    }

    /// The only column of each row.
    fn column(&self, sql: &str) -> Vec<String> {
        psql(&self.url(), sql).lines().map(str::to_owned).collect()
    }

    fn number(&self, sql: &str) -> u64 {
        self.column(sql).first().and_then(|text| text.parse().ok()).expect("a number")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        psql(&self.server, &format!("DROP DATABASE IF EXISTS {} WITH (FORCE)", self.name));
    }
}

fn psql(url: &str, sql: &str) -> String {
    let output = Command::new("psql")
        .args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
        .output()
        .expect("psql comes with Postgres");
    assert!(output.status.success(), "{sql}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A folder whose help has been indexed, with this environment.
fn indexed(environment: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = folder.path().join("help");
    std::fs::create_dir(&help).expect("a writable folder");
    std::fs::write(help.join("a.md"), "# Export invoices\n\nOpen Billing and press Export.\n")
        .expect("a writable folder");
    let index = ["index", "help", "--data-dir", "data"];
    let indexed = kiwari_with(folder.path(), &index, environment);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    folder
}

fn report(folder: &TempDir, url: &str, arguments: &[&str]) -> Outcome {
    let mut all = vec!["report"];
    all.extend(arguments);
    all.extend(["--data-dir", "data"]);
    kiwari_with(folder.path(), &all, &[("DATABASE_URL", url)])
}

/// Asks until told to stop, and notes the id of every answer that was read to its end, and when.
fn ask_until(stop: &AtomicBool, address: &str, answered: &Mutex<Vec<(SystemTime, String)>>) {
    let agent: Agent = Agent::config_builder().http_status_as_error(false).build().into();
    let url = format!("{address}/v1/answer");
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut response) = agent.post(&url).send_json(json!({"question": "export invoices"}))
        else {
            return;
        };
        let Ok(text) = response.body_mut().read_to_string() else { return };
        let answer: Value = serde_json::from_str(&text).expect("JSON");
        let id = answer["id"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned();
        answered.lock().expect("nobody panics").push((SystemTime::now(), id));
    }
}

/// Serves under load, and kills the process: what had been answered, and how long before.
fn round(folder: &TempDir, url: &str, load: Duration) -> Vec<(Duration, String)> {
    let server = Server::start_with(folder.path(), &[], &[("DATABASE_URL", url)]);
    let (stop, answered) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let killed_at = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| ask_until(&stop, &server.address, &answered));
        }
        pause(load);
        let killed_at = SystemTime::now();
        server.signal("KILL");
        stop.store(true, Ordering::Relaxed);
        killed_at
    });
    let age = |at: SystemTime| killed_at.duration_since(at).unwrap_or_default();
    let answered = answered.into_inner().expect("nobody panics");
    answered.into_iter().map(|(at, id)| (age(at), id)).collect()
}

#[expect(clippy::disallowed_methods, reason = "there is no executor here to block")]
fn pause(duration: Duration) {
    thread::sleep(duration);
}

#[test]
fn killed_at_any_moment_it_loses_the_last_moments_at_most_and_doubles_nothing() {
    let Some(database) = Database::fresh() else { return };
    let folder = indexed(&[("DATABASE_URL", &database.url())]);
    let rounds: u64 = std::env::var_os("KIWARI_KILL_ROUNDS")
        .and_then(|rounds| rounds.into_string().ok()?.parse().ok())
        .unwrap_or(6);
    let mut answered = Vec::new();
    for n in 0..rounds {
        // Spread over what a batch and a shipment take.
        let load = CERTAIN + Duration::from_millis(n * 137 % 1000);
        answered.extend(round(&folder, &database.url(), load));
    }
    // The last one ships what the others left, and ends well.
    let server = Server::start_with(folder.path(), &[], &[("DATABASE_URL", &database.url())]);
    server.signal("TERM");
    assert!(server.join().0.success());

    let rows = database.column("SELECT request_id FROM request_log");
    let arrived: BTreeSet<&String> = rows.iter().collect();
    assert_eq!(arrived.len(), rows.len(), "a request is there twice");
    let lost: Vec<Duration> =
        answered.iter().filter(|(_, id)| !arrived.contains(id)).map(|(age, _)| *age).collect();
    println!(
        "{rounds} kills, {} answers, {} rows, {} answers lost; the earliest {} ms before its kill",
        answered.len(),
        rows.len(),
        lost.len(),
        lost.iter().max().unwrap_or(&Duration::ZERO).as_millis(),
    );
    assert!(lost.iter().all(|age| *age < CERTAIN));
    // Every request came with its rows: six stages each.
    assert_eq!(database.number("SELECT count(*) FROM stage_log"), 6 * rows.len() as u64);
}

#[test]
fn reports_from_postgres_equal_what_the_responses_said() {
    let Some(database) = Database::fresh() else { return };
    let folder = indexed(&[("DATABASE_URL", &database.url())]);
    let server = Server::start_with(folder.path(), &[], &[("DATABASE_URL", &database.url())]);
    let url = format!("{}/v1/answer", server.address);
    let question = json!({"question": "export invoices"});
    let answers: Vec<Value> = (0..60).map(|_| post(&url, &question, &[]).json()).collect();
    assert_eq!(get(&format!("{}/health", server.address)).status, 200);
    server.signal("TERM");
    assert!(server.join().0.success());

    let mut times: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for stage in answers.iter().flat_map(|answer| answer["stages"].as_array().expect("stages")) {
        if stage["outcome"] != "skipped" {
            let name = stage["stage"].as_str().expect("a name");
            times.entry(name).or_default().push(stage["ms"].as_f64().expect("a time"));
        }
    }
    let sql = "SELECT stage || ' ' || n || ' ' || p50_ms || ' ' || p95_ms || ' ' || p99_ms
        FROM report.stage_latency(now() - interval '1 day') WHERE per = 'window' AND is_exact";
    let rows = database.column(sql);
    assert_eq!(rows.len(), times.len());
    for row in rows {
        let cells: Vec<&str> = row.split(' ').collect();
        let mut expected = times[cells[0]].clone();
        expected.sort_by(f64::total_cmp);
        assert_eq!(cells[1], expected.len().to_string());
        for (cell, hundredths) in cells[2..].iter().zip([50, 95, 99]) {
            let found: f64 = cell.parse().expect("a number");
            let rank = (expected.len() * hundredths).div_ceil(100);
            // Responses are rounded to whole microseconds.
            assert!((found - expected[rank - 1]).abs() <= 0.001, "{row} {expected:?}");
        }
    }
    let from_cli = report(&folder, &database.url(), &["answer_kinds", "--json"]);
    let kinds: Vec<Value> = serde_json::from_str(&from_cli.stdout).expect("JSON");
    assert_eq!(kinds.iter().map(|row| row["n"].as_u64().expect("a count")).sum::<u64>(), 60);
}

#[test]
fn every_report_prints_from_either_database_as_a_table_json_and_csv() {
    let Some(database) = Database::fresh() else { return };
    let folder = indexed(&[]);
    let server = Server::start(folder.path(), &[]);
    let url = format!("{}/v1/answer", server.address);
    let answered = post(&url, &json!({"question": "export invoices"}), &[]);
    assert_eq!(answered.status, 200);
    server.signal("TERM");
    assert!(server.join().0.success());
    let names = report(&folder, "", &["nothing"]);
    assert_eq!(names.code, Some(64));
    let (_, names) = names.stderr.split_once("there are ").expect("the known names");
    let names: Vec<&str> = names.trim().split(", ").collect();
    assert_eq!(names.len(), 8);

    let migrated = kiwari_with(folder.path(), &["migrate"], &[("DATABASE_URL", &database.url())]);
    assert_eq!(migrated.code, Some(0), "{}", migrated.stderr);
    for name in names {
        for database in ["", &database.url()] {
            let table = report(&folder, database, &[name, "--since", "7d"]);
            assert_eq!(table.code, Some(0), "{name}: {}", table.stderr);
            let csv = report(&folder, database, &[name, "--since", "7d", "--csv"]);
            let json = report(&folder, database, &[name, "--since", "7d", "--json"]);
            let rows: Vec<Value> = serde_json::from_str(&json.stdout).expect("JSON");
            assert_eq!(csv.stdout.lines().count(), rows.len() + 1, "{name}");
            for row in &rows {
                let columns: Vec<&String> = row.as_object().expect("an object").keys().collect();
                let heading = csv.stdout.lines().next().expect("a heading");
                assert!(columns.iter().all(|column| heading.contains(*column)), "{heading}");
            }
        }
    }
}

#[test]
fn migrate_says_what_it_does_and_what_is_missing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let without = kiwari(folder.path(), &["migrate"]);
    assert_eq!(without.code, Some(1));
    assert!(without.stderr.contains("DATABASE_URL"), "{}", without.stderr);
    let wrong = kiwari_with(folder.path(), &["migrate"], &[("DATABASE_URL", "mysql://u:hush@h/d")]);
    assert_eq!(wrong.code, Some(64));
    assert!(!wrong.stderr.contains("hush"), "{}", wrong.stderr);
    let Some(database) = Database::fresh() else { return };
    let url = database.url();
    let migrate =
        |arguments: &[&str]| kiwari_with(folder.path(), arguments, &[("DATABASE_URL", &url)]);
    let missing = migrate(&["migrate", "--check"]);
    assert_eq!(missing.code, Some(1));
    assert!(missing.stdout.contains("missing: 0001 latency log"), "{}", missing.stdout);
    assert!(migrate(&["migrate"]).stdout.contains("applied: 0001 latency log"));
    let checked = migrate(&["migrate", "--check"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (Some(0), "up to date\n"));
}
