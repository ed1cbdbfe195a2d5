//! What only a server can do: be away, be behind, and lose connections.

use catalog::{Catalog, CatalogError, PgCatalog, PgSettings, migrate, pending};

use crate::samples::{app, article, publication, texts};
use crate::sites::Database;

#[tokio::test]
async fn a_server_that_is_away_is_an_error_and_no_more() {
    // A port that nobody listens on any more.
    let port = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        listener.local_addr().expect("an address").port()
    };
    let url = format!("postgres://u:hush@127.0.0.1:{port}/d");
    let catalog = PgCatalog::new(PgSettings::new(&url).expect("an address"));
    let error = catalog.newest().await.expect_err("nobody is there");
    assert!(matches!(error, CatalogError::Connect(_)), "{error:?}");
    assert!(!format!("{catalog:?} {error:?}").contains("hush"));
}

#[tokio::test]
async fn tables_are_made_once_or_only_on_request() {
    let Some(database) = Database::fresh().await else { return };
    let mut behind = database.settings();
    behind.migrate_at_start = false;
    let catalog = PgCatalog::new(behind.clone());
    let error = catalog.newest().await.expect_err("there are no tables");
    assert!(error.to_string().contains("kiwari migrate"), "{error}");
    let names = pending(&behind).await.expect("readable");
    assert!(!names.is_empty());
    // Several at once, as servers start.
    let [first, second] = [(); 2].map(|()| migrate(&behind));
    let (first, second) = tokio::join!(first, second);
    first.expect("migrated");
    second.expect("migrated");
    assert!(pending(&behind).await.expect("readable").is_empty());
    // The catalog that was behind goes on by itself.
    assert!(catalog.newest().await.expect("readable").is_empty());
    database.remove().await;
}

#[tokio::test]
async fn tables_that_are_gone_are_made_again_if_that_is_allowed() {
    let Some(database) = Database::fresh().await else { return };
    let (catalog, mut by_hand) = (PgCatalog::new(database.settings()), database.settings());
    by_hand.migrate_at_start = false;
    let by_hand = PgCatalog::new(by_hand);
    for catalog in [&catalog, &by_hand] {
        assert!(catalog.newest().await.expect("readable").is_empty());
    }
    let pool = database.pool().await;
    sqlx::query("DROP SCHEMA catalog CASCADE").execute(&pool).await.expect("dropped");
    let error = by_hand.newest().await.expect_err("it is gone");
    assert!(matches!(error, CatalogError::Read(_)), "{error:?}");
    let error = by_hand.newest().await.expect_err("it is not allowed to make them");
    assert!(matches!(error, CatalogError::Pending(_)), "{error:?}");
    catalog.newest().await.expect_err("it is gone");
    assert!(catalog.newest().await.expect("made again").is_empty());
    assert!(by_hand.newest().await.expect("made again").is_empty());
    database.remove().await;
}

#[tokio::test]
async fn a_writer_whose_connection_broke_publishes_nothing() {
    let Some(database) = Database::fresh().await else { return };
    let catalog = PgCatalog::new(database.settings());
    let mut lost = catalog.writer(&app(), "first").await.expect("free");
    let pool = database.pool().await;
    sqlx::query(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_locks
         WHERE locktype = 'advisory' AND classid = 1802073954",
    )
    .execute(&pool)
    .await
    .expect("terminated");
    let mut second = catalog.writer(&app(), "second").await.expect("free again");
    let error = lost.check().await.expect_err("it has none any more");
    assert!(matches!(error, CatalogError::Lost { .. }), "{error:?}");
    let error = lost.publish(&publication(1, vec![article("a", &["lost"])], &[])).await;
    assert!(matches!(error, Err(CatalogError::Lost { .. })), "{error:?}");
    second.publish(&publication(1, vec![article("a", &["won"])], &[])).await.expect("publishes");
    assert_eq!(texts(&catalog, 1).await, ["won"]);
    database.remove().await;
}

#[tokio::test]
async fn a_connection_that_broke_is_made_anew() {
    let Some(database) = Database::fresh().await else { return };
    let catalog = PgCatalog::new(database.settings());
    assert!(catalog.newest().await.expect("readable").is_empty());
    let pool = database.pool().await;
    sqlx::query(
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name = 'kiwari'",
    )
    .execute(&pool)
    .await
    .expect("terminated");
    assert!(catalog.newest().await.expect("readable again").is_empty());
    database.remove().await;
}
