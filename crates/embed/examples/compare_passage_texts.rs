//! Which form of a passage's text the local model finds best: nDCG@10 of each form on judged questions.
//!
//! `cargo run --release -p embed --example compare_passage_texts -- EVAL_FOLDER SET…` with
//! `corpora/SET/corpus.jsonl` (`id`, `title`, `text`), `dev/SET/queries.jsonl` (`id`, `text`) and
//! `dev/SET/qrels.tsv` (question, document, grade). Passages have at most 700 characters, cut at line and
//! sentence ends; a document counts as its best passage.

#![expect(clippy::print_stdout, reason = "the figures are the program's purpose")]

use std::collections::HashMap;
use std::error::Error;
use std::path::Path;

use deadline::CpuPool;
use domain::Vector;
use embed::LocalEmbedder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

const PASSAGE_CHARS: usize = 700;

/// The vectors of a passage, from its document's title and its own text. Nearest counts.
type Form = fn(&LocalEmbedder, &str, &str) -> Vec<Vector>;

const FORMS: [(&str, Form); 7] = [
    ("text", |model, _, text| vec![model.embed_now(text)]),
    ("title", |model, title, _| vec![model.embed_now(title)]),
    ("title + text", |model, title, text| vec![joined(model, title, text)]),
    ("title, and text apart", |model, title, text| {
        vec![model.embed_now(title), model.embed_now(text)]
    }),
    ("title, and title + text apart", |model, title, text| {
        vec![model.embed_now(title), joined(model, title, text)]
    }),
    ("mean of title and text", |model, title, text| {
        vec![mean(&model.embed_now(title), &model.embed_now(text))]
    }),
    ("mean of title and title + text", |model, title, text| {
        vec![mean(&model.embed_now(title), &joined(model, title, text))]
    }),
];

fn joined(model: &LocalEmbedder, title: &str, text: &str) -> Vector {
    model.embed_now(&format!("{title}\n{text}"))
}

/// A document without a title has only its text's direction.
fn mean(title: &Vector, text: &Vector) -> Vector {
    let sum = title.as_slice().iter().zip(text.as_slice()).map(|(a, b)| a + b).collect();
    Vector::normalized(sum).unwrap_or_else(|| text.clone())
}

#[derive(Deserialize)]
struct Document {
    id: String,
    title: String,
    text: String,
}

#[derive(Deserialize)]
struct Query {
    id: String,
    text: String,
}

type Grades = HashMap<String, HashMap<String, f64>>;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("the folder of judged sets is missing")?;
    let embedder = LocalEmbedder::bundled(CpuPool::per_core())?;
    for set in arguments {
        let documents: Vec<Document> =
            lines(&Path::new(&folder).join(format!("corpora/{set}/corpus.jsonl")))?;
        let queries: Vec<Query> =
            lines(&Path::new(&folder).join(format!("dev/{set}/queries.jsonl")))?;
        let grades = grades(&Path::new(&folder).join(format!("dev/{set}/qrels.tsv")))?;
        let queries: Vec<_> =
            queries.into_iter().map(|q| (q.id, embedder.embed_now(&q.text))).collect();
        println!("{set}: {} documents, {} questions", documents.len(), grades.len());
        for (name, form) in FORMS {
            let vectors = embedded(&embedder, &documents, form);
            println!("  {name:<32} nDCG@10 {:.4}", mean_ndcg(&vectors, &queries, &grades));
        }
    }
    Ok(())
}

fn lines<T: DeserializeOwned>(file: &Path) -> Result<Vec<T>, Box<dyn Error>> {
    Ok(std::fs::read_to_string(file)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?)
}

fn grades(file: &Path) -> Result<Grades, Box<dyn Error>> {
    let mut grades = Grades::new();
    for line in std::fs::read_to_string(file)?.lines() {
        let [query, document, grade] = line.split('\t').collect::<Vec<_>>()[..] else { continue };
        grades.entry(query.to_owned()).or_default().insert(document.to_owned(), grade.parse()?);
    }
    Ok(grades)
}

/// The vectors of all passages, each with its document's id.
fn embedded<'a>(
    embedder: &LocalEmbedder,
    documents: &'a [Document],
    form: Form,
) -> Vec<(&'a str, Vector)> {
    let of_document = |document: &'a Document| {
        let passages = passages(&document.text);
        let vectors = passages.iter().flat_map(|text| form(embedder, &document.title, text));
        vectors.map(|vector| (document.id.as_str(), vector)).collect::<Vec<_>>()
    };
    documents.iter().flat_map(of_document).collect()
}

/// Whole lines and sentences as long as they fit; longer ones are cut.
fn passages(text: &str) -> Vec<String> {
    let mut passages = vec![String::new()];
    let mut chars = 0;
    for sentence in text.split_inclusive(['\n', '。', '.', '?', '!']) {
        let length = sentence.chars().count();
        if chars > 0 && chars + length > PASSAGE_CHARS {
            passages.push(String::new());
            chars = 0;
        }
        let last = passages.last_mut().expect("there is always a passage");
        last.extend(sentence.chars().take(PASSAGE_CHARS));
        chars += length;
    }
    passages
}

fn mean_ndcg(vectors: &[(&str, Vector)], queries: &[(String, Vector)], grades: &Grades) -> f64 {
    let queries: HashMap<_, _> = queries.iter().map(|(id, vector)| (id.as_str(), vector)).collect();
    let judged = grades.iter().filter(|(_, grades)| grades.values().any(|grade| *grade > 0.0));
    let scores: Vec<f64> = judged
        .map(|(query, grades)| ndcg(&ranking(vectors, queries[query.as_str()]), grades))
        .collect();
    scores.iter().sum::<f64>() / scores.len() as f64
}

/// The ten best documents by their best passage.
fn ranking<'a>(vectors: &[(&'a str, Vector)], query: &Vector) -> Vec<&'a str> {
    let mut best = HashMap::<&str, f32>::new();
    for (document, vector) in vectors {
        let cosine = vector.cosine(query);
        best.entry(document).and_modify(|known| *known = known.max(cosine)).or_insert(cosine);
    }
    let mut ranking: Vec<_> = best.into_iter().collect();
    ranking.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    ranking.into_iter().take(10).map(|(document, _)| document).collect()
}

/// Grades are gains; the discount is the binary logarithm of the rank plus one.
fn ndcg(ranking: &[&str], grades: &HashMap<String, f64>) -> f64 {
    let discounted = |gains: &mut dyn Iterator<Item = f64>| -> f64 {
        gains.take(10).zip(2_u32..).map(|(gain, rank)| gain / f64::from(rank).log2()).sum()
    };
    let mut ideal: Vec<f64> = grades.values().copied().collect();
    ideal.sort_by(|a, b| b.total_cmp(a));
    let mut gains = ranking.iter().map(|document| grades.get(*document).copied().unwrap_or(0.0));
    discounted(&mut gains) / discounted(&mut ideal.into_iter())
}
