//! The metrics of everything that is asked when somebody looks: models, upstreams, latency log, apps, the process.

use std::collections::BTreeMap;
use std::time::UNIX_EPOCH;

use ledger::{Counts, OutboxCounts};
use pipeline::ModelTotals;

use super::exposition::{Exposition, Kind, Labels};
use crate::health::AppState;
use crate::service::Service;
use crate::surroundings::{UpstreamState, VectorsState};

/// One number of an app.
type Number = fn(&AppState) -> Option<u64>;

/// What a breaker may be.
const BREAKER_STATES: [&str; 4] = ["closed", "failures", "bad_key", "quota"];

const MICROS: f64 = 1e6;

pub(super) fn write(page: &mut Exposition, service: &Service) {
    models(page, &service.pipeline.totals_by_model());
    extra_calls(page, service);
    upstreams(page, &service.surroundings.upstreams());
    vectors(page, &service.surroundings.vectors());
    ledger(page, service.recorder.counts());
    apps(page, service);
    process(page, service);
}

/// A metric whose one sample has no labels.
fn single(
    page: &mut Exposition,
    kind: Kind,
    name: &'static str,
    help: &'static str,
    value: impl std::fmt::Display,
) {
    page.metric(name, kind, help).sample(&[], value);
}

fn models(page: &mut Exposition, models: &BTreeMap<String, ModelTotals>) {
    let mut metric =
        page.metric("kiwari_model_calls_total", Kind::Counter, "Calls of models, by their fate.");
    for (model, totals) in models {
        for (fate, count) in [
            ("used", totals.used),
            ("replaced", totals.replaced),
            ("lost", totals.lost),
            ("abandoned", totals.abandoned),
        ] {
            metric.sample(&[("model", model), ("fate", fate)], count);
        }
    }
    let help =
        "Tokens that are billed; cached ones are among the input, thinking among the output.";
    let mut metric = page.metric("kiwari_model_tokens_total", Kind::Counter, help);
    for (model, totals) in models {
        for (kind, count) in [
            ("input", totals.input_tokens),
            ("cached", totals.cached_tokens),
            ("output", totals.output_tokens),
            ("thinking", totals.thinking_tokens),
        ] {
            metric.sample(&[("model", model), ("kind", kind)], count);
        }
    }
    let help = "Tokens that are billed for calls whose text was not used.";
    let mut metric = page.metric("kiwari_model_wasted_tokens_total", Kind::Counter, help);
    for (model, totals) in models {
        metric.sample(&[("model", model), ("kind", "input")], totals.wasted_input_tokens);
        metric.sample(&[("model", model), ("kind", "output")], totals.wasted_output_tokens);
    }
    let help = "What calls cost whose price is known, in US dollars.";
    let mut metric = page.metric("kiwari_model_cost_dollars_total", Kind::Counter, help);
    for (model, totals) in models {
        metric.sample(&[("model", model)], dollars(totals.cost_micros));
    }
    let help = "Of that, what went into calls whose text was not used.";
    let mut metric = page.metric("kiwari_model_wasted_cost_dollars_total", Kind::Counter, help);
    for (model, totals) in models {
        metric.sample(&[("model", model)], dollars(totals.wasted_cost_micros));
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to nine billion dollars")]
fn dollars(micros: u64) -> f64 {
    micros as f64 / MICROS
}

fn extra_calls(page: &mut Exposition, service: &Service) {
    let help = "Extra calls that could be made now.";
    let mut metric = page.metric("kiwari_extra_calls_left", Kind::Gauge, help);
    for (stage, left) in service.pipeline.extra_calls_left() {
        let stage = stage.as_str();
        metric.sample(&[("stage", stage), ("kind", "retry")], left.retries);
        metric.sample(&[("stage", stage), ("kind", "replacement")], left.replacements);
    }
}

fn upstreams(page: &mut Exposition, upstreams: &[UpstreamState]) {
    let help = "Calls of model APIs by how they ended; refused ones were not made.";
    let mut metric = page.metric("kiwari_upstream_calls_total", Kind::Counter, help);
    for upstream in upstreams {
        for (outcome, count) in &upstream.calls {
            metric.sample(&[("upstream", &upstream.name), ("outcome", outcome)], count);
        }
    }
    let help = "1 for the state that a breaker is in: closed, or why calls are refused.";
    let mut metric = page.metric("kiwari_upstream_breaker_state", Kind::Gauge, help);
    for upstream in upstreams {
        for state in BREAKER_STATES {
            let labels: Labels<'_> = &[("upstream", &upstream.name), ("state", state)];
            metric.sample(labels, u8::from(upstream.breaker == state));
        }
    }
}

fn vectors(page: &mut Exposition, vectors: &VectorsState) {
    let VectorsState::Service { name, look: Some(look) } = vectors else { return };
    let help = "Whether the service that holds vectors answered when it was last looked at.";
    let mut metric = page.metric("kiwari_vectors_up", Kind::Gauge, help);
    metric.sample(&[("service", name)], u8::from(look.error.is_none()));
}

fn ledger(page: &mut Exposition, counts: Counts) {
    let Counts { queued, written, dropped, failures, outbox } = counts;
    let counter = Kind::Counter;
    single(page, counter, "kiwari_ledger_queued_total", "Requests taken for the log.", queued);
    single(page, counter, "kiwari_ledger_written_total", "Requests on this disk.", written);
    let help =
        "Requests that the log has lost: the disk did not take them, and the queue was full.";
    single(page, counter, "kiwari_ledger_dropped_total", help, dropped);
    let help = "Requests that wait for the disk.";
    let waiting = queued.saturating_sub(written);
    single(page, Kind::Gauge, "kiwari_ledger_waiting", help, waiting);
    let help = "Tries to write to the disk that failed since one succeeded.";
    single(page, Kind::Gauge, "kiwari_ledger_failures", help, failures);
    if let Some(outbox) = outbox {
        write_outbox(page, outbox);
    }
}

fn write_outbox(page: &mut Exposition, outbox: OutboxCounts) {
    let counter = Kind::Counter;
    let help = "Requests that arrived in Postgres.";
    single(page, counter, "kiwari_outbox_shipped_total", help, outbox.shipped);
    let help = "Requests let go because Postgres does not keep their day, or they waited too long.";
    single(page, counter, "kiwari_outbox_expired_total", help, outbox.expired);
    let help = "Requests that Postgres would not take whatever was tried.";
    single(page, counter, "kiwari_outbox_refused_total", help, outbox.refused);
    let help = "Requests let go because the outbox was as large as it may be.";
    single(page, counter, "kiwari_outbox_overflowed_total", help, outbox.overflowed);
    let gauge = Kind::Gauge;
    let help = "Requests on this disk that have not arrived in Postgres.";
    single(page, gauge, "kiwari_outbox_depth", help, outbox.depth);
    let help = "The age of the oldest of them.";
    single(page, gauge, "kiwari_outbox_lag_seconds", help, outbox.lag.as_secs_f64());
    let help = "Tries to ship that failed since one succeeded.";
    single(page, gauge, "kiwari_outbox_failures", help, outbox.failures);
}

fn apps(page: &mut Exposition, service: &Service) {
    let apps = service.apps();
    let numbers: [(_, _, Number); 4] = [
        (
            "kiwari_generation",
            "The number of the generation that answers; 0: there is none.",
            |app| app.generation,
        ),
        ("kiwari_articles", "Articles of the generation that answers.", |app| app.articles),
        ("kiwari_passages", "Passages of the generation that answers.", |app| app.passages),
        (
            "kiwari_calibration",
            "The calibration that shares come from; 0: the configuration.",
            |app| app.calibration,
        ),
    ];
    for (name, help, number) in numbers {
        let mut metric = page.metric(name, Kind::Gauge, help);
        for app in &apps {
            metric.sample(&[("app", &app.app)], number(app).unwrap_or(0));
        }
    }
}

fn process(page: &mut Exposition, service: &Service) {
    let mut metric = page.metric("kiwari_build_info", Kind::Gauge, "1, for the version that runs.");
    metric.sample(&[("version", env!("CARGO_PKG_VERSION"))], 1);
    let help = "Whether this server can answer and is not on its way out.";
    single(page, Kind::Gauge, "kiwari_ready", help, u8::from(service.is_ready()));
    let started = service.started.duration_since(UNIX_EPOCH).unwrap_or_default();
    let help = "When the process was started, in seconds since the Unix epoch.";
    single(page, Kind::Gauge, "process_start_time_seconds", help, started.as_secs_f64());
}
