//! Writing a batch: every row of it or none, and none twice.

use std::time::SystemTime;

use sqlx::Connection;
use sqlx::postgres::PgConnection;

use super::session::bounded;
use super::{PgError, PgSettings, Session};
use crate::entry::unix_micros;
use crate::outbox::Parcel;

const MICROS_PER_HOUR: i64 = 3_600_000_000;
const HOURS_PER_DAY: i64 = 24;

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// The first hour since the Unix epoch that Postgres still keeps.
    floor: i64,
    /// How far Postgres' clock is ahead of ours, in seconds, give or take what asking took.
    pub(crate) ahead_s: i64,
}

impl Delivered {
    /// Whether it is in Postgres now; else its day is not kept any more.
    pub(crate) fn keeps(self, parcel: &Parcel) -> bool {
        hour(parcel) >= self.floor
    }

    /// The floor cannot be right.
    fn doubted(self) -> PgError {
        let now = unix_micros(SystemTime::now()).div_euclid(MICROS_PER_HOUR);
        PgError::Floor { days: (self.floor - now).div_euclid(HOURS_PER_DAY), ahead_s: self.ahead_s }
    }
}

const BEGIN: &str =
    "SELECT ledger_begin_batch($1), floor(extract(epoch FROM clock_timestamp()))::bigint";

/// Rows come as JSON, one text a request, so that a column is named in one place on each side.
const REQUESTS: &str = "
    INSERT INTO request_log (received_at, request_id, client_request_id, endpoint, app, segment, lang,
        budget_requested_ms, budget_total_ms, spent_us, streamed, first_content_us, kind, degraded, reasons,
        model_requested, model_served, generation, calibration, trace)
    SELECT ledger_moment(received_at_us), request_id, client_request_id, endpoint, app, segment, lang,
        budget_requested_ms, budget_total_ms, spent_us, streamed <> 0, first_content_us, kind, degraded <> 0,
        reasons::jsonb, model_requested, model_served, generation, calibration, nullif(trace, '')::jsonb
    FROM unnest($1::text[]) AS parcel
    CROSS JOIN json_to_record(parcel::json) AS row (received_at_us bigint, request_id uuid,
        client_request_id text, endpoint text, app text, segment text, lang text, budget_requested_ms bigint,
        budget_total_ms bigint, spent_us bigint, streamed integer, first_content_us bigint, kind text,
        degraded integer, reasons text, model_requested text, model_served text, generation bigint,
        calibration bigint, trace text)
    ON CONFLICT DO NOTHING";

const STAGES: &str = "
    INSERT INTO stage_log (received_at, request_id, seq, endpoint, app, stage, outcome, reason, started_us,
        elapsed_us, budget_us, allotted_us, paid_by, attempts, hedged, cache_hit)
    SELECT ledger_moment(received_at_us), request_id, seq, endpoint, app, stage, outcome, reason, started_us,
        elapsed_us, budget_us, allotted_us, paid_by, attempts, hedged <> 0, cache_hit <> 0
    FROM unnest($1::text[]) AS parcel
    CROSS JOIN json_to_recordset(parcel::json) AS row (received_at_us bigint, request_id uuid, seq smallint,
        endpoint text, app text, stage text, outcome text, reason text, started_us bigint, elapsed_us bigint,
        budget_us bigint, allotted_us bigint, paid_by text, attempts integer, hedged integer,
        cache_hit integer)
    ON CONFLICT DO NOTHING";

const CALLS: &str = "
    INSERT INTO call_log (received_at, request_id, seq, app, model, attempt, fate, reason, started_us,
        elapsed_us, first_token_us, input_tokens, cached_tokens, output_tokens, thinking_tokens,
        wasted_tokens, cost_micros)
    SELECT ledger_moment(received_at_us), request_id, seq, app, model, attempt, fate, reason, started_us,
        elapsed_us, first_token_us, input_tokens, cached_tokens, output_tokens, thinking_tokens,
        wasted_tokens, cost_micros
    FROM unnest($1::text[]) AS parcel
    CROSS JOIN json_to_recordset(parcel::json) AS row (received_at_us bigint, request_id uuid, seq smallint,
        app text, model text, attempt integer, fate text, reason text, started_us bigint, elapsed_us bigint,
        first_token_us bigint, input_tokens bigint, cached_tokens bigint, output_tokens bigint,
        thinking_tokens bigint, wasted_tokens bigint, cost_micros bigint)
    ON CONFLICT DO NOTHING";

