//! The metrics of requests: of each app and endpoint, and of each model.

use domain::AppName;

use super::exposition::{Exposition, Kind};
use super::observed::{Requests, Seen};

/// One number of a series.
type Number = fn(&Requests) -> u64;

pub(super) fn write(page: &mut Exposition, seen: &Seen) {
    counts(page, seen);
    times(page, seen);
    stages(page, seen);
    models(page, seen);
}

/// Every app and endpoint that has had requests.
fn series(seen: &Seen) -> impl Iterator<Item = (&AppName, &'static str, &Requests)> {
    seen.apps.iter().flat_map(|(app, endpoints)| {
        endpoints.iter().map(move |(endpoint, requests)| (app, *endpoint, requests))
    })
}

fn counts(page: &mut Exposition, seen: &Seen) {
    let help = "Requests answered, by what was given.";
    let mut metric = page.metric("kiwari_requests_total", Kind::Counter, help);
    for (app, endpoint, requests) in series(seen) {
        for (kind, count) in &requests.kinds {
            let labels = [("app", app.as_str()), ("endpoint", endpoint), ("kind", kind)];
            metric.sample(&labels, count);
        }
    }
    reasons(page, seen);
    let numbers: [(_, _, _, Number); 3] = [
        (
            "kiwari_degraded_requests_total",
            Kind::Counter,
            "Requests answered with less than there could have been.",
            |requests| requests.degraded,
        ),
        (
            "kiwari_cancelled_requests_total",
            Kind::Counter,
            "Requests that nobody waited for any more.",
            |requests| requests.cancelled,
        ),
        ("kiwari_open_requests", Kind::Gauge, "Requests that are being answered.", |requests| {
            requests.open
        }),
    ];
    for (name, kind, help, number) in numbers {
        let mut metric = page.metric(name, kind, help);
        for (app, endpoint, requests) in series(seen) {
            metric.sample(&[("app", app.as_str()), ("endpoint", endpoint)], number(requests));
        }
    }
    let help = "Requests answered with a problem document, by its code.";
    let mut metric = page.metric("kiwari_refused_requests_total", Kind::Counter, help);
    for (code, count) in &seen.refused {
        metric.sample(&[("code", code)], count);
    }
}

fn reasons(page: &mut Exposition, seen: &Seen) {
    let help = "Reasons why answers were not better, those that only inform included.";
    let mut metric = page.metric("kiwari_request_reasons_total", Kind::Counter, help);
    for (app, endpoint, requests) in series(seen) {
        for ((stage, reason), count) in &requests.reasons {
            let labels = [
                ("app", app.as_str()),
                ("endpoint", endpoint),
                ("stage", stage.as_str()),
                ("reason", reason.as_str()),
            ];
            metric.sample(&labels, count);
        }
    }
}

fn times(page: &mut Exposition, seen: &Seen) {
    let mut metric = page.metric(
        "kiwari_request_duration_seconds",
        Kind::Histogram,
        "From the parsed request head to the rendered response.",
    );
    for (app, endpoint, requests) in series(seen) {
        metric.histogram(&[("app", app.as_str()), ("endpoint", endpoint)], &requests.took);
    }
    let mut metric = page.metric(
        "kiwari_first_content_seconds",
        Kind::Histogram,
        "From the parsed request head to an answer's first text on its way.",
    );
    for (app, endpoint, requests) in series(seen) {
        for (streamed, took) in &requests.first_content {
            let streamed = if *streamed { "true" } else { "false" };
            let labels = [("app", app.as_str()), ("endpoint", endpoint), ("streamed", streamed)];
            metric.histogram(&labels, took);
        }
    }
    let mut metric = page.metric(
        "kiwari_deadline_overshoot_seconds",
        Kind::Histogram,
        "How long after their deadline responses were rendered that were late.",
    );
    for (app, endpoint, requests) in series(seen) {
        metric.histogram(&[("app", app.as_str()), ("endpoint", endpoint)], &requests.overshoot);
    }
}

fn stages(page: &mut Exposition, seen: &Seen) {
    let mut metric = page.metric(
        "kiwari_stage_duration_seconds",
        Kind::Histogram,
        "What the stages took that ran.",
    );
    for (app, endpoint, requests) in series(seen) {
        for (stage, runs) in &requests.stages {
            let labels = [("app", app.as_str()), ("endpoint", endpoint), ("stage", stage.as_str())];
            metric.histogram(&labels, &runs.took);
        }
    }
    let mut metric =
        page.metric("kiwari_stage_outcomes_total", Kind::Counter, "What became of stages.");
    for (app, endpoint, requests) in series(seen) {
        for (stage, runs) in &requests.stages {
            for (outcome, count) in &runs.outcomes {
                let labels = [
                    ("app", app.as_str()),
                    ("endpoint", endpoint),
                    ("stage", stage.as_str()),
                    ("outcome", outcome),
                ];
                metric.sample(&labels, count);
            }
        }
    }
}

fn models(page: &mut Exposition, seen: &Seen) {
    let mut metric = page.metric(
        "kiwari_model_call_duration_seconds",
        Kind::Histogram,
        "What calls of models took, of requests that were answered.",
    );
    for (model, calls) in &seen.models {
        metric.histogram(&[("model", model)], &calls.took);
    }
    let mut metric = page.metric(
        "kiwari_model_first_token_seconds",
        Kind::Histogram,
        "From calls of models to their first text, of requests that were answered.",
    );
    for (model, calls) in &seen.models {
        metric.histogram(&[("model", model)], &calls.first_token);
    }
}
