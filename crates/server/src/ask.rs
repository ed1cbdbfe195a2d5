//! From a request's head and body to a pipeline [`Request`].

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use deadline::{BudgetHeader, BudgetSources, Deadline, budget_from_header, budget_from_ms};
use domain::{AppName, Filter, Language, RequestName};
use normalize::QuestionError;
use pipeline::{AbandonedCalls, Reasoning, Request, Wants};
use search::Generation;
use tokio::time::Instant;

use crate::body;
use crate::fields::Fields;
use crate::knowledge::Pin;
use crate::problem::{Code, Problem};
use crate::received::Received;
use crate::service::{Allotted, Service};

/// The most hits that a request may ask for.
const MOST_HITS: u64 = 50;
/// The most tags that a filter may name.
const MOST_TAGS: usize = 100;
/// The fields of a search; questions for an answer have some more.
const SEARCH_FIELDS: &str = "question, app, lang, budget_ms, top_k and filters";
const ANSWER_FIELDS: &str = "question, app, lang, budget_ms, top_k, filters, stream and reasoning";

/// A request that has been understood.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) budget_requested: Option<Duration>,
    pub(crate) budget_total: Duration,
    /// The calibration that the allotment comes from; 0 is the configuration.
    pub(crate) calibration: u64,
    /// Whether the answer is wanted as an event stream.
    pub(crate) streams: bool,
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
    stream: Option<bool>,
    reasoning: Reasoning,
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
    let written = Written::read(Fields::new(object), wants)?;
    let (app, generation) = pin(service, written.app)?;

    let began = Instant::now();
    let question = normalize::question(&written.question, written.lang, service.settings.question)
        .map_err(|error| wrong_question(&error))?;
    let normalize = began.elapsed();

    let shares = service.settings.shares.as_ref();
    let Allotted { allotment, measured, calibration } = match wants {
        Wants::Answer => shares.allotted(&app, &generation, received.wall),
        Wants::Passages => Allotted::configured(service.settings.search_allotment),
    };
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
            measured,
            start: received.at,
            deadline: Deadline::from_start(received.at, budget_total),
            normalize,
            wants,
            reasoning: written.reasoning,
            abandoned: AbandonedCalls::default(),
        },
        budget_requested: sources.requested(),
        budget_total,
        calibration,
        streams: written.stream.unwrap_or_else(|| accepts_events(headers)),
    })
}

impl Written {
    fn read(mut fields: Fields, wants: Wants) -> Result<Self, Problem> {
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
        let (stream, reasoning) = match wants {
            Wants::Answer => (fields.flag("stream")?, reasoning(&mut fields)?),
            Wants::Passages => (None, Reasoning::Off),
        };
        fields.finish(match wants {
            Wants::Answer => ANSWER_FIELDS,
            Wants::Passages => SEARCH_FIELDS,
        })?;
        Ok(Self { question, app, lang, budget, top_k, filter, stream, reasoning })
    }
}

/// Whether a model may think before it writes.
fn reasoning(fields: &mut Fields) -> Result<Reasoning, Problem> {
    match fields.text("reasoning")?.as_deref() {
        None | Some("auto") => Ok(Reasoning::Auto),
        Some("on") => Ok(Reasoning::On),
        Some("off") => Ok(Reasoning::Off),
        Some(_) => {
            let detail = "reasoning must be auto, on or off";
            Err(Problem::new(Code::InvalidField, detail).at("reasoning"))
        }
    }
}

/// Whether `Accept` names event streams. `*/*` does not: JSON is what clients get that do not ask.
fn accepts_events(headers: &HeaderMap) -> bool {
    let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut ranges = values.flat_map(|value| value.split(','));
    ranges.any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default();
        let refused = parts.any(|part| {
            let weight = part.strip_prefix("q=").and_then(|weight| weight.parse::<f32>().ok());
            weight.is_some_and(|weight| weight <= 0.0)
        });
        essence.eq_ignore_ascii_case("text/event-stream") && !refused
    })
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
