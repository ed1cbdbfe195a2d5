//! Publishing against a real SQLite file.

use std::collections::BTreeMap;
use std::time::SystemTime;

use catalog::{Catalog, CatalogError, Changes, Publication, Published, Recipe};
use domain::{
    AppName, Article, ArticleId, EmbedderId, GenerationId, Language, Passage, PassageId, Section,
};

fn article(id: &str, text: &str) -> (Article, Vec<Passage>) {
    let section = Section { headings: vec![], anchor: None, text: text.to_owned() };
    let article = Article {
        id: ArticleId::new(id),
        title: id.to_uppercase(),
        lang: Language::ENGLISH,
        url: Some(format!("/help/{id}")),
        tags: vec!["t".to_owned()],
        path: format!("{id}.md"),
        sections: vec![section],
    };
    let mut passage = Passage {
        id: PassageId::from_bytes([0; 16]),
        article_id: article.id.clone(),
        title: article.title.clone(),
        headings: vec![],
        url: article.url.clone(),
        lang: article.lang,
        tags: article.tags.clone(),
        ordinal: 0,
        text: text.to_owned(),
    };
    passage.id = passage.derive_id(0);
    (article, vec![passage])
}

fn publication(
    number: u64,
    written: Vec<(Article, Vec<Passage>)>,
    removed: &[&str],
) -> Publication {
    Publication {
        published: Published {
            id: GenerationId { app: AppName::default_app(), epoch: 1, number },
            recipe: Recipe {
                embedder: EmbedderId { name: "local/x".to_owned(), dimensions: 4 },
                splitter: 1,
                passage_text: 1,
                analyser: "a".to_owned(),
            },
            articles: 2,
            passages: 2,
            published_at: SystemTime::UNIX_EPOCH,
        },
        changes: Changes {
            written,
            removed: removed.iter().copied().map(ArticleId::new).collect(),
        },
    }
}

async fn open(folder: &tempfile::TempDir) -> Catalog {
    Catalog::open(&folder.path().join("catalog.sqlite")).await.expect("the catalog opens")
}

async fn texts(catalog: &Catalog) -> Vec<String> {
    let passages = catalog.passages(&AppName::default_app()).await.expect("readable");
    passages.into_iter().map(|passage| passage.text).collect()
}

#[tokio::test]
async fn what_was_published_is_read_back() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let catalog = open(&folder).await;
    let app = AppName::default_app();
    assert_eq!(catalog.newest_of(&app).await.expect("readable"), None);
    let written = vec![article("a", "first"), article("b", "second")];
    let expected: BTreeMap<_, _> =
        written.iter().map(|(article, _)| (article.id.clone(), article.content_hash())).collect();
    let first = publication(1, written, &[]);
    catalog.publish(&first).await.expect("publishes");

    let catalog = open(&folder).await;
    assert_eq!(catalog.newest_of(&app).await.expect("readable"), Some(first.published.clone()));
    let newest = catalog.newest().await.expect("readable");
    let newest: Vec<_> = newest.into_iter().map(|row| row.expect("understood")).collect();
    assert_eq!(newest, [first.published]);
    assert_eq!(catalog.content_hashes(&app).await.expect("readable"), expected);
    assert_eq!(texts(&catalog).await, ["first", "second"]);
}

#[tokio::test]
async fn a_later_generation_replaces_and_removes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let catalog = open(&folder).await;
    let first = publication(1, vec![article("a", "old"), article("b", "gone")], &[]);
    catalog.publish(&first).await.expect("publishes");
    let second = publication(2, vec![article("a", "new")], &["b"]);
    catalog.publish(&second).await.expect("publishes");
    assert_eq!(texts(&catalog).await, ["new"]);
    // The removed article may come back.
    catalog.publish(&publication(3, vec![article("b", "back")], &[])).await.expect("publishes");
    assert_eq!(texts(&catalog).await, ["new", "back"]);
    let newest = catalog.newest_of(&AppName::default_app()).await.expect("readable");
    assert_eq!(newest.map(|published| published.id.number), Some(3));
}

#[tokio::test]
async fn a_number_that_is_taken_changes_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let catalog = open(&folder).await;
    catalog.publish(&publication(1, vec![article("a", "kept")], &[])).await.expect("publishes");
    let again = publication(1, vec![article("a", "lost")], &[]);
    let error = catalog.publish(&again).await.expect_err("the number is taken");
    assert!(matches!(error, CatalogError::AlreadyPublished { number: 1, .. }));
    assert_eq!(texts(&catalog).await, ["kept"]);
}

#[tokio::test]
async fn a_catalog_that_must_be_there_is_not_made() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("catalog.sqlite");
    let error = Catalog::open_existing(&path).await.expect_err("it is not there");
    assert!(error.to_string().contains("kiwari index"));
    assert!(!path.exists());
}
