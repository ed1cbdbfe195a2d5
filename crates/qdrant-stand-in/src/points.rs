//! The service of points.

use qdrant_client::qdrant::points_server::Points;
use qdrant_client::qdrant::query::Variant;
use qdrant_client::qdrant::{
    ClearPayloadPoints, CountPoints, CountResponse, CountResult, CreateFieldIndexCollection,
    CreateVectorNameRequest, DeleteFieldIndexCollection, DeletePayloadPoints, DeletePointVectors,
    DeletePoints, DeleteVectorNameRequest, DiscoverBatchPoints, DiscoverBatchResponse,
    DiscoverPoints, DiscoverResponse, FacetCounts, FacetResponse, GetPoints, GetResponse,
    PointsOperationResponse, QueryBatchPoints, QueryBatchResponse, QueryGroupsResponse,
    QueryPointGroups, QueryPoints, QueryResponse, RecommendBatchPoints, RecommendBatchResponse,
    RecommendGroupsResponse, RecommendPointGroups, RecommendPoints, RecommendResponse,
    RetrievedPoint, ScoredPoint, ScrollPoints, ScrollResponse, SearchBatchPoints,
    SearchBatchResponse, SearchGroupsResponse, SearchMatrixOffsetsResponse,
    SearchMatrixPairsResponse, SearchMatrixPoints, SearchPointGroups, SearchPoints, SearchResponse,
    SetPayloadPoints, UpdateBatchPoints, UpdateBatchResponse, UpdatePointVectors, UpsertPoints,
    WithPayloadSelector, WithVectorsSelector, vector_input,
};
use tonic::{Request, Status};

use crate::journal::Call;
use crate::point::{Name, seen, shown};
use crate::service::{Reply, Service, changed, refused, unknown};
use crate::store::Collection;

/// What the real server takes where a call names no limit.
const USUAL_LIMIT: u32 = 10;

#[tonic::async_trait]
impl Points for Service {
    async fn upsert(&self, request: Request<UpsertPoints>) -> Reply<PointsOperationResponse> {
        let (caller, _, wanted) = request.into_parts();
        let call = change("Upsert", wanted.timeout, wanted.wait);
        self.answer(&caller, call, |store| {
            if wanted.update_filter.is_some() {
                return Err(unknown("conditional upserts"));
            }
            store.get(&wanted.collection_name)?.upsert(wanted.points)?;
            Ok(changed())
        })
        .await
    }

    async fn delete(&self, request: Request<DeletePoints>) -> Reply<PointsOperationResponse> {
        let (caller, _, wanted) = request.into_parts();
        let call = change("DeletePoints", wanted.timeout, wanted.wait);
        self.answer(&caller, call, |store| {
            let collection = store.get(&wanted.collection_name)?;
            for name in collection.selected(wanted.points, false)? {
                collection.points.remove(&name);
            }
            Ok(changed())
        })
        .await
    }

    async fn set_payload(
        &self,
        request: Request<SetPayloadPoints>,
    ) -> Reply<PointsOperationResponse> {
        let (caller, _, wanted) = request.into_parts();
        let call = change("SetPayload", wanted.timeout, wanted.wait);
        self.answer(&caller, call, |store| {
            if wanted.key.is_some() {
                return Err(unknown("payloads within payloads"));
            }
            let collection = store.get(&wanted.collection_name)?;
            let names = collection.selected(wanted.points_selector, true)?;
            collection.set_payload(&names, &wanted.payload);
            Ok(changed())
        })
        .await
    }

    async fn create_field_index(
        &self,
        request: Request<CreateFieldIndexCollection>,
    ) -> Reply<PointsOperationResponse> {
        let (caller, _, wanted) = request.into_parts();
        let call = change("CreateFieldIndex", wanted.timeout, wanted.wait);
        self.answer(&caller, call, |store| {
            let indexed = &mut store.get(&wanted.collection_name)?.indexed;
            indexed.insert(wanted.field_name, wanted.field_type.unwrap_or_default());
            Ok(changed())
        })
        .await
    }

    async fn get(&self, request: Request<GetPoints>) -> Reply<GetResponse> {
        let (caller, _, wanted) = request.into_parts();
        let call = look("GetPoints", wanted.timeout);
        self.answer(&caller, call, |store| {
            let collection = store.get(&wanted.collection_name)?;
            let names = wanted.ids.iter().map(|id| Name::of(Some(id)));
            let names: Vec<Name> = names.collect::<Result<_, _>>()?;
            let sight = Sight { payload: wanted.with_payload, vectors: wanted.with_vectors };
            let result = sight.of_all(collection, &names)?;
            Ok(GetResponse { result, ..GetResponse::default() })
        })
        .await
    }

    async fn scroll(&self, request: Request<ScrollPoints>) -> Reply<ScrollResponse> {
        let (caller, _, wanted) = request.into_parts();
        let call = look("Scroll", wanted.timeout);
        self.answer(&caller, call, |store| {
            if wanted.order_by.is_some() {
                return Err(unknown("an order"));
            }
            let collection = store.get(&wanted.collection_name)?;
            let start = wanted.offset.as_ref().map(|id| Name::of(Some(id))).transpose()?;
            let limit = count(u64::from(wanted.limit.unwrap_or(USUAL_LIMIT)));
            let (names, next) = collection.page(start, limit, wanted.filter.as_ref())?;
            let sight = Sight { payload: wanted.with_payload, vectors: wanted.with_vectors };
            let result = sight.of_all(collection, &names)?;
            let next_page_offset = next.map(Name::to_id);
            Ok(ScrollResponse { next_page_offset, result, ..ScrollResponse::default() })
        })
        .await
    }

