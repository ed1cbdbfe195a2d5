//! How long reports take over ten million stage rows. Loads them first, which takes some minutes and 3 GB:
//!
//! `cargo test -p ledger --test ten_million -- --ignored --nocapture`
#![expect(clippy::print_stdout, reason = "the figures are what this is for")]

use std::time::{Duration, SystemTime};

use ledger::reports::{self, Cell, NAMES, Scope, Source, Table};
use tokio::time::Instant;

use crate::common::Database;

mod common;

const WINDOW: Duration = Duration::from_secs(14 * 86_400);

/// Fourteen days of two apps' requests, six stages each, with the latencies of a real day: the medians and
/// tails of remote services.
const LOAD: [&str; 4] = [
    "SELECT ledger_begin_batch(ARRAY(
        SELECT (extract(epoch FROM now()) / 3600)::bigint - 24 * ago FROM generate_series(0, 14) AS ago))",
    "INSERT INTO request_log (received_at, request_id, endpoint, app, lang, budget_total_ms, spent_us, streamed,
        first_content_us, kind, degraded, reasons, generation, calibration, trace)
     SELECT now() - n * (interval '14 days' / 1666667), gen_random_uuid(), 'answer',
        CASE WHEN n % 3 = 0 THEN 'docs' ELSE 'shop' END, 'en', 4000, 1000000 + (random() * 3100000)::bigint,
        n % 2 = 0, 200000 + (random() * 1000000)::bigint, 'generated', n % 50 = 0,
        CASE WHEN n % 50 = 0 THEN '[{\"stage\": \"vector\", \"reason\": \"timeout\"}]' ELSE '[]' END::jsonb,
        1, 0, jsonb_build_object('total', 4000, 'decisions', repeat(md5(n::text), 20))
     FROM generate_series(0, 1666666) AS n",
    "INSERT INTO stage_log (received_at, request_id, seq, endpoint, app, stage, outcome, started_us, elapsed_us,
        budget_us, allotted_us, paid_by, attempts, hedged, cache_hit)
     SELECT received_at, request_id, seq, endpoint, app, stage,
        CASE WHEN random() < 0.03 THEN 'cut' ELSE 'ok' END, 0,
        1 + (median * exp(spread * sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())))::bigint,
        4000000, allotted, CASE WHEN random() < 0.1 THEN 'generate' END, 1, false, false
     FROM request_log CROSS JOIN (VALUES (0::smallint, 'normalize', 100, 0.5, NULL), (1, 'keyword', 1200, 0.6, NULL),
        (2, 'embed', 350000, 0.574, 700000), (3, 'vector', 400000, 0.914, 600000),
        (4, 'generate', 800000, 0.843, 900000), (5, 'template', 200, 0.5, NULL))
        AS stages (seq, stage, median, spread, allotted)",
    "VACUUM ANALYZE",
];

async fn timed(what: &str, work: impl Future<Output = Table>) -> Table {
    let begun = Instant::now();
    let table = work.await;
    println!("{what}: {} rows in {:.2} s", table.rows.len(), begun.elapsed().as_secs_f64());
    table
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "loads ten million rows"]
async fn reports_over_ten_million_stage_rows() {
    let Some(database) = Database::fresh().await else { return };
    database.migrated().await;
    for sql in LOAD {
        database.execute(sql).await;
    }
    println!("{} stage rows", database.number("SELECT count(*) FROM stage_log").await);
    let begun = Instant::now();
    let roll = "SELECT count(ledger_roll_hour(hour)) FROM ledger_open_hours(report.hour_of(now())) AS hour";
    let hours = database.number(roll).await;
    println!("{hours} closed hours counted in {:.1} s", begun.elapsed().as_secs_f64());
    let begun = Instant::now();
    let days =
        database.number("SELECT count(ledger_roll_day(day)) FROM ledger_open_days() AS day").await;
    println!("{days} days added up in {:.1} s", begun.elapsed().as_secs_f64());

    let source = Source::postgres(&database.settings());
    let since = SystemTime::now() - WINDOW + Duration::from_secs(600);
    let scope = Scope { since, app: None, per: None };
    for name in NAMES {
        // Twice: the second finds its pages in memory.
        for _ in 0..2 {
            let report = async { reports::run(&source, name, scope).await.expect("it reads") };
            Box::pin(timed(name, report)).await;
        }
    }
    for per in ["hour", "day", "window"] {
        let report = async {
            let scope = Scope { per: Some(per), ..scope };
            reports::run(&source, "stage_latency", scope).await.expect("it reads")
        };
        Box::pin(timed(&format!("stage_latency per {per}"), report)).await;
    }
    let near = reports::run(&source, "stages", scope).await.expect("it reads");
    check(&near, &database).await;
    source.close().await;
    database.remove().await;
}

/// Within 1 % of the percentiles of the rows themselves.
async fn check(near: &Table, database: &Database) {
    let generate = near.rows.iter().find(|row| row[1] == Cell::Text("generate".to_owned()));
    let generate = generate.expect("a stage of every request");
    let sql = "SELECT percentile_disc(0.95) WITHIN GROUP (ORDER BY elapsed_us) FROM stage_log
        WHERE stage = 'generate' AND received_at >= now() - interval '14 days' + interval '10 minutes'";
    let begun = Instant::now();
    let Ok(exact) = u32::try_from(database.number(sql).await) else { panic!("a latency") };
    println!("one exact percentile of one stage: {:.2} s", begun.elapsed().as_secs_f64());
    let Cell::Number(found) = generate[4] else { panic!("{generate:?}") };
    let exact = f64::from(exact) / 1000.0;
    assert!((found - exact).abs() / exact <= 0.01, "{found} {exact}");
}
