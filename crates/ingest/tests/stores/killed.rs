//! Runs that end in the middle.

use std::time::Duration;

use domain::Article;
use qdrant_stand_in::Trouble;

use crate::world::{World, article, take_up, texts};

fn articles(text: &str) -> Vec<Article> {
    (0..20).map(|n| article(&format!("{n:02}"), text)).collect()
}

/// Drops a run after so many of Qdrant's calls, for every number of calls that a run makes, until one gets through.
async fn killed_at_every_call(world: &World) {
    world.index(&world.stores, articles("first")).await;
    let first = world.newest().await;
    for calls in 1.. {
        world.stand_in().clear_calls();
        let run = world.try_to_index(&world.stores, articles("second"));
        let reached = async {
            while world.stand_in().calls().len() < calls {
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        };
        tokio::select! {
            done = run => { done.expect("nothing hindered it"); }
            () = reached => {}
        }
        let newest = world.newest().await;
        assert_eq!(world.counted(&newest).await, Some(newest.passages), "after {calls} calls");
        if newest != first {
            assert_eq!(newest.id.number, 2);
            assert!(calls > 5, "{calls}");
            return;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_given_up_anywhere_leaves_what_is_published_whole_on_one_host() {
    let world = World::of_one_host().await;
    killed_at_every_call(&world).await;
    world.remove().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_is_given_up_anywhere_leaves_what_is_published_whole_on_many() {
    let Some(world) = World::shared().await else { return };
    killed_at_every_call(&world).await;
    let newest = world.newest().await;
    let copy = take_up(&world.elsewhere("there"), &newest).await;
    assert!(texts(&copy).iter().all(|text| text.contains("second")));
    world.remove().await;
}

#[tokio::test]
async fn a_qdrant_that_refuses_ends_the_run_and_nothing_is_built_anew_for_it() {
    let Some(world) = World::shared().await else { return };
    world.index(&world.stores, articles("first")).await;
    let first = world.newest().await;
    world.stand_in().set_trouble(Some(Trouble::Refuse(7.into())));
    world.try_to_index(&world.stores, articles("second")).await.expect_err("it is refused");
    assert_eq!(world.newest().await, first);
    world.stand_in().set_trouble(None);
    let summary = world.index(&world.stores, articles("second")).await;
    assert_eq!((summary.generation, world.newest().await.id.epoch), (2, 1));
    // One that has lost everything gets it all again, as a new epoch.
    world.stand_in().forget_everything();
    let summary = world.index(&world.stores, articles("second")).await;
    assert_eq!((summary.generation, world.newest().await.id.epoch), (3, 2));
    let newest = world.newest().await;
    assert_eq!(world.counted(&newest).await, Some(newest.passages));
    world.remove().await;
}
