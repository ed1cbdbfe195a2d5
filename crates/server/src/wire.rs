//! The responses' JSON. The same bodies are printed by the command line.

use std::time::Duration;

use domain::{Citation, Degradation, Hit, Language, ModelUse, Passage, StageReport};
use pipeline::{Answered, Found};
use serde::Serialize;

/// What `POST /v1/answer` returns.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerBody {
    pub id: String,
    pub answer: AnswerText,
    pub citations: Vec<Citation>,
    pub degraded: bool,
    pub reasons: Vec<ReasonBody>,
    pub budget: BudgetBody,
    pub stages: Vec<StageBody>,
    pub generation: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<ModelUse>,
}

/// The answer itself.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerText {
    pub kind: &'static str,
    pub text: String,
    pub lang: Language,
}

/// Event `sources`: the passages in hand once searching is over, best first. They carry no numbers: the marks in
/// the text are numbered as the text cites them, and `done` says what each stands on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SourcesBody<'a> {
    sources: Vec<SourceBody<'a>>,
}

/// One passage that the answer may cite.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct SourceBody<'a> {
    article_id: &'a str,
    title: &'a str,
    heading: &'a str,
    url: Option<&'a str>,
}

/// Events `delta`, whose texts joined are the answer's, and `replace`, in whose stead the text is this one.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct TextBody<'a> {
    pub(crate) text: &'a str,
}

/// Event `done`: what `POST /v1/answer` returns as JSON, and what its headers say.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DoneBody {
    #[serde(flatten)]
    answer: AnswerBody,
    deadline_remaining_ms: u64,
}

/// What `POST /v1/search` returns.
#[derive(Clone, Debug, Serialize)]
pub struct SearchBody {
    pub id: String,
    /// Best article first.
    pub hits: Vec<ArticleHit>,
    pub degraded: bool,
    pub reasons: Vec<ReasonBody>,
    pub budget: BudgetBody,
    pub stages: Vec<StageBody>,
    pub generation: u64,
}

/// One article with its passages that were found, best first.
#[derive(Clone, Debug, Serialize)]
pub struct ArticleHit {
    pub article_id: String,
    pub title: String,
    pub lang: Language,
    pub passages: Vec<PassageHit>,
}

/// One passage.
#[derive(Clone, Debug, Serialize)]
pub struct PassageHit {
    pub heading: String,
    pub url: Option<String>,
    pub text: String,
    /// Where the question's words stand: `[start, end)` in Unicode code points of `text`.
    pub highlights: Vec<[usize; 2]>,
}

/// Why a response is less than it could be.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ReasonBody {
    pub stage: &'static str,
    pub reason: &'static str,
    pub budget_ms: u64,
    pub elapsed_ms: f64,
}

/// The request's time.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct BudgetBody {
    /// What the caller asked for, if anything.
    pub requested_ms: Option<u64>,
    /// What the request had.
    pub total_ms: u64,
    pub spent_ms: f64,
}

/// One stage.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct StageBody {
    pub stage: &'static str,
    pub outcome: &'static str,
    pub ms: f64,
}

/// A request's name and times.
#[derive(Clone, Debug)]
pub struct Envelope {
    pub id: String,
    pub generation: u64,
    pub budget_requested: Option<Duration>,
    pub budget_total: Duration,
    pub spent: Duration,
}

impl AnswerBody {
    /// Renders an answer.
    #[must_use]
    pub fn new(envelope: Envelope, answered: &Answered) -> Self {
        let reasons = answered.reasons();
        let answer = &answered.answer;
        Self {
            budget: BudgetBody::new(&envelope),
            id: envelope.id,
            answer: AnswerText {
                kind: answer.kind.as_str(),
                text: answer.text.clone(),
                lang: answer.lang,
            },
            citations: answer.citations.clone(),
            degraded: degraded(&reasons),
            reasons: reasons.iter().map(ReasonBody::new).collect(),
            stages: answered.stages.iter().map(StageBody::new).collect(),
            generation: envelope.generation,
            model: answered.model.clone(),
        }
    }
}

