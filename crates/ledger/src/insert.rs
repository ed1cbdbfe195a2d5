//! Rows into SQLite: one trip a batch, however many requests it has. On a busy machine, trips to the thread that
//! holds the file are what writing costs.

use domain::Reason;
use sqlx::query_builder::Separated;
use sqlx::{QueryBuilder, Sqlite, SqliteConnection};

use crate::entry::{CallEntry, Entry, StageEntry, count, micros, millis};
use crate::nul::{text, without_nul_escapes};
use crate::paid::{allotted, paid_by};

/// Rows of one statement: SQLite takes 32,766 values in each, and no row has more than twenty.
const ROWS: usize = 1500;

const REQUESTS: &str = "; INSERT INTO request_log (request_id, client_request_id, endpoint, app, segment, lang,
    received_at_us, budget_requested_ms, budget_total_ms, spent_us, streamed, first_content_us, kind, degraded,
    reasons, model_requested, model_served, generation, calibration, trace) ";

const STAGES: &str = "; INSERT INTO stage_log (request_id, seq, received_at_us, endpoint, app, stage, outcome, reason,
    started_us, elapsed_us, budget_us, allotted_us, paid_by, attempts, hedged, cache_hit) ";

const CALLS: &str = "; INSERT INTO call_log (request_id, seq, received_at_us, app, model, attempt, fate, reason,
    started_us, elapsed_us, first_token_us, input_tokens, cached_tokens, output_tokens, thinking_tokens,
    wasted_tokens, cost_micros) ";

/// One row's values, in the order of the statement's columns.
type Row<'a> = Separated<'a, Sqlite, &'static str>;

/// Writes requests with their stages and calls in one transaction; what is there already stays as it is. Where a
/// statement fails, the connection is left inside the transaction: it has to be given up.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    entries: &[Entry],
) -> Result<(), sqlx::Error> {
    let mut transaction = QueryBuilder::new("BEGIN IMMEDIATE");
    let requests: Vec<_> = entries.iter().map(|entry| (entry, 0, entry)).collect();
    push(&mut transaction, REQUESTS, &requests, push_request);
    push(&mut transaction, STAGES, &parts(entries, |entry| &entry.stages), push_stage);
    push(&mut transaction, CALLS, &parts(entries, |entry| &entry.calls), push_call);
    transaction.push("; COMMIT");
    // Hardly any two are alike, so that none is worth keeping prepared.
    transaction.build().persistent(false).execute(connection).await.map(drop)
}

/// What belongs to a request, and its place there.
type Part<'a, T> = (&'a Entry, i64, &'a T);

fn parts<T>(entries: &[Entry], parts: impl Fn(&Entry) -> &Vec<T>) -> Vec<Part<'_, T>> {
    entries
        .iter()
        .flat_map(|entry| (0..).zip(parts(entry)).map(move |(seq, part)| (entry, seq, part)))
        .collect()
}

fn push<T>(
    transaction: &mut QueryBuilder<Sqlite>,
    insert: &'static str,
    rows: &[Part<'_, T>],
    values: impl Fn(&mut Row<'_>, &Part<'_, T>),
) {
    for rows in rows.chunks(ROWS) {
        transaction.push(insert).push_values(rows, |mut row, part| values(&mut row, part));
        transaction.push(" ON CONFLICT DO NOTHING");
    }
}

fn push_request(row: &mut Row<'_>, (entry, _, _): &Part<'_, Entry>) {
    let model = entry.model.as_ref();
    row.push_bind(entry.request_id.to_string())
        .push_bind(entry.client_request_id.as_deref().map(text))
        .push_bind(entry.endpoint)
        .push_bind(entry.app.as_str().to_owned())
        .push_bind(entry.segment.as_deref().map(text))
        .push_bind(entry.lang.as_str().to_owned())
        .push_bind(entry.received_at_us())
        .push_bind(entry.budget_requested.map(millis))
        .push_bind(millis(entry.budget_total))
        .push_bind(micros(entry.spent))
        .push_bind(entry.streamed)
        .push_bind(entry.first_content.map(micros))
        .push_bind(entry.kind)
        .push_bind(entry.degraded)
        .push_bind(entry.reasons_json())
        .push_bind(model.map(|model| text(&model.requested)))
        .push_bind(model.map(|model| text(&model.served)))
        .push_bind(count(entry.generation))
        .push_bind(count(entry.calibration))
        .push_bind(without_nul_escapes(&entry.trace));
}

fn push_stage(row: &mut Row<'_>, (entry, seq, stage): &Part<'_, StageEntry>) {
    let report = &stage.report;
    let all = entry.stages.iter().map(|other| &other.report);
    row.push_bind(entry.request_id.to_string())
        .push_bind(*seq)
        .push_bind(entry.received_at_us())
        .push_bind(entry.endpoint)
        .push_bind(entry.app.as_str().to_owned())
        .push_bind(report.stage.as_str())
        .push_bind(report.outcome.as_str())
        .push_bind(report.reason.map(Reason::as_str))
        .push_bind(micros(report.started))
        .push_bind(micros(report.elapsed))
        .push_bind(micros(report.budget))
        .push_bind(allotted(entry.minimums, report.stage).map(micros))
        .push_bind(paid_by(report, all, entry.minimums))
        .push_bind(stage.attempts)
        .push_bind(stage.hedged)
        .push_bind(stage.cache_hit);
}

fn push_call(row: &mut Row<'_>, (entry, seq, call): &Part<'_, CallEntry>) {
    row.push_bind(entry.request_id.to_string())
        .push_bind(*seq)
        .push_bind(entry.received_at_us())
        .push_bind(entry.app.as_str().to_owned())
        .push_bind(text(&call.model))
        .push_bind(call.attempt)
        .push_bind(call.fate.as_str())
        .push_bind(call.fate.reason().map(Reason::as_str))
        .push_bind(micros(call.started))
        .push_bind(micros(call.elapsed))
        .push_bind(call.first_token.map(micros))
        .push_bind(call.usage.map(|usage| count(usage.input_tokens)))
        .push_bind(call.usage.map(|usage| count(usage.cached_tokens)))
        .push_bind(call.usage.map(|usage| count(usage.output_tokens)))
        .push_bind(call.usage.map(|usage| count(usage.thinking_tokens)))
        .push_bind(count(call.wasted_tokens()))
        .push_bind(call.cost_micros.map(count));
}
