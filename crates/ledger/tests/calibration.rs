//! What a calibration reads and stores, the same from SQLite and Postgres.

mod common;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fastrand::Rng;
use ledger::calibration::{
    CalibratedMinimums, Ended, New, Values, Window, apply, apps, history, newest, speeds,
};
use ledger::reports::Source;
use ledger::{Entry, Store};

use common::{Database, drawn, ship};

const HOUR: Duration = Duration::from_secs(3600);

fn values(embed_ms: u64) -> Values {
    Values {
        total_ms: 4000,
        minimums: CalibratedMinimums { embed_ms: Some(embed_ms), ..CalibratedMinimums::default() },
        retrieval_cutoff_ms: 2000,
        first_token_cutoff_ms: 1200,
        speeds: Vec::new(),
    }
}

fn window() -> Window {
    Window { from: UNIX_EPOCH, to: SystemTime::now() + HOUR }
}

/// A log of its own, holding `entries`.
async fn sqlite(folder: &tempfile::TempDir, entries: &[Entry]) -> Source {
    let store = Store::open(&folder.path().join("l.sqlite")).await.expect("a new log opens");
    store.write(entries).await.expect("a new log takes rows");
    Source::Sqlite(store)
}

async fn applies(
    source: &Source,
    of: (&str, u64),
    unless_since: Option<SystemTime>,
) -> Option<u64> {
    let (app, embed_ms) = of;
    let values = values(embed_ms);
    let new = New { app, window: window(), values: &values, by: "test", unless_since };
    apply(source, new).await.expect("a row")
}

async fn keeps_what_is_applied_newest_first(source: &Source) {
    assert!(newest(source).await.expect("no rows").is_empty());
    let first = applies(source, ("shop", 1), None).await.expect("applied");
    let docs = applies(source, ("docs", 2), None).await.expect("applied");
    let second = applies(source, ("shop", 3), None).await.expect("applied");
    assert!(0 < first && first < docs && docs < second);
    // Somebody was there within the hour.
    let lately = Some(SystemTime::now() - HOUR);
    assert_eq!(applies(source, ("shop", 4), lately).await, None);
    assert!(applies(source, ("blog", 5), lately).await.is_some());
    let mut newest = newest(source).await.expect("rows");
    newest.retain(|applied| applied.app != "blog");
    let numbers: Vec<u64> = newest.iter().map(|applied| applied.number).collect();
    assert_eq!(numbers, [second, docs, first]);
    let read: Values = serde_json::from_str(&newest[0].calibrated).expect("values");
    assert_eq!(read, values(3));
}

#[tokio::test]
async fn sqlite_keeps_what_is_applied_newest_first() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    keeps_what_is_applied_newest_first(&sqlite(&folder, &[]).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn postgres_keeps_what_is_applied_newest_first() {
    let Some(database) = Database::fresh().await else { return };
    database.migrated().await;
    let source = Source::postgres(&database.settings());
    keeps_what_is_applied_newest_first(&source).await;
    source.close().await;
    database.remove().await;
}

#[tokio::test]
async fn answers_of_the_app_and_window_are_read_as_they_were() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rng = Rng::with_seed(8);
    let now = SystemTime::now();
    let entries: Vec<Entry> =
        (0..300).map(|at| drawn(&mut rng, now - HOUR.mul_f64(f64::from(at) / 10.0))).collect();
    let source = sqlite(&folder, &entries).await;
    let window = Window { from: now - 10 * HOUR, to: now };
    let read = history(&source, "shop", window).await.expect("a history");
    let expected: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.endpoint == "answer" && entry.app.as_str() == "shop")
        .filter(|entry| now - 10 * HOUR <= entry.received_at && entry.received_at < now)
        .collect();
    assert_eq!(read.answered, expected.len() as u64);
    assert_eq!(read.requests.len(), expected.len());
    let calls: usize = expected.iter().map(|entry| entry.calls.len()).sum();
    assert_eq!(read.requests.iter().map(|request| request.calls.len()).sum::<usize>(), calls);
    let cut = |stage: domain::Stage| {
        let of = |entry: &&&Entry| {
            entry
                .stages
                .iter()
                .any(|row| row.report.stage == stage && row.report.outcome == domain::Outcome::Cut)
        };
        expected.iter().filter(of).count()
    };
    for stage in [domain::Stage::Embed, domain::Stage::Vector, domain::Stage::Generate] {
        let observed = read.requests.iter().filter_map(|request| request.stage(stage));
        let found = observed.filter(|observed| observed.ended == Ended::Cut).count();
        assert!(0 < found && found == cut(stage), "{stage:?}");
    }
    assert_eq!(apps(&source, window).await.expect("names"), ["docs", "shop"]);
    source.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn both_databases_give_the_same_history() {
    let Some(database) = Database::fresh().await else { return };
    let mut rng = Rng::with_seed(9);
    let now = SystemTime::now();
    let entries: Vec<Entry> =
        (0..400).map(|at| drawn(&mut rng, now - HOUR.mul_f64(f64::from(at) / 10.0))).collect();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let here = sqlite(&folder, &entries).await;
    let path = folder.path().join("outbox.sqlite");
    let outbox = Store::open(&path).await.expect("a new log opens");
    outbox.write(&entries).await.expect("a new log takes rows");
    outbox.close().await;
    ship(&path, database.settings()).await;
    let there = Source::postgres(&database.settings());
    let window = Window { from: now - 30 * HOUR, to: now - HOUR };
    for app in ["docs", "shop"] {
        let left = history(&here, app, window).await.expect("a history");
        let right = history(&there, app, window).await.expect("a history");
        assert!(left.requests.len() > 50);
        assert_eq!(left, right);
        assert_eq!(speeds(&left), speeds(&right));
    }
    let left = apps(&here, window).await.expect("names");
    assert_eq!(left, apps(&there, window).await.expect("names"));
    there.close().await;
    here.close().await;
    database.remove().await;
}
