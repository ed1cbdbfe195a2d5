//! Copies of a shared catalog's generations.

use deadline::CpuPool;
use domain::Article;
use ingest::IngestError;

use crate::world::{World, article, take_up, texts};

/// Articles that change in every way from one number to the next.
fn articles(number: usize) -> Vec<Article> {
    let ids = (number..number + 10).filter(|id| (id * number) % 7 != 3);
    ids.map(|id| article(&format!("{id:02}"), &format!("words {}", (id + number) / 3))).collect()
}

#[tokio::test]
async fn a_copy_built_upon_another_says_what_one_built_anew_says() {
    let Some(world) = World::shared().await else { return };
    for with_qdrant in [true, false] {
        let stores = if with_qdrant { world.stores.clone() } else { world.without_qdrant() };
        let mut following = world.elsewhere("following");
        following.qdrant.clone_from(&stores.qdrant);
        for number in 1..8 {
            world.index(&stores, articles(number)).await;
            let newest = world.newest().await;
            // Some generations are missed out.
            if number % 3 == 0 {
                continue;
            }
            let followed = take_up(&following, &newest).await;
            let mut anew = world.elsewhere(&format!("anew-{with_qdrant}-{number}"));
            anew.qdrant.clone_from(&stores.qdrant);
            let built = take_up(&anew, &newest).await;
            assert_eq!(texts(&followed), texts(&built));
            assert_eq!(followed.keyword().passage_count(), newest.passages);
        }
    }
    world.remove().await;
}

#[tokio::test]
async fn a_generation_that_was_not_built_is_not_opened_and_another_databases_neither() {
    let (Some(ours), Some(theirs)) = (World::shared().await, World::shared().await) else { return };
    ours.index(&ours.stores, vec![article("a", "ours")]).await;
    theirs.index(&theirs.stores, vec![article("a", "theirs")]).await;
    let (published, other) = (ours.newest().await, theirs.newest().await);
    assert_eq!(published.id, other.id);
    let here = ours.elsewhere("here");
    let opened = ingest::open(&here, &published, CpuPool::per_core());
    assert!(matches!(opened, Err(IngestError::NoCopy { number: 1, .. })), "{opened:?}");
    take_up(&here, &published).await;
    assert_eq!(ingest::copies(&here.data), std::slice::from_ref(&published));

    // The same directory over the other database, whose numbers are the same.
    let mut moved = theirs.stores.clone();
    moved.data = here.data.clone();
    let opened = ingest::open(&moved, &other, CpuPool::per_core());
    assert!(matches!(opened, Err(IngestError::NoCopy { .. })), "{opened:?}");
    theirs.index(&theirs.stores, vec![article("a", "theirs"), article("b", "theirs")]).await;
    let newest = theirs.newest().await;
    let copy = take_up(&moved, &newest).await;
    assert!(texts(&copy).iter().all(|text| text.contains("theirs")), "{:?}", texts(&copy));
    ours.remove().await;
    theirs.remove().await;
}

#[tokio::test]
async fn only_the_newest_two_copies_stay() {
    let Some(world) = World::shared().await else { return };
    let here = world.elsewhere("here");
    for number in 1..=4 {
        world.index(&world.stores, articles(number)).await;
        take_up(&here, &world.newest().await).await;
    }
    let folder = here.data.path().join("copies/default");
    let names = std::fs::read_dir(folder).expect("there are copies").flatten();
    let mut names: Vec<_> = names.map(|entry| entry.file_name()).collect();
    names.sort();
    assert_eq!(names, ["3", "4", "lock"]);
    world.remove().await;
}

#[tokio::test]
async fn a_damaged_copy_is_not_built_upon() {
    let Some(world) = World::shared().await else { return };
    let here = world.elsewhere("here");
    world.index(&world.stores, articles(1)).await;
    let first = world.newest().await;
    drop(take_up(&here, &first).await);
    let keyword = here.data.path().join("copies/default/1/keyword");
    for entry in std::fs::read_dir(keyword).expect("there is a copy").flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "store") {
            let mut bytes = std::fs::read(entry.path()).expect("readable");
            bytes.iter_mut().step_by(7).for_each(|byte| *byte ^= 0x55);
            std::fs::write(entry.path(), bytes).expect("writable");
        }
    }
    ingest::open(&here, &first, CpuPool::per_core()).expect_err("it is damaged");
    world.index(&world.stores, articles(2)).await;
    let second = world.newest().await;
    assert_eq!(second.id.epoch, first.id.epoch);
    let copy = take_up(&here, &second).await;
    assert_eq!(texts(&copy), texts(&take_up(&world.elsewhere("anew"), &second).await));
    world.remove().await;
}
