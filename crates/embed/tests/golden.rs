//! The forward pass against vectors from the model's original implementation, which has every piece.

use std::path::{Path, PathBuf};

use deadline::CpuPool;
use embed::LocalEmbedder;
use half::f16;

/// A text and the vector that another implementation gives it.
struct Golden {
    text: String,
    vector: Vec<f32>,
}

fn model_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/use-m3-enja")
}

fn embedder() -> LocalEmbedder {
    LocalEmbedder::from_files(&model_folder(), CpuPool::per_core())
        .expect("the vendored model loads")
}

#[track_caller]
fn check(embedder: &LocalEmbedder, golden: &Golden) {
    let ours = embedder.embed_now(&golden.text);
    let pairs =
        || ours.as_slice().iter().zip(&golden.vector).map(|(a, b)| (f64::from(*a), f64::from(*b)));
    assert_eq!(ours.dimensions(), golden.vector.len());
    let dot: f64 = pairs().map(|(a, b)| a * b).sum();
    let length: f64 = pairs().map(|(_, b)| b * b).sum::<f64>().sqrt();
    let difference = pairs().map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    let cosine = dot / length;
    assert!(
        cosine >= 0.9999 && difference <= 1e-3,
        "cosine {cosine}, largest difference {difference}: {:?}",
        golden.text
    );
}

/// The vectors of `scripts/rebuild-model`.
fn vendored() -> Vec<Golden> {
    #[derive(serde::Deserialize)]
    struct Line {
        text: String,
        vector: String,
    }
    let lines = std::fs::read_to_string(model_folder().join("golden.jsonl"))
        .expect("the vectors are vendored");
    let golden = |line: &str| {
        let Line { text, vector } = serde_json::from_str(line).expect("a JSON object a line");
        let halves = base64(&vector);
        let vector =
            halves.chunks_exact(2).map(|half| f16::from_le_bytes([half[0], half[1]]).to_f32());
        Golden { text, vector: vector.collect() }
    };
    lines.lines().map(golden).collect()
}

/// Decodes the standard alphabet.
fn base64(text: &str) -> Vec<u8> {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |byte: u8| ALPHABET.iter().position(|other| *other == byte);
    let digits: Vec<usize> = text
        .bytes()
        .filter(|byte| *byte != b'=')
        .map(|byte| digit(byte).expect("a base64 digit"))
        .collect();
    let mut bytes = Vec::with_capacity(digits.len() * 3 / 4);
    for four in digits.chunks(4) {
        let word = four.iter().fold(0, |word, digit| word << 6 | digit) << (6 * (4 - four.len()));
        bytes.extend(word.to_be_bytes()[5..].iter().take(four.len() - 1));
    }
    bytes
}

#[test]
fn two_hundred_texts_have_the_original_models_vectors() {
    let embedder = embedder();
    let golden = vendored();
    assert!(golden.len() >= 200, "only {} texts", golden.len());
    golden.iter().for_each(|golden| check(&embedder, golden));
}

#[test]
fn further_reference_texts_have_their_vectors() {
    #[derive(serde::Deserialize)]
    struct Reference {
        texts: Vec<String>,
        #[serde(rename = "use")]
        vectors: Vec<Vec<f32>>,
    }
    let Some(json) = reference_file() else { return };
    let Reference { texts, vectors } = serde_json::from_slice(&json).expect("texts and vectors");
    let embedder = embedder();
    for (text, vector) in texts.into_iter().zip(vectors) {
        check(&embedder, &Golden { text, vector });
    }
}

/// A further set of vectors, where there is one beside the repository.
fn reference_file() -> Option<Vec<u8>> {
    let folder = std::env::var_os("KIWARI_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let file = folder.join("models/golden.json");
    let json = std::fs::read(&file).ok();
    if json.is_none() {
        skipped(&file);
    }
    json
}

#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn skipped(file: &Path) {
    eprintln!("skipped: {} does not exist", file.display());
}

#[test]
fn half_width_and_full_width_forms_have_one_vector() {
    let embedder = embedder();
    assert_eq!(embedder.embed_now("ﾊﾟｽﾜｰﾄﾞ"), embedder.embed_now("パスワード"));
    assert_eq!(embedder.embed_now("Ｗｉ－Ｆｉ"), embedder.embed_now("Wi-Fi"));
}
