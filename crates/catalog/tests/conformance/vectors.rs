//! Vectors that lie in a catalog that hosts share.

use std::collections::HashMap;

use domain::{PassageId, Vector};

use crate::samples::{app, article, generation, publish};
use crate::sites::Site;

fn vector(n: u16) -> Vector {
    Vector::normalized(vec![f32::from(n), 0.1, -0.3, 0.7]).expect("it has a direction")
}

fn vectors(ids: &[PassageId]) -> HashMap<PassageId, Vector> {
    (1..).zip(ids).map(|(n, id)| (*id, vector(n))).collect()
}

#[tokio::test]
async fn a_file_keeps_none() {
    assert!(Site::file().open().await.shared().is_none());
}

#[tokio::test]
async fn vectors_come_back_bit_for_bit_and_only_from_their_space() {
    let Some(site) = Site::server().await else { return };
    let catalog = site.open().await;
    let kept = catalog.shared().expect("a database is shared");
    let ids: Vec<PassageId> = (0..=255).map(|n| PassageId::from_bytes([n; 16])).collect();
    let all = vectors(&ids);
    kept.keep(&app(), "x/1", &all).await.expect("kept");
    // Again, as a run does that takes up where a killed one was.
    kept.keep(&app(), "x/1", &all).await.expect("kept");
    assert_eq!(kept.find(&app(), "x/1", &ids).await.expect("readable"), all);
    let unknown = [
        PassageId::from_bytes([7; 16]),
        "00000000000000000000000000000bad".parse().expect("an id"),
    ];
    assert_eq!(kept.find(&app(), "x/1", &unknown).await.expect("readable").len(), 1);
    let missing = kept.missing(&app(), "x/1", &unknown).await.expect("readable");
    assert_eq!(missing.into_iter().collect::<Vec<_>>(), unknown.get(1..).expect("two"));
    assert_eq!(kept.missing(&app(), "x/2", &ids).await.expect("readable").len(), ids.len());
    assert!(kept.find(&app(), "x/2", &ids).await.expect("readable").is_empty());
    let other = "other".parse().expect("a name");
    assert!(kept.find(&other, "x/1", &ids).await.expect("readable").is_empty());
    site.remove().await;
}

#[tokio::test]
async fn those_that_no_generation_needs_are_let_go() {
    let Some(site) = Site::server().await else { return };
    let catalog = site.open().await;
    let kept = catalog.shared().expect("a database is shared");
    publish(&*catalog, 1, vec![article("a", &["one"]), article("b", &["stays"])], &[]).await;
    publish(&*catalog, 2, vec![article("a", &["two"])], &[]).await;
    publish(&*catalog, 3, vec![article("a", &["three"])], &[]).await;
    let mut ids = Vec::new();
    for number in 1..=3 {
        let passages = catalog.passages(&generation(number)).await.expect("readable");
        ids.extend(passages.iter().map(|passage| passage.id));
    }
    for space in ["new/1", "old/1"] {
        kept.keep(&app(), space, &vectors(&ids)).await.expect("kept");
    }
    for number in 1..=3 {
        let count = kept.count(&generation(number), "new/1").await.expect("counted");
        assert_eq!(count, 2, "generation {number}");
    }
    kept.trim(&app(), 2, &["new/1".to_owned()]).await.expect("trimmed");
    let counts = [(1, 1), (2, 2), (3, 2)];
    for (number, expected) in counts {
        let count = kept.count(&generation(number), "new/1").await.expect("counted");
        assert_eq!(count, expected, "generation {number}");
    }
    assert!(kept.find(&app(), "old/1", &ids).await.expect("readable").is_empty());
    site.remove().await;
}
