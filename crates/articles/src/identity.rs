//! Article ids: from the front matter or the path, unique, and stable from run to run.

use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;

use domain::ArticleId;
use unicode_normalization::UnicodeNormalization as _;

use crate::problem::{Note, is_unprintable};

/// What decides a page's id.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim<'page> {
    pub(crate) path: &'page str,
    pub(crate) written: Option<&'page str>,
}

/// Gives every page (in path order) an id, and a note to those that did not get the one they ask for.
///
/// The first page in path order keeps an id that several ask for. A later one gets the id of its path, the same
/// with its extension, or the id with a number, whichever is free first.
pub(crate) fn assign(claims: &[Claim<'_>]) -> Vec<(ArticleId, Option<Note>)> {
    let wanted: Vec<String> = claims.iter().map(Claim::wanted).collect();
    let mut owners: HashMap<&str, &str> = HashMap::with_capacity(claims.len());
    for (id, claim) in wanted.iter().zip(claims) {
        owners.entry(id).or_insert(claim.path);
    }
    let mut replacements = HashSet::new();
    let mut seen = HashSet::new();
    let mut assigned = Vec::with_capacity(claims.len());
    for (id, claim) in wanted.iter().zip(claims) {
        if seen.insert(id.as_str()) {
            assigned.push((ArticleId::new(id), None));
            continue;
        }
        let replacement = claim
            .replacements(id)
            .find(|candidate| {
                !owners.contains_key(candidate.as_str()) && !replacements.contains(candidate)
            })
            .expect("the numbered candidates never end");
        let owner = owners.get(id.as_str()).copied().unwrap_or_default();
        let note = Note::on_page(format!("has the id {id} of {owner}; it gets {replacement}"));
        replacements.insert(replacement.clone());
        assigned.push((ArticleId::new(replacement), Some(note)));
    }
    assigned
}

impl Claim<'_> {
    fn wanted(&self) -> String {
        self.written.map_or_else(|| of_path(without_extension(self.path)), str::to_owned)
    }

    fn replacements(&self, id: &str) -> impl Iterator<Item = String> {
        let by_path = [of_path(without_extension(self.path)), of_path(self.path)];
        by_path.into_iter().chain((2_u64..).map(move |number| format!("{id}-{number}")))
    }
}

fn without_extension(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(stem, _)| stem)
}

/// A path in composed form, so that an id does not depend on the file system, with `%XX` for what must not be
/// printed.
fn of_path(path: &str) -> String {
    let mut id = String::with_capacity(path.len());
    for c in path.nfc() {
        if is_unprintable(c) {
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(id, "%{byte:02X}");
            }
        } else {
            id.push(c);
        }
    }
    id
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(claims: &[(&str, Option<&str>)], expected: &[&str], noted: usize) {
        let claims: Vec<_> =
            claims.iter().map(|&(path, written)| Claim { path, written }).collect();
        let assigned = assign(&claims);
        let ids: Vec<_> = assigned.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(ids, expected);
        assert_eq!(assigned.iter().filter(|(_, note)| note.is_some()).count(), noted);
    }

    #[test]
    fn an_id_is_the_path_or_what_the_page_says() {
        check(&[("a/b.md", None), ("c.md", Some("360"))], &["a/b", "360"], 0);
        check(&[("new\nline.md", None), ("v1.2.md", None)], &["new%0Aline", "v1.2"], 0);
    }

    #[test]
    fn names_that_differ_by_case_are_different() {
        check(&[("Case.md", None), ("case.md", None)], &["Case", "case"], 0);
    }

    #[test]
    fn the_later_of_two_gets_another_id() {
        check(&[("page.html", None), ("page.md", None)], &["page", "page.md"], 1);
        check(&[("one.md", Some("same")), ("two.md", Some("same"))], &["same", "two"], 1);
        check(&[("カ\u{3099}.md", None), ("ガ.md", None)], &["ガ", "ガ.md"], 1);
    }

    #[test]
    fn a_replacement_never_takes_what_another_page_owns() {
        check(
            &[("page.html", None), ("page.md", None), ("page.md.md", None)],
            &["page", "page-2", "page.md"],
            1,
        );
    }

    #[test]
    fn the_note_names_both_files() {
        let claims =
            [Claim { path: "a.html", written: None }, Claim { path: "a.md", written: None }];
        let message = assign(&claims).pop().unwrap().1.unwrap().message;
        assert_eq!(message, "has the id a of a.html; it gets a.md");
    }
}
