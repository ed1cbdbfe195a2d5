//! Publishing and reading back.

use std::collections::{BTreeMap, BTreeSet};

use catalog::{Catalog, CatalogError, Difference, Published};
use domain::{ArticleId, PassageId};

use crate::samples::{app, article, generation, publication, publish, texts};
use crate::sites::{Site, on_every_catalog};

on_every_catalog!(
    a_catalog_knows_itself_from_all_others,
    what_was_published_is_read_back,
    a_later_generation_replaces_and_removes,
    an_older_generation_reads_as_it_was,
    a_difference_makes_one_generation_into_another,
    a_number_that_is_taken_changes_nothing,
    apps_do_not_see_each_other,
    texts_of_every_kind_come_back_as_they_were,
    a_publication_of_many_rows_is_whole,
);

async fn newest(catalog: &dyn Catalog) -> Vec<Published> {
    let newest = catalog.newest().await.expect("readable");
    newest.into_iter().map(|row| row.expect("understood")).collect()
}

async fn a_catalog_knows_itself_from_all_others(site: &Site) {
    let identity = site.open().await.identity().await.expect("readable");
    assert_eq!(site.open().await.identity().await.expect("readable"), identity);
    let other = Site::file().open().await.identity().await.expect("readable");
    assert_ne!(other, identity);
}

async fn what_was_published_is_read_back(site: &Site) {
    let catalog = site.open().await;
    assert_eq!(catalog.newest_of(&app()).await.expect("readable"), None);
    let written = vec![article("a", &["first"]), article("b", &["second"])];
    let expected: BTreeMap<_, _> =
        written.iter().map(|(article, _)| (article.id.clone(), article.content_hash())).collect();
    publish(&*catalog, 1, written.clone(), &[]).await;

    let catalog = site.open().await;
    let published = publication(1, vec![], &[]).published;
    assert_eq!(catalog.newest_of(&app()).await.expect("readable"), Some(published.clone()));
    assert_eq!(newest(&*catalog).await, catalog.since(&app(), 1).await.expect("readable"));
    assert_eq!(newest(&*catalog).await, [published]);
    assert_eq!(catalog.since(&app(), 2).await.expect("readable"), []);
    assert_eq!(catalog.content_hashes(&app()).await.expect("readable"), expected);
    let passages: Vec<_> = written.into_iter().flat_map(|(_, passages)| passages).collect();
    assert_eq!(catalog.passages(&generation(1)).await.expect("readable"), passages);
}

async fn a_later_generation_replaces_and_removes(site: &Site) {
    let catalog = site.open().await;
    let first = vec![article("a", &["old"]), article("b", &["gone"])];
    publish(&*catalog, 1, first, &[]).await;
    publish(&*catalog, 2, vec![article("a", &["new"])], &["b"]).await;
    assert_eq!(texts(&*catalog, 2).await, ["new"]);
    // The removed article may come back.
    publish(&*catalog, 3, vec![article("b", &["back"])], &[]).await;
    assert_eq!(texts(&*catalog, 3).await, ["new", "back"]);
    let hashes = catalog.content_hashes(&app()).await.expect("readable");
    assert_eq!(hashes.keys().map(ArticleId::as_str).collect::<Vec<_>>(), ["a", "b"]);
    let numbers: Vec<u64> = newest(&*catalog).await.iter().map(|newest| newest.id.number).collect();
    assert_eq!(numbers, [3]);
    let all = catalog.since(&app(), 2).await.expect("readable");
    assert_eq!(all.iter().map(|published| published.id.number).collect::<Vec<_>>(), [2, 3]);
}

async fn an_older_generation_reads_as_it_was(site: &Site) {
    let catalog = site.open().await;
    publish(&*catalog, 1, vec![article("a", &["one"]), article("b", &["stays"])], &[]).await;
    publish(&*catalog, 2, vec![article("a", &["two"]), article("c", &["more"])], &[]).await;
    publish(&*catalog, 3, vec![article("a", &["three"])], &["c"]).await;
    assert_eq!(texts(&*catalog, 1).await, ["one", "stays"]);
    assert_eq!(texts(&*catalog, 2).await, ["two", "stays", "more"]);
    assert_eq!(texts(&*catalog, 3).await, ["three", "stays"]);
}

