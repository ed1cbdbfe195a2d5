//! `kiwari index`.

use std::process::ExitCode;
use std::sync::Arc;

use articles::{Problem, ReadOptions, Severity};
use indicatif::{ProgressBar, ProgressStyle};
use ingest::{Progress, Summary};
use serde::Serialize;

use crate::cli::Index;
use crate::compose::Engine;
use crate::config::Config;
use crate::index_folder::{Indexed, Step, index_folder};
use crate::{logging, output, stores};

pub(crate) async fn run(config: &Config, arguments: &Index) -> anyhow::Result<ExitCode> {
    let _log = logging::start(config.log_format);
    let engine = Engine::load(config)?;
    let stores = stores::configured(config).await?;
    let options = ReadOptions {
        default_lang: arguments.lang,
        base_url: arguments.base_url.clone(),
        ..ReadOptions::standard()
    };
    let embedder = arguments.embedder.as_ref().unwrap_or(&config.embedder);
    let bar = Bar::new();
    let shown = bar.clone();
    let indexed = index_folder(
        &engine,
        &stores,
        arguments.app.clone(),
        &arguments.dir,
        options,
        embedder,
        move |step| {
            shown.show(step);
        },
    )
    .await;
    bar.clear();
    stores.catalog.close().await;
    let indexed = indexed?;
    if arguments.json {
        output::json(&Report::of(&indexed))?;
    } else {
        indexed.problems.iter().for_each(|problem| output::remark(&problem_line(problem)));
        indexed.empty.iter().for_each(|path| output::remark(&format!("empty: {path}")));
        if let Some(warning) = shrinking(&indexed.summary) {
            output::remark(&warning);
        }
        output::line(&summary_lines(arguments, &indexed))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn problem_line(problem: &Problem) -> String {
    let severity = match problem.severity {
        Severity::Warning => "warning",
        Severity::Skipped => "skipped",
    };
    format!("{severity}: {problem}")
}

fn count(problems: &[Problem], severity: Severity) -> usize {
    problems.iter().filter(|problem| problem.severity == severity).count()
}

/// Says so when most of what was there is gone: it may have been the wrong folder.
fn shrinking(summary: &Summary) -> Option<String> {
    let before = summary.removed + summary.changed + summary.unchanged;
    (summary.removed * 2 > before).then(|| {
        format!(
            "warning: {} of the {before} articles that were published are gone; \
             to bring them back, index their folder again",
            summary.removed
        )
    })
}

fn summary_lines(arguments: &Index, indexed: &Indexed) -> String {
    let Indexed { summary, files_seen, empty, problems } = indexed;
    let headline = if summary.published {
        format!("published generation {} of app {}", summary.generation, arguments.app)
    } else {
        format!(
            "nothing has changed; generation {} of app {} stays",
            summary.generation, arguments.app
        )
    };
    format!(
        "{headline}\n  \
         {} articles in {} passages ({} added, {} changed, {} removed, {} unchanged; {} passages embedded)\n  \
         {files_seen} files seen: {} empty, {} skipped, {} kept with a warning",
        summary.articles,
        summary.passages,
        summary.added,
        summary.changed,
        summary.removed,
        summary.unchanged,
        summary.embedded,
        empty.len(),
        count(problems, Severity::Skipped),
        count(problems, Severity::Warning),
    )
}

/// The summary for programs.
#[derive(Serialize)]
struct Report<'a> {
    generation: u64,
    published: bool,
    articles: u64,
    passages: u64,
    added: u64,
    changed: u64,
    removed: u64,
    unchanged: u64,
    embedded: u64,
    files_seen: usize,
    empty: &'a [String],
    skipped: usize,
    warnings: usize,
    problems: Vec<ReportedProblem<'a>>,
}

#[derive(Serialize)]
struct ReportedProblem<'a> {
    path: &'a str,
    line: Option<u32>,
    skipped: bool,
    message: &'a str,
}

impl<'a> Report<'a> {
    fn of(indexed: &'a Indexed) -> Self {
        let Indexed { summary, files_seen, empty, problems } = indexed;
        Self {
            generation: summary.generation,
            published: summary.published,
            articles: summary.articles,
            passages: summary.passages,
            added: summary.added,
            changed: summary.changed,
            removed: summary.removed,
            unchanged: summary.unchanged,
            embedded: summary.embedded,
            files_seen: *files_seen,
            empty,
            skipped: count(problems, Severity::Skipped),
            warnings: count(problems, Severity::Warning),
            problems: problems
                .iter()
                .map(|problem| ReportedProblem {
                    path: &problem.path,
                    line: problem.line,
                    skipped: problem.severity == Severity::Skipped,
                    message: &problem.message,
                })
                .collect(),
        }
    }
}

/// A progress bar; it hides itself where standard error is no terminal.
#[derive(Clone)]
struct Bar(Arc<ProgressBar>);

impl Bar {
    fn new() -> Self {
        let style = ProgressStyle::with_template("{msg:>10} {wide_bar} {pos}/{len}")
            .expect("the template is a literal that parses");
        Self(Arc::new(ProgressBar::new(0).with_style(style)))
    }

    fn show(&self, step: Step) {
        let (message, done, total) = match step {
            Step::Reading { done, total } => ("reading", done, total),
            Step::Indexing(Progress::Splitting) => ("splitting", 0, 1),
            Step::Indexing(Progress::Embedding { done, total }) => ("embedding", done, total),
            Step::Indexing(Progress::Writing) => ("writing", 0, 1),
            Step::Indexing(Progress::Publishing) => ("publishing", 0, 1),
        };
        self.0.set_message(message);
        self.0.set_length(u64::try_from(total).unwrap_or(u64::MAX));
        self.0.set_position(u64::try_from(done).unwrap_or(u64::MAX));
    }

    fn clear(&self) {
        self.0.finish_and_clear();
    }
}
