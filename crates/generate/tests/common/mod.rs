//! What the tests have in common.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use deadline::Deadline;
use domain::{
    ArticleId, Call, Delta, DeltaStream, Fault, FaultKind, FinishReason, GenerateLimits, Generator,
    Language, Passage, PassageId, Prompt, Question, RequestName, Script, Usage,
};
use futures_util::StreamExt as _;
use generate::{GeminiGenerator, Model, ModelSettings, OpenAiGenerator};
use upstream::{Auth, BreakerSettings, Http, HttpSettings, Secret, Upstream};

/// Longer than any test takes.
pub(crate) const AMPLE: Duration = Duration::from_secs(20);

pub(crate) const LIMITS: GenerateLimits =
    GenerateLimits { max_output_tokens: 512, answer_tokens: 200, reasoning: false };

pub(crate) fn prompt() -> Prompt {
    let passage = Passage {
        id: PassageId::from_bytes([1; 16]),
        article_id: ArticleId::new("badges"),
        title: "Badges".to_owned(),
        headings: Vec::new(),
        url: None,
        lang: Language::ENGLISH,
        tags: Vec::new(),
        ordinal: 0,
        text: "Open Settings and tap Reset badge. A new badge comes within a week.".to_owned(),
    };
    let question = "How do I reset my badge?".to_owned();
    Prompt {
        question: Question::from_normalized(question, Language::ENGLISH, Script::Latin),
        passages: vec![Arc::new(passage)],
        answer_lang: Language::ENGLISH,
    }
}

pub(crate) fn upstream(address: SocketAddr, path: &str, auth: Auth) -> Arc<Upstream> {
    let http = Http::new(&HttpSettings::default()).expect("a client");
    let base = format!("http://{address}{path}").parse().expect("a URL");
    Arc::new(Upstream::new(http, "peer", base, auth, BreakerSettings::default()))
}

pub(crate) fn gemini(upstream: &Arc<Upstream>) -> GeminiGenerator {
    let model = Model::resolve("gemini-3.5-flash-lite", &ModelSettings::default()).expect("known");
    GeminiGenerator::new(Arc::clone(upstream), model).expect("its own wire")
}

pub(crate) fn openai(upstream: &Arc<Upstream>) -> OpenAiGenerator {
    let model = Model::resolve("small", &ModelSettings::default()).expect("a name");
    OpenAiGenerator::new(Arc::clone(upstream), model).expect("nothing optional")
}

pub(crate) fn key() -> Secret {
    Secret::new("test-key")
}

pub(crate) fn call(budget: Duration) -> Call {
    Call::first(RequestName::new("r-1"), Deadline::after(budget))
}

pub(crate) fn start(generator: &dyn Generator, budget: Duration) -> DeltaStream {
    generator.stream(prompt(), LIMITS, call(budget))
}

/// How a stream went.
#[derive(Debug, Default)]
pub(crate) struct Reply {
    pub(crate) text: String,
    pub(crate) finish: Option<FinishReason>,
    pub(crate) usage: Option<Usage>,
    pub(crate) served: Option<String>,
    pub(crate) fault: Option<Fault>,
}

impl Reply {
    /// Reads a stream to its end.
    pub(crate) async fn of(mut stream: DeltaStream) -> Self {
        let mut reply = Self::default();
        while let Some(item) = stream.next().await {
            assert!(reply.fault.is_none(), "nothing follows a fault");
            match item {
                Ok(Delta::Text(text)) => reply.text.push_str(&text),
                Ok(Delta::Finish(reason)) => reply.finish = Some(reason),
                Ok(Delta::Usage(usage)) => reply.usage = Some(usage),
                Ok(Delta::Served(model)) => reply.served = Some(model),
                Err(fault) => reply.fault = Some(fault),
            }
        }
        reply
    }

    pub(crate) fn fault_kind(&self) -> Option<FaultKind> {
        self.fault.as_ref().map(Fault::kind)
    }
}
