//! Laying the sources over each other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use thiserror::Error;
use toml::{Table, Value};

use super::Config;
use super::file::File;
use super::secrets::Secrets;

pub(super) const DEFAULTS: &str = include_str!("../../config/default.toml");

/// Looked for in the working directory when no file is named.
const USUAL_FILE: &str = "kiwari.toml";

/// Where settings may come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sources {
    /// A file that must be there.
    pub(crate) file: Option<PathBuf>,
    pub(crate) environment: BTreeMap<String, String>,
    /// What the command line says: dotted key and text, over everything else.
    pub(crate) command_line: Vec<(&'static str, String)>,
}

/// Settings that cannot be used.
#[derive(Debug, Error)]
pub(crate) enum ConfigError {
    #[error("cannot read the configuration {}", path.display())]
    Read { path: PathBuf, source: std::io::Error },
    #[error("the configuration {} is not TOML", path.display())]
    Syntax { path: PathBuf, source: toml::de::Error },
    #[error("{origin}: there is no setting {key}{}", suggestion.as_ref().map_or(String::new(), |s| format!("; did you mean {s}?")))]
    UnknownKey { origin: String, key: String, suggestion: Option<String> },
    #[error("setting {key}: {message}")]
    Invalid { key: String, message: String },
}

/// Loads, lays over and checks all sources.
pub(crate) fn load(sources: &Sources) -> Result<Config, ConfigError> {
    let mut table: Table = DEFAULTS.parse().expect("the built-in defaults are tested to be TOML");
    let defaults = table.clone();
    if let Some((path, layer)) = read_file(sources.file.as_deref())? {
        check_known(&layer, &defaults, &path.display().to_string())?;
        overlay(&mut table, layer);
    }
    for (name, layer) in environment_layers(sources) {
        check_known(&layer, &defaults, &format!("environment variable {name}"))?;
        overlay(&mut table, layer);
    }
    for (key, text) in &sources.command_line {
        let keys: Vec<String> = key.split('.').map(str::to_owned).collect();
        overlay(&mut table, nested(&keys, Value::String(text.clone())));
    }
    let file: File = serde_path_to_error::deserialize(Value::Table(table)).map_err(invalid)?;
    Config::check(file, Secrets::read(&sources.environment)?)
}

/// The variables of the environment that are settings, each as a table.
pub(super) fn environment_layers(sources: &Sources) -> impl Iterator<Item = (&String, Table)> {
    sources.environment.iter().filter_map(|(name, text)| {
        let keys = name.strip_prefix("KIWARI__")?;
        let keys: Vec<String> = keys.split("__").map(str::to_lowercase).collect();
        Some((name, nested(&keys, scalar(text))))
    })
}

pub(super) fn read_file(named: Option<&Path>) -> Result<Option<(PathBuf, Table)>, ConfigError> {
    let path = match named {
        Some(path) => path.to_owned(),
        None if Path::new(USUAL_FILE).is_file() => PathBuf::from(USUAL_FILE),
        None => return Ok(None),
    };
    let text = std::fs::read_to_string(&path)
        .map_err(|source| ConfigError::Read { path: path.clone(), source })?;
    match text.parse() {
        Ok(table) => Ok(Some((path, table))),
        Err(source) => Err(ConfigError::Syntax { path, source }),
    }
}

/// `a.b = value` as a table.
pub(super) fn nested(keys: &[String], value: Value) -> Table {
    let mut table = Table::new();
    match keys {
        [] => {}
        [key] => {
            table.insert(key.clone(), value);
        }
        [key, rest @ ..] => {
            table.insert(key.clone(), Value::Table(nested(rest, value)));
        }
    }
    table
}

/// Environment variables have no types: what reads as a whole number or as true or false is one.
fn scalar(text: &str) -> Value {
    match (text.parse::<i64>(), text) {
        (Ok(number), _) => Value::Integer(number),
        (_, "true") => Value::Boolean(true),
        (_, "false") => Value::Boolean(false),
        _ => Value::String(text.to_owned()),
    }
}

