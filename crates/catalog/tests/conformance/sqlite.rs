//! What only a file can do.

use catalog::SqliteCatalog;

#[tokio::test]
async fn a_catalog_that_must_be_there_is_not_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("catalog.sqlite");
    let error = SqliteCatalog::open_existing(&path).await.expect_err("it is not there");
    assert!(error.to_string().contains("kiwari index"));
    assert!(!path.exists());
}
