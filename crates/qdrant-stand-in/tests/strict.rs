//! It refuses what the real server refuses, as the vendor's own client sees it.

use qdrant_client::qdrant::{
    CountPointsBuilder, CreateAliasBuilder, CreateCollectionBuilder, DeletePointsBuilder, Distance,
    FacetCountsBuilder, Filter, PointStruct, PointsIdsList, QueryPointsBuilder,
    ScrollPointsBuilder, SetPayloadPointsBuilder, UpsertPointsBuilder, VectorParamsBuilder,
};
use qdrant_client::{Payload, Qdrant, QdrantError};
use qdrant_stand_in::{Settings, StandIn};
use tonic::Code;

const TOWN: &str = "town";
const SOMEBODY: &str = "0b8a1a5c-0000-4000-8000-000000000001";

/// With one collection of three dimensions, and a point in it.
async fn started() -> (StandIn, Qdrant) {
    let stand_in = StandIn::start(Settings::local()).expect("a free port");
    let client = Qdrant::from_url(&stand_in.url()).skip_compatibility_check().build();
    let client = client.expect("nothing is called yet");
    create(&client, Distance::Cosine).await.expect("a new collection");
    upsert(&client, SOMEBODY, vec![3.0, 0.0, 4.0]).await.expect("a point that fits");
    (stand_in, client)
}

async fn create(client: &Qdrant, distance: Distance) -> Result<(), QdrantError> {
    let vectors = VectorParamsBuilder::new(3, distance);
    let request = CreateCollectionBuilder::new(TOWN).vectors_config(vectors);
    client.create_collection(request).await.map(drop)
}

async fn upsert(client: &Qdrant, id: &str, vector: Vec<f32>) -> Result<(), QdrantError> {
    let point = PointStruct::new(id.to_owned(), vector, Payload::new());
    client.upsert_points(UpsertPointsBuilder::new(TOWN, vec![point])).await.map(drop)
}

#[track_caller]
fn check<T>(outcome: Result<T, QdrantError>, expected: Code) {
    match outcome.map(drop) {
        Err(QdrantError::ResponseError { status }) => {
            assert_eq!(status.code(), expected, "{status}");
        }
        other => panic!("{other:?} instead of {expected:?}"),
    }
}

#[tokio::test]
async fn what_does_not_fit_is_refused() {
    let (_stand_in, client) = started().await;
    check(create(&client, Distance::Cosine).await, Code::AlreadyExists);
    check(client.count(CountPointsBuilder::new("nowhere")).await, Code::NotFound);
    check(upsert(&client, SOMEBODY, vec![1.0]).await, Code::InvalidArgument);
    check(upsert(&client, "no-uuid", vec![1.0, 0.0, 0.0]).await, Code::InvalidArgument);
    let query = || QueryPointsBuilder::new(TOWN);
    check(client.query(query().query(vec![1.0])).await, Code::InvalidArgument);
    check(client.query(query().query(vec![1.0, 0.0, 0.0]).limit(0)).await, Code::InvalidArgument);
    check(client.query(query().query(vec![1.0, 0.0, 0.0]).timeout(0)).await, Code::InvalidArgument);
    check(client.create_alias(CreateAliasBuilder::new(TOWN, TOWN)).await, Code::InvalidArgument);
    check(client.create_alias(CreateAliasBuilder::new("nowhere", "here")).await, Code::NotFound);
    let nobody = PointsIdsList { ids: vec![7.into()] };
    let payload = SetPayloadPointsBuilder::new(TOWN, Payload::new()).points_selector(nobody);
    check(client.set_payload(payload).await, Code::NotFound);
}

#[tokio::test]
async fn what_has_no_stand_in_is_said_to_have_none() {
    let (_stand_in, client) = started().await;
    check(client.facet(FacetCountsBuilder::new(TOWN, "lang")).await, Code::Unimplemented);
    let far = QueryPointsBuilder::new(TOWN).query(vec![1.0, 0.0, 0.0]).score_threshold(0.5);
    check(client.query(far).await, Code::Unimplemented);
    client.delete_collection(TOWN).await.expect("it is there");
    check(create(&client, Distance::Euclid).await, Code::Unimplemented);
}

#[tokio::test]
async fn points_are_found_by_cosine_and_gone_when_they_are_deleted() {
    let (_stand_in, client) = started().await;
    client.create_alias(CreateAliasBuilder::new(TOWN, "here")).await.expect("a free name");
    let query = QueryPointsBuilder::new("here").query(vec![0.0, 0.0, 2.0]);
    let found = client.query(query).await.expect("a query").result;
    assert!(found.len() == 1 && (found[0].score - 0.8).abs() < 1e-6, "{found:?}");
    let all = client.scroll(ScrollPointsBuilder::new(TOWN).limit(1)).await.expect("a scroll");
    assert_eq!((all.result.len(), all.next_page_offset), (1, None));
    let everything = DeletePointsBuilder::new(TOWN).points(Filter::default());
    client.delete_points(everything).await.expect("a deletion");
    let left = client.count(CountPointsBuilder::new(TOWN)).await.expect("a count").result;
    assert_eq!(left.map(|left| left.count), Some(0));
}