/// Writes `parcels` in one transaction, within the settings' patience.
///
/// # Errors
///
/// [`PgError`]; nothing was written, or all of it was and nobody could say so. [`PgError::Floor`]: Postgres would let go
/// of rows that are to be kept by our clock.
pub(crate) async fn deliver(
    session: &mut Session,
    settings: &PgSettings,
    parcels: &[Parcel],
) -> Result<Delivered, PgError> {
    let ours = kept_from(settings.retention_days, SystemTime::now());
    bounded(settings.patience, write(&mut session.0, parcels, ours)).await?
}

/// The first hour since the Unix epoch that nobody doubts is to be kept: Postgres' day may have begun before ours.
fn kept_from(retention_days: u16, now: SystemTime) -> i64 {
    let today = unix_micros(now).div_euclid(MICROS_PER_HOUR * HOURS_PER_DAY);
    (today + 1 - i64::from(retention_days)) * HOURS_PER_DAY
}

async fn write(
    connection: &mut PgConnection,
    parcels: &[Parcel],
    ours: i64,
) -> Result<Delivered, PgError> {
    let mut transaction = connection.begin().await.map_err(PgError::Write)?;
    let begun = begin(&mut transaction, parcels).await.map_err(PgError::Write)?;
    if parcels.iter().any(|parcel| hour(parcel) >= ours && !begun.keeps(parcel)) {
        // Dropped with the transaction, which has changed nothing that matters.
        return Err(begun.doubted());
    }
    fill(&mut transaction, &Columns::of(parcels, begun.floor)).await.map_err(PgError::Write)?;
    transaction.commit().await.map_err(PgError::Write)?;
    Ok(begun)
}

async fn begin(
    connection: &mut PgConnection,
    parcels: &[Parcel],
) -> Result<Delivered, sqlx::Error> {
    let hours: Vec<i64> = parcels.iter().map(hour).collect();
    let (floor, theirs_s): (i64, i64) =
        sqlx::query_as(BEGIN).bind(hours).fetch_one(connection).await?;
    let ours_s = unix_micros(SystemTime::now()).div_euclid(1_000_000);
    Ok(Delivered { floor, ahead_s: theirs_s - ours_s })
}

async fn fill(connection: &mut PgConnection, rows: &Columns<'_>) -> Result<(), sqlx::Error> {
    sqlx::query(REQUESTS).bind(&rows.requests).execute(&mut *connection).await?;
    sqlx::query(STAGES).bind(&rows.stages).execute(&mut *connection).await?;
    sqlx::query(CALLS).bind(&rows.calls).execute(connection).await.map(drop)
}

/// The JSON of a batch, a table at a time.
struct Columns<'a> {
    requests: Vec<&'a str>,
    stages: Vec<&'a str>,
    calls: Vec<&'a str>,
}

impl<'a> Columns<'a> {
    /// Of the parcels received in hour `floor` or later.
    fn of(parcels: &'a [Parcel], floor: i64) -> Self {
        let kept: Vec<&Parcel> = parcels.iter().filter(|parcel| hour(parcel) >= floor).collect();
        Self {
            requests: kept.iter().map(|parcel| &*parcel.request).collect(),
            stages: kept.iter().map(|parcel| &*parcel.stages).collect(),
            calls: kept.iter().map(|parcel| &*parcel.calls).collect(),
        }
    }
}

/// The hour of the Unix epoch that a request was received in.
fn hour(parcel: &Parcel) -> i64 {
    parcel.received_at_us.div_euclid(MICROS_PER_HOUR)
}
