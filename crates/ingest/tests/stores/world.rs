//! Stores, articles and an embedder to test with.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use articles::SplitSettings;
use async_trait::async_trait;
use catalog::{Catalog, PgCatalog, PgSettings, Published, SqliteCatalog};
use deadline::{CpuPool, Deadline};
use domain::{
    AppName, Article, ArticleId, Call, Embedder, EmbedderId, Fault, Filter, Language, Role,
    Section, Vector,
};
use ingest::{DataDir, IngestError, Job, Stores, Summary};
use qdrant::{Qdrant, QdrantSettings, QdrantVectors};
use qdrant_stand_in::StandIn;
use search::Generation;
use sqlx::postgres::PgPoolOptions;
use tempfile::TempDir;

pub(crate) fn app() -> AppName {
    AppName::default_app()
}

/// One host of those that share a database and a Qdrant.
pub(crate) struct World {
    pub(crate) stores: Stores,
    pub(crate) embedder: Arc<Counting>,
    stand_in: StandIn,
    database: Option<(String, String)>,
    folder: TempDir,
}

impl World {
    /// Postgres and Qdrant; `None`, and a word about it, where there is no Postgres to test with.
    #[expect(clippy::print_stderr, reason = "what is not tested should be seen")]
    pub(crate) async fn shared() -> Option<Self> {
        let Some(server) = std::env::var_os("KIWARI_TEST_DATABASE_URL") else {
            eprintln!(
                "skipped: KIWARI_TEST_DATABASE_URL is not set; scripts/postgres-for-tests prints one"
            );
            return None;
        };
        static MADE: AtomicUsize = AtomicUsize::new(0);
        let server = server.into_string().expect("an address is plain text");
        let made = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("kiwari_ingest_{}_{made}", std::process::id());
        execute_on(&server, format!("CREATE DATABASE {name}")).await;
        let (host, _) = server.rsplit_once('/').expect("an address with a database");
        let settings = PgSettings::new(&format!("{host}/{name}")).expect("an address");
        Some(Self::over(Arc::new(PgCatalog::new(settings)), Some((server, name))))
    }

    /// A file and Qdrant.
    pub(crate) async fn of_one_host() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("catalog.sqlite");
        let catalog = SqliteCatalog::open(&path).await.expect("the catalog opens");
        Self { folder, ..Self::over(Arc::new(catalog), None) }
    }

    fn over(catalog: Arc<dyn Catalog>, database: Option<(String, String)>) -> Self {
        let stand_in = StandIn::start(qdrant_stand_in::Settings::local()).expect("it listens");
        let qdrant = Qdrant::new(&QdrantSettings::at(&stand_in.url())).expect("an address");
        let folder = tempfile::tempdir().expect("a temporary folder");
        let data = DataDir::new(folder.path().join("data"));
        let stores = Stores { data, catalog, qdrant: Some(qdrant) };
        Self { stores, embedder: Arc::default(), stand_in, database, folder }
    }

    /// The same stores as another host has them: with a data directory of its own.
    pub(crate) fn elsewhere(&self, name: &str) -> Stores {
        Stores { data: DataDir::new(self.folder.path().join(name)), ..self.stores.clone() }
    }

    /// Other articles of record, in a file, with the vectors in the same Qdrant.
    pub(crate) async fn with_another_catalog(&self) -> Stores {
        let stores = self.elsewhere("another");
        stores.data.create().expect("a folder");
        let catalog = SqliteCatalog::open(&stores.data.catalog()).await.expect("the catalog opens");
        Stores { catalog: Arc::new(catalog), ..stores }
    }

    /// The same stores without Qdrant.
    pub(crate) fn without_qdrant(&self) -> Stores {
        Stores { qdrant: None, ..self.stores.clone() }
    }

    pub(crate) fn stand_in(&self) -> &StandIn {
        &self.stand_in
    }

    pub(crate) fn job(&self, articles: Vec<Article>) -> Job {
        let embedder: Arc<dyn Embedder> = self.embedder.clone();
        let split = SplitSettings::standard();
        Job { app: app(), articles, split, embedder, calls_at_once: 2 }
    }

    pub(crate) async fn index(&self, stores: &Stores, articles: Vec<Article>) -> Summary {
        self.try_to_index(stores, articles).await.expect("the run publishes")
    }

    pub(crate) async fn try_to_index(
        &self,
        stores: &Stores,
        articles: Vec<Article>,
    ) -> Result<Summary, IngestError> {
        ingest::run(stores, self.job(articles), "a test", &|_| {}).await
    }

    pub(crate) async fn newest(&self) -> Published {
        let newest = self.stores.catalog.newest_of(&app()).await.expect("readable");
        newest.expect("something is published")
    }

    /// How many passages Qdrant has of a generation; `None` without a collection.
    pub(crate) async fn counted(&self, published: &Published) -> Option<u64> {
        let qdrant = self.stores.qdrant_of(&published.recipe).expect("there is one");
        let (id, embedder) = (published.id.clone(), &published.recipe.embedder);
        let vectors = QdrantVectors::new(&qdrant, id, embedder, published.passages);
        match vectors.count(&soon()).await {
            Err(error) if error.is_not_found() => None,
            counted => Some(counted.expect("counted")),
        }
    }

    pub(crate) async fn remove(self) {
        self.stores.catalog.close().await;
        if let Some((server, name)) = self.database {
            execute_on(&server, format!("DROP DATABASE {name} WITH (FORCE)")).await;
        }
    }
}

