//! The figures, for people.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::figures::{Figures, Overshoot, Share, Times};

/// Everything that the JSON says, laid out.
pub(crate) fn for_people(figures: &Figures) -> String {
    let mut text = head(figures);
    section(&mut text, &times(figures));
    section(&mut text, &late(figures));
    if figures.answered > 0 {
        section(&mut text, &shares(figures));
    }
    section(&mut text, &trouble(figures));
    text
}

fn section(text: &mut String, section: &str) {
    if !section.is_empty() {
        text.push('\n');
        text.push_str(section);
    }
}

fn head(figures: &Figures) -> String {
    let rate = figures.achieved_rate_per_s.map(|rate| format!(" ({rate:.1}/s)"));
    format!(
        "{} sent{}, {} answered, {} failed, in {:.1} s",
        figures.sent,
        rate.unwrap_or_default(),
        figures.answered,
        figures.failed,
        figures.wall_s
    )
}

fn table(head: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(head.iter().copied());
    table
}

fn aligned(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn times(figures: &Figures) -> String {
    let mut table = table(&["ms", "count", "p50", "p95", "p99", "p99.9", "max"]);
    let mut row = |name: &str, times: &Times| {
        let time = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.2}"));
        table.add_row([
            name.to_owned(),
            times.count.to_string(),
            time(times.p50),
            time(times.p95),
            time(times.p99),
            time(times.p999),
            time(times.max),
        ]);
    };
    row("latency, from the planned moment", &figures.latency_ms);
    row("latency, from the sending", &figures.latency_from_send_ms);
    if let Some(times) = &figures.first_content_ms {
        row("first content, from the planned moment", times);
    }
    row("sent later than planned", &figures.send_lag_ms);
    aligned(table)
}

fn late(figures: &Figures) -> String {
    let of = |overshoot: &Overshoot| {
        format!("{}, at most {:.1} ms past the budget", overshoot.count, overshoot.max_ms)
    };
    format!(
        "later than budget + {:.0} ms: {} (from the planned moment: {})",
        figures.late.tolerance_ms,
        of(&figures.late.from_send),
        of(&figures.late.from_plan)
    )
}

fn shares(figures: &Figures) -> String {
    let mut table = table(&["of the answers", "count", "share", "at least (99 %)"]);
    let mut row = |name: String, share: &Share| {
        let percent = |share: f64| format!("{:.2} %", share * 100.0);
        let Share { count, share, share_at_least } = *share;
        table.add_row([name, count.to_string(), percent(share), percent(share_at_least)]);
    };
    for (kind, share) in &figures.kinds {
        row(kind.clone(), share);
    }
    row("generated or partial".to_owned(), &figures.written_by_model);
    row("with vector hits".to_owned(), &figures.with_vectors);
    row("degraded".to_owned(), &figures.degraded);
    for (stage, reasons) in &figures.reasons {
        for (reason, share) in reasons {
            row(format!("{stage}: {reason}"), share);
        }
    }
    aligned(table)
}

fn trouble(figures: &Figures) -> String {
    let mut text = String::from("statuses:");
    // Writing to a String cannot fail.
    for (status, count) in &figures.statuses {
        let _infallible = write!(text, " {status}: {count}");
    }
    if figures.statuses.is_empty() {
        text.push_str(" none");
    }
    for errors in figures.errors.values() {
        let _infallible = write!(text, "\nfailed: {}, such as: {}", errors.count, errors.example);
    }
    text
}
