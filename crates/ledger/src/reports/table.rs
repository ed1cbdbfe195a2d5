//! [`Table`]: what a report comes to.

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

/// A report's rows. Serialised, it is an array with one object a row, its keys in the columns' order.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    pub columns: Vec<&'static str>,
    /// Each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Cell {
    Nothing,
    Flag(bool),
    Count(i64),
    Number(f64),
    Text(String),
}

impl Table {
    /// One line of column names, then a line a row; numbers as in JSON.
    #[must_use]
    pub fn to_csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let reason = "every row is as long as the columns, and memory takes what it is given";
        writer.write_record(&self.columns).expect(reason);
        for row in &self.rows {
            writer.write_record(row.iter().map(Cell::plain)).expect(reason);
        }
        let bytes = writer.into_inner().expect("memory takes what it is given");
        String::from_utf8(bytes).expect("texts and commas are UTF-8")
    }
}

impl Cell {
    /// As programs read it; nothing is rounded.
    #[must_use]
    pub fn plain(&self) -> String {
        match self {
            Self::Nothing => String::new(),
            Self::Flag(flag) => flag.to_string(),
            Self::Count(count) => count.to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// A row with its column names.
struct Named<'a>(&'a [&'static str], &'a [Cell]);

impl Serialize for Table {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.rows.iter().map(|row| Named(&self.columns, row)))
    }
}

impl Serialize for Named<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (column, cell) in self.0.iter().zip(self.1) {
            map.serialize_entry(column, cell)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn csv_quotes_what_needs_it_and_rounds_nothing() {
        let row = vec![
            Cell::Text("a, \"b\"".to_owned()),
            Cell::Nothing,
            Cell::Number(12.3456),
            Cell::Count(7),
            Cell::Flag(true),
        ];
        let columns = vec!["app", "p50_ms", "p95_ms", "n", "is_exact"];
        let expected = "app,p50_ms,p95_ms,n,is_exact\n\"a, \"\"b\"\"\",,12.3456,7,true\n";
        assert_eq!(Table { columns, rows: vec![row] }.to_csv(), expected);
    }

    #[test]
    fn rows_are_objects_whose_keys_keep_the_order_of_the_columns() {
        let row =
            vec![Cell::Text("b".to_owned()), Cell::Nothing, Cell::Number(0.5), Cell::Count(3)];
        let table = Table { columns: vec!["z", "a", "y", "b"], rows: vec![row] };
        let json = serde_json::to_string(&table).unwrap();
        assert_eq!(json, r#"[{"z":"b","a":null,"y":0.5,"b":3}]"#);
    }
}
