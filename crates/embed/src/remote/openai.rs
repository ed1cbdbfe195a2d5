//! [`OpenAiEmbedder`]: any server that speaks `OpenAI`'s `/embeddings`.

use std::borrow::Cow;
use std::num::NonZeroUsize;
use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use domain::{Call, Embedder, EmbedderId, Fault, Role, Vector};
use serde::{Deserialize, Serialize};
use upstream::Upstream;

use super::{InvalidEmbedder, ReplyError, check_settings, refuse_blank, reply};

/// Which model, and what it wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenAiSettings {
    /// As the server names it.
    pub model: String,
    /// How long its vectors are; others are refused. [`OpenAiEmbedder::dimensions_of`] finds out.
    pub dimensions: u32,
    /// Whether the server is asked for that many. Models that know one length only refuse to be asked.
    pub ask_for_dimensions: bool,
    /// Put before a question, where the model was trained so: `query: ` for E5. A space at its end counts.
    pub query_prefix: String,
    /// Put before a passage: `passage: ` for E5.
    pub passage_prefix: String,
    /// Texts of one request. 32, which no server that we know refuses.
    pub batch: NonZeroUsize,
}

impl OpenAiSettings {
    /// `model` as it comes: no prefixes, and no wishes.
    #[must_use]
    pub fn plain(model: &str, dimensions: u32) -> Self {
        Self {
            model: model.to_owned(),
            dimensions,
            ask_for_dimensions: false,
            query_prefix: String::new(),
            passage_prefix: String::new(),
            batch: NonZeroUsize::new(32).expect("32 is not zero"),
        }
    }
}

/// Asks a model behind `/embeddings`.
#[derive(Clone, Debug)]
pub struct OpenAiEmbedder {
    upstream: Arc<Upstream>,
    id: EmbedderId,
    settings: OpenAiSettings,
}

#[derive(Debug, Serialize)]
struct Request<'a> {
    model: &'a str,
    input: Vec<Cow<'a, str>>,
    /// A quarter of the digits, and exact.
    encoding_format: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<u32>,
}

#[derive(Debug, Deserialize)]
struct Reply {
    data: Vec<One>,
}

#[derive(Debug, Deserialize)]
struct One {
    /// Some servers leave it out and reply in order.
    index: Option<usize>,
    embedding: Components,
}

/// Servers that know no base64 send numbers, whatever was asked for.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Components {
    Base64(String),
    Numbers(Vec<f32>),
}

impl OpenAiEmbedder {
    /// The model of `settings`, at the server that `upstream` calls.
    ///
    /// The passage prefix is part of its [`id`](Embedder::id), because passages embedded with another one are
    /// not comparable.
    ///
    /// # Errors
    ///
    /// [`InvalidEmbedder`], if `settings` name no model or no dimensions.
    pub fn new(upstream: Arc<Upstream>, settings: OpenAiSettings) -> Result<Self, InvalidEmbedder> {
        check_settings(&settings.model, settings.dimensions)?;
        let name = match settings.passage_prefix.trim() {
            "" => format!("openai/{}", settings.model),
            prefix => format!("openai/{}#{prefix}", settings.model),
        };
        let id = EmbedderId { name, dimensions: settings.dimensions };
        Ok(Self { upstream, id, settings })
    }

    /// How long `model`'s vectors are when it is not asked for any length; takes one call.
    ///
    /// # Errors
    ///
    /// A [`Fault`]: the server is away, or has no such model.
    pub async fn dimensions_of(
        upstream: &Upstream,
        model: &str,
        call: &Call,
    ) -> Result<u32, Fault> {
        let request = Request::new(model, vec!["length".into()], None);
        let components = request.send(upstream, call).await?.pop().unwrap_or_default();
        let found = components.len();
        u32::try_from(found)
            .ok()
            .filter(|found| *found > 0)
            .ok_or_else(|| ReplyError::Dimensions { found, expected: 1 }.into())
    }

    async fn embed_batch(
        &self,
        texts: &[String],
        role: Role,
        call: &Call,
    ) -> Result<Vec<Vector>, Fault> {
        let components = self.request(texts, role).send(&self.upstream, call).await?;
        Ok(reply::vectors(components, texts.len(), self.id.dimensions)?)
    }

    fn request<'a>(&'a self, texts: &'a [String], role: Role) -> Request<'a> {
        let settings = &self.settings;
        let prefix = match role {
            Role::Query => settings.query_prefix.as_str(),
            Role::Passage => settings.passage_prefix.as_str(),
        };
        let input = texts.iter().map(|text| prefixed(prefix, text)).collect();
        let wish = settings.ask_for_dimensions.then_some(settings.dimensions);
        Request::new(&settings.model, input, wish)
    }
}

impl<'a> Request<'a> {
    fn new(model: &'a str, input: Vec<Cow<'a, str>>, dimensions: Option<u32>) -> Self {
        Self { model, input, encoding_format: "base64", dimensions }
    }

