//! The log against a real SQLite file.

use std::time::{Duration, SystemTime};

use deadline::Deadline;
use domain::{Degradation, Language, Outcome, Reason, Stage, StageReport};
use ledger::{Entry, Ledger, Settings, Store, stages};
use uuid::Uuid;

fn report(stage: Stage, outcome: Outcome, elapsed_us: u64) -> StageReport {
    StageReport {
        stage,
        outcome,
        started: Duration::ZERO,
        elapsed: Duration::from_micros(elapsed_us),
        budget: Duration::from_secs(1),
        reason: (outcome == Outcome::Cut).then_some(Reason::Timeout),
    }
}

fn entry(app: &str, stages: Vec<StageReport>) -> Entry {
    Entry {
        request_id: Uuid::now_v7(),
        client_request_id: Some("theirs".to_owned()),
        endpoint: "answer",
        app: app.parse().expect("a valid name"),
        lang: Language::JAPANESE,
        received_at: SystemTime::now(),
        budget_requested: None,
        budget_total: Duration::from_secs(4),
        spent: Duration::from_micros(1234),
        kind: "templated",
        degraded: true,
        reasons: vec![Degradation {
            stage: Stage::Embed,
            reason: Reason::Timeout,
            budget: Duration::from_millis(700),
            elapsed: Duration::from_millis(700),
        }],
        generation: 3,
        calibration: 0,
        trace: "[]".to_owned(),
        stages,
    }
}

fn soon() -> Deadline {
    Deadline::after(Duration::from_secs(30))
}

#[tokio::test]
async fn every_recorded_request_is_on_disk_after_closing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("ledger.sqlite");
    let ledger = Ledger::start(&path, Settings::STANDARD).await.expect("a new log opens");
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
    let rows = stages(&store, SystemTime::UNIX_EPOCH, None).await.expect("the report reads");
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0].count, 1000);
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

    let rows = stages(&store, SystemTime::UNIX_EPOCH, None).await.expect("the report reads");
    let embed = &rows[0];
    assert_eq!((embed.stage.as_str(), embed.count), ("embed", 300));
    assert_eq!((embed.p50_ms, embed.p95_ms, embed.p99_ms), (Some(100.0), Some(190.0), Some(198.0)));
    assert!((embed.ok - 2.0 / 3.0).abs() < 1e-9 && (embed.skipped - 1.0 / 3.0).abs() < 1e-9);
    let vector = &rows[1];
    assert_eq!((vector.p50_ms, vector.p99_ms), (Some(7.0), Some(7.0)));
    assert!((vector.cut - 1.0).abs() < 1e-9);

    let only_b = stages(&store, SystemTime::UNIX_EPOCH, Some("b")).await.expect("the report reads");
    assert_eq!(only_b.len(), 1);
    let later = SystemTime::now() + Duration::from_secs(60);
    assert_eq!(stages(&store, later, None).await.expect("the report reads"), []);
}

#[tokio::test]
async fn writing_a_batch_again_doubles_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let store = Store::open(&folder.path().join("l.sqlite")).await.expect("a new log opens");
    let batch = [entry("a", vec![report(Stage::Keyword, Outcome::Ok, 1)])];
    store.write(&batch).await.expect("the first try");
    store.write(&batch).await.expect("the second try");
    let rows = stages(&store, SystemTime::UNIX_EPOCH, None).await.expect("the report reads");
    assert_eq!(rows[0].count, 1);
}

#[tokio::test]
async fn a_full_queue_drops_and_counts_without_waiting() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let settings =
        Settings { queue: 4, batch: 2, linger: Duration::from_millis(1), ..Settings::STANDARD };
    let ledger = Ledger::start(&folder.path().join("l.sqlite"), settings).await.expect("opens");
    let recorder = ledger.recorder();
    // No await in between, so the writer cannot take anything out on this single thread.
    for _ in 0..10 {
        recorder.record(entry("a", vec![]));
    }
    assert_eq!((recorder.counts().queued, recorder.counts().dropped), (4, 6));
    drop(recorder);
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
    store.prune(before).await.expect("prunes");
    let of = async |app| {
        let rows = stages(&store, SystemTime::UNIX_EPOCH, Some(app)).await;
        rows.expect("the report reads").len()
    };
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
