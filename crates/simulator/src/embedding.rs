//! Vectors that mean something: the local model's, dressed as those of a remote one.
//!
//! The local model's 512 numbers are the beginning of every vector; a longer one goes on with zeros and a shorter
//! one is cut, so that prefixes are usable, as those of real models are, and cosines stay what they were.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use deadline::{CancelFlag, CpuPool, Deadline};
use embed::LocalEmbedder;

/// How long a vector is, and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Shape {
    pub(crate) dimensions: usize,
    pub(crate) norm: Norm,
    pub(crate) notation: Notation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Norm {
    Unit,
    /// Shorter than 1 if it has fewer than 3,072 dimensions, as with `gemini-embedding-001`.
    Shrinking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Notation {
    /// A JSON array.
    Numbers,
    /// A JSON string of little-endian 32-bit floats.
    Base64,
}

/// The maker of vectors, with a memory.
#[derive(Debug)]
pub(crate) struct Vectors {
    given: Option<LocalEmbedder>,
    pool: CpuPool,
    memory: Mutex<Memory>,
}

/// Long enough for the largest batch.
const PATIENCE: Duration = Duration::from_secs(600);

/// Written vectors, by text and shape. What has not been asked for since the memory filled half goes first.
#[derive(Debug, Default)]
struct Memory {
    young: HashMap<(String, Shape), Bytes>,
    old: HashMap<(String, Shape), Bytes>,
    young_bytes: usize,
}

/// Bytes of either half of the memory.
const HALF: usize = 32 << 20;

impl Vectors {
    pub(crate) fn new(given: Option<LocalEmbedder>) -> Self {
        Self { given, pool: CpuPool::per_core(), memory: Mutex::default() }
    }

    /// Loads the model.
    pub(crate) async fn warm_up(&self) {
        let shape = Shape { dimensions: 512, norm: Norm::Unit, notation: Notation::Numbers };
        self.written(&["warm".to_owned()], shape).await;
    }

    /// The vectors of `texts`, in order, each as a JSON value.
    pub(crate) async fn written(&self, texts: &[String], shape: Shape) -> Vec<Bytes> {
        let known: Vec<Option<Bytes>> =
            texts.iter().map(|text| self.memory().find(text, shape)).collect();
        let missing: Vec<String> = texts
            .iter()
            .zip(&known)
            .filter(|(_, known)| known.is_none())
            .map(|(text, _)| text.clone())
            .collect();
        let mut made = self.make(missing, shape).await.into_iter();
        known.into_iter().map(|known| known.or_else(|| made.next()).unwrap_or_default()).collect()
    }

    async fn make(&self, texts: Vec<String>, shape: Shape) -> Vec<Bytes> {
        if texts.is_empty() {
            return Vec::new();
        }
        let given = self.given.clone();
        let work = move |_: &CancelFlag| {
            let model = given.as_ref().unwrap_or_else(|| bundled());
            let write = |text: String| {
                let written = shape.write(model.embed_now(&text).as_slice());
                (text, written)
            };
            texts.into_iter().map(write).collect::<Vec<_>>()
        };
        let made = self.pool.run(Deadline::after(PATIENCE), work).await.unwrap_or_default();
        let mut memory = self.memory();
        let keep = |(text, written): (String, Bytes)| {
            memory.keep(text, shape, written.clone());
            written
        };
        made.into_iter().map(keep).collect()
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().expect("nothing panics while it holds the memory")
    }
}

/// The model in the binary, once for all simulators of this process.
fn bundled() -> &'static LocalEmbedder {
    static MODEL: OnceLock<LocalEmbedder> = OnceLock::new();
    let load = || LocalEmbedder::bundled(CpuPool::per_core());
    MODEL.get_or_init(|| load().expect("the bundled model is whole"))
}

impl Memory {
    fn find(&mut self, text: &str, shape: Shape) -> Option<Bytes> {
        let key = (text.to_owned(), shape);
        if let Some(bytes) = self.young.get(&key) {
            return Some(bytes.clone());
        }
        let bytes = self.old.remove(&key)?;
        self.keep(key.0, shape, bytes.clone());
        Some(bytes)
    }

