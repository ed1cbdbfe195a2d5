//! What the seam promises, asked of every index.

use std::time::Duration;

use domain::{Call, Fault, FaultKind, Filter, Language, Neighbour, Vector};

use crate::passages::{DIMENSIONS, Numbers, Row, by_definition, generation, ids, row, rows};
use crate::sites::{Loaded, call, call_within, with_every_index};

async fn nearest(
    loaded: &Loaded,
    query: &Vector,
    filter: &Filter,
    k: usize,
) -> Result<Vec<Neighbour>, Fault> {
    loaded.index.nearest(&loaded.generation, query, filter, k, &call()).await
}

fn tags(tags: &[&str]) -> Filter {
    Filter { lang: None, tags: tags.iter().map(|tag| (*tag).to_owned()).collect() }
}

/// Expects exactly the nearest of `rows`, with their cosines.
async fn check(loaded: &Loaded, rows: &[Row], query: &Vector, filter: &Filter, k: usize) {
    let found = nearest(loaded, query, filter, k).await.unwrap();
    let expected = by_definition(rows, query, filter, k);
    assert_eq!(ids(&found), ids(&expected), "{}: {filter:?}, k = {k}", loaded.name);
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found.cosine - expected.cosine).abs() < 1e-5, "{}: {found:?}", loaded.name);
    }
}

#[tokio::test]
async fn the_nearest_come_first_whatever_is_filtered() {
    let rows = rows(120);
    let filters = [
        Filter::default(),
        Filter { lang: Some(Language::JAPANESE), tags: vec![] },
        tags(&["billing"]),
        tags(&["billing", "返金"]),
        tags(&["a \"quoted\" tag"]),
        Filter { lang: Some(Language::ENGLISH), ..tags(&["billing"]) },
    ];
    with_every_index(&rows, async |loaded| {
        for (filter, seed) in filters.iter().zip(100..) {
            let query = Numbers(seed).vector(DIMENSIONS);
            for k in [1, 5, 20, 500] {
                check(loaded, &rows, &query, filter, k).await;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_filter_that_nothing_meets_finds_nothing_and_is_no_fault() {
    with_every_index(&rows(12), async |loaded| {
        let query = Numbers(5).vector(DIMENSIONS);
        let korean = Filter { lang: Some(Language::KOREAN), tags: vec![] };
        for filter in [korean, tags(&["no such tag"]), tags(&["billing", "no such tag"])] {
            assert_eq!(nearest(loaded, &query, &filter, 5).await.unwrap(), [], "{}", loaded.name);
        }
    })
    .await;
}

#[tokio::test]
async fn equal_cosines_come_in_order_of_their_passages() {
    let mut rows = rows(40);
    let twin = rows[0].vector.clone();
    rows.iter_mut().take(15).for_each(|row| row.vector = twin.clone());
    with_every_index(&rows, async |loaded| {
        for k in [1, 2, 7, 14, 15, 16, 40] {
            check(loaded, &rows, &twin, &Filter::default(), k).await;
        }
    })
    .await;
}

#[tokio::test]
async fn none_are_found_where_none_are_wanted_and_all_where_more_are() {
    let rows = rows(10);
    with_every_index(&rows, async |loaded| {
        let query = Numbers(6).vector(DIMENSIONS);
        for k in [0, 10, 11, 1_000_000, usize::MAX] {
            check(loaded, &rows, &query, &Filter::default(), k).await;
        }
    })
    .await;
}

#[tokio::test]
async fn an_index_without_passages_finds_none() {
    with_every_index(&[], async |loaded| {
        check(loaded, &[], &Numbers(7).vector(DIMENSIONS), &Filter::default(), 5).await;
    })
    .await;
}

#[tokio::test]
async fn the_only_passage_is_found_from_anywhere() {
    let rows = [row(1, &[])];
    with_every_index(&rows, async |loaded| {
        for seed in 0..5 {
            let query = Numbers(seed).vector(DIMENSIONS);
            check(loaded, &rows, &query, &Filter::default(), 3).await;
        }
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_answered_is_a_fault_of_its_kind() {
    with_every_index(&rows(10), async |loaded| {
        let (none, call) = (Filter::default(), call());
        let query = Numbers(8).vector(DIMENSIONS);
        let held = &loaded.generation;
        let others = [
            generation("demo", held.epoch, held.number + 1),
            generation("demo", held.epoch + 1, held.number),
            generation("other", held.epoch, held.number),
        ];
        for other in others {
            let fault = loaded.index.nearest(&other, &query, &none, 5, &call).await.unwrap_err();
            let found = (fault.kind(), fault.retry_after());
            assert_eq!(found, (FaultKind::Unavailable, None), "{}: {other:?}", loaded.name);
        }
        for dimensions in [1, DIMENSIONS - 1, DIMENSIONS + 1] {
            let query = Numbers(8).vector(dimensions);
            let fault = nearest(loaded, &query, &none, 5).await.unwrap_err();
            let found = (fault.kind(), fault.retry_after());
            assert_eq!(found, (FaultKind::Error, None), "{}: {dimensions}", loaded.name);
        }
    })
    .await;
}

#[tokio::test]
async fn without_time_there_is_a_timeout_or_an_answer_that_was_in_hand() {
    let rows = rows(10);
    with_every_index(&rows, async |loaded| {
        let query = Numbers(9).vector(DIMENSIONS);
        let late: Call = call_within(Duration::ZERO);
        let outcome =
            loaded.index.nearest(&loaded.generation, &query, &Filter::default(), 5, &late).await;
        match outcome {
            // Work that is done by the time it is looked for is never thrown away.
            Ok(found) if loaded.name == "embedded" => assert_eq!(found.len(), 5),
            outcome => {
                assert_eq!(outcome.unwrap_err().kind(), FaultKind::Timeout, "{}", loaded.name);
            }
        }
        check(loaded, &rows, &query, &Filter::default(), 5).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_may_ask_at_once() {
    let rows = rows(60);
    with_every_index(&rows, async |loaded| {
        let asking = (0..64).map(|seed| {
            let query = Numbers(seed).vector(DIMENSIONS);
            let rows = &rows;
            async move { check(loaded, rows, &query, &Filter::default(), 10).await }
        });
        futures_util::future::join_all(asking).await;
    })
    .await;
}
