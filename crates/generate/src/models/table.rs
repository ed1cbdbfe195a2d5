//! The table of models that comes with the program.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::ModelSettings;

static TABLE: LazyLock<BTreeMap<String, ModelSettings>> =
    LazyLock::new(|| toml::from_str(include_str!("table.toml")).expect("a test reads the table"));

/// What is known of the model called `name`, or of the one it is a dated or numbered revision of.
pub(super) fn row(name: &str) -> Option<&'static ModelSettings> {
    let name = name.rsplit_once('/').map_or(name, |(_, last)| last);
    TABLE.get(name).or_else(|| TABLE.get(without_revision(name)?))
}

/// `gpt-4.1-2025-04-14` is `gpt-4.1`, and `gemini-3.5-flash-lite-001` is `gemini-3.5-flash-lite`. Any other
/// suffix may be another model.
fn without_revision(name: &str) -> Option<&str> {
    let base = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-');
    let revision = name.strip_prefix(base)?;
    let longer = |part: &str| part.len() >= 2;
    let cut =
        revision.find('-').filter(|&at| revision.split_at(at).1.split('-').skip(1).all(longer))?;
    name.get(..base.len() + cut)
}

#[cfg(test)]
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    TABLE.keys().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_are_the_same_model_and_other_names_are_not() {
        for name in [
            "gemini-3.5-flash-lite-001",
            "models/gemini-3.5-flash-lite",
            "google/gemini-3.5-flash-lite",
        ] {
            assert_eq!(row(name), row("gemini-3.5-flash-lite"), "{name}");
        }
        assert_eq!(row("gpt-4.1-2025-04-14"), row("gpt-4.1"));
        assert!(row("gpt-4.1").is_some());
        for name in
            ["gemini-3.8-flash-lite", "gemini-3.8", "gpt-4.1-", "gpt-4.1-1", "gpt", "llama-3", ""]
        {
            assert_eq!(row(name), None, "{name}");
        }
    }
}
