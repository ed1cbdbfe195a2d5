//! Writing a batch: every row of it or none, and none twice.

use sqlx::Connection;
use sqlx::postgres::PgConnection;

use super::session::bounded;
use super::{PgError, PgSettings, Session};
use crate::outbox::Parcel;

const MICROS_PER_HOUR: i64 = 3_600_000_000;

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivered {
    /// The first hour since the Unix epoch that Postgres still keeps.
    floor: i64,
}

impl Delivered {
    /// Whether it is in Postgres now; else its day is not kept any more.
    pub(crate) fn keeps(self, parcel: &Parcel) -> bool {
        hour(parcel) >= self.floor
    }
}

const BEGIN: &str = "SELECT ledger_begin_batch($1)";

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
/// [`PgError`]; nothing was written, or all of it was and nobody could say so.
pub(crate) async fn deliver(
    session: &mut Session,
    settings: &PgSettings,
    parcels: &[Parcel],
) -> Result<Delivered, PgError> {
    bounded(settings.patience, write(&mut session.0, parcels)).await?.map_err(PgError::Write)
}

async fn write(
    connection: &mut PgConnection,
    parcels: &[Parcel],
) -> Result<Delivered, sqlx::Error> {
    let mut transaction = connection.begin().await?;
    let hours: Vec<i64> = parcels.iter().map(hour).collect();
    let floor: i64 = sqlx::query_scalar(BEGIN).bind(hours).fetch_one(&mut *transaction).await?;
    let kept = Columns::of(parcels, floor);
    sqlx::query(REQUESTS).bind(&kept.requests).execute(&mut *transaction).await?;
    sqlx::query(STAGES).bind(&kept.stages).execute(&mut *transaction).await?;
    sqlx::query(CALLS).bind(&kept.calls).execute(&mut *transaction).await?;
    transaction.commit().await?;
    Ok(Delivered { floor })
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
