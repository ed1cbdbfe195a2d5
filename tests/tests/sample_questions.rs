//! The sample help center's questions, asked of the real server.

use std::collections::HashMap;

use serde_json::{Value, json};
use system_tests::{Server, kiwari, post, repository};

struct Sample {
    lang: String,
    question: String,
    /// Empty: off topic.
    article: String,
    phrase: String,
}

fn samples() -> Vec<Sample> {
    let text = std::fs::read_to_string(repository().join("examples/questions.tsv"))
        .expect("the sample questions are part of the repository");
    text.lines()
        .skip(1)
        .map(|line| {
            let fields: Vec<&str> = line.split('\t').collect();
            let [lang, question, article, phrase] = fields[..] else { panic!("{line:?}") };
            let owned = str::to_owned;
            Sample {
                lang: owned(lang),
                question: owned(question),
                article: owned(article),
                phrase: owned(phrase),
            }
        })
        .collect()
}

fn ask_all() -> Vec<(Sample, Value)> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let help = repository().join("examples/help");
    let help = help.to_str().expect("a Unicode path");
    let indexed = kiwari(folder.path(), &["index", help, "--data-dir", "data"]);
    assert_eq!(indexed.code, Some(0), "{}", indexed.stderr);
    let server = Server::start(folder.path(), &[]);
    let url = format!("{}/v1/answer", server.address);
    let answered = samples().into_iter().map(|sample| {
        let reply = post(&url, &json!({"question": sample.question}), &[]);
        assert_eq!(reply.status, 200, "{}", reply.text);
        (sample, reply.json())
    });
    answered.collect()
}

/// Everything that makes a sample's answer right.
fn is_right(sample: &Sample, body: &Value) -> bool {
    let text = body["answer"]["text"].as_str().unwrap_or_default();
    if sample.article.is_empty() {
        return body["answer"]["kind"] == "no_match";
    }
    let cited = body["citations"].as_array().is_some_and(|citations| {
        citations.iter().any(|citation| citation["article_id"] == sample.article.as_str())
    });
    cited && text.contains(&sample.phrase)
}

#[test]
fn the_sample_questions_are_answered_from_the_right_article() {
    let mut right: HashMap<&str, usize> = HashMap::new();
    let mut wrong = Vec::new();
    for (sample, body) in ask_all() {
        assert_eq!(body["degraded"], false, "{body}");
        let group = match (sample.article.is_empty(), sample.lang.as_str()) {
            (true, _) => "off topic",
            (false, "ja") => "ja",
            (false, _) => "en",
        };
        if is_right(&sample, &body) {
            *right.entry(group).or_default() += 1;
        } else {
            wrong.push(format!("{} → {}", sample.question, body["answer"]));
        }
    }
    let of = |group| right.get(group).copied().unwrap_or(0);
    assert!(of("en") + of("ja") >= 36, "{right:?}\n{}", wrong.join("\n"));
    assert_eq!(of("off topic"), 5, "{right:?}\n{}", wrong.join("\n"));
}