impl<'a> SourcesBody<'a> {
    pub(crate) fn new(hits: &'a [Hit]) -> Self {
        Self { sources: hits.iter().map(|hit| SourceBody::new(&hit.passage)).collect() }
    }
}

impl<'a> SourceBody<'a> {
    fn new(passage: &'a Passage) -> Self {
        Self {
            article_id: passage.article_id.as_str(),
            title: &passage.title,
            heading: passage.heading(),
            url: passage.url.as_deref(),
        }
    }
}

impl DoneBody {
    pub(crate) fn new(answer: AnswerBody, remaining: Duration) -> Self {
        let remaining = u64::try_from(remaining.as_millis()).unwrap_or(u64::MAX);
        Self { answer, deadline_remaining_ms: remaining }
    }
}

impl SearchBody {
    /// Renders the passages found for a question.
    #[must_use]
    pub(crate) fn new(envelope: Envelope, found: &Found, hits: Vec<ArticleHit>) -> Self {
        let reasons = found.reasons();
        Self {
            budget: BudgetBody::new(&envelope),
            id: envelope.id,
            hits,
            degraded: degraded(&reasons),
            reasons: reasons.iter().map(ReasonBody::new).collect(),
            stages: found.stages.iter().map(StageBody::new).collect(),
            generation: envelope.generation,
        }
    }
}

/// Whether any of `reasons` makes a response degraded.
pub(crate) fn degraded(reasons: &[Degradation]) -> bool {
    reasons.iter().any(|degradation| degradation.reason.degrades())
}

/// The hits' articles, best first, each with its passages; `mark` says where a text's marks stand.
pub(crate) fn by_article(hits: &[Hit], mark: impl Fn(&str) -> Vec<[usize; 2]>) -> Vec<ArticleHit> {
    let mut articles: Vec<ArticleHit> = Vec::new();
    for hit in hits {
        let passage = PassageHit::new(&hit.passage, &mark);
        let id = hit.passage.article_id.as_str();
        match articles.iter_mut().find(|article| article.article_id == id) {
            Some(article) => article.passages.push(passage),
            None => articles.push(ArticleHit {
                article_id: id.to_owned(),
                title: hit.passage.title.clone(),
                lang: hit.passage.lang,
                passages: vec![passage],
            }),
        }
    }
    articles
}

impl PassageHit {
    fn new(passage: &Passage, mark: impl Fn(&str) -> Vec<[usize; 2]>) -> Self {
        Self {
            heading: passage.heading().to_owned(),
            url: passage.url.clone(),
            text: passage.text.clone(),
            highlights: mark(&passage.text),
        }
    }
}

impl ReasonBody {
    fn new(degradation: &Degradation) -> Self {
        Self {
            stage: degradation.stage.as_str(),
            reason: degradation.reason.as_str(),
            budget_ms: whole_ms(degradation.budget),
            elapsed_ms: ms(degradation.elapsed),
        }
    }
}

impl BudgetBody {
    fn new(envelope: &Envelope) -> Self {
        Self {
            requested_ms: envelope.budget_requested.map(whole_ms),
            total_ms: whole_ms(envelope.budget_total),
            spent_ms: ms(envelope.spent),
        }
    }
}

impl StageBody {
    fn new(report: &StageReport) -> Self {
        Self {
            stage: report.stage.as_str(),
            outcome: report.outcome.as_str(),
            ms: ms(report.elapsed),
        }
    }
}

/// Milliseconds, in whole microseconds as the latency log keeps them.
pub(crate) fn ms(duration: Duration) -> f64 {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    #[expect(clippy::cast_precision_loss, reason = "2^53 microseconds are three centuries")]
    let micros = micros as f64;
    micros / 1000.0
}

/// Whole milliseconds, rounded.
fn whole_ms(duration: Duration) -> u64 {
    let rounded = duration.saturating_add(Duration::from_micros(500)).as_millis();
    u64::try_from(rounded).unwrap_or(u64::MAX)
}
