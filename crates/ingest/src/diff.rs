//! What has changed since the published generation.

use std::collections::BTreeMap;

use catalog::Changes;
use domain::{Article, ArticleId, ContentHash, Passage};

/// An article with its passages.
pub(crate) type Split = (Article, Vec<Passage>);

/// How many articles did what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) added: u64,
    pub(crate) changed: u64,
    pub(crate) removed: u64,
    pub(crate) unchanged: u64,
}

/// Compares `articles` with what is published.
pub(crate) fn diff(
    articles: &[Split],
    published: &BTreeMap<ArticleId, ContentHash>,
) -> (Changes, Tally) {
    let mut changes = Changes::default();
    let mut tally = Tally::default();
    let mut gone = published.clone();
    for (article, passages) in articles {
        match gone.remove(&article.id) {
            Some(hash) if hash == article.content_hash() => {
                tally.unchanged += 1;
                continue;
            }
            Some(_other_version) => tally.changed += 1,
            None => tally.added += 1,
        }
        changes.written.push((article.clone(), passages.clone()));
    }
    tally.removed = u64::try_from(gone.len()).unwrap_or(u64::MAX);
    changes.removed = gone.into_keys().collect();
    (changes, tally)
}
