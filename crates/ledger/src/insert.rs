//! Rows into SQLite: one trip a batch, however many requests it has. On a busy machine, trips to the thread that
//! holds the file are what writing costs.

use std::sync::LazyLock;

use domain::Reason;
use serde::Serialize;
use sqlx::{AssertSqlSafe, SqliteConnection};

use crate::entry::{CallEntry, Entry, StageEntry, count, micros, millis};
use crate::paid::{allotted, paid_by};

/// A row of `request_log`; its fields are the columns.
#[derive(Serialize)]
struct RequestRow<'a> {
    request_id: String,
    client_request_id: Option<&'a str>,
    endpoint: &'a str,
    app: &'a str,
    segment: Option<&'a str>,
    lang: &'a str,
    received_at_us: i64,
    budget_requested_ms: Option<i64>,
    budget_total_ms: i64,
    spent_us: i64,
    streamed: bool,
    first_content_us: Option<i64>,
    kind: &'a str,
    degraded: bool,
    reasons: String,
    model_requested: Option<&'a str>,
    model_served: Option<&'a str>,
    generation: i64,
    calibration: i64,
    trace: &'a str,
}

/// A row of `stage_log`.
#[derive(Serialize)]
struct StageRow<'a> {
    request_id: String,
    seq: usize,
    received_at_us: i64,
    endpoint: &'a str,
    app: &'a str,
    stage: &'a str,
    outcome: &'a str,
    reason: Option<&'a str>,
    started_us: i64,
    elapsed_us: i64,
    budget_us: i64,
    allotted_us: Option<i64>,
    paid_by: Option<&'a str>,
    attempts: u32,
    hedged: bool,
    cache_hit: bool,
}

/// A row of `call_log`.
#[derive(Serialize)]
struct CallRow<'a> {
    request_id: String,
    seq: usize,
    received_at_us: i64,
    app: &'a str,
    model: &'a str,
    attempt: u32,
    fate: &'a str,
    reason: Option<&'a str>,
    started_us: i64,
    elapsed_us: i64,
    first_token_us: Option<i64>,
    input_tokens: Option<i64>,
    cached_tokens: Option<i64>,
    output_tokens: Option<i64>,
    thinking_tokens: Option<i64>,
    wasted_tokens: i64,
    cost_micros: Option<i64>,
}

const REQUESTS: &str = "
    INSERT INTO request_log (request_id, client_request_id, endpoint, app, segment, lang, received_at_us,
        budget_requested_ms, budget_total_ms, spent_us, streamed, first_content_us, kind, degraded, reasons,
        model_requested, model_served, generation, calibration, trace)
    SELECT value ->> 'request_id', value ->> 'client_request_id', value ->> 'endpoint', value ->> 'app',
        value ->> 'segment', value ->> 'lang', value ->> 'received_at_us', value ->> 'budget_requested_ms',
        value ->> 'budget_total_ms', value ->> 'spent_us', value ->> 'streamed',
        value ->> 'first_content_us', value ->> 'kind', value ->> 'degraded', value ->> 'reasons',
        value ->> 'model_requested', value ->> 'model_served', value ->> 'generation',
        value ->> 'calibration', value ->> 'trace'
    FROM json_each(?) WHERE true
    ON CONFLICT DO NOTHING";

const STAGES: &str = "
    INSERT INTO stage_log (request_id, seq, received_at_us, endpoint, app, stage, outcome, reason, started_us,
        elapsed_us, budget_us, allotted_us, paid_by, attempts, hedged, cache_hit)
    SELECT value ->> 'request_id', value ->> 'seq', value ->> 'received_at_us', value ->> 'endpoint',
        value ->> 'app', value ->> 'stage', value ->> 'outcome', value ->> 'reason', value ->> 'started_us',
        value ->> 'elapsed_us', value ->> 'budget_us', value ->> 'allotted_us', value ->> 'paid_by',
        value ->> 'attempts', value ->> 'hedged', value ->> 'cache_hit'
    FROM json_each(?) WHERE true
    ON CONFLICT DO NOTHING";

const CALLS: &str = "
    INSERT INTO call_log (request_id, seq, received_at_us, app, model, attempt, fate, reason, started_us,
        elapsed_us, first_token_us, input_tokens, cached_tokens, output_tokens, thinking_tokens,
        wasted_tokens, cost_micros)
    SELECT value ->> 'request_id', value ->> 'seq', value ->> 'received_at_us', value ->> 'app',
        value ->> 'model', value ->> 'attempt', value ->> 'fate', value ->> 'reason', value ->> 'started_us',
        value ->> 'elapsed_us', value ->> 'first_token_us', value ->> 'input_tokens',
        value ->> 'cached_tokens', value ->> 'output_tokens', value ->> 'thinking_tokens',
        value ->> 'wasted_tokens', value ->> 'cost_micros'
    FROM json_each(?) WHERE true
    ON CONFLICT DO NOTHING";

