//! What is sent, and what is left behind.

use domain::{GenerationId, Passage, PassageId};
use qdrant::{Plan, QdrantError, QdrantWriter, Written};
use qdrant_client::Qdrant as OtherClient;

use crate::passages::{DIMENSIONS, Numbers, Row, generation, passages, row, rows, vectors};
use crate::revisions::check_whole;
use crate::sites::{Site, at_every_site, call};

/// How often the stand-in was asked to do `method`.
fn count(site: &Site, method: &str) -> usize {
    site.server().calls().iter().filter(|call| call.method == method).count()
}

#[tokio::test]
async fn only_what_has_changed_is_sent() {
    let site = Site::stand_in();
    let [first, second, third] = [1, 2, 3].map(|number| generation("demo", 1, number));
    let rows = rows(600);
    let written = site.sync(&first, None, &rows, &call()).await.unwrap();
    assert_eq!(written, Written { added: 600, closed: 0, kept: 0 });
    // 256 at a time.
    assert_eq!(count(&site, "Upsert"), 3);
    site.server().clear_calls();
    let written = site.sync(&second, Some(&first), &rows, &call()).await.unwrap();
    assert_eq!(written, Written { added: 0, closed: 0, kept: 600 });
    assert_eq!(count(&site, "Upsert"), 0);
    let mut fewer = rows.clone();
    fewer.truncate(300);
    fewer.push(row(1000, &[]));
    let written = site.sync(&third, Some(&second), &fewer, &call()).await.unwrap();
    assert_eq!(written, Written { added: 1, closed: 300, kept: 300 });
    assert_eq!(count(&site, "Upsert"), 1);
}

#[tokio::test]
async fn every_change_is_waited_for() {
    let site = Site::stand_in();
    let [first, second] = [1, 2].map(|number| generation("demo", 1, number));
    site.sync(&first, None, &rows(10), &call()).await.unwrap();
    site.sync(&second, Some(&first), &rows(5), &call()).await.unwrap();
    site.writer().sweep(&second, &second, &call()).await.unwrap();
    let calls = site.server().calls();
    let changes: Vec<_> = calls.iter().filter(|call| call.wait.is_some()).collect();
    assert!(changes.len() > 8 && changes.iter().all(|call| call.wait == Some(true)), "{changes:?}");
}