    /// The components of the vectors, in order of the texts.
    async fn send(&self, upstream: &Upstream, call: &Call) -> Result<Vec<Vec<f32>>, Fault> {
        let body = serde_json::to_vec(self).expect("texts and numbers serialise");
        let body = upstream.post("/embeddings", body, call).await?;
        let reply: Reply = reply::parse(&body)?;
        Ok(in_order(reply.data)?)
    }
}

fn prefixed<'a>(prefix: &str, text: &'a str) -> Cow<'a, str> {
    if prefix.is_empty() { text.into() } else { format!("{prefix}{text}").into() }
}

/// Servers may reply in any order.
fn in_order(data: Vec<One>) -> Result<Vec<Vec<f32>>, ReplyError> {
    let numbered = data.into_iter().enumerate();
    let mut numbered: Vec<(usize, Components)> =
        numbered.map(|(place, one)| (one.index.unwrap_or(place), one.embedding)).collect();
    numbered.sort_by_key(|(index, _)| *index);
    if numbered.iter().enumerate().any(|(place, (index, _))| place != *index) {
        return Err(ReplyError::Numbering);
    }
    numbered.into_iter().map(|(_, components)| components.numbers()).collect()
}

impl Components {
    fn numbers(self) -> Result<Vec<f32>, ReplyError> {
        match self {
            Self::Numbers(numbers) => Ok(numbers),
            Self::Base64(text) => decoded(&text).ok_or(ReplyError::Encoding),
        }
    }
}

/// Little-endian, four bytes each.
fn decoded(text: &str) -> Option<Vec<f32>> {
    let bytes = BASE64_STANDARD.decode(text).ok()?;
    let (numbers, rest) = bytes.as_chunks::<4>();
    rest.is_empty().then(|| numbers.iter().copied().map(f32::from_le_bytes).collect())
}

#[async_trait]
impl Embedder for OpenAiEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.id
    }

    /// What it knows is not known here.
    fn covers(&self, _text: &str) -> bool {
        true
    }

    async fn embed(&self, texts: &[String], role: Role, call: &Call) -> Result<Vec<Vector>, Fault> {
        refuse_blank(texts)?;
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.settings.batch.get()) {
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

    fn e5() -> OpenAiSettings {
        OpenAiSettings {
            query_prefix: "query: ".to_owned(),
            passage_prefix: "passage: ".to_owned(),
            ..OpenAiSettings::plain("e5", 384)
        }
    }

    #[track_caller]
    fn check(settings: OpenAiSettings, role: Role, expected: &Value) {
        let embedder = OpenAiEmbedder::new(nowhere(), settings).unwrap();
        let texts = ["a".to_owned(), "b".to_owned()];
        assert_eq!(&serde_json::to_value(embedder.request(&texts, role)).unwrap(), expected);
    }

    #[test]
    fn nothing_is_asked_for_that_was_not_configured() {
        let expected = json!({"model": "m", "input": ["a", "b"], "encoding_format": "base64"});
        check(OpenAiSettings::plain("m", 8), Role::Query, &expected);
        let short = OpenAiSettings { ask_for_dimensions: true, ..OpenAiSettings::plain("m", 8) };
        let expected = json!({"model": "m", "input": ["a", "b"], "encoding_format": "base64",
                              "dimensions": 8});
        check(short, Role::Passage, &expected);
    }

    #[test]
    fn prefixes_come_before_each_text() {
        let expected = |input| json!({"model": "e5", "input": input, "encoding_format": "base64"});
        check(e5(), Role::Query, &expected(["query: a", "query: b"]));
        check(e5(), Role::Passage, &expected(["passage: a", "passage: b"]));
    }

    #[test]
    fn what_changes_passages_is_part_of_the_identity() {
        let id = |settings| OpenAiEmbedder::new(nowhere(), settings).unwrap().id().to_string();
        assert_eq!(id(OpenAiSettings::plain("BAAI/bge-m3", 1024)), "openai/BAAI/bge-m3@1024");
        assert_eq!(id(e5()), "openai/e5#passage:@384");
    }

    fn numbers(data: &Value) -> Result<Vec<Vec<f32>>, ReplyError> {
        let reply: Reply = serde_json::from_value(json!({"data": data})).unwrap();
        in_order(reply.data)
    }

    #[test]
    fn numbers_and_base64_are_read_alike_and_put_in_order() {
        // 1.5 and -2.0 in little-endian bytes.
        let data = json!([{"index": 1, "embedding": "AADAPwAAAMA="}, {"index": 0, "embedding": [1.0, 0.5]}]);
        assert_eq!(numbers(&data).unwrap(), [[1.0, 0.5], [1.5, -2.0]]);
        let data = json!([{"embedding": [1.0]}, {"embedding": [2]}]);
        assert_eq!(numbers(&data).unwrap(), [[1.0], [2.0]]);
    }

    #[test]
    fn replies_that_cannot_be_matched_with_texts_are_refused() {
        let twice = json!([{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]);
        assert!(matches!(numbers(&twice), Err(ReplyError::Numbering)));
        for text in ["AADAPwAA", "!!!!"] {
            let broken = json!([{"index": 0, "embedding": text}]);
            assert!(matches!(numbers(&broken), Err(ReplyError::Encoding)), "{text}");
        }
    }
}
