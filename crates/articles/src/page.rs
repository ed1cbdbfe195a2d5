//! One page: text in, title and sections out.

use domain::Section;

use crate::html;
use crate::markdown::{self, Dialect};
use crate::metadata::{self, LONGEST_TITLE, Metadata};
use crate::outline::Body;
use crate::problem::Note;
use crate::walk::Format;
use crate::{front_matter, language};
use domain::Language;

/// A page as it was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) metadata: Metadata,
    /// From the front matter or the page's own heading; `None` where only the file has a name.
    pub(crate) title: Option<String>,
    pub(crate) sections: Vec<Section>,
    pub(crate) notes: Vec<Note>,
}

/// Reads a page.
pub(crate) fn read(text: &str, format: Format) -> Page {
    let parted = front_matter::part(text);
    let mut notes = parted.notes;
    let metadata = metadata::read(&parted.fields, &mut notes);
    let body = match format {
        Format::Markdown => {
            markdown::read(parted.body, parted.body_line, Dialect::Plain, &mut notes)
        }
        Format::Mdx => markdown::read(parted.body, parted.body_line, Dialect::Mdx, &mut notes),
        Format::Html => html::read(parted.body),
    };
    let heading =
        body.title.as_ref().map(|title| title.chars().take(LONGEST_TITLE).collect::<String>());
    let sections = sections(body, metadata.title.as_deref());
    Page {
        title: metadata.title.clone().or(heading.filter(|title| !title.is_empty())),
        metadata,
        sections,
        notes,
    }
}

/// The sections under the title that the page ends up with.
fn sections(body: Body, title: Option<&str>) -> Vec<Section> {
    let mut sections = body.sections;
    // A page of headings alone is found by them.
    if sections.is_empty() && body.headings.len() > 1 {
        sections.push(Section {
            headings: Vec::new(),
            anchor: None,
            text: body.headings.join("\n"),
        });
    }
    // The front matter names the page otherwise than its own heading does: the heading is kept as one.
    if let (Some(title), Some(heading)) = (title, body.title)
        && title.to_lowercase() != heading.to_lowercase()
    {
        sections.iter_mut().for_each(|section| section.headings.insert(0, heading.clone()));
    }
    sections
}

impl Page {
    /// Whether there is nothing to find.
    pub(crate) fn is_empty(&self) -> bool {
        self.title.is_none() && self.sections.is_empty()
    }

    /// The language the page says it is in, or else what path and text tell.
    pub(crate) fn language(&self, path: &str) -> Option<Language> {
        self.metadata.lang.or_else(|| language::of_page(path, &self.sample()))
    }

    /// Enough text to tell the language by.
    fn sample(&self) -> String {
        const ENOUGH: usize = 4_000;
        let mut sample = self.title.clone().unwrap_or_default();
        for section in &self.sections {
            if sample.len() > ENOUGH {
                break;
            }
            sample.push('\n');
            sample.extend(section.text.chars().take(ENOUGH));
        }
        sample
    }
}

/// A title for a page without one: its file's name, or its folder's for an index page.
pub(crate) fn title_of_path(path: &str) -> String {
    let stem = |name: &str| name.rsplit_once('.').map_or(name, |(stem, _)| stem).to_owned();
    let mut parts = path.rsplit('/');
    let name = stem(parts.next().unwrap_or(path));
    let is_index =
        ["index", "_index", "readme"].iter().any(|index| name.eq_ignore_ascii_case(index));
    let name = if is_index { parts.next().map_or(name, str::to_owned) } else { name };
    // Hyphens stand for spaces only where there are none.
    let words = if name.contains(' ') { name } else { name.replace(['-', '_'], " ") };
    words.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(LONGEST_TITLE).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, title: Option<&str>, headings: &[&[&str]]) {
        let page = read(text, Format::Markdown);
        assert_eq!(page.title.as_deref(), title, "{text:?}");
        let found: Vec<Vec<&str>> = page
            .sections
            .iter()
            .map(|section| section.headings.iter().map(String::as_str).collect())
            .collect();
        assert_eq!(found, headings, "{text:?}");
    }

    #[test]
    fn the_title_is_said_or_headed() {
        check("---\ntitle: Plans\n---\n# plans\n\nx\n\n## A\n\ny", Some("Plans"), &[&[], &["A"]]);
        check(
            "---\ntitle: Plans\n---\n# Change\n\nx\n\n## A\n\ny",
            Some("Plans"),
            &[&["Change"], &["Change", "A"]],
        );
        check("# Plans\n\nx", Some("Plans"), &[&[]]);
        check("x", None, &[&[]]);
    }

    #[test]
    fn a_page_of_headings_is_found_by_them() {
        check("# Plans\n## A\n## B\n", Some("Plans"), &[&[]]);
        check("# Plans\n", Some("Plans"), &[]);
        assert!(read(" \n\u{3000}\n<!-- x -->", Format::Markdown).is_empty());
    }

    #[test]
    fn files_lend_their_names() {
        assert_eq!(title_of_path("a/reset-my_password.md"), "reset my password");
        assert_eq!(title_of_path("a/Sync - set up.md"), "Sync - set up");
        assert_eq!(title_of_path("guide/index.md"), "guide");
        assert_eq!(title_of_path("index.md"), "index");
    }
}
