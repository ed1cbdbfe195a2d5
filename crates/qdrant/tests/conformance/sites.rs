//! Where tests run: a stand-in each, and the real server if there is one.

use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use deadline::{CpuPool, Deadline};
use domain::{AppName, Call, GenerationId, VectorIndex};
use futures_util::FutureExt;
use qdrant::{
    ApiKey, Plan, Qdrant, QdrantError, QdrantSettings, QdrantVectors, QdrantWriter, Written,
};
use qdrant_stand_in::{Settings, StandIn};
use search::{EmbeddedVectors, VectorFile};
use uuid::Uuid;

use crate::passages::{DIMENSIONS, Row, embedder, generation, passages, vectors};

/// A call with more time than any test takes.
pub(crate) fn call() -> Call {
    call_within(Duration::from_secs(60))
}

pub(crate) fn call_within(budget: Duration) -> Call {
    Call::background("test", Deadline::after(budget))
}

/// A Qdrant to write to, under a prefix that nobody else has.
#[derive(Debug)]
pub(crate) struct Site {
    pub(crate) qdrant: Qdrant,
    /// `None` where it is a real one.
    pub(crate) stand_in: Option<StandIn>,
    /// Apps that were written, to be removed.
    apps: Mutex<Vec<AppName>>,
}

impl Site {
    /// A stand-in of its own.
    pub(crate) fn stand_in() -> Self {
        let stand_in = StandIn::start(Settings::local()).expect("a free port");
        let settings = QdrantSettings::at(&stand_in.url());
        Self::new(&settings, Some(stand_in))
    }

    fn real() -> Option<Self> {
        let url = std::env::var_os("QDRANT_URL")?.into_string().ok()?;
        let key = std::env::var_os("QDRANT_API_KEY").and_then(|key| key.into_string().ok());
        let mut name = Uuid::now_v7().simple().to_string();
        name.replace_range(..8, "test-");
        let settings = QdrantSettings {
            api_key: key.as_deref().map(ApiKey::new),
            prefix: name.parse().expect("29 letters and digits"),
            ..QdrantSettings::at(&url)
        };
        Some(Self::new(&settings, None))
    }

    fn new(settings: &QdrantSettings, stand_in: Option<StandIn>) -> Self {
        let qdrant = Qdrant::new(settings).expect("settings that work");
        Self { qdrant, stand_in, apps: Mutex::default() }
    }

    /// The stand-in, where a test needs one.
    pub(crate) fn server(&self) -> &StandIn {
        self.stand_in.as_ref().expect("this test runs against stand-ins")
    }

    pub(crate) fn writer(&self) -> QdrantWriter {
        QdrantWriter::new(&self.qdrant)
    }

    /// The index of a generation that holds `rows`.
    pub(crate) fn index(&self, generation: &GenerationId, rows: usize) -> QdrantVectors {
        QdrantVectors::new(&self.qdrant, generation.clone(), &embedder(), rows as u64)
    }

    /// Writes `rows` as `next`, which follows `published`.
    pub(crate) async fn sync(
        &self,
        next: &GenerationId,
        published: Option<&GenerationId>,
        rows: &[Row],
        call: &Call,
    ) -> Result<Written, QdrantError> {
        self.apps.lock().unwrap().push(next.app.clone());
        let plan =
            Plan { next: next.clone(), published: published.cloned(), dimensions: DIMENSIONS };
        let draft = self.writer().draft(&plan, call).await?;
        draft.write(&passages(rows), &vectors(rows), call).await
    }

    async fn clear(&self) -> Result<(), QdrantError> {
        let apps = std::mem::take(&mut *self.apps.lock().unwrap());
        for app in apps {
            self.writer().remove_app(&app, &call()).await?;
        }
        Ok(())
    }
}

/// Runs `test` at every site, and tidies up whatever comes of it.
pub(crate) async fn at_every_site(test: impl AsyncFn(&Site)) {
    for site in [Some(Site::stand_in()), Site::real()].into_iter().flatten() {
        let outcome = AssertUnwindSafe(test(&site)).catch_unwind().await;
        let cleared = if site.stand_in.is_none() { site.clear().await } else { Ok(()) };
        outcome.unwrap_or_else(|panic| resume_unwind(panic));
        cleared.expect("what was written is removed");
    }
}

/// One index of many kinds, loaded with the same passages.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) name: &'static str,
    pub(crate) index: Arc<dyn VectorIndex>,
    pub(crate) generation: GenerationId,
}

/// Runs `test` with every kind of index over `rows`.
pub(crate) async fn with_every_index(rows: &[Row], test: impl AsyncFn(&Loaded)) {
    let held = generation("demo", 3, 7);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    let mut writer = search::VectorWriter::create(&path, &embedder()).unwrap();
    for Row { passage, vector } in rows {
        writer.push(passage.id, passage.lang, &passage.tags, vector).unwrap();
    }
    writer.finish().unwrap();
    let file = Arc::new(VectorFile::open(&path).unwrap());
    let embedded = EmbeddedVectors::new(held.clone(), file, CpuPool::per_core());
    test(&Loaded { name: "embedded", index: Arc::new(embedded), generation: held.clone() }).await;

    at_every_site(async |site| {
        site.sync(&held, None, rows, &call()).await.expect("written");
        let name = if site.stand_in.is_some() { "stand-in" } else { "Qdrant" };
        let index = Arc::new(site.index(&held, rows.len()));
        test(&Loaded { name, index, generation: held.clone() }).await;
    })
    .await;
}