pub(crate) fn soon() -> Call {
    Call::background("test", Deadline::after(std::time::Duration::from_secs(30)))
}

async fn execute_on(server: &str, sql: String) {
    let pool = PgPoolOptions::new().max_connections(1).connect(server).await.expect("a server");
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&pool).await.expect("a statement that runs");
    pool.close().await;
}

/// An article of some passages, each of whose texts holds `text`.
pub(crate) fn article(id: &str, text: &str) -> Article {
    let section = |n| Section {
        headings: vec![format!("Part {n}")],
        anchor: Some(format!("part-{n}")),
        text: format!("Part {n} of {id} says {text}."),
    };
    Article {
        id: ArticleId::new(id),
        title: format!("About {id}"),
        lang: Language::ENGLISH,
        url: Some(format!("/help/{id}")),
        tags: vec![],
        path: format!("{id}.md"),
        sections: (0..3).map(section).collect(),
    }
}

/// Everything that `published` says, as found by the words that are in every passage.
pub(crate) fn texts(generation: &Generation) -> BTreeSet<String> {
    let request = search::KeywordRequest {
        text: "part about says",
        filter: &Filter::default(),
        k: 100_000,
        last_word_is_prefix: false,
    };
    let found = generation.keyword().search(&request, &deadline::CancelFlag::default());
    found.expect("searchable").hits.iter().map(|hit| hit.passage.text.clone()).collect()
}

/// The copy of the newest generation on a host, built if need be.
pub(crate) async fn take_up(stores: &Stores, published: &Published) -> Generation {
    ingest::build_copy(stores, published).await.expect("a copy is built");
    ingest::open(stores, published, CpuPool::per_core()).expect("the copy opens")
}

/// Makes a vector of every text's bytes, and counts.
#[derive(Debug)]
pub(crate) struct Counting {
    id: EmbedderId,
    texts: AtomicUsize,
}

impl Default for Counting {
    fn default() -> Self {
        let id = EmbedderId { name: "local/counting".to_owned(), dimensions: 8 };
        Self { id, texts: AtomicUsize::new(0) }
    }
}

#[async_trait]
impl Embedder for Counting {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    fn covers(&self, _text: &str) -> bool {
        true
    }

    async fn embed(
        &self,
        texts: &[String],
        _role: Role,
        _call: &Call,
    ) -> Result<Vec<Vector>, Fault> {
        self.texts.fetch_add(texts.len(), Ordering::Relaxed);
        Ok(texts.iter().map(|text| vector_of(text)).collect())
    }
}

fn vector_of(text: &str) -> Vector {
    let mut values = vec![0.01; 8];
    for (n, byte) in text.bytes().enumerate() {
        values[n % 8] += f32::from(byte);
    }
    Vector::normalized(values).expect("it has a direction")
}