fn overlay(below: &mut Table, above: Table) {
    for (key, value) in above {
        match (below.get_mut(&key), value) {
            (Some(Value::Table(inner)), Value::Table(over)) => overlay(inner, over),
            (_, value) => {
                below.insert(key, value);
            }
        }
    }
}

/// Every key must be one that the defaults show; below `apps.NAME` the shape is that of an app, and a model's is
/// checked where it is read.
fn check_known(layer: &Table, defaults: &Table, origin: &str) -> Result<(), ConfigError> {
    for (section, value) in layer {
        let Some(known) = defaults.get(section).and_then(Value::as_table) else {
            return Err(unknown(origin, section.clone(), "", section, defaults));
        };
        let Value::Table(keys) = value else { continue };
        if section == "apps" {
            check_apps(keys, defaults, origin)?;
            continue;
        }
        if section == "models" {
            continue;
        }
        if let Some(key) = keys.keys().find(|key| !known.contains_key(*key)) {
            let prefix = format!("{section}.");
            return Err(unknown(origin, format!("{prefix}{key}"), &prefix, key, known));
        }
    }
    Ok(())
}

fn check_apps(apps: &Table, defaults: &Table, origin: &str) -> Result<(), ConfigError> {
    let shares = defaults.get("budget").and_then(Value::as_table);
    let shape = Table::from_iter([("budget".to_owned(), Value::Table(Table::new()))]);
    for (app, value) in apps {
        let Value::Table(sections) = value else { continue };
        for (section, value) in sections {
            let prefix = format!("apps.{app}.");
            if section != "budget" {
                return Err(unknown(
                    origin,
                    format!("{prefix}{section}"),
                    &prefix,
                    section,
                    &shape,
                ));
            }
            let (Value::Table(keys), Some(shares)) = (value, shares) else { continue };
            let prefix = format!("{prefix}budget.");
            if let Some(key) = keys.keys().find(|key| !shares.contains_key(*key)) {
                return Err(unknown(origin, format!("{prefix}{key}"), &prefix, key, shares));
            }
        }
    }
    Ok(())
}

fn unknown(origin: &str, key: String, prefix: &str, last: &str, known: &Table) -> ConfigError {
    let suggestion = known
        .keys()
        .map(|candidate| (edits(last, candidate), candidate))
        .min()
        .filter(|(distance, _)| *distance <= 2)
        .map(|(_, candidate)| format!("{prefix}{candidate}"));
    ConfigError::UnknownKey { origin: origin.to_owned(), key, suggestion }
}

/// Levenshtein distance.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

fn invalid(error: serde_path_to_error::Error<toml::de::Error>) -> ConfigError {
    let key = error.path().to_string();
    ConfigError::Invalid { key, message: error.into_inner().message().to_owned() }
}

#[cfg(test)]
mod tests {
    use super::super::shares::Kind;
    use super::*;

    fn with_environment(pairs: &[(&str, &str)]) -> Result<Config, ConfigError> {
        let environment =
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        load(&Sources { environment, ..Sources::default() })
    }

