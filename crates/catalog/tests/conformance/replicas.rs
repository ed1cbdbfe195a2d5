//! What servers say they still answer from.

use std::time::Duration;

use catalog::{Beat, Catalog};

use crate::samples::app;
use crate::sites::{Site, on_every_catalog};

on_every_catalog!(
    the_oldest_in_use_is_that_of_all_who_live,
    who_has_left_or_is_silent_holds_nothing_up,
);

const HOUR: Duration = Duration::from_secs(3600);

async fn beat(catalog: &dyn Catalog, replica: &str, number: u64) {
    let in_use = vec![(app(), number), ("other".parse().expect("a name"), 1)];
    let beat = Beat { replica: replica.to_owned(), oldest_in_use: in_use };
    catalog.beat(&beat).await.expect("noted");
}

async fn oldest(catalog: &dyn Catalog, silence: Duration) -> Option<u64> {
    catalog.oldest_in_use(&app(), silence).await.expect("readable")
}

async fn the_oldest_in_use_is_that_of_all_who_live(site: &Site) {
    let catalog = site.open().await;
    assert_eq!(oldest(&*catalog, HOUR).await, None);
    beat(&*catalog, "alpha", 4).await;
    beat(&*catalog, "beta", 3).await;
    assert_eq!(oldest(&*catalog, HOUR).await, Some(3));
    let heard = catalog.servers(&app(), HOUR).await.expect("readable");
    let of: Vec<(&str, u64)> =
        heard.iter().map(|heard| (&*heard.replica, heard.generation)).collect();
    assert_eq!(of, [("beta", 3), ("alpha", 4)]);
    assert!(heard.iter().all(|heard| heard.ago < HOUR), "{heard:?}");
    beat(&*catalog, "beta", 5).await;
    assert_eq!(oldest(&*catalog, HOUR).await, Some(4));
}

async fn who_has_left_or_is_silent_holds_nothing_up(site: &Site) {
    let catalog = site.open().await;
    beat(&*catalog, "alpha", 4).await;
    beat(&*catalog, "beta", 5).await;
    catalog.leave("alpha").await.expect("noted");
    assert_eq!(oldest(&*catalog, HOUR).await, Some(5));
    tokio::time::sleep(Duration::from_millis(20)).await;
    assert_eq!(oldest(&*catalog, Duration::from_millis(10)).await, None);
    assert_eq!(catalog.servers(&app(), Duration::from_millis(10)).await.expect("readable"), []);
    let heard = catalog.servers(&app(), HOUR).await.expect("readable");
    let ago: Vec<Duration> = heard.iter().map(|heard| heard.ago).collect();
    assert!(matches!(ago[..], [ago] if ago >= Duration::from_millis(20)), "{heard:?}");
}
