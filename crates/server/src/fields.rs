//! [`Fields`]: a JSON object taken apart field by field, so that every complaint names its field.

use serde_json::{Map, Value};

use crate::problem::{Code, Problem};

/// An object's fields, each to be taken once; what is left at the end is unknown.
#[derive(Debug)]
pub(crate) struct Fields {
    object: Map<String, Value>,
    /// Written before the names of nested fields: `filters.`.
    prefix: &'static str,
}

impl Fields {
    pub(crate) fn new(object: Map<String, Value>) -> Self {
        Self { object, prefix: "" }
    }

    /// A text; `None` if it is absent or null.
    pub(crate) fn text(&mut self, name: &str) -> Result<Option<String>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(name, "a string", &other)),
        }
    }

    /// A text that is parsed further.
    pub(crate) fn parsed<T>(&mut self, name: &str) -> Result<Option<T>, Problem>
    where
        T: std::str::FromStr<Err: std::fmt::Display>,
    {
        let Some(text) = self.text(name)? else { return Ok(None) };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(error) => {
                Err(Problem::new(Code::InvalidField, error.to_string()).at(self.full_name(name)))
            }
        }
    }

    /// A whole number within `range`.
    pub(crate) fn number(
        &mut self,
        name: &str,
        range: std::ops::RangeInclusive<u64>,
        code: Code,
    ) -> Result<Option<u64>, Problem> {
        let Some(value) = self.take(name) else { return Ok(None) };
        match value.as_u64() {
            Some(number) if range.contains(&number) => Ok(Some(number)),
            _ => {
                let full = self.full_name(name);
                let (least, most) = range.into_inner();
                let detail = format!("{full} must be a whole number from {least} to {most}");
                Err(Problem::new(code, detail).at(full))
            }
        }
    }

    /// Yes or no; `None` if it is absent or null.
    pub(crate) fn flag(&mut self, name: &str) -> Result<Option<bool>, Problem> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(flag)),
            Some(other) => Err(self.wrong(name, "true or false", &other)),
        }
    }

    /// A list of at most `most` texts; empty if it is absent.
    pub(crate) fn texts(&mut self, name: &str, most: usize) -> Result<Vec<String>, Problem> {
        let Some(value) = self.take(name) else { return Ok(Vec::new()) };
        let texts = value.as_array().and_then(|items| {
            items.iter().map(|item| item.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
        });
        let texts = texts.ok_or_else(|| self.wrong(name, "an array of strings", &value))?;
        if texts.len() > most {
            let full = self.full_name(name);
            let detail = format!("{full} may hold at most {most} strings");
            return Err(Problem::new(Code::InvalidField, detail).at(full));
        }
        Ok(texts)
    }

    /// A nested object; empty if it is absent.
    pub(crate) fn nested(&mut self, name: &str, prefix: &'static str) -> Result<Self, Problem> {
        match self.take(name) {
            None => Ok(Self { object: Map::new(), prefix }),
            Some(Value::Object(object)) => Ok(Self { object, prefix }),
            Some(other) => Err(self.wrong(name, "an object", &other)),
        }
    }

    /// Refuses what nobody has taken.
    pub(crate) fn finish(self, known: &str) -> Result<(), Problem> {
        match self.object.keys().next() {
            None => Ok(()),
            Some(name) => {
                let full = self.full_name(name);
                let detail = format!("there is no field {full:?}; the fields are {known}");
                Err(Problem::new(Code::UnknownField, detail).at(full))
            }
        }
    }

    fn take(&mut self, name: &str) -> Option<Value> {
        self.object.remove(name).filter(|value| !value.is_null())
    }

    fn full_name(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    fn wrong(&self, name: &str, expected: &str, found: &Value) -> Problem {
        let full = self.full_name(name);
        let detail = format!("{full} must be {expected}, not {}", kind_of(found));
        Problem::new(Code::InvalidField, detail).at(full)
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn fields(value: &Value) -> Fields {
        Fields::new(value.as_object().expect("an object").clone())
    }

    #[test]
    fn a_wrong_type_is_named_with_its_field() {
        let problem = fields(&json!({"question": 5})).text("question").unwrap_err();
        let expected = Problem::new(Code::InvalidField, "question must be a string, not a number");
        assert_eq!(problem, expected.at("question"));
        let mut nested = fields(&json!({"filters": {"tags": ["a", 1]}}));
        let mut nested = nested.nested("filters", "filters.").unwrap();
        let problem = nested.texts("tags", 9).unwrap_err();
        let expected = "filters.tags must be an array of strings, not an array";
        assert_eq!(problem, Problem::new(Code::InvalidField, expected).at("filters.tags"));
    }

    #[test]
    fn numbers_must_be_whole_and_in_range() {
        for value in
            [json!(0), json!(11), json!(1.5), json!(-1), json!("5"), json!(true), json!(1e30)]
        {
            let taken = fields(&json!({"k": value})).number("k", 1..=10, Code::InvalidBudget);
            assert_eq!(taken.unwrap_err().code(), Code::InvalidBudget, "{value}");
        }
        let taken = fields(&json!({"k": 10})).number("k", 1..=10, Code::InvalidBudget);
        assert_eq!(taken, Ok(Some(10)));
    }

    #[test]
    fn null_is_absent_and_the_rest_is_unknown() {
        let mut object = fields(&json!({"lang": null, "langs": "ja"}));
        assert_eq!(object.text("lang"), Ok(None));
        assert_eq!(object.finish("lang").unwrap_err().code(), Code::UnknownField);
    }
}
