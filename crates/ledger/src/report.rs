//! Reports over the log. Percentiles are nearest rank: the least value with at least that share at or
//! below it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::Serialize;
use sqlx::Row;

use crate::entry::micros;
use crate::{LedgerError, Store};

/// One stage's latencies and outcomes over a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct StageRow {
    pub stage: String,
    /// Requests that reported this stage, skipped ones included.
    pub count: u64,
    /// Over the stages that ran (not skipped), in milliseconds; `None` if none did.
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
    pub p99_ms: Option<f64>,
    /// Shares of `count`, 0…1.
    pub ok: f64,
    pub skipped: f64,
    pub cut: f64,
    pub failed: f64,
}

/// `ceil(p × n)` in whole numbers: the rank of percentile `p` (in hundredths) among `n` values.
const STAGES: &str = "
    WITH ran AS (
        SELECT stage, elapsed_us,
               row_number() OVER (PARTITION BY stage ORDER BY elapsed_us) AS rank,
               count(*) OVER (PARTITION BY stage) AS n
        FROM stage_log
        WHERE received_at_us >= ?1 AND outcome <> 'skipped' AND (?2 IS NULL OR app = ?2)
    ), percentiles AS (
        SELECT stage,
               min(CASE WHEN rank >= (n * 50 + 99) / 100 THEN elapsed_us END) AS p50,
               min(CASE WHEN rank >= (n * 95 + 99) / 100 THEN elapsed_us END) AS p95,
               min(CASE WHEN rank >= (n * 99 + 99) / 100 THEN elapsed_us END) AS p99
        FROM ran GROUP BY stage
    ), shares AS (
        SELECT stage, count(*) AS n,
               avg(outcome = 'ok') AS ok, avg(outcome = 'skipped') AS skipped,
               avg(outcome = 'cut') AS cut, avg(outcome = 'failed') AS failed
        FROM stage_log
        WHERE received_at_us >= ?1 AND (?2 IS NULL OR app = ?2)
        GROUP BY stage
    )
    SELECT shares.stage, shares.n, p50, p95, p99, ok, skipped, cut, failed
    FROM shares LEFT JOIN percentiles USING (stage)
    ORDER BY CASE stage WHEN 'normalize' THEN 0 WHEN 'keyword' THEN 1 WHEN 'embed' THEN 2
                        WHEN 'vector' THEN 3 WHEN 'generate' THEN 4 ELSE 5 END";

/// Latencies and outcomes per stage of the requests received at or after `since`, in the pipeline's
/// order; of one app if `app` is given.
///
/// # Errors
///
/// [`LedgerError::Read`].
pub async fn stages(
    store: &Store,
    since: SystemTime,
    app: Option<&str>,
) -> Result<Vec<StageRow>, LedgerError> {
    let since_us = since.duration_since(UNIX_EPOCH).map_or(0, micros);
    let rows = sqlx::query(STAGES)
        .bind(since_us)
        .bind(app)
        .fetch_all(store.pool())
        .await
        .map_err(LedgerError::Read)?;
    rows.iter().map(stage_row).collect::<Result<_, _>>().map_err(LedgerError::Read)
}

fn stage_row(row: &sqlx::sqlite::SqliteRow) -> Result<StageRow, sqlx::Error> {
    Ok(StageRow {
        stage: row.try_get("stage")?,
        count: u64::try_from(row.try_get::<i64, _>("n")?).unwrap_or(0),
        p50_ms: row.try_get::<Option<i64>, _>("p50")?.map(in_ms),
        p95_ms: row.try_get::<Option<i64>, _>("p95")?.map(in_ms),
        p99_ms: row.try_get::<Option<i64>, _>("p99")?.map(in_ms),
        ok: row.try_get("ok")?,
        skipped: row.try_get("skipped")?,
        cut: row.try_get("cut")?,
        failed: row.try_get("failed")?,
    })
}

fn in_ms(micros: i64) -> f64 {
    Duration::from_micros(u64::try_from(micros).unwrap_or(0)).as_secs_f64() * 1000.0
}
