//! One small collection and the machinery that runs a case on it.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use analysis::{Han, Profile};
use deadline::{Allotment, CpuPool, Deadline, Minimums};
use domain::{
    AnswerKind, AppName, ArticleId, EmbedderId, Filter, GenerationId, Language, Passage, PassageId,
    Question, RequestName, Script,
};
use pipeline::policy::{Measured, Writers};
use pipeline::{
    AbandonedCalls, Answered, Event, ExtraCallsByStage, Models, Parts, Pipeline, Reasoning,
    Request, Wants,
};
use search::{Generation, KeywordIndex};
use template::TemplateSettings;
use tokio::time::Instant;

use crate::peers::{
    Embedding, Keywords, ScriptedEmbedder, ScriptedIndex, ScriptedModel, Vectors, Writing,
};

/// One mix of behaviours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) budget: u64,
    pub(crate) keyword: Keywords,
    pub(crate) embed: Embedding,
    pub(crate) vector: Vectors,
    pub(crate) write: Writing,
}

/// What a caller sees of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) kind: AnswerKind,
    /// What a reader heard before the end and the answer are the same text; otherwise the answer is another
    /// kind of one.
    pub(crate) told_well: bool,
    /// `stage:reason`, in the pipeline's order.
    pub(crate) reasons: Vec<String>,
    pub(crate) cited: bool,
}

pub(crate) struct World {
    passage: PassageId,
    keyword: Arc<KeywordIndex>,
}

/// Longer than any budget here.
const STALL: Duration = Duration::from_secs(3600);

impl World {
    pub(crate) fn new() -> Self {
        let mut passage = Passage {
            id: PassageId::from_bytes([0; 16]),
            article_id: ArticleId::new("reset"),
            title: "Reset your password".to_owned(),
            headings: Vec::new(),
            url: Some("/reset".to_owned()),
            lang: Language::ENGLISH,
            tags: Vec::new(),
            ordinal: 0,
            text: "Open Settings and choose Reset password. \
                   A link to reset the password arrives by mail within five minutes."
                .to_owned(),
        };
        passage.id = passage.derive_id(0);
        let profile = Profile { han: Han::Japanese, latin: Language::ENGLISH };
        let keyword = KeywordIndex::in_ram(profile, std::slice::from_ref(&passage))
            .expect("one passage indexes");
        Self { passage: passage.id, keyword: Arc::new(keyword) }
    }

    /// Runs `case` on a clock that stands still unless everybody waits.
    pub(crate) fn run(&self, case: Case) -> (Seen, Duration) {
        tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .start_paused(true)
            .build()
            .expect("a runtime without I/O always builds")
            .block_on(self.answer(case))
    }

    async fn answer(&self, case: Case) -> (Seen, Duration) {
        let pool = CpuPool::new(NonZeroUsize::MIN);
        let pipeline = pipeline(case, pool.clone());
        let request = self.request(case);
        let start = request.start;
        let mut told = String::new();
        let mut listen = |event| {
            if let Event::Text(text) = event {
                told.push_str(&text);
            }
        };
        let answer = pipeline.answer_telling(&request, &mut listen);
        let answered = match case.keyword {
            Keywords::Hits | Keywords::Nothing => answer.await,
            Keywords::Late => {
                let held = Duration::from_millis(Keywords::LATE_MS);
                with_core_taken(&pool, held, answer).await
            }
            Keywords::Stalled => with_core_taken(&pool, STALL, answer).await,
        };
        (seen(&answered, &told), start.elapsed())
    }

    fn request(&self, case: Case) -> Request {
        let text = match case.keyword {
            Keywords::Nothing => "zebra crossing",
            Keywords::Hits | Keywords::Late | Keywords::Stalled => "how do I reset my password",
        };
        let start = Instant::now();
        let ms = Duration::from_millis;
        let allotment =
            Allotment::new(ms(4000), Minimums::REMOTE, ms(50), ms(2000), ms(1200)).expect("fits");
        Request {
            name: RequestName::new("ladder"),
            question: Question::from_normalized(text.to_owned(), Language::ENGLISH, Script::Latin),
            generation: Arc::new(self.generation(case)),
            filter: Filter::default(),
            top_k: 8,
            allotment,
            measured: Measured::default(),
            start,
            deadline: Deadline::from_start(start, ms(case.budget)),
            normalize: Duration::ZERO,
            wants: Wants::Answer,
            reasoning: Reasoning::Auto,
            abandoned: AbandonedCalls::default(),
        }
    }

    fn generation(&self, case: Case) -> Generation {
        let id = GenerationId { app: AppName::default_app(), epoch: 1, number: 7 };
        let vectors = ScriptedIndex { script: case.vector, passage: self.passage };
        let embedder = ScriptedEmbedder { id: embedder_id(), script: case.embed };
        Generation::new(id, embedder_id(), self.keyword.clone(), Arc::new(vectors), 1)
            .with_embedding(Some(Arc::new(embedder)))
    }
}

fn embedder_id() -> EmbedderId {
    EmbedderId { name: "scripted".to_owned(), dimensions: 2 }
}

fn pipeline(case: Case, pool: CpuPool) -> Pipeline {
    let models = (case.write != Writing::Absent).then(|| Models {
        primary: Arc::new(ScriptedModel { script: case.write, calls: AtomicU32::new(0) }),
        lighter: None,
        writers: Writers::UNMEASURED,
    });
    Pipeline::new(Parts {
        pool,
        models,
        extra_calls: ExtraCallsByStage::default(),
        template: TemplateSettings::STANDARD,
    })
}

/// Runs `work` while the only core is taken for `held`.
async fn with_core_taken<T>(pool: &CpuPool, held: Duration, work: impl Future<Output = T>) -> T {
    let core = pool.occupy(Deadline::after(STALL)).await.expect("nobody else is here");
    let release = async {
        tokio::time::sleep(held).await;
        drop(core);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        result = work => result,
        () = release => unreachable!("it pends for ever"),
    }
}

fn seen(answered: &Answered, told: &str) -> Seen {
    let reasons = answered.reasons();
    Seen {
        kind: answered.answer.kind,
        told_well: told == answered.answer.text,
        reasons: reasons
            .iter()
            .map(|d| format!("{}:{}", d.stage.as_str(), d.reason.as_str()))
            .collect(),
        cited: !answered.answer.citations.is_empty(),
    }
}
