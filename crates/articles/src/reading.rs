//! Reads a folder: every page below it, or a problem that says why not.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use domain::{Article, Language};
use thiserror::Error;

use crate::address;
use crate::decode::{Decoded, decode};
use crate::identity::{self, Claim};
use crate::page::{self, Page};
use crate::problem::{Note, Problem, Severity};
use crate::walk::{Candidate, Format, walk};

/// Everything read from one folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Sorted by path; ids are unique.
    pub articles: Vec<Article>,
    /// What was left out or is odd, by path.
    pub problems: Vec<Problem>,
    /// Files that looked like pages, readable or not.
    pub files_seen: usize,
    /// Paths of pages without text or title.
    pub empty: Vec<String>,
}

/// How to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadOptions {
    /// In bytes; larger files are left out.
    pub largest_file: u64,
    /// For pages that do not say their language and whose text does not tell; English if absent.
    pub default_lang: Option<Language>,
    /// Where the site stands (`https://help.example`); without it URLs are paths from the site's root.
    pub base_url: Option<String>,
}

impl ReadOptions {
    /// Files up to 32 MiB: a hundred times the largest page we have seen in a real help center.
    #[must_use]
    pub fn standard() -> Self {
        Self { largest_file: 32 << 20, default_lang: None, base_url: None }
    }
}

/// Why a folder cannot be read at all.
#[derive(Debug, Error)]
pub enum ReadError {
    #[error("{} does not exist", path.display())]
    NotFound { path: PathBuf },
    #[error("{} is not a folder", path.display())]
    NotAFolder { path: PathBuf },
    #[error("cannot read {}", path.display())]
    Io { path: PathBuf, source: io::Error },
}

/// How far reading has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    pub files_done: usize,
    pub files_total: usize,
}

/// Reads every Markdown, MDX and HTML file below `root`, in path order; `progress` is called before the first file
/// and after each. Links below `root` are not followed; `root` itself may be one.
///
/// # Errors
/// When `root` is no folder that can be listed. What is wrong below it is in [`Reading::problems`].
pub fn read_folder(
    root: &Path,
    options: &ReadOptions,
    progress: &mut dyn FnMut(Progress),
) -> Result<Reading, ReadError> {
    let found = walk(root).map_err(|source| error_of(root, source))?;
    let files_total = found.candidates.len();
    let mut reading =
        Reading { problems: found.problems, files_seen: files_total, ..Reading::default() };
    let mut drafts = Vec::with_capacity(files_total);
    progress(Progress { files_done: 0, files_total });
    for (index, candidate) in found.candidates.into_iter().enumerate() {
        if let Some(page) = reading.read(&candidate, options) {
            drafts.push(Draft { path: candidate.path, format: candidate.format, page });
        }
        progress(Progress { files_done: index + 1, files_total });
    }
    reading.name(drafts, options);
    reading.problems.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    Ok(reading)
}

fn error_of(root: &Path, source: io::Error) -> ReadError {
    let path = root.to_owned();
    let kind = source.kind();
    if kind == io::ErrorKind::NotFound {
        ReadError::NotFound { path }
    } else if kind == io::ErrorKind::NotADirectory {
        ReadError::NotAFolder { path }
    } else {
        ReadError::Io { path, source }
    }
}

/// A page that will be an article once it has an id.
#[derive(Debug)]
struct Draft {
    path: String,
    format: Format,
    page: Page,
}

impl Reading {
    /// The page of a file, unless it is left out; then the reason is recorded.
    fn read(&mut self, candidate: &Candidate, options: &ReadOptions) -> Option<Page> {
        let path = candidate.path.as_str();
        let text = match text_of(candidate, options.largest_file) {
            Ok(decoded) => {
                self.note(path, decoded.notes);
                decoded.text
            }
            Err(reason) => {
                self.skip(path, reason);
                return None;
            }
        };
        let mut page = page::read(&text, candidate.format);
        self.note(path, std::mem::take(&mut page.notes));
        if let Some(reason) = page.metadata.withheld {
            self.skip(path, reason.to_owned());
            return None;
        }
        if page.is_empty() {
            self.empty.push(path.to_owned());
            return None;
        }
        Some(page)
    }

    /// Makes articles of drafts.
    fn name(&mut self, drafts: Vec<Draft>, options: &ReadOptions) {
        let claims: Vec<_> = drafts
            .iter()
            .map(|draft| Claim { path: &draft.path, written: draft.page.metadata.id.as_deref() })
            .collect();
        let ids = identity::assign(&claims);
        for (draft, (id, note)) in drafts.into_iter().zip(ids) {
            self.note(&draft.path, note);
            let Draft { path, format, page } = draft;
            let lang = page.language(&path).or(options.default_lang).unwrap_or(Language::ENGLISH);
            let place = page.metadata.place.as_ref();
            self.articles.push(Article {
                id,
                lang,
                url: Some(address::url(&path, format, place, options.base_url.as_deref())),
                title: page.title.unwrap_or_else(|| page::title_of_path(&path)),
                tags: page.metadata.tags,
                sections: page.sections,
                path,
            });
        }
    }

    fn note(&mut self, path: &str, notes: impl IntoIterator<Item = Note>) {
        self.problems
            .extend(notes.into_iter().map(|note| note.into_problem(path, Severity::Warning)));
    }

