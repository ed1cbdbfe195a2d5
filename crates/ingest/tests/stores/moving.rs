//! Vectors that move: from files or the catalog to Qdrant, and back.

use catalog::VectorHome;

use crate::world::{World, article, take_up, texts};

#[tokio::test]
async fn vectors_in_the_catalog_move_to_qdrant_without_being_embedded_again() {
    let Some(world) = World::shared().await else { return };
    let articles = || vec![article("a", "one"), article("b", "two")];
    let first = world.index(&world.without_qdrant(), articles()).await;
    assert_eq!((first.passages, first.embedded), (6, 6));
    let moved = world.index(&world.stores, articles()).await;
    assert_eq!((moved.published, moved.embedded), (true, 0));
    let newest = world.newest().await;
    assert_eq!((newest.recipe.vectors, newest.id.epoch), (VectorHome::Qdrant, 2));
    // Without Qdrant's address there is no carrying over from there.
    let back = world.index(&world.without_qdrant(), articles()).await;
    assert_eq!((back.published, back.embedded), (true, 6));
    let newest = world.newest().await;
    assert_eq!((newest.recipe.vectors, newest.id.epoch), (VectorHome::Catalog, 3));
    let stays = world.index(&world.without_qdrant(), articles()).await;
    assert_eq!((stays.published, stays.embedded), (false, 0));
    let mut here = world.elsewhere("here");
    here.qdrant = None;
    assert_eq!(texts(&take_up(&here, &world.newest().await).await).len(), 6);
    world.remove().await;
}

#[tokio::test]
async fn vectors_in_files_move_to_qdrant_without_being_embedded_again() {
    let world = World::of_one_host().await;
    let articles = || vec![article("a", "one"), article("b", "two")];
    let first = world.index(&world.without_qdrant(), articles()).await;
    assert_eq!(first.embedded, 6);
    let moved = world.index(&world.stores, articles()).await;
    assert_eq!((moved.generation, moved.embedded), (2, 0));
    let newest = world.newest().await;
    assert_eq!(world.counted(&newest).await, Some(6));
    // One that changes, one that stays, one that comes back.
    let changed = world.index(&world.stores, vec![article("a", "other")]).await;
    assert_eq!((changed.changed, changed.removed, changed.embedded), (1, 1, 3));
    let back = world.index(&world.stores, vec![article("a", "other"), article("b", "two")]).await;
    assert_eq!((back.added, back.published), (1, true));
    world.remove().await;
}