/// Sorted, for comparing.
fn ids<'a>(passages: impl IntoIterator<Item = &'a Passage>) -> Vec<PassageId> {
    let mut ids: Vec<_> = passages.into_iter().map(|passage| passage.id).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn vectors_are_wanted_for_new_passages_and_held_for_known_ones() {
    at_every_site(async |site| {
        let [first, second, third] = [1, 2, 3].map(|number| generation("held", 1, number));
        let old = [row(1, &[]), row(2, &[]), row(3, &[])];
        site.sync(&first, None, &old, &call()).await.unwrap();
        site.sync(&second, Some(&first), &old[..2], &call()).await.unwrap();
        // One stays, one has another tag, one comes back, one is new.
        let new = [row(1, &[]), row(2, &["billing"]), row(3, &[]), row(4, &[])];
        let plan = Plan { next: third.clone(), published: Some(second), dimensions: DIMENSIONS };
        let draft = site.writer().draft(&plan, &call()).await.unwrap();
        let all = passages(&new);
        let wanted = draft.wanted(&all);
        assert_eq!(ids(wanted.iter().copied()), ids([&all[1], &all[2], &all[3]]));
        let wanted: Vec<_> = wanted.iter().map(|passage| passage.id).collect();
        let mut held = draft.holdings().vectors_of(&wanted, &call()).await.unwrap();
        for row in &new[1..3] {
            let vector = held.get(&row.passage.id).expect("a vector that is held");
            assert!((vector.cosine(&row.vector) - 1.0).abs() < 1e-6);
        }
        assert_eq!(held.len(), 2);
        held.insert(new[3].passage.id, new[3].vector.clone());
        draft.write(&all, &held, &call()).await.unwrap();
        check_whole(site, &third, &new).await;
    })
    .await;
}

#[tokio::test]
async fn a_draft_without_the_right_vectors_fails_and_changes_nothing() {
    let site = Site::stand_in();
    let [first, second] = [1, 2].map(|number| generation("demo", 1, number));
    site.sync(&first, None, &rows(4), &call()).await.unwrap();
    let draft = async || {
        let plan =
            Plan { next: second.clone(), published: Some(first.clone()), dimensions: DIMENSIONS };
        site.writer().draft(&plan, &call()).await.unwrap()
    };
    let five = rows(5);
    let (all, mut some) = (passages(&five), vectors(&five));
    let new = five[4].passage.id;
    some.insert(new, Numbers(1).vector(DIMENSIONS + 1));
    let error = draft().await.write(&all, &some, &call()).await.unwrap_err();
    assert!(matches!(error, QdrantError::Dimensions { passage, .. } if passage == new), "{error}");
    some.remove(&new);
    let error = draft().await.write(&all, &some, &call()).await.unwrap_err();
    assert!(matches!(error, QdrantError::MissingVector { passage } if passage == new), "{error}");
    check_whole(&site, &first, &five[..4]).await;
}

#[tokio::test]
async fn the_published_revision_cannot_be_written_again() {
    let site = Site::stand_in();
    let held = generation("demo", 2, 7);
    site.sync(&held, None, &rows(4), &call()).await.unwrap();
    for (epoch, number) in [(2, 7), (2, 6), (1, 8)] {
        let next = generation("demo", epoch, number);
        let error = site.sync(&next, Some(&held), &[], &call()).await.unwrap_err();
        assert!(matches!(error, QdrantError::NotNext { .. }), "{error}");
    }
    check_whole(&site, &held, &rows(4)).await;
}

#[tokio::test]
async fn a_revision_with_a_passage_too_many_is_not_called_complete() {
    let site = Site::stand_in();
    let twice: Vec<Row> = rows(3).into_iter().chain(rows(1)).collect();
    let error = site.sync(&generation("demo", 1, 1), None, &twice, &call()).await.unwrap_err();
    assert!(matches!(error, QdrantError::Incomplete { found: 3, expected: 4, .. }), "{error}");
}

#[tokio::test]
async fn vectors_can_be_carried_into_a_new_epoch() {
    at_every_site(async |site| {
        let (old, new) = (generation("carried", 1, 1), generation("carried", 2, 2));
        let rows = rows(300);
        assert!(site.writer().holdings(&old, &call()).await.unwrap().is_none());
        site.sync(&old, None, &rows, &call()).await.unwrap();
        let holdings = site.writer().holdings(&old, &call()).await.unwrap().expect("a collection");
        let all: Vec<_> = rows.iter().map(|row| row.passage.id).collect();
        let carried = holdings.vectors_of(&all, &call()).await.unwrap();
        let plan = Plan { next: new.clone(), published: Some(old), dimensions: DIMENSIONS };
        let draft = site.writer().draft(&plan, &call()).await.unwrap();
        draft.write(&passages(&rows), &carried, &call()).await.unwrap();
        check_whole(site, &new, &rows).await;
    })
    .await;
}

/// A look from outside, with the vendor's own client.
fn outside(site: &Site) -> OtherClient {
    OtherClient::from_url(&site.server().url()).skip_compatibility_check().build().unwrap()
}

async fn collections(site: &Site) -> Vec<String> {
    let reply = outside(site).list_collections().await.unwrap();
    reply.collections.into_iter().map(|collection| collection.name).collect()
}

async fn points(site: &Site, collection: &str) -> u64 {
    let info = outside(site).collection_info(collection).await.unwrap();
    info.result.and_then(|info| info.points_count).unwrap()
}

#[tokio::test]
async fn a_sweep_removes_what_nobody_can_ask_for_and_nothing_else() {
    let site = Site::stand_in();
    let of = |epoch, number| generation("a", epoch, number);
    let others = generation("a_e1", 1, 1);
    site.sync(&others, None, &rows(3), &call()).await.unwrap();
    site.sync(&of(1, 1), None, &rows(10), &call()).await.unwrap();
    site.sync(&of(1, 2), Some(&of(1, 1)), &rows(6), &call()).await.unwrap();
    site.sync(&of(1, 3), Some(&of(1, 2)), &rows(5), &call()).await.unwrap();
    site.sync(&of(2, 4), Some(&of(1, 3)), &rows(5), &call()).await.unwrap();
    assert_eq!(points(&site, "kiwari_a_e1").await, 10);
    site.writer().sweep(&of(1, 2), &of(2, 4), &call()).await.unwrap();
    assert_eq!(points(&site, "kiwari_a_e1").await, 6);
    check_whole(&site, &of(1, 2), &rows(6)).await;
    check_whole(&site, &of(1, 3), &rows(5)).await;
    site.writer().sweep(&of(2, 4), &of(2, 4), &call()).await.unwrap();
    assert_eq!(collections(&site).await, ["kiwari_a_e1_e1", "kiwari_a_e2"]);
    check_whole(&site, &of(2, 4), &rows(5)).await;
    check_whole(&site, &others, &rows(3)).await;
}

#[tokio::test]
async fn people_are_led_to_what_is_published() {
    let site = Site::stand_in();
    let lead = async |to: &GenerationId| {
        QdrantWriter::new(&site.qdrant).lead_people_to(to, &call()).await.unwrap();
        let aliases = outside(&site).list_aliases().await.unwrap().aliases;
        let pairs = aliases.into_iter().map(|alias| (alias.alias_name, alias.collection_name));
        pairs.collect::<Vec<_>>()
    };
    let (old, new) = (generation("a", 1, 1), generation("a", 2, 2));
    site.sync(&old, None, &rows(1), &call()).await.unwrap();
    site.sync(&new, Some(&old), &rows(1), &call()).await.unwrap();
    let pair = |collection: &str| [("kiwari_a_current".to_owned(), collection.to_owned())];
    assert_eq!(lead(&old).await, pair("kiwari_a_e1"));
    assert_eq!(lead(&new).await, pair("kiwari_a_e2"));
}

#[tokio::test]
async fn a_run_outlasts_a_restart_of_the_server() {
    let site = Site::stand_in();
    let first = generation("demo", 1, 1);
    site.server().go_down();
    let rows = rows(10);
    let coming_back = async { site.server().come_back() };
    let (written, call) = (&rows, call());
    let (outcome, back) = tokio::join!(site.sync(&first, None, written, &call), coming_back);
    back.unwrap();
    outcome.unwrap();
    check_whole(&site, &first, &rows).await;
}
