//! `kiwari report`.

use std::process::ExitCode;
use std::time::SystemTime;

use anyhow::bail;
use comfy_table::{CellAlignment, Table as Drawing, presets};
use ingest::DataDir;
use ledger::reports::{self, Cell, ReportError, Scope, Source, Table};
use ledger::{PgSettings, Store};

use crate::cli::Report;
use crate::config::Config;
use crate::output;

/// As for other wrong usage.
const EXIT_USAGE: u8 = 64;

pub(crate) async fn run(
    config: &Config,
    arguments: &Report,
    database: Option<&PgSettings>,
) -> anyhow::Result<ExitCode> {
    let source = source(config, database).await?;
    let since = SystemTime::now().checked_sub(arguments.since).unwrap_or(SystemTime::UNIX_EPOCH);
    let app = arguments.app.as_ref().map(domain::AppName::as_str);
    let scope = Scope { since, app, per: arguments.per.as_deref() };
    let table = reports::run(&source, &arguments.name, scope).await;
    source.close().await;
    match table {
        Ok(table) => print(&table, arguments)?,
        Err(error @ (ReportError::Unknown { .. } | ReportError::Per { .. })) => {
            output::complain(&error.into());
            return Ok(ExitCode::from(EXIT_USAGE));
        }
        Err(error) => return Err(error.into()),
    }
    Ok(ExitCode::SUCCESS)
}

/// Postgres where there is one; its rows pass through the local file only on their way there.
async fn source(config: &Config, database: Option<&PgSettings>) -> anyhow::Result<Source> {
    if let Some(database) = database {
        return Ok(Source::postgres(database));
    }
    let path = DataDir::new(&config.data_dir).ledger();
    if !path.is_file() {
        bail!("there is no latency log at {}; `kiwari serve` writes one", path.display());
    }
    Ok(Source::Sqlite(Store::open(&path).await?))
}

fn print(table: &Table, arguments: &Report) -> anyhow::Result<()> {
    if arguments.json {
        output::json(table)
    } else if arguments.csv {
        output::line(table.to_csv().trim_end())
    } else if table.rows.is_empty() {
        output::line("no requests in that time")
    } else {
        output::line(&drawn(table))
    }
}

fn drawn(table: &Table) -> String {
    let mut drawing = Drawing::new();
    drawing.load_style(presets::UTF8_HORIZONTAL_ONLY);
    drawing.set_header(table.columns.iter().map(|column| heading(column)));
    for row in &table.rows {
        drawing
            .add_row(table.columns.iter().zip(row).map(|(column, cell)| for_people(column, cell)));
    }
    let is_number = |at: usize| {
        table.rows.iter().any(|row| matches!(row.get(at), Some(Cell::Count(_) | Cell::Number(_))))
    };
    for (at, column) in drawing.column_iter_mut().enumerate() {
        if is_number(at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    drawing.to_string()
}

/// `p95_ms` as `p95 ms`.
fn heading(column: &str) -> String {
    column.replace('_', " ")
}

/// Times to a hundredth of a millisecond, money to a hundredth of a cent, shares in per cent.
fn for_people(column: &str, cell: &Cell) -> String {
    match cell {
        Cell::Nothing => "-".to_owned(),
        Cell::Flag(flag) => if *flag { "yes" } else { "no" }.to_owned(),
        Cell::Number(number) if column.ends_with("_ms") || column.ends_with("_ratio") => {
            format!("{number:.2}")
        }
        Cell::Number(number) if column.ends_with("_usd") => format!("{number:.4}"),
        Cell::Number(share) => format!("{:.1} %", share * 100.0),
        Cell::Count(_) | Cell::Text(_) => cell.plain(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let row = vec![
            Cell::Text("a, \"b\"".to_owned()),
            Cell::Nothing,
            Cell::Number(12.3456),
            Cell::Number(0.25),
            Cell::Count(7),
            Cell::Flag(true),
        ];
        Table {
            columns: vec!["app", "p50_ms", "p95_ms", "share", "n", "is_exact"],
            rows: vec![row],
        }
    }

    #[test]
    fn people_see_units() {
        let drawn = drawn(&table());
        for part in ["p95 ms", "12.35", "25.0 %", "yes", " - "] {
            assert!(drawn.contains(part), "{part:?} in {drawn}");
        }
    }
}