    fn skip(&mut self, path: &str, reason: String) {
        self.problems.push(Note::on_page(reason).into_problem(path, Severity::Skipped));
    }
}

/// The text of a file, or why there is none.
fn text_of(candidate: &Candidate, largest: u64) -> Result<Decoded, String> {
    let unreadable = |error: io::Error| format!("cannot read: {error}");
    let file = File::open(&candidate.file).map_err(unreadable)?;
    let too_large = || format!("larger than {largest} bytes");
    if file.metadata().map_err(unreadable)?.len() > largest {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    file.take(largest.saturating_add(1)).read_to_end(&mut bytes).map_err(unreadable)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > largest) {
        return Err(too_large());
    }
    decode(&bytes, candidate.format == Format::Html).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, bytes) in files {
            let path = root.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        root
    }

    fn read(files: &[(&str, &[u8])], options: &ReadOptions) -> Reading {
        read_folder(folder(files).path(), options, &mut |_| {}).unwrap()
    }

    fn problems(reading: &Reading) -> Vec<String> {
        reading.problems.iter().map(|problem| format!("{:?} {problem}", problem.severity)).collect()
    }

    #[test]
    fn a_page_becomes_an_article() {
        let page = b"---\ntags: [billing]\n---\n# Change your plan\n\nOpen **Billing** and choose a plan.\n";
        let options = ReadOptions {
            base_url: Some("https://help.example".into()),
            ..ReadOptions::standard()
        };
        let reading = read(&[("guide/plan.md", page)], &options);
        let article = reading.articles.first().unwrap();
        assert_eq!(article.id.as_str(), "guide/plan");
        assert_eq!(article.title, "Change your plan");
        assert_eq!(article.url.as_deref(), Some("https://help.example/guide/plan"));
        assert_eq!(article.tags, ["billing"]);
        assert_eq!((article.lang, article.path.as_str()), (Language::ENGLISH, "guide/plan.md"));
        assert_eq!(article.sections.first().unwrap().text, "Open Billing and choose a plan.");
        assert_eq!(reading.problems, []);
    }

    #[test]
    fn broken_pages_are_named_and_their_neighbours_read() {
        let reading = read(
            &[
                ("a.md", b"# A\n\ntext"),
                ("binary.md", b"\x89PNG\r\n"),
                ("draft.md", b"---\ndraft: true\n---\n# D\n\ntext"),
                ("empty.md", b" \n"),
                ("large.md", &[b'x'; 200]),
                ("odd.md", b"---\ntitle: \"open\n---\n# Odd\n\ntext"),
                ("other.txt", b"not a page"),
            ],
            &ReadOptions { largest_file: 100, ..ReadOptions::standard() },
        );
        let paths: Vec<_> = reading.articles.iter().map(|article| article.path.as_str()).collect();
        assert_eq!(paths, ["a.md", "odd.md"]);
        assert_eq!(
            (reading.files_seen, reading.empty.as_slice()),
            (6, ["empty.md".to_owned()].as_slice())
        );
        let problems = problems(&reading);
        let starts = [
            "Skipped binary.md: looks like a PNG image",
            "Skipped draft.md: draft",
            "Skipped large.md: larger than 100 bytes",
            "Warning odd.md:2: front matter does not parse",
        ];
        assert_eq!(problems.len(), starts.len(), "{problems:?}");
        for (problem, start) in problems.iter().zip(starts) {
            assert!(problem.starts_with(start), "{problem}");
        }
    }

    #[test]
    fn languages_come_from_page_path_text_and_default() {
        let options =
            ReadOptions { default_lang: Some(Language::KOREAN), ..ReadOptions::standard() };
        let reading = read(
            &[
                ("a.md", b"---\nlang: fr\n---\nOK"),
                ("ja/b.md", b"OK"),
                ("c.md", "設定を開きます".as_bytes()),
                ("d.md", b"OK"),
                ("it/e.md", b"Open the settings of your account and choose a new password."),
                ("it/f.md", b"---\nlang: it\n---\nOpen the settings of your account."),
            ],
            &options,
        );
        let languages: Vec<_> = reading
            .articles
            .iter()
            .map(|article| (article.path.as_str(), article.lang.to_string()))
            .collect();
        let expected = [
            ("a.md", "fr"),
            ("c.md", "ja"),
            ("d.md", "ko"),
            ("it/e.md", "en"),
            ("it/f.md", "it"),
            ("ja/b.md", "ja"),
        ];
        assert_eq!(languages, expected.map(|(path, lang)| (path, lang.to_owned())));
    }

    #[test]
    fn progress_counts_every_file() {
        let root = folder(&[("a.md", b"a"), ("b.md", b"b")]);
        let mut seen = Vec::new();
        read_folder(root.path(), &ReadOptions::standard(), &mut |progress| seen.push(progress))
            .unwrap();
        assert_eq!(seen, [0, 1, 2].map(|files_done| Progress { files_done, files_total: 2 }));
    }

    #[test]
    fn only_a_folder_can_be_read() {
        let root = folder(&[("a.md", b"a")]);
        let error = |name: &str| {
            read_folder(&root.path().join(name), &ReadOptions::standard(), &mut |_| {}).unwrap_err()
        };
        assert!(matches!(error("none"), ReadError::NotFound { .. }));
        assert!(matches!(error("a.md"), ReadError::NotAFolder { .. }));
        assert_eq!(read(&[], &ReadOptions::standard()), Reading::default());
    }
}
