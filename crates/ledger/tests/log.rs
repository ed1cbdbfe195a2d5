//! The log against a real SQLite file.

use std::time::{Duration, SystemTime};

use domain::{Outcome, Stage};
use ledger::reports::{self, Cell, Scope, Source, Table};
use ledger::{Ledger, Settings, Store};
use sqlx::ConnectOptions;

use crate::common::{entry, plain, report, soon, until};

mod common;

/// The report `stages` since the beginning of time.
async fn stages(store: &Store, app: Option<&str>) -> Table {
    let scope = Scope { since: SystemTime::UNIX_EPOCH, app, per: None };
    let source = Source::Sqlite(store.clone());
    reports::run(&source, "stages", scope).await.expect("the report reads")
}

#[tokio::test]
async fn every_recorded_request_is_on_disk_after_closing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("ledger.sqlite");
    let ledger = Ledger::start(&path, Settings::STANDARD, None).await.expect("a new log opens");
    let recorder = ledger.recorder();
    for n in 0..1000 {
        recorder.record(entry("a", vec![report(Stage::Keyword, Outcome::Ok, n)]));
    }
    assert_eq!(recorder.counts().queued, 1000);
    // A recorder that is still around does not keep the log open.
    ledger.close(soon()).await;
    recorder.record(entry("a", vec![]));
    assert_eq!((recorder.counts().written, recorder.counts().dropped), (1000, 1));

    let store = Store::open(&path).await.expect("the log opens again");
    let rows = stages(&store, None).await.rows;
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][2], Cell::Count(1000));
}

#[tokio::test]
async fn percentiles_are_nearest_rank_over_the_stages_that_ran() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(&folder.path().join("l.sqlite")).await.expect("a new log opens");
    let mut entries: Vec<_> = (1..=200)
        .rev()
        .map(|n| entry("a", vec![report(Stage::Embed, Outcome::Ok, n * 1000)]))
        .collect();
    for _ in 0..100 {
        entries.push(entry("a", vec![report(Stage::Embed, Outcome::Skipped, 0)]));
    }
    for _ in 0..50 {
        entries.push(entry("b", vec![report(Stage::Vector, Outcome::Cut, 7000)]));
    }
    store.write(&entries).await.expect("a healthy disk takes the batch");

    let rows = stages(&store, None).await.rows;
    let embed = &rows[0];
    assert_eq!(embed[1..3], [Cell::Text("embed".to_owned()), Cell::Count(300)]);
    assert_eq!(embed[3..6], [100.0, 190.0, 198.0].map(Cell::Number));
    assert_eq!(embed[6..8], [2.0 / 3.0, 1.0 / 3.0].map(Cell::Number));
    let vector = &rows[1];
    assert_eq!(vector[3..6], [7.0, 7.0, 7.0].map(Cell::Number));
    assert_eq!(vector[8], Cell::Number(1.0));

    assert_eq!(stages(&store, Some("b")).await.rows.len(), 1);
    let later = SystemTime::now() + Duration::from_secs(60);
    let scope = Scope { since: later, app: None, per: None };
    let none = reports::run(&Source::Sqlite(store), "stages", scope).await.expect("it reads");
    assert_eq!(none.rows, Vec::<Vec<Cell>>::new());
}

#[tokio::test]
async fn writing_a_batch_again_doubles_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(&folder.path().join("l.sqlite")).await.expect("a new log opens");
    let batch = [entry("a", vec![report(Stage::Keyword, Outcome::Ok, 1)])];
    store.write(&batch).await.expect("the first try");
    store.write(&batch).await.expect("the second try");
    assert_eq!(stages(&store, None).await.rows[0][2], Cell::Count(1));
}

#[tokio::test]
async fn a_full_queue_drops_and_counts_without_waiting() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("l.sqlite");
    let settings =
        Settings { queue: 4, batch: 2, linger: Duration::from_millis(1), ..Settings::STANDARD };
    let ledger = Ledger::start(&path, settings, None).await.expect("opens");
    let recorder = ledger.recorder();
    // Somebody else has the file, so that nothing can be written.
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path);
    let mut holder = options.connect().await.expect("it is a database");
    sqlx::query("BEGIN IMMEDIATE").execute(&mut holder).await.expect("nobody writes");
    for _ in 0..10 {
        recorder.record(entry("a", vec![]));
    }
    // One batch may be in hand.
    let counts = recorder.counts();
    assert!((4..=6).contains(&counts.queued), "{counts:?}");
    assert_eq!((counts.queued + counts.dropped, counts.written), (10, 0));
    sqlx::query("ROLLBACK").execute(&mut holder).await.expect("it is in a transaction");
    let written = until(&recorder, |counts| counts.written == counts.queued).await;
    assert_eq!(written.dropped, counts.dropped);
    ledger.close(soon()).await;
}

