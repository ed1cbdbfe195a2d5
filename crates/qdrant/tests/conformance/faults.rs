//! Qdrant away, slow, silent, refusing, forgetful.

use std::error::Error;
use std::time::Duration;

use deadline::Deadline;
use domain::{Call, Fault, FaultKind, Filter, GenerationId, VectorIndex};
use qdrant::{ApiKey, IndexMismatch, Plan, Qdrant, QdrantError, QdrantSettings, QdrantVectors};
use qdrant_stand_in::{Settings, StandIn, Trouble};
use tonic::Code;

use crate::passages::{DIMENSIONS, Numbers, embedder, generation, passages, rows, vectors};
use crate::sites::{Site, call, call_within};

const ROWS: usize = 10;

fn held() -> GenerationId {
    generation("demo", 1, 1)
}

async fn loaded() -> (Site, QdrantVectors) {
    let site = Site::stand_in();
    site.sync(&held(), None, &rows(10), &call()).await.unwrap();
    let index = site.index(&held(), ROWS);
    (site, index)
}

async fn asked(index: &QdrantVectors, call: &Call) -> Result<usize, Fault> {
    let query = Numbers(1).vector(DIMENSIONS);
    let found = index.nearest(&held(), &query, &Filter::default(), 5, call).await;
    found.map(|found| found.len())
}

/// The fault's kind, and whether another try may help.
async fn fault(index: &QdrantVectors, call: &Call) -> (FaultKind, bool) {
    let fault = asked(index, call).await.unwrap_err();
    (fault.kind(), fault.retry_after().is_some())
}

/// A refused call fails long before this passes; a test that waits for it fails by its kind.
fn soon() -> Call {
    call_within(Duration::from_secs(20))
}

/// Enough for a call on this machine to have reached the far side, and little to wait for.
fn briefly() -> Call {
    call_within(Duration::from_millis(150))
}

#[tokio::test]
async fn a_server_that_is_away_is_an_error_and_is_picked_up_when_it_comes() {
    let (site, index) = loaded().await;
    assert_eq!(asked(&index, &soon()).await.unwrap(), 5);
    for _ in 0..3 {
        site.server().go_down();
        for _ in 0..3 {
            assert_eq!(fault(&index, &soon()).await, (FaultKind::Error, true));
        }
        site.server().come_back().unwrap();
        assert_eq!(asked(&index, &soon()).await.unwrap(), 5);
    }
}

#[tokio::test]
async fn it_may_be_away_when_everything_else_starts() {
    let (site, _) = loaded().await;
    site.server().go_down();
    let qdrant = Qdrant::new(&QdrantSettings::at(&site.server().url())).unwrap();
    let index = QdrantVectors::new(&qdrant, held(), &embedder(), 10);
    assert_eq!(fault(&index, &soon()).await, (FaultKind::Error, true));
    assert!(qdrant.health(&soon()).await.is_err());
    site.server().come_back().unwrap();
    assert!(qdrant.health(&soon()).await.unwrap().version.ends_with("stand-in"));
    assert_eq!(asked(&index, &soon()).await.unwrap(), 5);
}

#[tokio::test]
async fn calls_under_way_when_it_dies_are_errors() {
    let (site, index) = loaded().await;
    site.server().set_trouble(Some(Trouble::Stall));
    let dying = async {
        site.server().until_stalled().await;
        site.server().go_down();
    };
    let (outcome, ()) = tokio::join!(async { fault(&index, &soon()).await }, dying);
    assert_eq!(outcome, (FaultKind::Error, true));
    site.server().set_trouble(None);
    site.server().come_back().unwrap();
    assert_eq!(asked(&index, &soon()).await.unwrap(), 5);
}

