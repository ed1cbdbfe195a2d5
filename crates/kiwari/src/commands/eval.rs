//! `kiwari eval`.

use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use deadline::CpuPool;
use embed::LocalEmbedder;
use normalize::Limits;

use crate::cli::{Eval, Mode};
use crate::eval::collection::Collection;
use crate::eval::formats::{Qrels, Query, Run, read_corpus, read_json_lines, read_qrels, trec};
use crate::eval::metrics::{Metrics, score};
use crate::output;

/// Articles kept per question.
const DEPTH: usize = 10;

pub(crate) async fn run(arguments: &Eval) -> anyhow::Result<ExitCode> {
    let articles = read_corpus(&arguments.corpus)?;
    let queries: Vec<Query> = read_json_lines(&arguments.queries)?;
    let qrels = read_qrels(&arguments.qrels)?;
    if !articles.iter().any(|article| is_judged(&qrels, article.id.as_str())) {
        let (corpus, qrels) = (arguments.corpus.display(), arguments.qrels.display());
        bail!("no article of {corpus} is named in {qrels}");
    }
    let embedder = match arguments.mode {
        Mode::Keyword => None,
        Mode::Vector | Mode::Hybrid => Some(Arc::new(
            LocalEmbedder::bundled(CpuPool::per_core())
                .context("the bundled model does not load")?,
        )),
    };
    let collection = Collection::build(&articles, embedder).await?;
    let run = answer_all(&collection, &queries, arguments.mode)?;
    if let Some(path) = &arguments.run {
        std::fs::write(path, trec(&run))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    let metrics = score(&qrels, &run);
    if arguments.json {
        output::json(&metrics)?;
    } else {
        output::line(&for_people(&metrics))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn is_judged(qrels: &Qrels, article: &str) -> bool {
    qrels.values().any(|grades| grades.contains_key(article))
}

/// A question that is none (punctuation only, too long) has no results, as in the product.
fn answer_all(collection: &Collection, queries: &[Query], mode: Mode) -> anyhow::Result<Run> {
    let mut run = Run::new();
    for query in queries {
        let Ok(question) = normalize::question(&query.text, query.lang, Limits::STANDARD) else {
            continue;
        };
        let mut articles = collection.articles(&question, mode)?;
        articles.truncate(DEPTH);
        run.insert(query.id.clone(), articles);
    }
    Ok(run)
}

fn for_people(metrics: &Metrics) -> String {
    format!(
        "{} questions: nDCG@10 {:.4}, Recall@5 {:.4}, MRR@10 {:.4}",
        metrics.queries, metrics.ndcg10, metrics.recall5, metrics.mrr10
    )
}
