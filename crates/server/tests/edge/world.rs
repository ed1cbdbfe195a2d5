//! A server in this process, over one passage, a scripted embedder and a scripted model.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use analysis::{Han, Profile};
use async_trait::async_trait;
use deadline::{Allotment, CpuPool, Deadline, Minimums};
use domain::{
    AppName, ArticleId, Call, Delta, DeltaStream, Embedder, EmbedderId, Fault, Filter,
    FinishReason, GenerateLimits, GenerationId, Generator, Language, Neighbour, Passage, PassageId,
    Prompt, Role, Vector, VectorIndex,
};
use futures_util::{StreamExt, stream};
use ledger::Recorder;
use normalize::Limits;
use pipeline::policy::Writers;
use pipeline::{ExtraCallsByStage, Models, Parts, Pipeline};
use search::{Generation, KeywordIndex};
use serde_json::Value;
use server::{Allotted, ConnectionLimits, Knowledge, Reports, Service, Settings, Shares};
use template::TemplateSettings;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, oneshot};
use tokio::task::JoinSet;
use tracing::subscriber::DefaultGuard;

/// Longer than anything here takes; only a failing test waits for it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What the model writes, a step for each permit that the test gives.
pub(crate) const FIRST: &str = "Open Settings and choose Reset password. [1] ";
pub(crate) const SECOND: &str = "A link to reset the password arrives by mail. [1]";

/// A server under test.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) model: Arc<Model>,
    pub(crate) recorder: Recorder,
    pub(crate) generation: Arc<Generation>,
    stop: oneshot::Sender<()>,
    serving: JoinSet<()>,
    log: Log,
    _logging: DefaultGuard,
}

/// A model that writes when told to.
pub(crate) struct Model {
    /// One per event that it may give.
    pub(crate) steps: Arc<Semaphore>,
    /// One per call that has begun.
    pub(crate) begun: Semaphore,
    /// One per call whose stream has been dropped.
    pub(crate) dropped: Arc<Semaphore>,
}

/// Everything that has been logged, as JSON lines.
#[derive(Clone, Debug, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

struct SignalOnDrop(Arc<Semaphore>);

impl World {
    /// Serves within `limits`; budgets may be up to `total`.
    pub(crate) async fn start(limits: ConnectionLimits, total: Duration) -> Self {
        Self::reporting(limits, total, Reports::of(None)).await
    }

    /// The same, with reports.
    pub(crate) async fn reporting(
        limits: ConnectionLimits,
        total: Duration,
        reports: Reports,
    ) -> Self {
        let log = Log::default();
        let writer = log.clone();
        let subscriber = tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_writer(move || writer.clone());
        let logging = tracing::subscriber::set_default(subscriber.finish());
        let model = Arc::new(Model {
            steps: Arc::new(Semaphore::new(0)),
            begun: Semaphore::new(0),
            dropped: Arc::new(Semaphore::new(0)),
        });
        let recorder = Recorder::without_log();
        let generation = Arc::new(generation());
        let service = service(&model, &recorder, &generation, limits, total);
        let service = service.for_operators(reports);
        let listener = server::bind(([127, 0, 0, 1], 0).into(), false).await.expect("a free port");
        let address = TcpListener::local_addr(&listener).expect("an address");
        let (stop, stopped) = oneshot::channel();
        let mut serving = JoinSet::new();
        serving.spawn(server::serve(listener, Arc::new(service), async {
            let _dropped = stopped.await;
        }));
        Self { address, model, recorder, generation, stop, serving, log, _logging: logging }
    }

    /// Tells the server to stop and waits until it has.
    pub(crate) async fn stop(mut self) {
        self.stop.send(()).expect("it runs");
        let stopped = Deadline::after(PATIENCE).run(self.serving.join_next()).await;
        stopped.expect("it stops").expect("it was running").expect("it does not panic");
    }

    /// The lines about requests, once there are any.
    pub(crate) async fn request_lines(&self) -> Vec<Value> {
        let deadline = Deadline::after(PATIENCE);
        loop {
            let lines = self.log.lines();
            if !lines.is_empty() || deadline.remaining().is_zero() {
                return lines;
            }
            tokio::task::yield_now().await;
        }
    }
}

fn embedder_id() -> EmbedderId {
    EmbedderId { name: "scripted".to_owned(), dimensions: 2 }
}

