//! The dependency rules that ARCHITECTURE.md states, checked against what cargo says.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;
use system_tests::repository;

/// Normal (not dev, not build) dependencies by crate name.
fn dependencies() -> BTreeMap<String, BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(repository())
        .output()
        .expect("cargo runs where tests run");
    let metadata: Value = serde_json::from_slice(&output.stdout)
        .unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    let packages = metadata["packages"].as_array().expect("packages");
    packages
        .iter()
        .map(|package| {
            let all = package["dependencies"].as_array().expect("dependencies");
            let normal = all.iter().filter(|dependency| dependency["kind"].is_null());
            let names =
                normal.filter_map(|dependency| dependency["name"].as_str()).map(str::to_owned);
            (package["name"].as_str().expect("a name").to_owned(), names.collect())
        })
        .collect()
}

/// Everything that `from` needs, however indirectly.
fn reach(graph: &BTreeMap<String, BTreeSet<String>>, from: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(name) = open.pop() {
        for dependency in graph.get(&name).into_iter().flatten() {
            if seen.insert(dependency.clone()) {
                open.push(dependency.clone());
            }
        }
    }
    seen
}

#[test]
fn crates_know_only_what_they_may() {
    let graph = dependencies();
    let never: [(&str, &[&str]); 11] = [
        ("pipeline", &["axum", "sqlx", "reqwest", "catalog", "ledger", "embed", "articles"]),
        ("search", &["axum", "sqlx", "reqwest", "embed", "catalog"]),
        ("normalize", &["tokio-util", "sqlx", "tantivy", "search"]),
        ("template", &["sqlx", "tantivy", "search", "axum"]),
        ("articles", &["tantivy", "search", "sqlx", "axum"]),
        ("ledger", &["pipeline", "search", "axum"]),
        ("deadline", &["domain"]),
        // Sharing the wire's types would make their mistakes cancel out.
        ("simulator", &["generate", "pipeline", "axum"]),
        ("generate", &["axum", "sqlx", "pipeline", "embed", "search"]),
        ("upstream", &["axum", "generate", "pipeline", "search"]),
        ("qdrant", &["tantivy", "search", "sqlx", "pipeline"]),
    ];
    for (name, forbidden) in never {
        let reached = reach(&graph, name);
        for other in forbidden {
            assert!(!reached.contains(*other), "{name} must not reach {other}");
        }
    }
}

#[test]
fn only_the_binary_knows_every_implementation() {
    let graph = dependencies();
    let together = ["embed", "server", "ingest", "catalog", "ledger"];
    let composers: Vec<&String> = graph
        .iter()
        .filter(|(_, direct)| together.iter().all(|name| direct.contains(*name)))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(composers, ["kiwari"]);
}