    fn keep(&mut self, text: String, shape: Shape, bytes: Bytes) {
        if self.young_bytes > HALF {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        self.young_bytes += text.len() + bytes.len();
        self.young.insert((text, shape), bytes);
    }
}

impl Shape {
    fn write(self, local: &[f32]) -> Bytes {
        let values = self.fit(local);
        match self.notation {
            Notation::Numbers => serde_json::to_vec(&values).expect("numbers are JSON").into(),
            Notation::Base64 => {
                let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                format!("\"{}\"", BASE64_STANDARD.encode(bytes)).into()
            }
        }
    }

    fn fit(self, local: &[f32]) -> Vec<f32> {
        let mut values: Vec<f32> = local.iter().copied().take(self.dimensions).collect();
        let length = values.iter().map(|value| value * value).sum::<f32>().sqrt();
        let factor = self.norm.length(self.dimensions) / length.max(f32::MIN_POSITIVE);
        values.iter_mut().for_each(|value| *value *= factor);
        values.resize(self.dimensions, 0.0);
        values
    }
}

impl Norm {
    /// The length of vectors of so many dimensions.
    fn length(self, dimensions: usize) -> f32 {
        /// So that 256 dimensions have the 0.375 that was measured.
        const STEEPNESS: f32 = 1.3;
        const FULL: f32 = 3072.0;
        match self {
            Self::Unit => 1.0,
            Self::Shrinking if dimensions >= 3072 => 1.0,
            Self::Shrinking => (STEEPNESS * (dimensions as f32 / FULL).sqrt()).min(0.95),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn vector(vectors: &Vectors, text: &str, dimensions: usize, norm: Norm) -> Vec<f32> {
        let shape = Shape { dimensions, norm, notation: Notation::Numbers };
        let written = vectors.written(&[text.to_owned()], shape).await;
        serde_json::from_slice(&written[0]).unwrap()
    }

    fn cosine(a: &[f32], b: &[f32]) -> f32 {
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>();
        dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
    }

    fn length(a: &[f32]) -> f32 {
        a.iter().map(|x| x * x).sum::<f32>().sqrt()
    }

    #[tokio::test]
    async fn vectors_mean_something_at_every_length() {
        let vectors = Vectors::new(None);
        let texts = ["reset my password", "I forgot my password", "opening hours on Sunday"];
        for dimensions in [128, 768, 3072] {
            let mut all = Vec::new();
            for text in texts {
                all.push(vector(&vectors, text, dimensions, Norm::Unit).await);
            }
            assert!(all.iter().all(|vector| vector.len() == dimensions));
            assert!((length(&all[0]) - 1.0).abs() < 1e-3);
            assert!(cosine(&all[0], &all[1]) > cosine(&all[0], &all[2]) + 0.1);
        }
    }

    #[tokio::test]
    async fn only_full_vectors_of_the_first_model_are_of_unit_length() {
        let vectors = Vectors::new(None);
        for (dimensions, expected) in [(256, 0.375), (768, 0.65), (3072, 1.0)] {
            let norm = length(&vector(&vectors, "a", dimensions, Norm::Shrinking).await);
            assert!((norm - expected).abs() < 0.01, "{norm} at {dimensions}");
        }
    }

    #[tokio::test]
    async fn a_known_text_is_not_embedded_again_and_order_is_kept() {
        let vectors = Vectors::new(None);
        let shape = Shape { dimensions: 128, norm: Norm::Unit, notation: Notation::Base64 };
        let texts = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let first = vectors.written(&texts(&["b"]), shape).await;
        let all = vectors.written(&texts(&["a", "b", "c"]), shape).await;
        assert_eq!(all[1].as_ptr(), first[0].as_ptr(), "the same bytes, not equal ones");
        assert!(all[0] != all[1] && all[2] != all[1]);
        assert!(all[0].starts_with(b"\""));
    }

    #[test]
    fn what_is_not_asked_for_goes_first() {
        let mut memory = Memory::default();
        let shape = Shape { dimensions: 1, norm: Norm::Unit, notation: Notation::Numbers };
        let large = Bytes::from(vec![b' '; HALF / 2]);
        for n in 0..8 {
            memory.keep(n.to_string(), shape, large.clone());
            assert!(memory.find("0", shape).is_some(), "asked for each time");
        }
        assert!(memory.find("1", shape).is_none());
        assert!(memory.find("7", shape).is_some());
    }
}