/// A whole transaction. Where a statement of it fails, the connection is left inside: it has to be given up.
static TRANSACTION: LazyLock<String> =
    LazyLock::new(|| format!("BEGIN IMMEDIATE; {REQUESTS}; {STAGES}; {CALLS}; COMMIT"));

/// Writes requests with their stages and calls in one transaction; what is there already stays as it is.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    entries: &[Entry],
) -> Result<(), sqlx::Error> {
    let batch = Batch::of(entries);
    // Statements of our own; every value is bound.
    let transaction = sqlx::query(AssertSqlSafe(TRANSACTION.as_str()));
    let transaction = transaction.bind(batch.requests).bind(batch.stages).bind(batch.calls);
    transaction.execute(connection).await.map(drop)
}

/// Rows as JSON arrays of objects.
struct Batch {
    requests: String,
    stages: String,
    calls: String,
}

impl Batch {
    fn of(entries: &[Entry]) -> Self {
        let requests: Vec<_> = entries.iter().map(request_row).collect();
        let stages: Vec<_> = entries.iter().flat_map(stage_rows).collect();
        let calls: Vec<_> = entries.iter().flat_map(call_rows).collect();
        Self { requests: json(&requests), stages: json(&stages), calls: json(&calls) }
    }
}

fn json(rows: &impl Serialize) -> String {
    serde_json::to_string(rows).expect("texts and whole numbers always serialise")
}

fn request_row(entry: &Entry) -> RequestRow<'_> {
    RequestRow {
        request_id: entry.request_id.to_string(),
        client_request_id: entry.client_request_id.as_deref(),
        endpoint: entry.endpoint,
        app: entry.app.as_str(),
        segment: entry.segment.as_deref(),
        lang: entry.lang.as_str(),
        received_at_us: entry.received_at_us(),
        budget_requested_ms: entry.budget_requested.map(millis),
        budget_total_ms: millis(entry.budget_total),
        spent_us: micros(entry.spent),
        streamed: entry.streamed,
        first_content_us: entry.first_content.map(micros),
        kind: entry.kind,
        degraded: entry.degraded,
        reasons: entry.reasons_json(),
        model_requested: entry.model.as_ref().map(|model| model.requested.as_str()),
        model_served: entry.model.as_ref().map(|model| model.served.as_str()),
        generation: count(entry.generation),
        calibration: count(entry.calibration),
        trace: &entry.trace,
    }
}

fn stage_rows(entry: &Entry) -> impl Iterator<Item = StageRow<'_>> {
    entry.stages.iter().enumerate().map(|(seq, stage)| stage_row(entry, seq, stage))
}

fn stage_row<'a>(entry: &'a Entry, seq: usize, stage: &StageEntry) -> StageRow<'a> {
    let report = &stage.report;
    let all = entry.stages.iter().map(|other| &other.report);
    StageRow {
        request_id: entry.request_id.to_string(),
        seq,
        received_at_us: entry.received_at_us(),
        endpoint: entry.endpoint,
        app: entry.app.as_str(),
        stage: report.stage.as_str(),
        outcome: report.outcome.as_str(),
        reason: report.reason.map(Reason::as_str),
        started_us: micros(report.started),
        elapsed_us: micros(report.elapsed),
        budget_us: micros(report.budget),
        allotted_us: allotted(entry.minimums, report.stage).map(micros),
        paid_by: paid_by(report, all, entry.minimums),
        attempts: stage.attempts,
        hedged: stage.hedged,
        cache_hit: stage.cache_hit,
    }
}

fn call_rows(entry: &Entry) -> impl Iterator<Item = CallRow<'_>> {
    entry.calls.iter().enumerate().map(|(seq, call)| call_row(entry, seq, call))
}

fn call_row<'a>(entry: &'a Entry, seq: usize, call: &'a CallEntry) -> CallRow<'a> {
    CallRow {
        request_id: entry.request_id.to_string(),
        seq,
        received_at_us: entry.received_at_us(),
        app: entry.app.as_str(),
        model: &call.model,
        attempt: call.attempt,
        fate: call.fate.as_str(),
        reason: call.fate.reason().map(Reason::as_str),
        started_us: micros(call.started),
        elapsed_us: micros(call.elapsed),
        first_token_us: call.first_token.map(micros),
        input_tokens: call.usage.map(|usage| count(usage.input_tokens)),
        cached_tokens: call.usage.map(|usage| count(usage.cached_tokens)),
        output_tokens: call.usage.map(|usage| count(usage.output_tokens)),
        thinking_tokens: call.usage.map(|usage| count(usage.thinking_tokens)),
        wasted_tokens: count(call.wasted_tokens()),
        cost_micros: call.cost_micros.map(count),
    }
}
