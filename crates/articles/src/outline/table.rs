//! A table being read, one row at a time.
//!
//! A row is written as one line. Where the table has a header, each cell carries the name of its column
//! (`Plan: Pro | Storage: 100 GB`), because an answer quotes single rows, and a row of bare values says nothing
//! alone. Spans are not looked at, so a table costs no more than its source.

use super::flow::{Flow, Gap};

/// The open table.
#[derive(Debug, Default)]
pub(super) struct Table {
    header: Vec<String>,
    row: Vec<Cell>,
    /// The cell being written.
    cell: Option<(CellKind, Flow)>,
    progress: Progress,
}

/// How far the table has been read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    Nothing,
    Header,
    Rows,
}

#[derive(Debug)]
struct Cell {
    kind: CellKind,
    text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CellKind {
    Header,
    Value,
}

/// A header longer than this, in characters of all its columns, is written once and not before every cell.
const LONGEST_HEADER: usize = 160;

/// A cell longer than this (in characters) is a piece of layout.
const LONGEST_CELL: usize = 600;

/// What one row amounts to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Row {
    Nothing,
    Line(String),
    /// The table only lays out the page.
    Blocks(Vec<String>),
}

impl Table {
    /// The flow of the open cell.
    pub(super) fn cell(&mut self) -> Option<&mut Flow> {
        self.cell.as_mut().map(|(_, flow)| flow)
    }

    pub(super) fn open_cell(&mut self, kind: CellKind) {
        self.close_cell();
        self.cell = Some((kind, Flow::default()));
    }

    pub(super) fn close_cell(&mut self) {
        if let Some((kind, mut flow)) = self.cell.take() {
            self.row.push(Cell { kind, text: flow.take() });
        }
    }

    /// Ends the row and says what to write for it.
    pub(super) fn close_row(&mut self) -> Row {
        self.close_cell();
        let row = std::mem::take(&mut self.row);
        if row.iter().all(|cell| cell.text.is_empty()) {
            return Row::Nothing;
        }
        let names = row.len() > 1
            && row.iter().all(|cell| cell.kind == CellKind::Header || cell.text.is_empty());
        if names && self.progress == Progress::Nothing {
            return self.take_header(row);
        }
        self.progress = Progress::Rows;
        if self.header.is_empty() && row.iter().any(|cell| is_layout(&cell.text)) {
            return Row::Blocks(
                row.into_iter().map(|cell| cell.text).filter(|text| !text.is_empty()).collect(),
            );
        }
        Row::Line(self.line(&row))
    }

    fn take_header(&mut self, row: Vec<Cell>) -> Row {
        let header: Vec<String> = row.into_iter().map(|cell| one_line(&cell.text)).collect();
        if header.iter().map(|name| name.chars().count()).sum::<usize>() > LONGEST_HEADER {
            return Row::Line(header.join(" | "));
        }
        self.header = header;
        self.progress = Progress::Header;
        Row::Nothing
    }

    fn line(&self, row: &[Cell]) -> String {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate().filter(|(_, cell)| !cell.text.is_empty()) {
            if !line.is_empty() {
                line.push_str(" | ");
            }
            if let Some(name) = self.header.get(column).filter(|name| !name.is_empty()) {
                line.push_str(name.trim_end_matches([':', '：']));
                line.push_str(": ");
            }
            line.push_str(&one_line(&cell.text));
        }
        line
    }

    /// The table's end: a header without rows is still text.
    pub(super) fn finish(&mut self) -> Row {
        match self.close_row() {
            Row::Nothing if self.progress == Progress::Header => Row::Line(self.header.join(" | ")),
            row @ (Row::Nothing | Row::Line(_) | Row::Blocks(_)) => row,
        }
    }
}

fn is_layout(text: &str) -> bool {
    text.contains("\n\n") || text.chars().nth(LONGEST_CELL).is_some()
}

fn one_line(text: &str) -> String {
    let mut flow = Flow::default();
    text.lines().for_each(|line| {
        flow.words(line);
        flow.apart(Gap::Space);
    });
    flow.take()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rows: &[&[(CellKind, &str)]], expected: &[&str]) {
        let mut table = Table::default();
        let mut lines = Vec::new();
        let mut write = |row| match row {
            Row::Nothing => {}
            Row::Line(line) => lines.push(line),
            Row::Blocks(blocks) => lines.extend(blocks),
        };
        for row in rows {
            for (kind, text) in *row {
                table.open_cell(*kind);
                let cell = table.cell().unwrap();
                text.split("\n\n").for_each(|paragraph| {
                    cell.words(paragraph);
                    cell.apart(Gap::Paragraph);
                });
            }
            write(table.close_row());
        }
        write(table.finish());
        assert_eq!(lines, expected);
    }

    const H: CellKind = CellKind::Header;
    const V: CellKind = CellKind::Value;

    #[test]
    fn cells_carry_the_name_of_their_column() {
        check(
            &[&[(H, "Plan"), (H, "Storage:")], &[(V, "Free"), (V, "1 GB")], &[(V, "Pro"), (V, "")]],
            &["Plan: Free | Storage: 1 GB", "Plan: Pro"],
        );
        check(
            &[&[(H, ""), (H, "Free")], &[(H, "Storage"), (V, "1 GB")]],
            &["Storage | Free: 1 GB"],
        );
    }

    #[test]
    fn without_a_header_cells_stand_alone() {
        check(&[&[(V, "a"), (V, "b")], &[(V, "c")]], &["a | b", "c"]);
    }

    #[test]
    fn a_long_header_is_written_once() {
        let long = "x".repeat(LONGEST_HEADER);
        check(
            &[&[(H, &long), (H, "y")], &[(V, "1"), (V, "2")]],
            &[&format!("{long} | y"), "1 | 2"],
        );
    }

    #[test]
    fn a_header_without_rows_is_kept() {
        check(&[&[(H, "Plan"), (H, "Storage")]], &["Plan | Storage"]);
    }

    #[test]
    fn a_table_that_only_lays_out_the_page_is_taken_apart() {
        check(&[&[(V, "one\n\ntwo"), (V, "three")]], &["one\n\ntwo", "three"]);
        check(&[&[(H, "A"), (H, "B")], &[(V, "one\n\ntwo"), (V, "x")]], &["A: one two | B: x"]);
    }
}
