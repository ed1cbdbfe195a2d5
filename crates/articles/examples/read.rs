//! Reads a folder and prints what came of it.
//!
//! `cargo run --release -p articles --example read -- FOLDER [--problems] [--show PATH]...`

#![expect(clippy::print_stdout, reason = "printing is what this program is for")]

use std::path::Path;
use std::process::ExitCode;

use articles::{ReadOptions, Reading, Severity, SplitSettings, read_folder, split};
use domain::{Article, Passage};
use tokio::time::Instant;

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(folder) = arguments.next() else {
        println!("usage: read FOLDER [--problems] [--show PATH]...");
        return ExitCode::FAILURE;
    };
    let mut shown = Vec::new();
    let mut problems = false;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--problems" => problems = true,
            "--show" => shown.extend(arguments.next()),
            _ => println!("{argument} is ignored"),
        }
    }
    let start = Instant::now();
    let reading = match read_folder(Path::new(&folder), &ReadOptions::standard(), &mut |_| {}) {
        Ok(reading) => reading,
        Err(error) => {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let read = start.elapsed();
    let passages: Vec<_> = reading
        .articles
        .iter()
        .flat_map(|article| split(article, SplitSettings::standard()))
        .collect();
    println!("read in {read:.2?}, split in {:.2?}", start.elapsed() - read);
    summarise(&reading, &passages);
    if problems {
        reading.problems.iter().for_each(|problem| println!("{:?} {problem}", problem.severity));
    }
    for article in reading.articles.iter().filter(|article| shown.contains(&article.path)) {
        show(article);
    }
    ExitCode::SUCCESS
}

fn summarise(reading: &Reading, passages: &[Passage]) {
    let skipped =
        reading.problems.iter().filter(|problem| problem.severity == Severity::Skipped).count();
    println!(
        "{} files, {} articles, {} empty, {skipped} skipped, {} warnings",
        reading.files_seen,
        reading.articles.len(),
        reading.empty.len(),
        reading.problems.len() - skipped,
    );
    let mut lengths: Vec<_> = passages.iter().map(|passage| passage.text.chars().count()).collect();
    lengths.sort_unstable();
    let at = |share: usize| {
        lengths.get((lengths.len().saturating_sub(1)) * share / 100).copied().unwrap_or(0)
    };
    println!(
        "{} passages; characters: least {}, median {}, p95 {}, most {}",
        lengths.len(),
        at(0),
        at(50),
        at(95),
        at(100),
    );
    let mut languages = std::collections::BTreeMap::new();
    reading.articles.iter().for_each(|article| *languages.entry(article.lang).or_insert(0) += 1);
    println!("languages: {languages:?}");
}

fn show(article: &Article) {
    println!("\n======== {} ({}, {:?})\n{}", article.title, article.lang, article.tags, article.id);
    for passage in split(article, SplitSettings::standard()) {
        let url = passage.url.unwrap_or_default();
        println!(
            "-------- {} {} {url}\n{}",
            passage.ordinal,
            passage.headings.join(" > "),
            passage.text
        );
    }
}
