//! [`Changed`]: settings that are not the defaults, and who says so.

use std::collections::BTreeMap;

use toml::{Table, Value};

use super::ConfigError;
use super::layers::{DEFAULTS, Sources, environment_layers, nested, read_file};

/// One setting that is not the default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Changed {
    /// Such as `budget.total`.
    pub(crate) key: String,
    /// As TOML.
    pub(crate) value: String,
    /// A file, an environment variable or the command line.
    pub(crate) from: String,
}

/// The settings of `sources` that are not the defaults, by key.
///
/// # Errors
///
/// [`ConfigError`], as of [`load`](super::load).
pub(crate) fn changed(sources: &Sources) -> Result<Vec<Changed>, ConfigError> {
    let mut said: BTreeMap<String, (Value, String)> = BTreeMap::new();
    let mut lay = |layer: Table, from: &str| {
        let leaves = leaves("", layer).into_iter();
        said.extend(leaves.map(|(key, value)| (key, (value, from.to_owned()))));
    };
    if let Some((path, layer)) = read_file(sources.file.as_deref())? {
        lay(layer, &path.display().to_string());
    }
    for (name, layer) in environment_layers(sources) {
        lay(layer, name);
    }
    for (key, text) in &sources.command_line {
        let keys: Vec<String> = key.split('.').map(str::to_owned).collect();
        lay(nested(&keys, Value::String(text.clone())), "the command line");
    }
    let usual = leaves("", DEFAULTS.parse().expect("the built-in defaults are tested to be TOML"));
    said.retain(|key, (value, _)| usual.get(key) != Some(value));
    let changed = |(key, (value, from)): (String, (Value, String))| Changed {
        key,
        value: value.to_string(),
        from,
    };
    Ok(said.into_iter().map(changed).collect())
}

/// Dotted keys and what is not a table behind them.
fn leaves(prefix: &str, table: Table) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::new();
    for (key, value) in table {
        let key = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
        if let Value::Table(inner) = value {
            all.extend(leaves(&key, inner));
        } else {
            all.insert(key, value);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_to_speak_is_named_and_defaults_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.toml");
        let text =
            "[budget]\ntotal = \"3s\"\nreserve = \"50ms\"\n[apps.shop.budget]\ntotal = \"2s\"";
        std::fs::write(&path, text).unwrap();
        let environment = BTreeMap::from([
            ("KIWARI__BUDGET__TOTAL".to_owned(), "5s".to_owned()),
            ("DATABASE_URL".to_owned(), "postgres://u:hush@h/d".to_owned()),
        ]);
        let command_line = vec![("data.dir", "elsewhere".to_owned())];
        let sources = Sources { file: Some(path.clone()), environment, command_line };
        let changed = changed(&sources).unwrap();
        let file = path.display().to_string();
        let expected = [
            ("apps.shop.budget.total", "\"2s\"", file.as_str()),
            ("budget.total", "\"5s\"", "KIWARI__BUDGET__TOTAL"),
            ("data.dir", "\"elsewhere\"", "the command line"),
        ];
        let found: Vec<_> =
            changed.iter().map(|one| (&*one.key, &*one.value, &*one.from)).collect();
        assert_eq!(found, expected);
    }
}
