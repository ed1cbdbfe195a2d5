//! Measures the embedded vector index on made-up clustered vectors: opening, scans, filters, recall.
//!
//! `cargo run --release -p search --example measure_vector_search`

#![expect(clippy::print_stdout, reason = "the figures are the program's purpose")]

use std::collections::HashSet;
use std::time::Duration;

use deadline::CancelFlag;
use domain::{EmbedderId, Filter, Language, PassageId, Vector};
use search::{VectorFile, VectorWriter};
use tokio::time::Instant;

const DIMENSIONS: u16 = 512;
const NEIGHBOURS: usize = 20;
const QUERIES: usize = 200;

fn main() -> anyhow::Result<()> {
    for rows in [20_000, 100_000] {
        measure(rows)?;
    }
    Ok(())
}

fn measure(rows: u32) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("passages.vectors");
    let mut numbers = Numbers(1);
    let centres: Vec<_> = (0..rows / 50).map(|_| numbers.vector()).collect();
    let vectors: Vec<_> =
        (0..rows).map(|row| numbers.near(&centres[row as usize % centres.len()], 0.9)).collect();
    let queries: Vec<_> =
        vectors.iter().step_by(vectors.len() / QUERIES).map(|v| numbers.near(v, 0.6)).collect();

    let start = Instant::now();
    write(&path, &vectors)?;
    println!("{rows} rows: written in {:?}, {} MB", start.elapsed(), path.metadata()?.len() >> 20);
    let start = Instant::now();
    let file = VectorFile::open(&path)?;
    println!("  opened and verified   {:?}", start.elapsed());

    let all = Filter::default();
    let tag = |tag: &str| Filter { lang: None, tags: vec![tag.to_owned()] };
    for (name, filter) in
        [("all rows", &all), ("a quarter", &tag("quarter")), ("one of 100", &tag("rare"))]
    {
        let times = sorted_times(&queries, |query| search(&file, query, filter));
        println!(
            "  {name:<12}          p50 {:?}  p99 {:?}",
            times[QUERIES / 2],
            times[QUERIES * 99 / 100]
        );
    }

    let found: usize =
        queries.iter().map(|query| shared(&vectors, query, &search(&file, query, &all))).sum();
    println!(
        "  recall@{NEIGHBOURS}             {:.4}",
        found as f64 / (queries.len() * NEIGHBOURS) as f64
    );
    Ok(())
}

fn write(path: &std::path::Path, vectors: &[Vector]) -> anyhow::Result<()> {
    let embedder =
        EmbedderId { name: "measured/random".to_owned(), dimensions: u32::from(DIMENSIONS) };
    let mut writer = VectorWriter::create(path, &embedder)?;
    for (row, vector) in (0..).zip(vectors) {
        let mut tags = Vec::new();
        tags.extend(u32::is_multiple_of(row, 4).then(|| "quarter".to_owned()));
        tags.extend(u32::is_multiple_of(row, 100).then(|| "rare".to_owned()));
        writer.push(id(row), Language::ENGLISH, &tags, vector)?;
    }
    writer.finish()?;
    Ok(())
}

fn id(row: u32) -> PassageId {
    PassageId::from_bytes(u128::from(row).to_be_bytes())
}

fn search(file: &VectorFile, query: &Vector, filter: &Filter) -> Vec<PassageId> {
    let hits = file.nearest(query, filter, NEIGHBOURS, &CancelFlag::default());
    hits.iter().map(|hit| hit.passage).collect()
}

fn sorted_times<T>(queries: &[Vector], search: impl Fn(&Vector) -> T) -> Vec<Duration> {
    let timed = |query| {
        let start = Instant::now();
        std::hint::black_box(search(query));
        start.elapsed()
    };
    let mut times: Vec<_> = queries.iter().map(timed).collect();
    times.sort_unstable();
    times
}

/// How many of `found` are among the true neighbours.
fn shared(vectors: &[Vector], query: &Vector, found: &[PassageId]) -> usize {
    let mut scored: Vec<_> =
        (0..).zip(vectors).map(|(row, vector)| (vector.cosine(query), id(row))).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let truth: HashSet<_> = scored.into_iter().take(NEIGHBOURS).map(|(_, id)| id).collect();
    found.iter().filter(|id| truth.contains(id)).count()
}

/// Pseudo-random numbers in −1…1.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / 8_388_608.0 - 1.0
    }

    fn vector(&mut self) -> Vector {
        let values = (0..DIMENSIONS).map(|_| self.next()).collect();
        Vector::normalized(values).expect("some number is not zero")
    }

    /// A vector at some distance from `centre`.
    fn near(&mut self, centre: &Vector, spread: f32) -> Vector {
        let noise = self.vector();
        let sum = centre.as_slice().iter().zip(noise.as_slice()).map(|(a, b)| a + spread * b);
        Vector::normalized(sum.collect()).expect("the noise is not opposite to the centre")
    }
}
