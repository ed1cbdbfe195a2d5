//! A corpus, indexed the way the product does it, and ranked by the same searches and the same fusion; to
//! a hundred passages, where an answer is drawn from the first few.

use std::collections::HashMap;
use std::sync::Arc;

use analysis::Profile;
use anyhow::Context;
use articles::{SplitSettings, split};
use deadline::CancelFlag;
use domain::{Article, Embedder, Filter, Passage, Question};
use embed::LocalEmbedder;
use ingest::{Embedding, vectors_of};
use search::{KeywordHit, KeywordIndex, KeywordRequest, VectorFile, VectorHit, VectorWriter, fuse};

use crate::cli::Mode;
use crate::index_folder::calls_at_once;

/// Passages that are ranked before they are folded to articles.
const CANDIDATES: usize = 50;

/// A searchable corpus.
pub(crate) struct Collection {
    keyword: KeywordIndex,
    vectors: Option<Vectors>,
}

struct Vectors {
    embedder: Arc<LocalEmbedder>,
    file: VectorFile,
    /// Holds the file.
    _folder: tempfile::TempDir,
}

impl Collection {
    /// Indexes `articles`; with vectors if there is an embedder.
    pub(crate) async fn build(
        articles: &[Article],
        embedder: Option<Arc<LocalEmbedder>>,
    ) -> anyhow::Result<Self> {
        let passages: Vec<Passage> =
            articles.iter().flat_map(|article| split(article, SplitSettings::standard())).collect();
        let texts = passages.iter().map(|passage| (passage.text.as_str(), passage.lang));
        let keyword = KeywordIndex::in_ram(Profile::of_collection(texts), &passages)?;
        let vectors = match embedder {
            Some(embedder) => Some(Vectors::build(&passages, embedder).await?),
            None => None,
        };
        Ok(Self { keyword, vectors })
    }

    /// The articles for `question`, best first, each once.
    pub(crate) fn articles(&self, question: &Question, mode: Mode) -> anyhow::Result<Vec<String>> {
        let keyword = match mode {
            Mode::Vector => Vec::new(),
            Mode::Keyword | Mode::Hybrid => self.keyword_hits(question)?,
        };
        let vector = match (&self.vectors, mode) {
            (Some(vectors), Mode::Vector | Mode::Hybrid) => {
                vectors.hits(question, &self.keyword)?
            }
            (None, _) | (Some(_), Mode::Keyword) => Vec::new(),
        };
        let hits = fuse(&keyword, &vector, question.lang(), 2 * CANDIDATES);
        let mut articles: Vec<String> = Vec::new();
        for hit in hits {
            let id = hit.passage.article_id.as_str();
            if !articles.iter().any(|seen| seen == id) {
                articles.push(id.to_owned());
            }
        }
        Ok(articles)
    }

    fn keyword_hits(&self, question: &Question) -> anyhow::Result<Vec<KeywordHit>> {
        let request = KeywordRequest {
            text: question.text(),
            filter: &Filter::default(),
            k: CANDIDATES,
            last_word_is_prefix: false,
        };
        Ok(self.keyword.search(&request, &CancelFlag::default())?.hits)
    }
}

impl Vectors {
    async fn build(passages: &[Passage], embedder: Arc<LocalEmbedder>) -> anyhow::Result<Self> {
        let dynamic: Arc<dyn Embedder> = embedder.clone();
        let embedding =
            Embedding { embedder: &dynamic, calls_at_once: calls_at_once(embedder.id()) };
        let (vectors, _) = vectors_of(passages, HashMap::new(), embedding, &|_| {}).await?;
        let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
        let path = folder.path().join("vectors");
        let mut writer = VectorWriter::create(&path, embedder.id())?;
        for passage in passages {
            if let Some(vector) = vectors.get(&passage.id) {
                writer.push(passage.id, passage.lang, &passage.tags, vector)?;
            }
        }
        writer.finish()?;
        Ok(Self { embedder, file: VectorFile::open(&path)?, _folder: folder })
    }

    fn hits(&self, question: &Question, passages: &KeywordIndex) -> anyhow::Result<Vec<VectorHit>> {
        if !self.embedder.covers(question.text()) {
            return Ok(Vec::new());
        }
        let vector = self.embedder.embed_now(question.text());
        let near =
            self.file.nearest(&vector, &Filter::default(), CANDIDATES, &CancelFlag::default());
        let mut hits = Vec::with_capacity(near.len());
        for neighbour in near {
            if let Some(passage) = passages.passage(neighbour.passage)? {
                hits.push(VectorHit { passage, cosine: neighbour.cosine });
            }
        }
        Ok(hits)
    }
}
