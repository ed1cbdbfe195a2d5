//! How much of real questions the local model knows, per language: what the threshold of
//! `LocalEmbedder::covers` was chosen by.
//!
//! `cargo run --release -p embed --example known_shares -- QUERIES.jsonl…`, with members `text` and `lang`.

#![expect(clippy::print_stdout, reason = "the figures are the program's purpose")]

use std::collections::BTreeMap;

use deadline::CpuPool;
use domain::Embedder;
use embed::LocalEmbedder;
use serde::Deserialize;

#[derive(Deserialize)]
struct Query {
    text: String,
    lang: String,
}

/// One language's figures.
#[derive(Default)]
struct Shares {
    all: Vec<f32>,
    covered: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let embedder = LocalEmbedder::bundled(CpuPool::per_core())?;
    for file in std::env::args().skip(1) {
        let mut languages = BTreeMap::<String, Shares>::new();
        for line in std::fs::read_to_string(&file)?.lines() {
            let Query { text, lang } = serde_json::from_str(line)?;
            let shares = languages.entry(lang).or_default();
            shares.all.push(embedder.known_share(&text));
            shares.covered += usize::from(embedder.covers(&text));
        }
        println!("{file}");
        languages.iter_mut().for_each(|(lang, shares)| print_shares(lang, shares));
    }
    Ok(())
}

fn print_shares(lang: &str, shares: &mut Shares) {
    shares.all.sort_unstable_by(f32::total_cmp);
    let count = shares.all.len();
    let percentile = |percent: usize| shares.all[(count - 1) * percent / 100];
    println!(
        "  {lang:<6} {count:>5} questions, {:>5} covered; known share least {:.2}, p1 {:.2}, p5 {:.2}, p50 {:.2}, p95 {:.2}, most {:.2}",
        shares.covered,
        percentile(0),
        percentile(1),
        percentile(5),
        percentile(50),
        percentile(95),
        percentile(100)
    );
}
