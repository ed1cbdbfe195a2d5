//! The files: articles and questions as JSON lines, known answers as tab-separated values, runs in TREC's
//! form. Every error names file and line.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use anyhow::{Context, anyhow, bail};
use articles::{ReadOptions, read_folder};
use domain::{Article, ArticleId, Language, Section};
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// One article, as a line of a corpus has it.
#[derive(Clone, Debug, Deserialize)]
struct Document {
    id: String,
    #[serde(default)]
    title: String,
    text: String,
    lang: Option<Language>,
}

/// One question.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Query {
    pub(crate) id: String,
    pub(crate) text: String,
    pub(crate) lang: Option<Language>,
}

/// Grades by question and article; above zero is right.
pub(crate) type Qrels = BTreeMap<String, BTreeMap<String, u32>>;

/// The articles found for each question, best first.
pub(crate) type Run = BTreeMap<String, Vec<String>>;

/// Reads a corpus: JSON lines, each article one section; or a folder of help pages, as `kiwari index`
/// reads it.
pub(crate) fn read_corpus(path: &Path) -> anyhow::Result<Vec<Article>> {
    if path.is_dir() {
        return Ok(read_folder(path, &ReadOptions::standard(), &mut |_| {})?.articles);
    }
    let documents: Vec<Document> = read_json_lines(path)?;
    Ok(documents.into_iter().map(Document::into_article).collect())
}

impl Document {
    fn into_article(self) -> Article {
        Article {
            id: ArticleId::new(&self.id),
            title: self.title,
            lang: self.lang.unwrap_or(Language::ENGLISH),
            url: None,
            tags: Vec::new(),
            path: self.id,
            sections: vec![Section { headings: Vec::new(), anchor: None, text: self.text }],
        }
    }
}

/// Reads one JSON value a line; empty lines are passed over.
pub(crate) fn read_json_lines<T: DeserializeOwned>(path: &Path) -> anyhow::Result<Vec<T>> {
    let text = read(path)?;
    let mut values = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let value = serde_json::from_str(line)
            .map_err(|error| anyhow!("{}:{}: {error}", path.display(), number + 1))?;
        values.push(value);
    }
    if values.is_empty() {
        bail!("{} is empty", path.display());
    }
    Ok(values)
}

/// Reads `question TAB article TAB grade`.
pub(crate) fn read_qrels(path: &Path) -> anyhow::Result<Qrels> {
    let text = read(path)?;
    let mut qrels = Qrels::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [query, article, grade] = fields[..] else {
            bail!("{}:{}: three fields separated by tabs are wanted", path.display(), number + 1);
        };
        let grade = grade.trim().parse().with_context(|| {
            format!("{}:{}: the grade {grade:?} is no whole number", path.display(), number + 1)
        })?;
        qrels.entry(query.to_owned()).or_default().insert(article.to_owned(), grade);
    }
    if qrels.is_empty() {
        bail!("{} is empty", path.display());
    }
    Ok(qrels)
}

/// `question Q0 article rank score tag`, scores falling with the rank.
pub(crate) fn trec(run: &Run) -> String {
    let mut text = String::new();
    for (query, articles) in run {
        for (rank, article) in articles.iter().enumerate() {
            // Writing to a String cannot fail.
            let _infallible = writeln!(
                text,
                "{query} Q0 {article} {} {} kiwari",
                rank + 1,
                articles.len() - rank
            );
        }
    }
    text
}

fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn errors_name_file_and_line() {
        let (_folder, path) = file("{\"id\": \"a\", \"text\": \"t\"}\n\n{\"id\": 5}\n");
        let error = read_corpus(&path).unwrap_err().to_string();
        assert!(error.contains("f:3:"), "{error}");
        let (_folder, path) = file("q\td\t1\nq\td\n");
        let error = read_qrels(&path).unwrap_err().to_string();
        assert!(error.contains("f:2:"), "{error}");
        let (_folder, path) = file("q\td\tx\n");
        assert!(read_qrels(&path).unwrap_err().to_string().contains("f:1:"));
    }
}
