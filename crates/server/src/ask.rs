//! From a request's head and body to a pipeline [`Request`].

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::HeaderMap;
use deadline::{
    Allotment, BudgetHeader, BudgetSources, Deadline, budget_from_header, budget_from_ms,
};
use domain::{AppName, Filter, Language, RequestName};
use normalize::QuestionError;
use pipeline::{Reasoning, Request, Wants};
use search::Generation;
use tokio::time::Instant;

use crate::body;
use crate::fields::Fields;
use crate::knowledge::Pin;
use crate::problem::{Code, Problem};
use crate::received::Received;
use crate::service::Service;

/// The most hits that a request may ask for.
const MOST_HITS: u64 = 50;
/// The most tags that a filter may name.
const MOST_TAGS: usize = 100;
const FIELDS: &str = "question, app, lang, budget_ms, top_k and filters";

/// A request that has been understood.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) budget_requested: Option<Duration>,
    pub(crate) budget_total: Duration,
}

/// The body's fields, as written.
#[derive(Debug)]
struct Written {
    question: String,
    app: Option<AppName>,
    lang: Option<Language>,
    budget: Option<Duration>,
    top_k: Option<u64>,
    filter: Filter,
}

/// Reads and checks everything; pins the generation.
///
/// # Errors
///
/// A [`Problem`] naming the field or header at fault.
pub(crate) async fn understand(
    service: &Service,
    received: &Received,
    headers: &HeaderMap,
    body: Body,
    wants: Wants,
) -> Result<Asked, Problem> {
    let from_headers = budget_from_headers(headers, service.settings.trust_envoy)?;
    let most = from_headers.capped(service.longest_budget(wants));
    let object = body::json_object(headers, body, Deadline::from_start(received.at, most)).await?;
    let written = Written::read(Fields::new(object))?;
    let (app, generation) = pin(service, written.app)?;

    let began = Instant::now();
    let question = normalize::question(&written.question, written.lang, service.settings.question)
        .map_err(|error| wrong_question(&error))?;
    let normalize = began.elapsed();

    let allotment = allotment(service, &app, wants);
    let sources = written.budget.into_iter().fold(from_headers, BudgetSources::and);
    let budget_total = sources.capped(allotment.total());
    let top_k =
        written.top_k.and_then(|k| usize::try_from(k).ok()).unwrap_or(service.settings.top_k);
    Ok(Asked {
        request: Request {
            name: RequestName::new(&received.name()),
            question,
            generation,
            filter: written.filter,
            top_k,
            allotment,
            start: received.at,
            deadline: Deadline::from_start(received.at, budget_total),
            normalize,
            wants,
            reasoning: Reasoning::Auto,
        },
        budget_requested: sources.requested(),
        budget_total,
    })
}

impl Written {
    fn read(mut fields: Fields) -> Result<Self, Problem> {
        let question = fields.text("question")?.ok_or_else(|| {
            Problem::new(Code::MissingField, "question is missing: what does the user ask?")
                .at("question")
        })?;
        let app = fields.parsed("app")?;
        let lang = fields.parsed("lang")?;
        let budget = fields.number("budget_ms", 1..=86_400_000, Code::InvalidBudget)?;
        let budget = budget.map(budget_from_ms).transpose().map_err(|error| {
            Problem::new(Code::InvalidBudget, error.to_string()).at("budget_ms")
        })?;
        let top_k = fields.number("top_k", 1..=MOST_HITS, Code::InvalidField)?;
        let mut nested = fields.nested("filters", "filters.")?;
        let filter =
            Filter { lang: nested.parsed("lang")?, tags: nested.texts("tags", MOST_TAGS)? };
        nested.finish("lang and tags")?;
        fields.finish(FIELDS)?;
        Ok(Self { question, app, lang, budget, top_k, filter })
    }
}

fn budget_from_headers(headers: &HeaderMap, trust_envoy: bool) -> Result<BudgetSources, Problem> {
    let mut sources = BudgetSources::default();
    for header in BudgetHeader::ALL {
        if header == BudgetHeader::Envoy && !trust_envoy {
            continue;
        }
        for value in headers.get_all(header.name()) {
            // What is not ASCII is no number either.
            let value = value.to_str().unwrap_or_default();
            let budget = budget_from_header(header, value).map_err(|error| {
                Problem::new(Code::InvalidBudget, error.to_string()).at(header.name())
            })?;
            sources = sources.and(budget);
        }
    }
    Ok(sources)
}

fn pin(service: &Service, app: Option<AppName>) -> Result<(AppName, Arc<Generation>), Problem> {
    let app = match app.or_else(|| service.knowledge.only_app()) {
        Some(app) => app,
        None if service.knowledge.overview().is_empty() => {
            return Err(no_index("nothing has been indexed yet; run `kiwari index` first"));
        }
        None => {
            let detail = "there is more than one app; say which one with the field app";
            return Err(Problem::new(Code::AppRequired, detail).at("app"));
        }
    };
    match service.knowledge.pin(&app) {
        Pin::Generation(generation) => Ok((app, generation)),
        Pin::NoIndex => Err(no_index(&format!(
            "app {app} has no index yet; run `kiwari index DIR --app {app}` first"
        ))),
        Pin::Unknown => {
            Err(Problem::new(Code::UnknownApp, format!("there is no app {app}")).at("app"))
        }
    }
}

fn no_index(detail: &str) -> Problem {
    Problem::new(Code::IndexMissing, detail)
}

fn wrong_question(error: &QuestionError) -> Problem {
    let code = match error {
        QuestionError::Empty => Code::QuestionEmpty,
        QuestionError::NoWords => Code::QuestionWithoutWords,
        QuestionError::TooLong { .. } => Code::QuestionTooLong,
    };
    Problem::new(code, error.to_string()).at("question")
}

fn allotment(service: &Service, app: &AppName, wants: Wants) -> Allotment {
    match wants {
        Wants::Answer => service.allotment(app),
        Wants::Passages => service.settings.search_allotment,
    }
}
