//! The local embedder as its callers see it.

use std::fs;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use deadline::{CpuPool, Deadline};
use domain::{Call, Embedder, FaultKind, Role, Vector};
use embed::{LocalEmbedder, ModelError};
use tempfile::TempDir;

fn model_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models/use-m3-enja")
}

fn embedder() -> LocalEmbedder {
    LocalEmbedder::from_files(&model_folder(), CpuPool::per_core())
        .expect("the vendored model loads")
}

fn length(vector: &Vector) -> f64 {
    vector.as_slice().iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn every_text_has_a_vector_of_unit_length() {
    let embedder = embedder();
    let long = "a very long text ".repeat(5000);
    let marks = "\u{301}".repeat(3000);
    for text in
        ["", " ", "\n\t", "\u{200b}", "\0", "หกด", "한국어", "</s><s><unk>", "𓀀𓀁", &long, &marks]
    {
        let vector = embedder.embed_now(text);
        assert_eq!(vector.dimensions(), 512);
        assert!((length(&vector) - 1.0).abs() < 1e-6, "{text:.40?}");
    }
    assert_eq!(embedder.embed_now(""), embedder.embed_now(" \u{feff} "));
}

#[test]
fn related_texts_are_nearer_than_unrelated_ones_across_languages() {
    let embedder = embedder();
    let cosine = |a: &str, b: &str| embedder.embed_now(a).cosine(&embedder.embed_now(b));
    let question = "How do I reset my password?";
    let unrelated = cosine(question, "The parcel arrives on Tuesday.");
    assert!(cosine(question, "Choosing a new password") > unrelated + 0.2);
    assert!(cosine(question, "パスワードを再設定する方法") > unrelated + 0.2);
}

#[test]
fn threads_get_the_same_vectors() {
    let embedder = embedder();
    let texts = ["password", "解約方法", "How do I share a folder?", ""];
    let alone: Vec<_> = texts.iter().map(|text| embedder.embed_now(text)).collect();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for (text, vector) in texts.iter().zip(&alone) {
                    assert_eq!(&embedder.embed_now(text), vector);
                }
            });
        }
    });
}

#[test]
#[cfg(feature = "bundled-model")]
fn the_bundled_model_is_the_vendored_one() {
    let bundled = LocalEmbedder::bundled(CpuPool::per_core()).unwrap();
    let text = "Where are my downloads?";
    assert_eq!(bundled.embed_now(text), embedder().embed_now(text));
    assert_eq!(bundled.id().to_string(), "local/use-m3-enja@512");
}

#[tokio::test(start_paused = true)]
async fn many_texts_come_back_in_order() {
    let embedder = embedder();
    let texts: Vec<String> = (0..20).map(|number| format!("question number {number}")).collect();
    let call = Call::background("test", Deadline::after(Duration::from_secs(60)));
    let vectors = embedder.embed(&texts, Role::Passage, &call).await.unwrap();
    let expected: Vec<_> = texts.iter().map(|text| embedder.embed_now(text)).collect();
    assert_eq!(vectors, expected);
    assert_eq!(embedder.embed(&[], Role::Query, &call).await.unwrap(), []);
}

#[tokio::test(start_paused = true)]
async fn waiting_for_a_core_ends_with_the_deadline() {
    let pool = CpuPool::new(NonZeroUsize::MIN);
    let embedder = LocalEmbedder::from_files(&model_folder(), pool.clone()).unwrap();
    let _held = pool.occupy(Deadline::after(Duration::from_secs(1))).await.unwrap();
    let call = Call::background("test", Deadline::after(Duration::from_millis(20)));
    let fault = embedder.embed(&["late".to_owned()], Role::Query, &call).await.unwrap_err();
    assert_eq!(fault.kind(), FaultKind::Timeout);
}

