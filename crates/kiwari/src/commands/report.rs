//! `kiwari report`.

use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::bail;
use comfy_table::{CellAlignment, Table, presets};
use ingest::DataDir;
use ledger::{StageRow, Store, stages};

use crate::cli::{Report, ReportName};
use crate::config::Config;
use crate::output;

pub(crate) async fn run(config: &Config, arguments: &Report) -> anyhow::Result<ExitCode> {
    let path = DataDir::new(&config.data_dir).ledger();
    if !path.is_file() {
        bail!("there is no latency log at {}; `kiwari serve` writes one", path.display());
    }
    let store = Store::open(&path).await?;
    let since = SystemTime::now().checked_sub(arguments.since).unwrap_or(SystemTime::UNIX_EPOCH);
    let app = arguments.app.as_ref().map(domain::AppName::as_str);
    match arguments.name {
        ReportName::Stages => {
            let rows = stages(&store, since, app).await?;
            if arguments.json { output::json(&rows)? } else { output::line(&stage_table(&rows))? }
        }
    }
    store.close().await;
    Ok(ExitCode::SUCCESS)
}

fn stage_table(rows: &[StageRow]) -> String {
    if rows.is_empty() {
        return "no requests in that time".to_owned();
    }
    let mut table = Table::new();
    table.load_style(presets::UTF8_HORIZONTAL_ONLY);
    table.set_header([
        "stage", "count", "p50 ms", "p95 ms", "p99 ms", "ok", "skipped", "cut", "failed",
    ]);
    for row in rows {
        let time = |ms: Option<f64>| ms.map_or("-".to_owned(), |ms| format!("{ms:.2}"));
        let share = |share: f64| format!("{:.1} %", share * 100.0);
        table.add_row([
            row.stage.clone(),
            row.count.to_string(),
            time(row.p50_ms),
            time(row.p95_ms),
            time(row.p99_ms),
            share(row.ok),
            share(row.skipped),
            share(row.cut),
            share(row.failed),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.to_string()
}
