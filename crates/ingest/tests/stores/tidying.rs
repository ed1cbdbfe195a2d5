//! What is let go, and when.

use std::collections::HashMap;

use catalog::{Beat, Published};
use domain::{PassageId, Vector};
use ingest::{Stores, tidy};

use crate::world::{World, app, article};

async fn says(world: &World, replica: &str, number: u64) {
    let beat = Beat { replica: replica.to_owned(), oldest_in_use: vec![(app(), number)] };
    world.stores.catalog.beat(&beat).await.expect("noted");
}

async fn tidied(world: &World) -> Option<u64> {
    let writer = world.stores.catalog.writer(&app(), "a test").await.expect("nobody else writes");
    let oldest = tidy(&world.stores, &app(), &*writer).await.expect("tidied");
    writer.release().await;
    oldest
}

async fn edition(world: &World, text: &str) -> Published {
    world.index(&world.stores, vec![article("a", text), article("b", "stays")]).await;
    world.newest().await
}

async fn what_a_server_answers_from_stays(world: &World) {
    let first = edition(world, "one").await;
    says(world, "alpha", 1).await;
    says(world, "beta", 1).await;
    let second = edition(world, "two").await;
    let third = edition(world, "three").await;
    // The run tidies, too, and found both on the first one.
    for published in [&first, &second, &third] {
        assert_eq!(world.counted(published).await, Some(6), "{:?}", published.id);
    }
    says(world, "alpha", 3).await;
    says(world, "beta", 2).await;
    assert_eq!(tidied(world).await, Some(2));
    assert_eq!(world.counted(&first).await, Some(3), "only what it shares with the others");
    assert_eq!(world.counted(&second).await, Some(6));
    says(world, "beta", 3).await;
    assert_eq!(tidied(world).await, Some(3));
    assert_eq!(world.counted(&second).await, Some(3));
    assert_eq!(world.counted(&third).await, Some(6));
}

#[tokio::test]
async fn what_a_server_answers_from_stays_on_one_host() {
    let world = World::of_one_host().await;
    what_a_server_answers_from_stays(&world).await;
    world.remove().await;
}

#[tokio::test]
async fn what_a_server_answers_from_stays_on_many() {
    let Some(world) = World::shared().await else { return };
    what_a_server_answers_from_stays(&world).await;
    world.remove().await;
}

#[tokio::test]
async fn an_old_epoch_goes_when_the_last_server_has_left_it() {
    let Some(world) = World::shared().await else { return };
    let first = edition(&world, "one").await;
    says(&world, "alpha", 1).await;
    world.stand_in().clear_calls();
    // Vectors in the catalog, then in Qdrant again: the third epoch.
    world.index(&world.without_qdrant(), vec![article("a", "one"), article("b", "stays")]).await;
    let third = edition(&world, "one").await;
    assert_eq!(third.id.epoch, 3);
    assert_eq!(world.counted(&first).await, Some(6));
    let kept = world.stores.catalog.shared().expect("it is shared");
    assert_eq!(kept.count(&first.id, &first.recipe.space()).await.expect("counted"), 6);
    world.stores.catalog.leave("alpha").await.expect("noted");
    assert_eq!(tidied(&world).await, Some(3));
    assert_eq!(world.counted(&first).await, None, "its collection is gone");
    assert_eq!(world.counted(&third).await, Some(6));
    // Those in the catalog as well.
    let nothing: HashMap<PassageId, Vector> = HashMap::new();
    let ids: Vec<PassageId> = world
        .stores
        .catalog
        .passages(&third.id)
        .await
        .expect("readable")
        .iter()
        .map(|passage| passage.id)
        .collect();
    let left = kept.find(&app(), &first.recipe.space(), &ids).await.expect("readable");
    assert_eq!(left, nothing);
    world.remove().await;
}

#[tokio::test]
async fn catalogs_that_share_a_qdrant_leave_each_others_vectors_alone() {
    let world = World::of_one_host().await;
    let other = world.with_another_catalog().await;
    let ours = edition(&world, "ours").await;
    // Of equal names and numbers, and of a newer epoch than all the other one knows.
    world.stand_in().forget_everything();
    world.index(&world.stores, vec![article("a", "ours"), article("b", "stays")]).await;
    let ours_anew = world.newest().await;
    assert!(ours_anew.id.epoch > ours.id.epoch);
    world.index(&other, vec![article("a", "theirs")]).await;
    assert_eq!(world.counted(&ours_anew).await, Some(6));
    let theirs = other.catalog.newest_of(&app()).await.expect("readable").expect("published");
    assert_eq!(tidied(&world).await, Some(ours_anew.id.number));
    assert_eq!(world.counted(&theirs).await, Some(3));

    // Whoever moved away from Qdrant has nothing there to name, and may not guess.
    world.index(&Stores { qdrant: None, ..other.clone() }, vec![article("a", "moved")]).await;
    let writer = other.catalog.writer(&app(), "a test").await.expect("nobody else writes");
    tidy(&other, &app(), &*writer).await.expect("tidied");
    assert_eq!(world.counted(&ours_anew).await, Some(6));
    assert_eq!(world.counted(&theirs).await, None);
    world.remove().await;
}