/// Applies every difference between any two generations to a set, which then is the later one's.
async fn a_difference_makes_one_generation_into_another(site: &Site) {
    let catalog = site.open().await;
    publish(&*catalog, 1, vec![article("a", &["one", "kept"]), article("b", &["b"])], &[]).await;
    publish(&*catalog, 2, vec![article("a", &["kept", "two"])], &["b"]).await;
    publish(&*catalog, 3, vec![article("b", &["b"]), article("c", &["c"])], &[]).await;
    publish(&*catalog, 4, vec![article("c", &["other"])], &["a"]).await;
    for (basis, target) in [(1, 2), (1, 3), (1, 4), (2, 3), (2, 4), (3, 4)] {
        let mut ids = ids(&*catalog, basis).await;
        let Difference { removed, written } =
            catalog.difference(basis, &generation(target)).await.expect("readable");
        removed.iter().for_each(|id| assert!(ids.remove(id), "{basis} to {target}: {id}"));
        written.iter().for_each(|passage| assert!(ids.insert(passage.id), "{basis} to {target}"));
        assert_eq!(ids, self::ids(&*catalog, target).await, "{basis} to {target}");
    }
}

async fn ids(catalog: &dyn Catalog, number: u64) -> BTreeSet<PassageId> {
    let passages = catalog.passages(&generation(number)).await.expect("readable");
    passages.iter().map(|passage| passage.id).collect()
}

async fn a_number_that_is_taken_changes_nothing(site: &Site) {
    let catalog = site.open().await;
    publish(&*catalog, 1, vec![article("a", &["kept"])], &[]).await;
    let mut writer = catalog.writer(&app(), "a test").await.expect("nobody else writes");
    let again = publication(1, vec![article("a", &["lost"])], &[]);
    let error = writer.publish(&again).await.expect_err("the number is taken");
    assert!(matches!(error, CatalogError::AlreadyPublished { number: 1, .. }), "{error:?}");
    assert_eq!(texts(&*catalog, 1).await, ["kept"]);
    // The writer goes on.
    let next = publication(2, vec![article("a", &["next"])], &[]);
    writer.publish(&next).await.expect("publishes");
    assert_eq!(texts(&*catalog, 2).await, ["next"]);
}

async fn apps_do_not_see_each_other(site: &Site) {
    let catalog = site.open().await;
    publish(&*catalog, 1, vec![article("a", &["ours"])], &[]).await;
    let other = "other".parse().expect("a name");
    let mut theirs = publication(1, vec![article("a", &["theirs"])], &[]);
    theirs.published.id.app = other;
    let mut writer = catalog.writer(&theirs.published.id.app, "a test").await.expect("free");
    writer.publish(&theirs).await.expect("publishes");
    assert_eq!(texts(&*catalog, 1).await, ["ours"]);
    let their_texts = catalog.passages(&theirs.published.id).await.expect("readable");
    assert_eq!(their_texts.first().map(|passage| passage.text.as_str()), Some("theirs"));
    assert_eq!(newest(&*catalog).await.len(), 2);
    let ids = catalog.passage_ids(&app(), &[ArticleId::new("a")]).await.expect("readable");
    assert_eq!(ids.len(), 1);
}

async fn texts_of_every_kind_come_back_as_they_were(site: &Site) {
    let catalog = site.open().await;
    let texts = ["a\0b", "'; DROP TABLE passage; --", "\u{10ffff}🍵 e\u{301}", "\\u0000 \\ \" {}"];
    publish(&*catalog, 1, vec![article("a", &texts)], &[]).await;
    assert_eq!(self::texts(&*catalog, 1).await, texts);
}

async fn a_publication_of_many_rows_is_whole(site: &Site) {
    let catalog = site.open().await;
    let many: Vec<_> =
        (0..1203).map(|n| article(&format!("{n:04}"), &[&format!("text {n}"), "same"])).collect();
    publish(&*catalog, 1, many, &[]).await;
    assert_eq!(texts(&*catalog, 1).await.len(), 2406);
    let removed: Vec<String> = (0..1200).map(|n| format!("{n:04}")).collect();
    let removed: Vec<&str> = removed.iter().map(String::as_str).collect();
    publish(&*catalog, 2, vec![], &removed).await;
    assert_eq!(texts(&*catalog, 2).await.len(), 6);
    let articles: Vec<ArticleId> = ["1200", "1201", "0000"].map(ArticleId::new).into();
    assert_eq!(catalog.passage_ids(&app(), &articles).await.expect("readable").len(), 4);
}
