//! Finds the pages below a folder without ever leaving it: links are named, not followed, and nothing but regular
//! files is opened.

use std::ffi::OsStr;
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use crate::problem::{Problem, Severity};

/// A file that looks like a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    /// Where to open it.
    pub(crate) file: PathBuf,
    /// Its path from the root as text, `/`-separated.
    pub(crate) path: String,
    pub(crate) format: Format,
}

/// How a page is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Markdown,
    /// Markdown with JSX components and expressions.
    Mdx,
    Html,
}

impl Format {
    fn of_extension(extension: &OsStr) -> Option<Self> {
        match extension.to_str()?.to_ascii_lowercase().as_str() {
            "md" | "markdown" => Some(Self::Markdown),
            "mdx" => Some(Self::Mdx),
            "html" | "htm" => Some(Self::Html),
            _ => None,
        }
    }
}

/// What lies below a folder.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    /// Sorted by path.
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) problems: Vec<Problem>,
}

/// Lists the pages below `root`. Hidden files and folders are passed over.
///
/// # Errors
/// When `root` itself cannot be listed; whatever cannot be read below it is a problem.
pub(crate) fn walk(root: &Path) -> io::Result<Walk> {
    let mut found = Walk::default();
    // A stack of folders rather than recursion: depth is the tree's business, not ours.
    let mut folders = vec![(root.to_owned(), String::new())];
    fs::read_dir(root)?;
    while let Some((folder, path)) = folders.pop() {
        match fs::read_dir(&folder) {
            Ok(entries) => {
                for entry in entries {
                    match entry {
                        Ok(entry) => found.visit(&entry, &path, &mut folders),
                        Err(error) => found.skip(&path, format!("cannot list: {error}")),
                    }
                }
            }
            Err(error) => found.skip(&path, format!("cannot list: {error}")),
        }
    }
    found.candidates.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

impl Walk {
    fn visit(&mut self, entry: &DirEntry, parent: &str, folders: &mut Vec<(PathBuf, String)>) {
        let name = entry.file_name();
        if name.as_encoded_bytes().starts_with(b".") {
            return;
        }
        let file = entry.path();
        let format = file.extension().and_then(Format::of_extension);
        let text = name_as_text(&name);
        let path = if parent.is_empty() { text } else { format!("{parent}/{text}") };
        // Does not follow links.
        match (entry.file_type(), format) {
            (Err(error), _) => self.skip(&path, format!("cannot inspect: {error}")),
            (Ok(kind), _) if kind.is_symlink() => {
                self.skip(&path, "a link; links are not followed");
            }
            (Ok(kind), _) if kind.is_dir() => folders.push((file, path)),
            (Ok(kind), Some(format)) if kind.is_file() => {
                if name.to_str().is_none() {
                    self.problems.push(Problem {
                        path: path.clone(),
                        line: None,
                        severity: Severity::Warning,
                        message: "the name is not UTF-8; its other bytes are written %XX"
                            .to_owned(),
                    });
                }
                self.candidates.push(Candidate { file, path, format });
            }
            (Ok(_), Some(_)) => self.skip(&path, "not a regular file"),
            (Ok(_), None) => {}
        }
    }

    fn skip(&mut self, path: &str, message: impl Into<String>) {
        self.problems.push(Problem {
            path: if path.is_empty() { ".".to_owned() } else { path.to_owned() },
            line: None,
            severity: Severity::Skipped,
            message: message.into(),
        });
    }
}

/// A file name as text; bytes that are no UTF-8 are written `%XX`.
fn name_as_text(name: &OsStr) -> String {
    let mut text = String::new();
    for chunk in name.as_encoded_bytes().utf8_chunks() {
        text.push_str(chunk.valid());
        chunk.invalid().iter().for_each(|byte| text.push_str(&format!("%{byte:02X}")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "text").unwrap();
        }
        root
    }

    fn paths(walk: &Walk) -> Vec<&str> {
        walk.candidates.iter().map(|candidate| candidate.path.as_str()).collect()
    }

    #[test]
    fn pages_come_sorted_and_other_files_are_passed_over() {
        let root = tree(&[
            "b.md",
            "a/z.HTML",
            "a/y.mdx",
            "a/x.txt",
            "c.markdown",
            ".git/x.md",
            ".h.md",
            "d.htm",
        ]);
        let found = walk(root.path()).unwrap();
        assert_eq!(paths(&found), ["a/y.mdx", "a/z.HTML", "b.md", "c.markdown", "d.htm"]);
        assert_eq!(found.problems, []);
    }

    #[test]
    fn a_missing_folder_is_an_error() {
        let root = tree(&[]);
        assert!(walk(&root.path().join("none")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_named_and_never_followed() {
        let outside = tree(&["secret.md"]);
        let root = tree(&["a.md"]);
        std::os::unix::fs::symlink(outside.path(), root.path().join("folder")).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret.md"), root.path().join("page.md"))
            .unwrap();
        std::os::unix::fs::symlink("..", root.path().join("loop")).unwrap();
        let found = walk(root.path()).unwrap();
        assert_eq!(paths(&found), ["a.md"]);
        let mut named: Vec<_> =
            found.problems.iter().map(|problem| problem.path.as_str()).collect();
        named.sort_unstable();
        assert_eq!(named, ["folder", "loop", "page.md"]);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_name_that_is_not_utf8_gets_a_defined_text() {
        use std::os::unix::ffi::OsStrExt as _;
        let root = tree(&[]);
        fs::write(root.path().join(OsStr::from_bytes(b"\xff\xfe-x.md")), "text").unwrap();
        let found = walk(root.path()).unwrap();
        assert_eq!(paths(&found), ["%FF%FE-x.md"]);
        assert_eq!(found.problems.len(), 1);
    }
}