#[tokio::test]
async fn silence_is_cut_off_at_the_deadline_and_the_server_told() {
    let (site, index) = loaded().await;
    for trouble in [Trouble::Stall, Trouble::LoseReply, Trouble::Slow(Duration::from_secs(600))] {
        site.server().clear_calls();
        site.server().set_trouble(Some(trouble));
        assert_eq!(fault(&index, &briefly()).await, (FaultKind::Timeout, false), "{trouble:?}");
        Deadline::after(Duration::from_secs(20))
            .run(site.server().until_abandoned())
            .await
            .unwrap();
        site.server().set_trouble(None);
        assert_eq!(asked(&index, &soon()).await.unwrap(), 5);
    }
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_any_more_is_abandoned() {
    let (site, index) = loaded().await;
    site.server().clear_calls();
    site.server().set_trouble(Some(Trouble::Stall));
    let call = soon();
    tokio::select! {
        outcome = asked(&index, &call) => panic!("answered: {outcome:?}"),
        () = site.server().until_stalled() => {}
    }
    Deadline::after(Duration::from_secs(20)).run(site.server().until_abandoned()).await.unwrap();
}

#[tokio::test]
async fn a_slow_answer_in_time_is_an_answer() {
    let (site, index) = loaded().await;
    site.server().set_trouble(Some(Trouble::Slow(Duration::from_millis(30))));
    assert_eq!(asked(&index, &soon()).await.unwrap(), 5);
}

#[tokio::test]
async fn each_question_is_asked_once_with_the_ceiling_of_its_time() {
    let (site, index) = loaded().await;
    site.server().set_trouble(Some(Trouble::Refuse(Code::Unavailable)));
    site.server().clear_calls();
    assert!(asked(&index, &call_within(Duration::from_millis(1500))).await.is_err());
    let calls = site.server().calls();
    let asked: Vec<_> = calls.iter().map(|call| (call.method, call.timeout)).collect();
    assert_eq!(asked, [("Query", Some(2))]);
}

#[tokio::test]
async fn a_refusal_is_a_fault_of_its_kind() {
    let (site, index) = loaded().await;
    for (code, kind, passing) in [
        (Code::Unavailable, FaultKind::Error, true),
        (Code::Internal, FaultKind::Error, true),
        (Code::InvalidArgument, FaultKind::Error, false),
        (Code::PermissionDenied, FaultKind::Error, false),
        (Code::Unimplemented, FaultKind::Error, false),
        (Code::ResourceExhausted, FaultKind::RateLimited, true),
        (Code::DeadlineExceeded, FaultKind::Timeout, false),
        (Code::NotFound, FaultKind::Unavailable, false),
    ] {
        site.server().set_trouble(Some(Trouble::Refuse(code)));
        assert_eq!(fault(&index, &soon()).await, (kind, passing), "{code:?}");
    }
}

#[tokio::test]
async fn a_server_that_lost_its_collections_has_no_index_until_the_next_run() {
    let (site, index) = loaded().await;
    site.server().forget_everything();
    assert_eq!(fault(&index, &soon()).await, (FaultKind::Unavailable, false));
    assert!(index.count(&soon()).await.unwrap_err().is_not_found());
    let next = generation("demo", 1, 2);
    let plan = Plan { next: next.clone(), published: Some(held()), dimensions: DIMENSIONS };
    let draft = site.writer().draft(&plan, &call()).await.unwrap();
    let rows = rows(10);
    assert_eq!(draft.wanted(&passages(&rows)).len(), ROWS);
    draft.write(&passages(&rows), &vectors(&rows), &call()).await.unwrap();
    assert_eq!(site.index(&next, ROWS).count(&soon()).await.unwrap(), 10);
    // The old generation's collection is there again, and the generation is not.
    let fault = asked(&index, &soon()).await.unwrap_err();
    let mismatch = fault.source().and_then(|source| source.downcast_ref());
    let missing = matches!(mismatch, Some(IndexMismatch::Revision { revision: 1, .. }));
    assert!(fault.kind() == FaultKind::Unavailable && missing, "{fault:?}");
}

#[tokio::test]
async fn a_collection_of_another_size_is_an_error() {
    let (site, _) = loaded().await;
    let larger = domain::EmbedderId { dimensions: DIMENSIONS + 1, ..embedder() };
    let index = QdrantVectors::new(&site.qdrant, held(), &larger, 10);
    let query = Numbers(1).vector(DIMENSIONS + 1);
    let outcome = index.nearest(&held(), &query, &Filter::default(), 5, &soon()).await;
    assert_eq!(outcome.unwrap_err().kind(), FaultKind::Error);
    let next = generation("demo", 1, 2);
    let plan = Plan { next, published: Some(held()), dimensions: DIMENSIONS + 1 };
    let error = site.writer().draft(&plan, &call()).await.unwrap_err();
    assert!(matches!(error, QdrantError::OtherShape { expected: 9, .. }), "{error}");
}

#[tokio::test]
async fn the_key_is_sent_and_a_wrong_one_never_shown() {
    let api_key = Some("hush-hush".to_owned());
    let server = StandIn::start(Settings { api_key, ..Settings::local() }).unwrap();
    let health = async |key: Option<&str>| {
        let api_key = key.map(ApiKey::new);
        let settings = QdrantSettings { api_key, ..QdrantSettings::at(&server.url()) };
        Qdrant::new(&settings).unwrap().health(&soon()).await
    };
    assert!(health(Some("hush-hush\n")).await.is_ok());
    for key in [None, Some("a-wrong-key")] {
        let fault = Fault::from(health(key).await.unwrap_err());
        assert_eq!((fault.kind(), fault.retry_after()), (FaultKind::Error, None));
        let printed = format!("{fault:?}");
        assert!(!printed.contains("wrong-key") && !printed.contains("hush"), "{printed}");
    }
}