#[tokio::test]
async fn rows_past_their_retention_go_with_their_stages_and_the_others_stay() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(&folder.path().join("l.sqlite")).await.expect("a new log opens");
    let mut old = entry("a", vec![report(Stage::Keyword, Outcome::Ok, 1)]);
    old.received_at = SystemTime::now() - Duration::from_secs(7200);
    let new = entry("b", vec![report(Stage::Keyword, Outcome::Ok, 1)]);
    store.write(&[old, new]).await.expect("a healthy disk takes the batch");
    let before = SystemTime::now() - Duration::from_secs(3600);
    assert_eq!(store.prune(before).await.expect("prunes"), 1);
    let of = async |app| stages(&store, Some(app)).await.rows.len();
    assert_eq!((of("a").await, of("b").await), (0, 1));
}

#[tokio::test]
async fn without_a_log_everything_is_dropped_and_counted() {
    let recorder = ledger::Recorder::without_log();
    recorder.record(entry("a", vec![]));
    assert_eq!((recorder.counts().queued, recorder.counts().dropped), (0, 1));
}

#[tokio::test]
async fn a_file_that_is_no_database_is_named_in_the_error() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("not-a-log.sqlite");
    std::fs::write(&path, "this is no database, however long it gets").expect("a writable folder");
    let error = Store::open(&path).await.expect_err("no database");
    assert!(error.to_string().contains("not-a-log.sqlite"));
}

#[tokio::test]
async fn a_log_of_the_first_version_is_brought_up_to_date_with_its_rows() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("l.sqlite");
    let options = sqlx::sqlite::SqliteConnectOptions::new().filename(&path).create_if_missing(true);
    let pool = sqlx::SqlitePool::connect_with(options).await.expect("a new file opens");
    let migrator = sqlx::migrate!("../../migrations/sqlite/ledger");
    migrator.run_to(1, &pool).await.expect("the first version");
    let old = "INSERT INTO request_log VALUES ('r', NULL, 'search', 'a', 'en', 1000000, NULL, 300, 900, 'hits', 0,
            '[]', 1, 0, '{}');
        INSERT INTO stage_log VALUES ('r', 0, 1000000, 'a', 'keyword', 'ok', NULL, 0, 700, 300000),
            ('r', 1, 1000000, 'a', 'embed', 'skipped', NULL, 0, 0, 0)";
    sqlx::raw_sql(old).execute(&pool).await.expect("rows of the first version");
    pool.close().await;

    let store = Store::open(&path).await.expect("an old log opens");
    assert_eq!(stages(&store, None).await.rows.len(), 2);
    store.close().await;
    let pool = sqlx::SqlitePool::connect(&path.to_string_lossy()).await.expect("it is a database");
    let sql =
        "SELECT group_concat(endpoint || attempts) FROM (SELECT * FROM stage_log ORDER BY seq)";
    let seen: String = sqlx::query_scalar(sql).fetch_one(&pool).await.expect("a row");
    assert_eq!(seen, "search1,search0");
}

#[tokio::test]
async fn a_report_takes_no_more_time_and_rows_than_it_may() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(&folder.path().join("l.sqlite")).await.expect("a new log opens");
    let stages = [Stage::Keyword, Stage::Embed, Stage::Vector];
    let entries: Vec<_> = (0..2000)
        .map(|n| entry("a", stages.map(|stage| report(stage, Outcome::Ok, n)).into()))
        .collect();
    store.write(&entries).await.expect("a healthy disk takes the batch");
    let source = Source::Sqlite(store.clone());
    let scope = Scope { since: SystemTime::UNIX_EPOCH, app: None, per: None };
    let run = |time, rows| {
        let bounds = reports::Bounds { time: Duration::from_millis(time), rows };
        reports::run_within(&source, "stages", scope, bounds)
    };
    assert_eq!(run(60_000, 3).await.expect("it fits").rows.len(), 3);
    let long = run(60_000, 2).await;
    assert!(matches!(long, Err(reports::ReportError::TooLong { rows: 2 })), "{long:?}");
    let late = run(0, 3).await;
    assert!(matches!(late, Err(reports::ReportError::OutOfTime { .. })), "{late:?}");
    // Nothing of it is left that would keep the next one, or the writer, waiting.
    assert_eq!(run(60_000, 3).await.expect("it fits").rows.len(), 3);
    store.write(&[plain()]).await.expect("a healthy disk takes the batch");
}
