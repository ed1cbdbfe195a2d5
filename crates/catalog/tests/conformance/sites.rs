//! Where a catalog is had for a test, and the macro that runs a test on each.

use std::sync::Arc;

use catalog::{Catalog, PgCatalog, PgSettings, SqliteCatalog};
use sqlx::postgres::{PgPool, PgPoolOptions};
use tempfile::TempDir;
use uuid::Uuid;

/// A place with a catalog of the test's own, which several may open as several processes would.
pub(crate) enum Site {
    File(TempDir),
    Server(Database),
}

impl Site {
    pub(crate) fn file() -> Self {
        Self::File(tempfile::tempdir().expect("a temporary folder"))
    }

    /// `None`, and a word about it, where there is no Postgres to test with.
    pub(crate) async fn server() -> Option<Self> {
        Database::fresh().await.map(Self::Server)
    }

    pub(crate) async fn open(&self) -> Arc<dyn Catalog> {
        match self {
            Self::File(folder) => {
                let path = folder.path().join("catalog.sqlite");
                Arc::new(SqliteCatalog::open(&path).await.expect("the catalog opens"))
            }
            Self::Server(database) => Arc::new(PgCatalog::new(database.settings())),
        }
    }

    pub(crate) async fn remove(self) {
        if let Self::Server(database) = self {
            database.remove().await;
        }
    }
}

/// Runs each test on every catalog there is.
macro_rules! on_every_catalog {
    ($($name:ident),* $(,)?) => {
        mod sqlite {
            $(#[tokio::test]
            async fn $name() {
                super::$name(&crate::sites::Site::file()).await;
            })*
        }

        mod postgres {
            $(#[tokio::test]
            async fn $name() {
                let Some(site) = crate::sites::Site::server().await else { return };
                super::$name(&site).await;
                site.remove().await;
            })*
        }
    };
}
pub(crate) use on_every_catalog;

/// A database of the test's own.
pub(crate) struct Database {
    server: String,
    name: String,
}

impl Database {
    #[expect(clippy::print_stderr, reason = "what is not tested should be seen")]
    pub(crate) async fn fresh() -> Option<Self> {
        let Some(server) = std::env::var_os("KIWARI_TEST_DATABASE_URL") else {
            eprintln!(
                "skipped: KIWARI_TEST_DATABASE_URL is not set; scripts/postgres-for-tests prints one"
            );
            return None;
        };
        let server = server.into_string().expect("an address is plain text");
        let name = format!("kiwari_test_{}", Uuid::now_v7().simple());
        execute_on(&server, format!("CREATE DATABASE {name}")).await;
        Some(Self { server, name })
    }

    pub(crate) fn settings(&self) -> PgSettings {
        PgSettings::new(&self.url()).expect("a test's address is one")
    }

    pub(crate) async fn pool(&self) -> PgPool {
        let options = PgPoolOptions::new().max_connections(2);
        options.connect(&self.url()).await.expect("a new database takes connections")
    }

    fn url(&self) -> String {
        let (host, _) = self.server.rsplit_once('/').expect("an address with a database");
        format!("{host}/{}", self.name)
    }

    pub(crate) async fn remove(self) {
        execute_on(&self.server, format!("DROP DATABASE {} WITH (FORCE)", self.name)).await;
    }
}

async fn execute_on(server: &str, sql: String) {
    let pool = PgPoolOptions::new().max_connections(1).connect(server).await.expect("a server");
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(&pool).await.expect("a statement that runs");
    pool.close().await;
}
