//! Articles and publications to test with.

use std::time::{Duration, SystemTime};

use catalog::{Catalog, Changes, Publication, Published, Recipe, VectorHome};
use domain::{
    AppName, Article, ArticleId, EmbedderId, GenerationId, Language, Passage, PassageId, Section,
};

pub(crate) fn app() -> AppName {
    AppName::default_app()
}

pub(crate) fn generation(number: u64) -> GenerationId {
    GenerationId { app: app(), epoch: 1, number }
}

/// An article of one passage a text.
pub(crate) fn article(id: &str, texts: &[&str]) -> (Article, Vec<Passage>) {
    let section = Section { headings: vec![], anchor: None, text: texts.join("\n\n") };
    let article = Article {
        id: ArticleId::new(id),
        title: id.to_uppercase(),
        lang: Language::ENGLISH,
        url: Some(format!("/help/{id}")),
        tags: vec!["t".to_owned(), "パスワード \"x\"".to_owned()],
        path: format!("{id}.md"),
        sections: vec![section],
    };
    let passages =
        (0..).zip(texts).map(|(ordinal, text)| passage(&article, ordinal, text)).collect();
    (article, passages)
}

fn passage(article: &Article, ordinal: u32, text: &str) -> Passage {
    let mut passage = Passage {
        id: PassageId::from_bytes([0; 16]),
        article_id: article.id.clone(),
        title: article.title.clone(),
        headings: vec![],
        url: article.url.clone(),
        lang: article.lang,
        tags: article.tags.clone(),
        ordinal,
        text: text.to_owned(),
    };
    passage.id = passage.derive_id(0);
    passage
}

pub(crate) fn publication(
    number: u64,
    written: Vec<(Article, Vec<Passage>)>,
    removed: &[&str],
) -> Publication {
    Publication {
        published: Published {
            id: generation(number),
            recipe: Recipe {
                embedder: EmbedderId { name: "local/x".to_owned(), dimensions: 4 },
                splitter: 1,
                passage_text: 1,
                analyser: "a".to_owned(),
                vectors: VectorHome::Files,
                owner: None,
            },
            articles: 2,
            passages: 2,
            published_at: SystemTime::UNIX_EPOCH + Duration::from_micros(1_790_000_000_123_457),
        },
        changes: Changes {
            written,
            removed: removed.iter().copied().map(ArticleId::new).collect(),
        },
    }
}

pub(crate) async fn publish(
    catalog: &dyn Catalog,
    number: u64,
    written: Vec<(Article, Vec<Passage>)>,
    removed: &[&str],
) {
    let mut writer = catalog.writer(&app(), "a test").await.expect("nobody else writes");
    writer.publish(&publication(number, written, removed)).await.expect("publishes");
    writer.release().await;
}

/// The texts of generation `number`, in order.
pub(crate) async fn texts(catalog: &dyn Catalog, number: u64) -> Vec<String> {
    let passages = catalog.passages(&generation(number)).await.expect("readable");
    passages.into_iter().map(|passage| passage.text).collect()
}
