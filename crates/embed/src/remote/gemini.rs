//! [`GeminiEmbedder`]: Gemini's embedding models over their REST API.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use domain::{Call, Embedder, EmbedderId, Fault, Role, Vector};
use serde::{Deserialize, Serialize};
use upstream::Upstream;

use super::{InvalidEmbedder, check_settings, refuse_blank, reply};

/// Which model, and how long its vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeminiSettings {
    /// As in `models/…` of its address.
    pub model: String,
    /// 128 to 3,072; the models keep their meaning at 768, 1,536 and 3,072.
    pub dimensions: u32,
}

impl Default for GeminiSettings {
    fn default() -> Self {
        Self { model: "gemini-embedding-2".to_owned(), dimensions: 768 }
    }
}

/// Texts of one request; more are refused.
const MOST_TEXTS: usize = 100;

/// Asks one of Gemini's embedding models.
#[derive(Clone, Debug)]
pub struct GeminiEmbedder {
    upstream: Arc<Upstream>,
    id: EmbedderId,
    /// `models/…`
    model: String,
    path: String,
    told: Told,
}

/// How a model is told whether a text is a question or a passage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    /// By words before the text; it ignores the field.
    ByPrefix,
    ByTaskType,
    /// Nothing is known of the model.
    Not,
}

#[derive(Debug, Serialize)]
struct Request<'a> {
    requests: Vec<One<'a>>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct One<'a> {
    model: &'a str,
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    task_type: Option<&'static str>,
    output_dimensionality: u32,
}

/// One part: several would become one vector together.
#[derive(Debug, Serialize)]
struct Content<'a> {
    parts: [Part<'a>; 1],
}

#[derive(Debug, Serialize)]
struct Part<'a> {
    text: Cow<'a, str>,
}

#[derive(Debug, Deserialize)]
struct Reply {
    embeddings: Vec<Embedding>,
}

#[derive(Debug, Deserialize)]
struct Embedding {
    values: Vec<f32>,
}

impl GeminiEmbedder {
    /// The model of `settings`, at the API that `upstream` calls.
    ///
    /// # Errors
    ///
    /// [`InvalidEmbedder`], if `settings` name no model or no dimensions.
    pub fn new(
        upstream: Arc<Upstream>,
        settings: &GeminiSettings,
    ) -> Result<Self, InvalidEmbedder> {
        let name = settings.model.strip_prefix("models/").unwrap_or(&settings.model);
        check_settings(name, settings.dimensions)?;
        Ok(Self {
            upstream,
            id: EmbedderId { name: format!("gemini/{name}"), dimensions: settings.dimensions },
            model: format!("models/{name}"),
            path: format!("/v1beta/models/{name}:batchEmbedContents"),
            told: Told::to(name),
        })
    }

    async fn embed_batch(
        &self,
        texts: &[String],
        role: Role,
        call: &Call,
    ) -> Result<Vec<Vector>, Fault> {
        let request = Request { requests: texts.iter().map(|text| self.one(text, role)).collect() };
        let body = serde_json::to_vec(&request).expect("texts and numbers serialise");
        let body = self.upstream.post(&self.path, body, call).await?;
        let reply: Reply = reply::parse(&body)?;
        let components = reply.embeddings.into_iter().map(|embedding| embedding.values).collect();
        Ok(reply::vectors(components, texts.len(), self.id.dimensions)?)
    }

    fn one<'a>(&'a self, text: &'a str, role: Role) -> One<'a> {
        One {
            model: &self.model,
            content: Content { parts: [Part { text: self.told.text(text, role) }] },
            task_type: self.told.task_type(role),
            output_dimensionality: self.id.dimensions,
        }
    }
}

impl Told {
    fn to(model: &str) -> Self {
        match model {
            "gemini-embedding-001" => Self::ByTaskType,
            _ if model.starts_with("gemini-embedding-2") => Self::ByPrefix,
            _ => Self::Not,
        }
    }

    /// The forms that the model was trained with. Titles are part of our texts already.
    fn text(self, text: &str, role: Role) -> Cow<'_, str> {
        match (self, role) {
            (Self::ByPrefix, Role::Query) => format!("task: search result | query: {text}").into(),
            (Self::ByPrefix, Role::Passage) => format!("title: none | text: {text}").into(),
            (Self::ByTaskType | Self::Not, _) => text.into(),
        }
    }

    fn task_type(self, role: Role) -> Option<&'static str> {
        match (self, role) {
            (Self::ByTaskType, Role::Query) => Some("RETRIEVAL_QUERY"),
            (Self::ByTaskType, Role::Passage) => Some("RETRIEVAL_DOCUMENT"),
            (Self::ByPrefix | Self::Not, _) => None,
        }
    }
}

#[async_trait]
impl Embedder for GeminiEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    /// It knows the languages of the world.
    fn covers(&self, _text: &str) -> bool {
        true
    }

    async fn embed(&self, texts: &[String], role: Role, call: &Call) -> Result<Vec<Vector>, Fault> {
        refuse_blank(texts)?;
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(MOST_TEXTS) {
            vectors.extend(self.embed_batch(batch, role, call).await?);
        }
        Ok(vectors)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::remote::tests::nowhere;

    fn embedder(model: &str) -> GeminiEmbedder {
        let settings = GeminiSettings { model: model.to_owned(), dimensions: 768 };
        GeminiEmbedder::new(nowhere(), &settings).unwrap()
    }

    #[track_caller]
    fn check(model: &str, role: Role, expected: &Value) {
        let embedder = embedder(model);
        let one = serde_json::to_value(embedder.one("how to reset", role)).unwrap();
        assert_eq!(&one, expected);
    }

    #[test]
    fn the_second_model_is_told_by_prefixes() {
        let expected = |text: &str| {
            json!({"model": "models/gemini-embedding-2", "content": {"parts": [{"text": text}]},
                   "outputDimensionality": 768})
        };
        let query = "task: search result | query: how to reset";
        check("gemini-embedding-2", Role::Query, &expected(query));
        check("models/gemini-embedding-2", Role::Query, &expected(query));
        check("gemini-embedding-2", Role::Passage, &expected("title: none | text: how to reset"));
    }

    #[test]
    fn the_first_model_is_told_by_its_field() {
        let expected = |task: &str| {
            json!({"model": "models/gemini-embedding-001", "taskType": task,
                   "content": {"parts": [{"text": "how to reset"}]}, "outputDimensionality": 768})
        };
        check("gemini-embedding-001", Role::Query, &expected("RETRIEVAL_QUERY"));
        check("gemini-embedding-001", Role::Passage, &expected("RETRIEVAL_DOCUMENT"));
    }

    #[test]
    fn a_model_that_nothing_is_known_of_gets_the_text_alone() {
        let expected = json!({"model": "models/new", "content": {"parts": [{"text": "how to reset"}]},
                              "outputDimensionality": 768});
        check("new", Role::Query, &expected);
        check("new", Role::Passage, &expected);
    }

    #[test]
    fn the_model_and_its_dimensions_are_the_identity() {
        assert_eq!(
            embedder("gemini-embedding-2").id().to_string(),
            "gemini/gemini-embedding-2@768"
        );
        let refused = |model: &str, dimensions| {
            let settings = GeminiSettings { model: model.to_owned(), dimensions };
            GeminiEmbedder::new(nowhere(), &settings).unwrap_err()
        };
        assert_eq!(refused("m", 0), InvalidEmbedder::Dimensions);
        for name in ["", "models/", "a b", "a?key=b", "模型"] {
            assert!(matches!(refused(name, 768), InvalidEmbedder::Model(_)), "{name}");
        }
    }
}
