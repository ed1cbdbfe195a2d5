//! `kiwari ask`.

use std::fmt::Write;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use catalog::{Catalog, Published};
use deadline::Deadline;
use domain::{AppName, Filter, RequestName};
use pipeline::policy::Measured;
use pipeline::{AbandonedCalls, Answered, Reasoning, Request, Wants};
use server::wire::{AnswerBody, Envelope};
use tokio::time::Instant;
use uuid::Uuid;

use crate::cli::Ask;
use crate::compose::Engine;
use crate::config::Config;
use crate::{output, stores, take_up};

pub(crate) async fn run(config: &Config, arguments: &Ask) -> anyhow::Result<ExitCode> {
    let stores = stores::indexed(config).await?;
    let published = choose(&*stores.catalog, arguments.app.as_ref()).await?;
    let engine = Engine::load(config)?;
    let generation = take_up::open(&stores, &published, &engine).await?;
    let pipeline = engine.pipeline();

    // Loading is this command's own affair: the budget is for answering.
    let start = Instant::now();
    let question = normalize::question(&arguments.question, arguments.lang, config.question)?;
    let allotment = engine.shares().of(&published.id.app, &generation);
    let budget = arguments.budget.map_or(allotment.total(), |asked| asked.min(allotment.total()));
    let id = Uuid::now_v7().to_string();
    let request = Request {
        name: RequestName::new(&id),
        question,
        generation: Arc::new(generation),
        filter: Filter::default(),
        top_k: config.top_k,
        allotment,
        measured: Measured::default(),
        start,
        deadline: Deadline::from_start(start, budget),
        normalize: start.elapsed(),
        wants: Wants::Answer,
        reasoning: Reasoning::Auto,
        abandoned: AbandonedCalls::default(),
    };
    let answered = pipeline.answer(&request).await;
    let envelope = Envelope {
        id,
        generation: published.id.number,
        budget_requested: arguments.budget,
        budget_total: budget,
        spent: start.elapsed(),
    };
    if arguments.json {
        output::json(&AnswerBody::new(envelope, &answered))?;
    } else {
        output::line(&for_people(&answered, &envelope))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The generation to ask: of the named app, or of the only one.
async fn choose(catalog: &dyn Catalog, app: Option<&AppName>) -> anyhow::Result<Published> {
    if let Some(app) = app {
        let newest = catalog.newest_of(app).await?;
        return newest.with_context(|| {
            format!("app {app} has no index; run `kiwari index DIR --app {app}`")
        });
    }
    let mut newest = catalog.newest().await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    match newest.len() {
        0 => bail!("nothing has been indexed yet; run `kiwari index DIR` first"),
        1 => Ok(newest.remove(0)),
        _ => {
            let names: Vec<&str> =
                newest.iter().map(|published| published.id.app.as_str()).collect();
            bail!("there is more than one app; say which with --app: {}", names.join(", "))
        }
    }
}

fn for_people(answered: &Answered, envelope: &Envelope) -> String {
    let mut text = answered.answer.text.clone();
    if !answered.answer.citations.is_empty() {
        text.push('\n');
    }
    // Writing to a String cannot fail.
    for citation in &answered.answer.citations {
        let place = citation.url.as_deref().unwrap_or(citation.article_id.as_str());
        let _infallible = write!(text, "\n[{}] {} — {place}", citation.n, citation.title);
    }
    let _infallible = write!(
        text,
        "\n\n({}, {:.1} ms of {} ms",
        answered.answer.kind.as_str(),
        envelope.spent.as_secs_f64() * 1000.0,
        envelope.budget_total.as_millis()
    );
    for degradation in answered.reasons() {
        let _infallible =
            write!(text, "; {}: {}", degradation.stage.as_str(), degradation.reason.as_str());
    }
    text.push(')');
    text
}
