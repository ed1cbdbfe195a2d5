//! The latency log on its way to Postgres, with the real binary: killed, stopped, read again.
#![expect(clippy::print_stdout, reason = "the figures are what this is for")]

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use system_tests::{Cluster, Database, Outcome, Server, kiwari, kiwari_with, post};
use tempfile::TempDir;
use ureq::Agent;

/// How long before a kill an answer must have been given for its rows to be on disk for certain: far more than
/// [`PROMISED`], as a machine busy with other tests may not let the writer run.
const CERTAIN: Duration = Duration::from_secs(1);

/// What a kill may cost where the writer gets a core when it wants one. Counted, not judged.
const PROMISED: Duration = Duration::from_millis(100);

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

/// Asks until told to stop, and notes the id of every answer that was read to its end, and when the server had
/// finished it.
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
        let spent_ms = answer["budget"]["spent_ms"].as_f64().expect("a time");
        let finished = received(&id) + Duration::from_secs_f64(spent_ms / 1000.0);
        answered.lock().expect("nobody panics").push((finished, id));
    }
}

/// When the request was received whose id this is: a UUIDv7 begins with the milliseconds since the Unix epoch.
fn received(id: &str) -> SystemTime {
    let hex: String = id.chars().filter(|c| *c != '-').take(12).collect();
    let ms = u64::from_str_radix(&hex, 16).expect("a UUID");
    SystemTime::UNIX_EPOCH + Duration::from_millis(ms)
}

/// Serves under load, and kills the process: what had been answered, and how long before.
fn round(folder: &TempDir, url: &str, load: Duration) -> Vec<(Duration, String)> {
    let mut server = Server::start_with(folder.path(), &[], &[("DATABASE_URL", url)]);
    let address = server.address.clone();
    let (stop, answered) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let killed_at = thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| ask_until(&stop, &address, &answered));
        }
        for _ in 0..number("KIWARI_KILL_BUSY", 0) {
            scope.spawn(|| {
                while !stop.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
            });
        }
        pause(load);
        server.kill();
        stop.store(true, Ordering::Relaxed);
        SystemTime::now()
    });
    let age = |at: SystemTime| killed_at.duration_since(at).unwrap_or_default();
    let answered = answered.into_inner().expect("nobody panics");
    answered.into_iter().map(|(at, id)| (age(at), id)).collect()
}

/// A number of the environment's.
fn number(name: &str, usual: u64) -> u64 {
    let given = std::env::var_os(name);
    given.and_then(|text| text.into_string().ok()?.parse().ok()).unwrap_or(usual)
}

#[expect(clippy::disallowed_methods, reason = "there is no executor here to block")]
fn pause(duration: Duration) {
    thread::sleep(duration);
}

#[test]
fn killed_at_any_moment_it_loses_the_last_moments_at_most_and_doubles_nothing() {
    let Some(database) = Database::fresh() else { return };
    let folder = indexed(&[("DATABASE_URL", &database.url())]);
    let rounds = number("KIWARI_KILL_ROUNDS", 6);
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

    let rows = database.rows("SELECT request_id FROM request_log");
    let arrived: BTreeSet<&String> = rows.iter().collect();
    assert_eq!(arrived.len(), rows.len(), "a request is there twice");
    let lost: Vec<Duration> =
        answered.iter().filter(|(_, id)| !arrived.contains(id)).map(|(age, _)| *age).collect();
    println!(
        "{rounds} kills, {} answers, {} rows, {} answers lost; the earliest {} ms before its kill, {} more \
         than {} ms",
        answered.len(),
        rows.len(),
        lost.len(),
        lost.iter().max().unwrap_or(&Duration::ZERO).as_millis(),
        lost.iter().filter(|age| **age > PROMISED).count(),
        PROMISED.as_millis(),
    );
    assert!(lost.iter().all(|age| *age < CERTAIN));
    // Every request came with its rows: six stages each.
    assert_eq!(database.number("SELECT count(*) FROM stage_log"), 6 * rows.len() as u64);
}

/// Asks from four sides while `meanwhile` runs; the ids of the answers.
fn asking_while(server: &Server, meanwhile: impl FnOnce()) -> BTreeSet<String> {
    let (stop, answered) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| ask_until(&stop, &server.address, &answered));
        }
        meanwhile();
        stop.store(true, Ordering::Relaxed);
    });
    answered.into_inner().expect("nobody panics").into_iter().map(|(_, id)| id).collect()
}

#[test]
fn a_postgres_that_crashes_under_load_has_every_row_once_when_it_is_back() {
    let Some(cluster) = Cluster::start("outbox") else { return };
    let environment = [("DATABASE_URL", cluster.url())];
    let folder = indexed(&environment);
    let server = Server::start_with(folder.path(), &[], &environment);
    let mut crashes = 0;
    let answered = asking_while(&server, || {
        for away in [300, 1000, 2500].map(Duration::from_millis) {
            pause(Duration::from_millis(700));
            cluster.crash();
            crashes += 1;
            pause(away);
            cluster.start_again();
        }
        pause(Duration::from_millis(700));
    });
    // What has not arrived yet is tried again, at growing distances.
    let ids = || cluster.rows("SELECT request_id FROM request_log");
    let arrived = (0..600).any(|_| {
        let all = ids().len() >= answered.len();
        if !all {
            pause(Duration::from_millis(100));
        }
        all
    });
    let rows = ids();
    println!("{crashes} crashes, {} answers, {} rows", answered.len(), rows.len());
    assert!(arrived, "rows are missing");
    assert!(answered.len() > 100, "{} answers are no load", answered.len());
    assert_eq!(rows.len(), answered.len(), "a request is there twice, or was never answered");
    assert_eq!(rows.into_iter().collect::<BTreeSet<_>>(), answered);
    let stages = cluster.rows("SELECT count(*) FROM stage_log");
    assert_eq!(stages, [(6 * answered.len()).to_string()]);
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

    let newer = "INSERT INTO _sqlx_migrations SELECT 9000, description, installed_on, success, checksum, execution_time
        FROM _sqlx_migrations WHERE version = 1 RETURNING version";
    assert_eq!(database.rows(newer)[0], "9000");
    let newer = "the tables are of a newer Kiwari than this one, which lacks: 9000\n";
    let checked = migrate(&["migrate", "--check"]);
    assert_eq!((checked.code, checked.stdout.as_str()), (Some(1), newer));
    let migrated = migrate(&["migrate"]);
    assert_eq!((migrated.code, migrated.stdout.as_str()), (Some(0), newer));
}
