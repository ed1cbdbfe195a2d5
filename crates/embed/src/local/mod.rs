//! [`LocalEmbedder`]: USE-multilingual, pruned to English and Japanese, in this process.

mod error;
mod matrix;
mod network;
mod table;
mod text;
mod tokenizer;
mod weights;

use std::borrow::Cow;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use deadline::{CancelFlag, CpuPool, OutOfTime};
use domain::{Call, Embedder, EmbedderId, Fault, Role, Vector};

pub use error::ModelError;
use matrix::Cancelled;
use network::Network;
use table::DIMENSIONS;
use tokenizer::Tokenizer;
use weights::WeightFile;

/// The model's name, stored with every index made by it.
const NAME: &str = "local/use-m3-enja";

const WEIGHTS_FILE: &str = "model.safetensors";
const TOKENIZER_FILE: &str = "tokenizer.json";

/// Pieces of a text that are looked at, its two marks included. A passage of 700 characters has some 150 in
/// English and under 400 in Japanese: none is cut, and the work on any text is bounded.
const MOST_PIECES: usize = 512;

/// The least share of known characters with which a text's vector means something. Of real questions to
/// help sites, English and Japanese ones reach 0.91 at least, Russian, Korean and Arabic ones 0.77 at most
/// (by their product names). Nearer the lower end, so that one rare kanji among five may be unknown.
const LEAST_KNOWN_SHARE: f32 = 0.8;

/// Texts embedded on one permit of the pool, so that a large call does not keep a core to itself.
const BATCH: usize = 8;

/// The local model. Cheap to clone; clones share the weights and the pool.
///
/// Deterministic on one machine; between CPUs with and without fused multiply-add, numbers differ by less
/// than 1e-5. It treats questions and passages alike.
#[derive(Clone)]
pub struct LocalEmbedder {
    model: Arc<Model>,
    pool: CpuPool,
}

struct Model {
    id: EmbedderId,
    tokenizer: Tokenizer,
    network: Network,
}

impl LocalEmbedder {
    /// Loads the model that is part of the binary.
    ///
    /// # Errors
    ///
    /// [`ModelError`], if the binary was built with broken files.
    #[cfg(feature = "bundled-model")]
    pub fn bundled(pool: CpuPool) -> Result<Self, ModelError> {
        const WEIGHTS: &[u8] = include_bytes!("../../../../models/use-m3-enja/model.safetensors");
        const TOKENIZER: &[u8] = include_bytes!("../../../../models/use-m3-enja/tokenizer.json");
        let folder = Path::new("(bundled) use-m3-enja");
        let model = Model::load(folder, WEIGHTS, TOKENIZER, Cow::Borrowed)?;
        Ok(Self { model: Arc::new(model), pool })
    }

    /// Loads `model.safetensors` and `tokenizer.json` from a folder.
    ///
    /// # Errors
    ///
    /// [`ModelError`] naming the file that is missing or broken, and what is wrong with it.
    pub fn from_files(dir: &Path, pool: CpuPool) -> Result<Self, ModelError> {
        let read = |name: &str| {
            let file = dir.join(name);
            std::fs::read(&file).map_err(|source| ModelError::Read { file, source })
        };
        let (weights, tokenizer) = (read(WEIGHTS_FILE)?, read(TOKENIZER_FILE)?);
        let model = Model::load(dir, &weights, &tokenizer, |table| Cow::Owned(table.to_vec()))?;
        Ok(Self { model: Arc::new(model), pool })
    }

    /// The vector of one text, computed on the calling thread: for indexing threads and tests.
    ///
    /// A blank text has a vector too, that of one unknown piece.
    #[must_use]
    pub fn embed_now(&self, text: &str) -> Vector {
        self.model.embed(text, &CancelFlag::default()).expect("nobody else holds the flag")
    }

    /// The share, 0…1, of `text`'s characters (white space apart) that the model has pieces for; 0 for a
    /// blank text.
    #[must_use]
    pub fn known_share(&self, text: &str) -> f32 {
        self.model.tokenizer.known_share(text)
    }
}

#[async_trait]
impl Embedder for LocalEmbedder {
    fn id(&self) -> &EmbedderId {
        &self.model.id
    }

    fn covers(&self, text: &str) -> bool {
        self.known_share(text) >= LEAST_KNOWN_SHARE
    }

    async fn embed(
        &self,
        texts: &[String],
        _role: Role,
        call: &Call,
    ) -> Result<Vec<Vector>, Fault> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(BATCH) {
            let (batch, model) = (batch.to_vec(), Arc::clone(&self.model));
            let embedded =
                self.pool.run(call.deadline, move |cancel| model.embed_all(&batch, cancel)).await?;
            // The flag rises when this future is dropped, so nobody sees this fault.
            vectors.extend(embedded.map_err(|Cancelled| OutOfTime)?);
        }
        Ok(vectors)
    }
}

impl fmt::Debug for LocalEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalEmbedder").field("id", &self.model.id).finish_non_exhaustive()
    }
}

impl Model {
    fn load<'a>(
        folder: &Path,
        weights: &'a [u8],
        tokenizer: &[u8],
        keep_table: impl FnOnce(&'a [u8]) -> Cow<'static, [u8]>,
    ) -> Result<Self, ModelError> {
        let tokenizer = Tokenizer::parse(tokenizer, &folder.join(TOKENIZER_FILE))?;
        let weights = WeightFile::parse(weights, &folder.join(WEIGHTS_FILE))?;
        let table = weights.table(tokenizer.len(), keep_table)?;
        let network = Network::load(&weights, table)?;
        let dimensions = u32::try_from(DIMENSIONS).expect("512 fits");
        let id = EmbedderId { name: NAME.to_owned(), dimensions };
        Ok(Self { id, tokenizer, network })
    }

    fn embed(&self, text: &str, cancel: &CancelFlag) -> Result<Vector, Cancelled> {
        let ids = self.tokenizer.encode(text, MOST_PIECES);
        let values = self.network.forward(&ids, cancel)?;
        Ok(Vector::normalized(values).unwrap_or_else(anywhere))
    }

    fn embed_all(&self, texts: &[String], cancel: &CancelFlag) -> Result<Vec<Vector>, Cancelled> {
        texts.iter().map(|text| self.embed(text, cancel)).collect()
    }
}

/// A direction for a text that the network gives none, which no text is known to do.
fn anywhere() -> Vector {
    let mut values = vec![0.0; DIMENSIONS];
    values[0] = 1.0;
    Vector::normalized(values).expect("the values have length one")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_flag_ends_work_within_a_text() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/use-m3-enja");
        let embedder = LocalEmbedder::from_files(&folder, CpuPool::per_core()).unwrap();
        let cancel = CancelFlag::default();
        assert!(embedder.model.embed("a text", &cancel).is_ok());
        cancel.raise();
        assert_eq!(embedder.model.embed("a text", &cancel), Err(Cancelled));
    }
}
