//! `kiwari calibrate`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::bail;
use clap::Args;
use comfy_table::{CellAlignment, Table, presets};
use domain::AppName;
use ingest::DataDir;
use ledger::PgSettings;
use ledger::calibration::{Estimate, FEWEST_CALLS, Speed, Window};
use ledger::reports::Source;
use serde::Serialize;

use crate::calibration::{Outlook, Proposal, apply, apps, propose, source, window};
use crate::config::Config;
use crate::{output, stores};

/// What to calibrate.
#[derive(Debug, Args)]
pub(crate) struct Calibrate {
    /// How far back to look, such as 14d
    #[arg(long, value_name = "DURATION", default_value = "14d",
          value_parser = humantime::parse_duration)]
    window: Duration,
    /// Only this app; else every app that answered anything
    #[arg(long, value_name = "NAME")]
    app: Option<AppName>,
    /// Store what is proposed: running servers take it up within a minute
    #[arg(long)]
    apply: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// What became of one app.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Line {
    Proposed {
        #[serde(flatten)]
        proposal: Box<Proposal>,
        /// The number under which it was stored.
        applied: Option<u64>,
    },
    Refused {
        app: AppName,
        refused: String,
    },
}

pub(crate) async fn run(
    config: &Config,
    arguments: &Calibrate,
    database: Option<&PgSettings>,
) -> anyhow::Result<ExitCode> {
    let source = source(&DataDir::new(&config.data_dir), database).await?;
    let lines = lines(config, arguments, &source).await;
    source.close().await;
    let lines = lines?;
    if arguments.json {
        output::json(&lines)?;
    } else {
        lines.iter().try_for_each(print)?;
    }
    let is_proposed = |line: &Line| matches!(line, Line::Proposed { .. });
    Ok(if lines.iter().any(is_proposed) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn lines(
    config: &Config,
    arguments: &Calibrate,
    source: &Source,
) -> anyhow::Result<Vec<Line>> {
    let window = window(arguments.window);
    let apps = match &arguments.app {
        Some(app) => vec![app.clone()],
        None => apps(source, window).await?,
    };
    if apps.is_empty() {
        bail!("nothing was answered in that time");
    }
    let mut lines = Vec::new();
    for app in apps {
        lines.push(line(config, arguments, source, app, window).await?);
    }
    Ok(lines)
}

async fn line(
    config: &Config,
    arguments: &Calibrate,
    source: &Source,
    app: AppName,
    window: Window,
) -> anyhow::Result<Line> {
    let proposal = match propose(config, source, &app, window).await? {
        Ok(proposal) => proposal,
        Err(refusal) => return Ok(Line::Refused { app, refused: refusal.to_string() }),
    };
    let applied = if arguments.apply {
        apply(source, window, &proposal, &stores::holder("kiwari calibrate"), None).await?
    } else {
        None
    };
    Ok(Line::Proposed { proposal: Box::new(proposal), applied })
}

fn print(line: &Line) -> anyhow::Result<()> {
    match line {
        Line::Refused { refused, .. } => output::line(refused),
        Line::Proposed { proposal, applied } => {
            output::line(&heading(proposal))?;
            output::line(&stages(proposal))?;
            output::line(&cutoffs(proposal))?;
            if let Some(outlook) = &proposal.outlook {
                let [half_as_much_again, double] = outlook.larger;
                output::line(&outlooks(&[
                    ("today", outlook.today),
                    ("proposed", outlook.proposed),
                    ("with 1.5 × the budget", half_as_much_again),
                    ("with 2 × the budget", double),
                ]))?;
            }
            if !proposal.values.speeds.is_empty() {
                output::line(&speeds(&proposal.values.speeds))?;
            }
            match applied {
                Some(number) => output::line(&format!("Applied as calibration {number}.")),
                None => output::line("Not applied; --apply does that."),
            }
        }
    }
}

fn heading(proposal: &Proposal) -> String {
    let Proposal { app, answered, read, calibration, values, .. } = proposal;
    let in_force = match calibration {
        0 => "the configuration is in force".to_owned(),
        number => format!("calibration {number} is in force"),
    };
    format!("App {app}: {answered} answers, {read} read; total {} ms; {in_force}.", values.total_ms)
}

fn stages(proposal: &Proposal) -> String {
    let mut table = numbers(&[
        "stage",
        "n",
        "cut %",
        "p50 ms",
        "p95 ms",
        "p99 ms",
        "today ms",
        "proposed ms",
        "",
    ]);
    for line in &proposal.stages {
        let of = |show: fn(&ledger::calibration::Evidence) -> String| {
            line.evidence.as_ref().map_or_else(|| "-".to_owned(), show)
        };
        table.add_row([
            line.stage.to_owned(),
            of(|evidence| evidence.n.to_string()),
            of(|evidence| percent(evidence.cut)),
            of(|evidence| estimate(evidence.p50)),
            of(|evidence| estimate(evidence.p95)),
            of(|evidence| estimate(evidence.p99)),
            line.today_ms.to_string(),
            line.proposed_ms.to_string(),
            line.remark.unwrap_or_default().to_owned(),
        ]);
    }
    aligned(table)
}

fn cutoffs(proposal: &Proposal) -> String {
    let (today, proposed) = (proposal.today, proposal.proposed);
    format!(
        "Retrieval cut-off: {} ms today, {} ms proposed. First-token cut-off: {} ms today, {} ms proposed.",
        today.retrieval_ms, proposed.retrieval_ms, today.first_token_ms, proposed.first_token_ms
    )
}

fn outlooks(lines: &[(&str, Outlook)]) -> String {
    let mut table = numbers(&[
        "expected",
        "total ms",
        "complete %",
        "from vectors %",
        "partial %",
        "template %",
        "extra calls %",
    ]);
    for (name, outlook) in lines {
        table.add_row([
            (*name).to_owned(),
            outlook.total_ms.to_string(),
            percent(outlook.complete),
            percent(outlook.semantic),
            percent(outlook.partial),
            percent(outlook.template),
            percent(outlook.extra_calls),
        ]);
    }
    aligned(table)
}

fn speeds(speeds: &[Speed]) -> String {
    let mut table = numbers(&["model", "hour (UTC)", "calls", "first token ms", "tokens/s", ""]);
    for speed in speeds {
        table.add_row([
            speed.model.clone(),
            speed.hour.map_or_else(|| "all".to_owned(), |hour| format!("{hour:02}")),
            speed.n.to_string(),
            estimate(Estimate { ms: speed.first_token_ms, is_lower_bound: speed.is_lower_bound }),
            speed.tokens_per_second.map_or_else(|| "-".to_owned(), |pace| format!("{pace:.0}")),
            missing(speed),
        ]);
    }
    aligned(table)
}

/// What a model still lacks for its speed to be used.
fn missing(speed: &Speed) -> String {
    match FEWEST_CALLS.saturating_sub(speed.n) {
        0 => String::new(),
        missing => format!("not used: {missing} more calls are needed"),
    }
}

fn numbers(heading: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header(heading.iter().copied());
    table
}

/// Numbers to the right, names to the left.
fn aligned(mut table: Table) -> String {
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}

fn percent(share: f64) -> String {
    format!("{:.1}", share * 100.0)
}

fn estimate(estimate: Estimate) -> String {
    let sign = if estimate.is_lower_bound { "≥ " } else { "" };
    format!("{sign}{:.0}", estimate.ms)
}
