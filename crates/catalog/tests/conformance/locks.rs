//! One writer per app, whoever asks.

use catalog::CatalogError;

use crate::samples::{app, article, publication, publish};
use crate::sites::{Site, on_every_catalog};

on_every_catalog!(
    whoever_comes_second_is_told_who_writes,
    a_writer_that_is_gone_makes_way,
    other_apps_can_be_written_meanwhile,
);

async fn whoever_comes_second_is_told_who_writes(site: &Site) {
    let (here, there) = (site.open().await, site.open().await);
    let mut writer = here.writer(&app(), "process 7 on alpha").await.expect("nobody else writes");
    writer.check().await.expect("it is held");
    let error = there.writer(&app(), "process 9 on beta").await.expect_err("somebody writes");
    assert!(matches!(error, CatalogError::Busy { .. }), "{error:?}");
    assert!(error.to_string().contains("process 7 on alpha"), "{error}");
    // Reading goes on.
    assert!(there.newest().await.expect("readable").is_empty());
    writer.publish(&publication(1, vec![article("a", &["x"])], &[])).await.expect("publishes");
}

async fn a_writer_that_is_gone_makes_way(site: &Site) {
    let (here, there) = (site.open().await, site.open().await);
    here.writer(&app(), "first").await.expect("free").release().await;
    let second = there.writer(&app(), "second").await.expect("free again");
    let error = here.writer(&app(), "third").await.expect_err("somebody writes");
    assert!(error.to_string().contains("second"), "{error}");
    second.release().await;
    publish(&*here, 1, vec![article("a", &["x"])], &[]).await;
}

async fn other_apps_can_be_written_meanwhile(site: &Site) {
    let catalog = site.open().await;
    let _ours = catalog.writer(&app(), "first").await.expect("free");
    let other = "other".parse().expect("a name");
    let _theirs = catalog.writer(&other, "second").await.expect("another app's");
}