fn generation() -> Generation {
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
    let keyword =
        KeywordIndex::in_ram(profile, std::slice::from_ref(&passage)).expect("it indexes");
    let id = GenerationId { app: AppName::default_app(), epoch: 1, number: 7 };
    let vectors = Arc::new(OnePassage(passage.id));
    Generation::new(id, embedder_id(), Arc::new(keyword), vectors, 1)
        .with_embedding(Some(Arc::new(OneVector(embedder_id()))))
}

fn service(
    model: &Arc<Model>,
    recorder: &Recorder,
    generation: &Arc<Generation>,
    connections: ConnectionLimits,
    total: Duration,
) -> Service {
    let pool = CpuPool::new(NonZeroUsize::MIN);
    let pipeline = Pipeline::new(Parts {
        pool: pool.clone(),
        models: Some(Models {
            primary: Arc::clone(model) as Arc<dyn Generator>,
            lighter: None,
            writers: Writers::UNMEASURED,
        }),
        extra_calls: ExtraCallsByStage::default(),
        template: TemplateSettings::STANDARD,
    });
    let knowledge = Arc::new(Knowledge::default());
    knowledge.publish(Arc::clone(generation));
    let ms = Duration::from_millis;
    let allotment =
        Allotment::new(total, Minimums::EMBEDDED, ms(50), total, total).expect("it fits");
    let settings = Settings {
        shares: Arc::new(SameForAll(allotment)),
        search_allotment: allotment,
        question: Limits::STANDARD,
        top_k: 8,
        trust_envoy: false,
        connections,
    };
    Service::new(pipeline, knowledge, recorder.clone(), pool, settings)
}

#[derive(Debug)]
struct SameForAll(Allotment);

impl Shares for SameForAll {
    fn allotted(&self, _: &AppName, _: &Generation, _: SystemTime) -> Allotted {
        Allotted::configured(self.0)
    }

    fn longest(&self) -> Duration {
        self.0.total()
    }
}

#[derive(Debug)]
struct OneVector(EmbedderId);

#[async_trait]
impl Embedder for OneVector {
    fn id(&self) -> &EmbedderId {
        &self.0
    }

    fn covers(&self, _: &str) -> bool {
        true
    }

    async fn embed(&self, _: &[String], _: Role, _: &Call) -> Result<Vec<Vector>, Fault> {
        Ok(vec![Vector::normalized(vec![1.0, 0.0]).expect("a direction")])
    }
}

#[derive(Debug)]
struct OnePassage(PassageId);

#[async_trait]
impl VectorIndex for OnePassage {
    async fn nearest(
        &self,
        _: &GenerationId,
        _: &Vector,
        _: &Filter,
        _: usize,
        _: &Call,
    ) -> Result<Vec<Neighbour>, Fault> {
        Ok(vec![Neighbour { passage: self.0, cosine: 0.9 }])
    }
}

impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Model")
    }
}

impl Generator for Model {
    fn model(&self) -> &str {
        "scripted"
    }

    fn input_tokens(&self, _: &Prompt) -> u64 {
        100
    }

    fn stream(&self, _: Prompt, _: GenerateLimits, _: Call) -> DeltaStream {
        self.begun.add_permits(1);
        let gone = SignalOnDrop(Arc::clone(&self.dropped));
        let text = |text: &str| Delta::Text(text.to_owned());
        let events = [text(FIRST), text(SECOND), Delta::Finish(FinishReason::Stop)];
        let steps = Arc::clone(&self.steps);
        let paced = stream::iter(events).then(move |event| {
            let (steps, _gone) = (Arc::clone(&steps), &gone);
            async move {
                steps.acquire().await.expect("never closed").forget();
                Ok(event)
            }
        });
        paced.boxed()
    }
}

impl Drop for SignalOnDrop {
    fn drop(&mut self) {
        self.0.add_permits(1);
    }
}

/// Waits for one more permit of `signal`.
pub(crate) async fn wait_for(signal: &Semaphore) {
    let permit = Deadline::after(PATIENCE).run(signal.acquire()).await;
    permit.expect("it happens").expect("never closed").forget();
}

impl Log {
    fn lines(&self) -> Vec<Value> {
        let bytes = self.0.lock().expect("nobody panics").clone();
        String::from_utf8(bytes)
            .expect("a log is text")
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("a log line is JSON"))
            .filter(|line| line["target"] == "kiwari::request")
            .collect()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
