//! Passages and vectors to search for.

use std::collections::HashMap;

use domain::{
    AppName, ArticleId, EmbedderId, Filter, GenerationId, Language, Neighbour, Passage, PassageId,
    Vector,
};

pub(crate) const DIMENSIONS: u32 = 8;

/// Pseudo-random numbers in −1…1.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        f32::from((self.0 >> 48) as u16) / 32_768.0 - 1.0
    }

    pub(crate) fn vector(&mut self, dimensions: u32) -> Vector {
        Vector::normalized((0..dimensions).map(|_| self.next()).collect()).expect("not all zero")
    }
}

/// A passage with its vector.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    pub(crate) passage: Passage,
    pub(crate) vector: Vector,
}

/// Passage `number`, in one of two languages, with `tags`; the same number has the same vector.
pub(crate) fn row(number: u32, tags: &[&str]) -> Row {
    // Multiplying scrambles the order of the ids.
    let mut id = [0; 16];
    id[..4].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
    let passage = Passage {
        id: PassageId::from_bytes(id),
        article_id: ArticleId::new(format!("article-{number}")),
        title: format!("Article {number}"),
        headings: vec![],
        url: None,
        lang: if number.is_multiple_of(3) { Language::JAPANESE } else { Language::ENGLISH },
        tags: tags.iter().map(|tag| (*tag).to_owned()).collect(),
        ordinal: 0,
        text: format!("Passage {number}"),
    };
    Row { passage, vector: Numbers(u64::from(number) + 1).vector(DIMENSIONS) }
}

/// Passages 0 to `count`, some of them tagged.
pub(crate) fn rows(count: u32) -> Vec<Row> {
    let tags = |number: u32| -> &[&str] {
        match number % 4 {
            0 => &[],
            1 => &["billing"],
            2 => &["billing", "返金"],
            _ => &["a \"quoted\" tag"],
        }
    };
    (0..count).map(|number| row(number, tags(number))).collect()
}

pub(crate) fn passages(rows: &[Row]) -> Vec<Passage> {
    rows.iter().map(|row| row.passage.clone()).collect()
}

pub(crate) fn vectors(rows: &[Row]) -> HashMap<PassageId, Vector> {
    rows.iter().map(|row| (row.passage.id, row.vector.clone())).collect()
}

pub(crate) fn embedder() -> EmbedderId {
    EmbedderId { name: "test/random".to_owned(), dimensions: DIMENSIONS }
}

pub(crate) fn generation(app: &str, epoch: u32, number: u64) -> GenerationId {
    let app: AppName = app.parse().expect("an app name");
    GenerationId { app, epoch, number }
}

/// The nearest by definition: every admitted passage's cosine, sorted, equal ones by id.
pub(crate) fn by_definition(
    rows: &[Row],
    query: &Vector,
    filter: &Filter,
    k: usize,
) -> Vec<Neighbour> {
    let admitted = rows.iter().filter(|row| filter.admits(&row.passage));
    let neighbour =
        |row: &Row| Neighbour { passage: row.passage.id, cosine: row.vector.cosine(query) };
    let mut all: Vec<Neighbour> = admitted.map(neighbour).collect();
    all.sort_by(|a, b| b.cosine.total_cmp(&a.cosine).then(a.passage.cmp(&b.passage)));
    all.truncate(k);
    all
}

pub(crate) fn ids(neighbours: &[Neighbour]) -> Vec<PassageId> {
    neighbours.iter().map(|neighbour| neighbour.passage).collect()
}
