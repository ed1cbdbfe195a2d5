//! A run killed at every single one of its calls.

use domain::GenerationId;
use qdrant::Plan;
use qdrant_stand_in::Trouble;
use tonic::Code;

use crate::passages::{DIMENSIONS, Row, generation, passages, row};
use crate::revisions::check_whole;
use crate::sites::{Site, call};

fn before() -> Vec<Row> {
    vec![row(1, &[]), row(2, &["billing"]), row(3, &[]), row(4, &[])]
}

/// One goes, one is tagged otherwise, one is new.
fn after() -> Vec<Row> {
    vec![row(1, &[]), row(2, &["billing", "返金"]), row(4, &[]), row(5, &["billing"])]
}

/// What is wanted by the time of the next run.
fn later() -> Vec<Row> {
    vec![row(2, &["billing"]), row(3, &[]), row(4, &["billing"]), row(6, &[])]
}

/// Whether the run was cut off by `trouble` after `spared` calls.
async fn is_cut_off(
    site: &Site,
    next: &GenerationId,
    published: &GenerationId,
    spared: u64,
    trouble: Trouble,
) -> bool {
    let server = site.server();
    server.clear_calls();
    server.set_trouble_after(spared, trouble);
    let (rows, call) = (after(), call());
    let cut_off = tokio::select! {
        outcome = site.sync(next, Some(published), &rows, &call) => outcome.is_err(),
        () = server.until_stalled() => true,
    };
    server.set_trouble(None);
    cut_off
}

/// Whether a draft finds everything as it was published, so that nothing has to be written or embedded again.
async fn check_undone(site: &Site, next: &GenerationId, published: &GenerationId) {
    let (next, published) = (next.clone(), Some(published.clone()));
    let plan = Plan { next, published, dimensions: DIMENSIONS };
    let draft = site.writer().draft(&plan, &call()).await.unwrap();
    assert_eq!(draft.wanted(&passages(&before())).len(), 0, "{plan:?}");
}

/// Cuts runs off after 0, 1, 2, … calls, until one gets through; how many were cut off.
async fn check_every_call(epoch: u32, trouble: Trouble) -> u64 {
    let site = Site::stand_in();
    for spared in 0.. {
        let app = format!("app-{spared}");
        let (first, second) = (generation(&app, 1, 1), generation(&app, epoch, 2));
        site.sync(&first, None, &before(), &call()).await.unwrap();
        let cut_off = is_cut_off(&site, &second, &first, spared, trouble).await;
        check_whole(&site, &first, &before()).await;
        if !cut_off {
            check_whole(&site, &second, &after()).await;
            return spared;
        }
        if epoch == first.epoch {
            check_undone(&site, &second, &first).await;
        }
        // The next run has the same number and writes something else.
        site.sync(&second, Some(&first), &later(), &call()).await.unwrap();
        check_whole(&site, &first, &before()).await;
        check_whole(&site, &second, &later()).await;
    }
    unreachable!("a run makes a finite number of calls")
}

#[tokio::test]
async fn a_run_killed_at_any_call_changes_no_published_revision_and_the_next_one_succeeds() {
    for (epoch, at_least) in [(1, 11), (2, 8)] {
        for trouble in
            [Trouble::Stall, Trouble::LoseReply, Trouble::Refuse(Code::FailedPrecondition)]
        {
            let cut_off = check_every_call(epoch, trouble).await;
            assert!(cut_off >= at_least, "epoch {epoch}, {trouble:?}: only {cut_off} calls");
        }
    }
}