#[test]
fn english_and_japanese_are_covered_and_other_scripts_are_not() {
    let embedder = embedder();
    let covered = [
        "How do I reset my password?",
        "VPN",
        "error 0x80070005",
        "パスワードを忘れた",
        "解約方法",
        "請求書送付先変更",
        "LINEでログインできない",
        "ﾊﾟｽﾜｰﾄﾞ",
        "It works 🎉",
    ];
    let foreign = [
        "Как восстановить пароль?",
        "كيف أعيد تعيين كلمة المرور؟",
        "비밀번호를 재설정하려면?",
        "วิธีรีเซ็ตรหัสผ่าน",
        "Πώς αλλάζω τον κωδικό μου;",
        "",
        "🎉🎉🎉",
    ];
    for text in covered {
        assert!(embedder.covers(text), "{text:?} {}", embedder.known_share(text));
    }
    for text in foreign {
        assert!(!embedder.covers(text), "{text:?} {}", embedder.known_share(text));
    }
}

/// A folder with the model's files, one of them replaced.
fn folder_with(file: &str, content: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for name in ["model.safetensors", "tokenizer.json"] {
        fs::copy(model_folder().join(name), folder.path().join(name))
            .expect("the model is vendored");
    }
    fs::write(folder.path().join(file), content).expect("the folder is writable");
    folder
}

#[track_caller]
fn check_refused(file: &str, content: &[u8], complaint: &str) {
    let folder = folder_with(file, content);
    let error = LocalEmbedder::from_files(folder.path(), CpuPool::per_core())
        .expect_err("the file is broken");
    let message = error.to_string();
    assert!(message.contains(file) && message.contains(complaint), "{message}");
}

#[test]
fn broken_weights_are_refused_by_name() {
    let good = fs::read(model_folder().join("model.safetensors")).unwrap();
    let renamed = |from: &str, to: &str| {
        // The table of contents is JSON in front; names of equal length keep every offset.
        let contents = String::from_utf8_lossy(&good[..2664]).replace(from, to);
        [contents.as_bytes(), &good[2664..]].concat()
    };
    check_refused("model.safetensors", b"", "no safetensors file");
    check_refused("model.safetensors", b"what is this", "no safetensors file");
    check_refused("model.safetensors", &good[..good.len() / 2], "no safetensors file");
    check_refused(
        "model.safetensors",
        &renamed("\"cnn_W\"", "\"cnn_X\""),
        "tensor cnn_W is missing",
    );
    check_refused(
        "model.safetensors",
        &renamed("[320,512]", "[512,320]"),
        "tensor d2 is F16 [512, 320], not F16 [320, 512]",
    );
    let mut infinite = good.clone();
    // The first tensor's numbers follow the contents.
    infinite[2664..2668].copy_from_slice(&f32::INFINITY.to_le_bytes());
    check_refused("model.safetensors", &infinite, "not finite");
}

#[test]
fn broken_tokenizers_are_refused_by_name() {
    let vocabulary = |model: &str| format!("{{\"model\":{model}}}").into_bytes();
    let file = "tokenizer.json";
    check_refused(file, b"{", "no tokenizer description");
    check_refused(file, &vocabulary(r#"{"type":"BPE","unk_id":0,"vocab":[]}"#), "not Unigram");
    check_refused(
        file,
        &vocabulary(r#"{"type":"Unigram","unk_id":0,"vocab":[]}"#),
        "make no dictionary",
    );
    let twice = r#"{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["<s>",0],["</s>",0],["a",-1],["a",-2]]}"#;
    check_refused(file, &vocabulary(twice), "make no dictionary");
}

#[test]
fn a_vocabulary_of_another_model_is_refused() {
    let few = r#"{"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["<s>",0],["</s>",0],["a",-1]]}}"#;
    let folder = folder_with("tokenizer.json", few.as_bytes());
    let error = LocalEmbedder::from_files(folder.path(), CpuPool::per_core()).unwrap_err();
    assert!(
        matches!(&error, ModelError::WrongTensor { tensor, .. } if tensor == "table6"),
        "{error}"
    );
}

#[test]
fn a_missing_file_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let error = LocalEmbedder::from_files(folder.path(), CpuPool::per_core()).unwrap_err();
    assert!(error.to_string().contains("model.safetensors"), "{error}");
}