    fn with_file(text: &str) -> Result<Config, ConfigError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.toml");
        std::fs::write(&path, text).unwrap();
        load(&Sources { file: Some(path), ..Sources::default() })
    }

    #[track_caller]
    fn refused(result: Result<Config, ConfigError>, part: &str) {
        let message = result.unwrap_err().to_string();
        assert!(message.contains(part), "{message:?} should contain {part:?}");
    }

    #[test]
    fn the_defaults_stand_on_their_own() {
        let config = load(&Sources::default()).unwrap();
        assert_eq!(config.shares.longest().as_millis(), 4000);
    }

    #[test]
    fn the_environment_goes_over_the_file_and_the_command_line_over_both() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("k.toml");
        std::fs::write(&path, "[budget]\ntotal = \"3s\"\nreserve = \"40ms\"").unwrap();
        let sources = Sources {
            file: Some(path),
            environment: BTreeMap::from([("KIWARI__BUDGET__TOTAL".to_owned(), "2s".to_owned())]),
            command_line: vec![("data.dir", "elsewhere".to_owned())],
        };
        let config = load(&sources).unwrap();
        let allotment = config.shares.of_app(None, Kind::EMBEDDED);
        assert_eq!(allotment.total().as_millis(), 2000);
        assert_eq!(allotment.reserve().as_millis(), 40);
        assert_eq!(config.data_dir, Path::new("elsewhere"));
    }

    #[test]
    fn unknown_keys_are_refused_by_name_with_a_suggestion() {
        refused(with_file("[budget]\ntotl = \"3s\""), "budget.totl; did you mean budget.total?");
        refused(with_file("[bugdet]\ntotal = \"3s\""), "bugdet; did you mean budget?");
        refused(with_file("[apps.shop.budget]\nembde = \"3s\""), "apps.shop.budget.embde");
        refused(with_file("[apps.shop]\nname = \"x\""), "apps.shop.name");
        refused(with_environment(&[("KIWARI__SERVER__BINDD", "x")]), "KIWARI__SERVER__BINDD");
    }

    #[test]
    fn wrong_values_are_refused_by_name() {
        refused(with_file("[budget]\ntotal = 4"), "budget.total");
        refused(with_file("[budget]\ntotal = \"soon\""), "budget.total");
        refused(with_file("[server]\nbind = \"nowhere\""), "server.bind");
        refused(with_file("server = 5"), "server");
        refused(with_file("[apps.\"Not A Name\"]"), "apps");
        refused(with_environment(&[("KIWARI__SERVER__PUBLIC", "maybe")]), "server.public");
        refused(with_file("[answer]\ntop_k = 0"), "answer.top_k");
        refused(with_file("[question]\nlongest = 0"), "question.longest");
        for often in ["0s", "1ns", "999ms"] {
            let file = format!("[calibration]\nlook_every = \"{often}\"");
            refused(with_file(&file), "calibration.look_every: must be at least 1s");
        }
        let ledger = |line: &str| with_file(&format!("[ledger]\n{line}"));
        refused(ledger("keep_days = 0"), "ledger.keep_days: must lie between 1 and 65535");
        refused(
            ledger("keep_days = 401"),
            "ledger.histogram_days: must be at least ledger.keep_days",
        );
        refused(ledger("outbox_days = 31"), "ledger.outbox_days: must lie between 1 and 30");
        refused(ledger("flush_every = \"2s\""), "ledger.flush_every: must lie between 1ms and 1s");
        refused(ledger("batch = 0"), "ledger.batch");
        refused(ledger("queue = 255"), "ledger.queue: must hold a batch");
        refused(ledger("ship_batch = 10001"), "ledger.ship_batch");
        refused(ledger("longest_pause = \"0s\""), "ledger.longest_pause");
        refused(ledger("outbox_megabytes = 15"), "ledger.outbox_megabytes: must be at least 16");
        assert!(ledger("keep_days = 7\noutbox_days = 7\noutbox_megabytes = 16").is_ok());
        for time in ["24:00", "3:30", "03:60", "03.30", "+3:30"] {
            let file = format!("[calibration]\ndaily_at = \"{time}\"");
            refused(with_file(&file), "calibration.daily_at");
        }
        assert!(with_file("[calibration]\ndaily_at = \"03:30\"").is_ok());
    }

    #[test]
    fn shares_that_do_not_fit_are_refused_with_the_sum() {
        refused(with_file("[budget]\ntotal = \"50ms\""), "65 ms");
        refused(with_file("[apps.shop.budget]\nembed = \"5s\""), "apps.shop.budget");
        refused(with_file("[search]\nbudget = \"0s\""), "search.budget");
    }

    #[test]
    fn a_file_that_is_not_toml_is_named() {
        refused(with_file("budget = ["), "k.toml");
        let missing = Sources { file: Some("no/such.toml".into()), ..Sources::default() };
        refused(load(&missing), "no/such.toml");
    }

    #[test]
    fn variables_of_others_are_left_alone() {
        assert!(with_environment(&[("KIWARI_HOME", "x"), ("PATH", "y")]).is_ok());
    }
}