    async fn count(&self, request: Request<CountPoints>) -> Reply<CountResponse> {
        let (caller, _, wanted) = request.into_parts();
        let call = look("Count", wanted.timeout);
        self.answer(&caller, call, |store| {
            let collection = store.get(&wanted.collection_name)?;
            let admitted = collection.admitted(wanted.filter.as_ref())?.len();
            let count = u64::try_from(admitted).unwrap_or(u64::MAX);
            Ok(CountResponse { result: Some(CountResult { count }), ..CountResponse::default() })
        })
        .await
    }

    async fn query(&self, request: Request<QueryPoints>) -> Reply<QueryResponse> {
        let (caller, _, wanted) = request.into_parts();
        let call = look("Query", wanted.timeout);
        self.answer(&caller, call, |store| {
            let collection = store.get(&wanted.collection_name)?;
            let result = queried(collection, wanted)?;
            Ok(QueryResponse { result, ..QueryResponse::default() })
        })
        .await
    }

    refused! {
        update_vectors(UpdatePointVectors) -> PointsOperationResponse;
        delete_vectors(DeletePointVectors) -> PointsOperationResponse;
        overwrite_payload(SetPayloadPoints) -> PointsOperationResponse;
        delete_payload(DeletePayloadPoints) -> PointsOperationResponse;
        clear_payload(ClearPayloadPoints) -> PointsOperationResponse;
        delete_field_index(DeleteFieldIndexCollection) -> PointsOperationResponse;
        create_vector_name(CreateVectorNameRequest) -> PointsOperationResponse;
        delete_vector_name(DeleteVectorNameRequest) -> PointsOperationResponse;
        search(SearchPoints) -> SearchResponse;
        search_batch(SearchBatchPoints) -> SearchBatchResponse;
        search_groups(SearchPointGroups) -> SearchGroupsResponse;
        recommend(RecommendPoints) -> RecommendResponse;
        recommend_batch(RecommendBatchPoints) -> RecommendBatchResponse;
        recommend_groups(RecommendPointGroups) -> RecommendGroupsResponse;
        discover(DiscoverPoints) -> DiscoverResponse;
        discover_batch(DiscoverBatchPoints) -> DiscoverBatchResponse;
        update_batch(UpdateBatchPoints) -> UpdateBatchResponse;
        query_batch(QueryBatchPoints) -> QueryBatchResponse;
        query_groups(QueryPointGroups) -> QueryGroupsResponse;
        facet(FacetCounts) -> FacetResponse;
        search_matrix_pairs(SearchMatrixPoints) -> SearchMatrixPairsResponse;
        search_matrix_offsets(SearchMatrixPoints) -> SearchMatrixOffsetsResponse;
    }
}

/// What a call wants to see of the points it gets.
struct Sight {
    payload: Option<WithPayloadSelector>,
    vectors: Option<WithVectorsSelector>,
}

impl Sight {
    /// Of those that are there, in the order of their names.
    fn of_all(
        &self,
        collection: &Collection,
        names: &[Name],
    ) -> Result<Vec<RetrievedPoint>, Status> {
        let there = names.iter().filter_map(|name| collection.points.get_key_value(name));
        there
            .map(|(name, point)| {
                Ok(RetrievedPoint {
                    id: Some(name.to_id()),
                    payload: shown(&point.payload, self.payload.as_ref())?,
                    vectors: seen(&point.vector, self.vectors.as_ref())?,
                    ..RetrievedPoint::default()
                })
            })
            .collect()
    }
}

fn queried(collection: &Collection, wanted: QueryPoints) -> Result<Vec<ScoredPoint>, Status> {
    let more = !wanted.prefetch.is_empty()
        || wanted.using.is_some()
        || wanted.score_threshold.is_some()
        || wanted.offset.is_some()
        || wanted.lookup_from.is_some();
    if more {
        return Err(unknown("more than a filtered query"));
    }
    let Some(Variant::Nearest(input)) = wanted.query.and_then(|query| query.variant) else {
        return Err(unknown("queries that are no vector"));
    };
    let Some(vector_input::Variant::Dense(dense)) = input.variant else {
        return Err(unknown("queries that are no dense vector"));
    };
    let limit = count(wanted.limit.unwrap_or(u64::from(USUAL_LIMIT)));
    let nearest = collection.nearest(dense.data, wanted.filter.as_ref(), limit)?;
    let found = nearest
        .into_iter()
        .filter_map(|(score, name)| Some((score, name, collection.points.get(&name)?)));
    found
        .map(|(score, name, point)| {
            Ok(ScoredPoint {
                id: Some(name.to_id()),
                score,
                payload: shown(&point.payload, wanted.with_payload.as_ref())?,
                vectors: seen(&point.vector, wanted.with_vectors.as_ref())?,
                ..ScoredPoint::default()
            })
        })
        .collect()
}

fn look(method: &'static str, timeout: Option<u64>) -> Call {
    Call { method, timeout, wait: None }
}

fn change(method: &'static str, timeout: Option<u64>, wait: Option<bool>) -> Call {
    Call { method, timeout, wait: Some(wait.unwrap_or(false)) }
}

fn count(limit: u64) -> usize {
    usize::try_from(limit).unwrap_or(usize::MAX)
}
