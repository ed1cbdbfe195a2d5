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
    fn rows_are_objects_whose_keys_keep_the_order_of_the_columns() {
        let row =
            vec![Cell::Text("b".to_owned()), Cell::Nothing, Cell::Number(0.5), Cell::Count(3)];
        let table = Table { columns: vec!["z", "a", "y", "b"], rows: vec![row] };
        let json = serde_json::to_string(&table).unwrap();
        assert_eq!(json, r#"[{"z":"b","a":null,"y":0.5,"b":3}]"#);
    }
}
