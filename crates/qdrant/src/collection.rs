//! [`Collection`]: one collection, and everything that a run does to it.

use deadline::Deadline;
use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::with_payload_selector::SelectorOptions as Payload;
use qdrant_client::qdrant::with_vectors_selector::SelectorOptions as Vectors;
use qdrant_client::qdrant::{
    CollectionExistsRequest, CountPoints, CreateCollection, CreateFieldIndexCollection,
    DeleteCollection, DeletePoints, Distance, FieldType, Filter, GetCollectionInfoRequest,
    GetPoints, PointId, PointStruct, PointsIdsList, PointsSelector, RetrievedPoint, ScrollPoints,
    ScrollResponse, SetPayloadPoints, UpsertPoints, VectorParams, VectorsConfig,
    WithPayloadSelector, WithVectorsSelector,
};
use tonic::{Code, Status};

use crate::point::{ending, field};
use crate::steadily::steadily;
use crate::{Qdrant, QdrantError};

/// A collection of one server. Every write is waited for, so whoever asks next sees it.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    qdrant: Qdrant,
    name: String,
}

/// Points of a page when all are read; without vectors a point is some 200 bytes.
const PAGE: u32 = 1000;

/// What filters look at, and as what it is indexed.
const INDEXED: [(&str, FieldType); 4] = [
    (field::FROM, FieldType::Integer),
    (field::UNTIL, FieldType::Integer),
    (field::LANG, FieldType::Keyword),
    (field::TAGS, FieldType::Keyword),
];

impl Collection {
    pub(crate) fn new(qdrant: Qdrant, name: String) -> Self {
        Self { qdrant, name }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) async fn exists(&self, deadline: Deadline) -> Result<bool, QdrantError> {
        let reply = steadily("look for a collection", deadline, |_limit| async {
            let request = CollectionExistsRequest { collection_name: self.name.clone() };
            self.qdrant.collections().collection_exists(request).await
        });
        Ok(reply.await?.result.is_some_and(|result| result.exists))
    }

    /// Makes it; that it is there already is no error.
    pub(crate) async fn create(
        &self,
        dimensions: u32,
        deadline: Deadline,
    ) -> Result<(), QdrantError> {
        let params = self.params(dimensions);
        let made = steadily("make a collection", deadline, |limit| async move {
            let request = CreateCollection {
                collection_name: self.name.clone(),
                vectors_config: Some(VectorsConfig { config: Some(Config::Params(params)) }),
                timeout: Some(limit),
                ..CreateCollection::default()
            };
            self.qdrant.collections().create(request).await
        });
        match made.await {
            Err(error) if error.code() == Some(Code::AlreadyExists) => Ok(()),
            made => made.map(drop),
        }
    }

    #[expect(deprecated, reason = "its successor `memory` is unknown to servers before 1.19")]
    fn params(&self, dimensions: u32) -> VectorParams {
        VectorParams {
            size: u64::from(dimensions),
            distance: Distance::Cosine.into(),
            on_disk: Some(self.qdrant.vectors_on_disk()),
            ..VectorParams::default()
        }
    }

    /// Whether it holds what is about to be written into it.
    pub(crate) async fn check_shape(
        &self,
        dimensions: u32,
        deadline: Deadline,
    ) -> Result<(), QdrantError> {
        let reply = steadily("describe a collection", deadline, |_limit| async {
            let request = GetCollectionInfoRequest { collection_name: self.name.clone() };
            self.qdrant.collections().get(request).await
        });
        let config =
            reply.await?.result.and_then(|info| info.config?.params?.vectors_config?.config);
        let found = match config {
            Some(Config::Params(params))
                if params.size == u64::from(dimensions)
                    && params.distance() == Distance::Cosine =>
            {
                return Ok(());
            }
            Some(Config::Params(params)) => {
                format!("{} vectors of {}", params.distance().as_str_name(), params.size)
            }
            Some(Config::ParamsMap(_)) | None => "named vectors".to_owned(),
        };
        Err(QdrantError::OtherShape { collection: self.name.clone(), found, expected: dimensions })
    }

    /// Makes the payload indexes that are not there; before the points come, it costs nothing.
    pub(crate) async fn index(&self, deadline: Deadline) -> Result<(), QdrantError> {
        for (name, kind) in INDEXED {
            steadily("index a field", deadline, |limit| async move {
                let request = CreateFieldIndexCollection {
                    collection_name: self.name.clone(),
                    wait: Some(true),
                    field_name: name.to_owned(),
                    field_type: Some(kind.into()),
                    timeout: Some(limit),
                    ..CreateFieldIndexCollection::default()
                };
                self.qdrant.points().create_field_index(request).await
            })
            .await?;
        }
        Ok(())
    }

    /// Removes it if it is there.
    pub(crate) async fn remove(&self, deadline: Deadline) -> Result<(), QdrantError> {
        let removed = steadily("remove a collection", deadline, |limit| async move {
            let collection_name = self.name.clone();
            let request = DeleteCollection { collection_name, timeout: Some(limit) };
            self.qdrant.collections().delete(request).await
        });
        match removed.await {
            Err(error) if error.is_not_found() => Ok(()),
            removed => removed.map(drop),
        }
    }

    pub(crate) async fn upsert(
        &self,
        points: Vec<PointStruct>,
        deadline: Deadline,
    ) -> Result<(), QdrantError> {
        let points = &points;
        let written = steadily("write points", deadline, |limit| async move {
            let request = UpsertPoints {
                collection_name: self.name.clone(),
                wait: Some(true),
                points: points.clone(),
                timeout: Some(limit),
                ..UpsertPoints::default()
            };
            self.qdrant.points().upsert(request).await
        });
        written.await.map(drop)
    }

    /// Ends the selected points at a revision, or with [`OPEN`](crate::point::OPEN) takes their end back.
    pub(crate) async fn end(
        &self,
        points: impl Into<PointsSelectorOneOf>,
        until: i64,
        deadline: Deadline,
    ) -> Result<(), QdrantError> {
        let selector = &selector(points);
        let ended = steadily("end points", deadline, |limit| async move {
            let request = SetPayloadPoints {
                collection_name: self.name.clone(),
                wait: Some(true),
                payload: ending(until),
                points_selector: Some(selector.clone()),
                timeout: Some(limit),
                ..SetPayloadPoints::default()
            };
            self.qdrant.points().set_payload(request).await
        });
        ended.await.map(drop)
    }

    pub(crate) async fn delete(
        &self,
        filter: Filter,
        deadline: Deadline,
    ) -> Result<(), QdrantError> {
        let selector = &selector(filter);
        let deleted = steadily("delete points", deadline, |limit| async move {
            let request = DeletePoints {
                collection_name: self.name.clone(),
                wait: Some(true),
                points: Some(selector.clone()),
                timeout: Some(limit),
                ..DeletePoints::default()
            };
            self.qdrant.points().delete(request).await
        });
        deleted.await.map(drop)
    }

    /// How many points `filter` admits, exactly.
    pub(crate) async fn count(
        &self,
        filter: Filter,
        deadline: Deadline,
    ) -> Result<u64, QdrantError> {
        let filter = &filter;
        let counted = steadily("count points", deadline, |limit| async move {
            let request = CountPoints {
                collection_name: self.name.clone(),
                filter: Some(filter.clone()),
                exact: Some(true),
                timeout: Some(limit),
                ..CountPoints::default()
            };
            self.qdrant.points().count(request).await
        });
        let result = counted.await?.result;
        let nothing = || QdrantError::foreign(&self.name, "a count without a number");
        result.map(|result| result.count).ok_or_else(nothing)
    }

    /// Every point, without vectors.
    pub(crate) async fn read_all(
        &self,
        deadline: Deadline,
    ) -> Result<Vec<RetrievedPoint>, QdrantError> {
        let mut points = Vec::new();
        let mut offset = None;
        loop {
            let page = steadily("read points", deadline, |limit| self.page(offset.clone(), limit));
            let page = page.await?;
            points.extend(page.result);
            offset = page.next_page_offset;
            if offset.is_none() {
                return Ok(points);
            }
        }
    }

    async fn page(
        &self,
        offset: Option<PointId>,
        limit: u64,
    ) -> Result<tonic::Response<ScrollResponse>, Status> {
        let request = ScrollPoints {
            collection_name: self.name.clone(),
            offset,
            limit: Some(PAGE),
            with_payload: Some(WithPayloadSelector {
                selector_options: Some(Payload::Enable(true)),
            }),
            with_vectors: Some(WithVectorsSelector {
                selector_options: Some(Vectors::Enable(false)),
            }),
            timeout: Some(limit),
            ..ScrollPoints::default()
        };
        self.qdrant.points().scroll(request).await
    }

    /// The points `ids` that are there, with their vectors alone.
    pub(crate) async fn vectors(
        &self,
        ids: &[PointId],
        deadline: Deadline,
    ) -> Result<Vec<RetrievedPoint>, QdrantError> {
        let reply = steadily("read vectors", deadline, |limit| async move {
            let request = GetPoints {
                collection_name: self.name.clone(),
                ids: ids.to_vec(),
                with_payload: Some(WithPayloadSelector {
                    selector_options: Some(Payload::Enable(false)),
                }),
                with_vectors: Some(WithVectorsSelector {
                    selector_options: Some(Vectors::Enable(true)),
                }),
                timeout: Some(limit),
                ..GetPoints::default()
            };
            self.qdrant.points().get(request).await
        });
        Ok(reply.await?.result)
    }
}

fn selector(points: impl Into<PointsSelectorOneOf>) -> PointsSelector {
    PointsSelector { points_selector_one_of: Some(points.into()) }
}

/// Exactly these points.
pub(crate) fn these(ids: impl IntoIterator<Item = PointId>) -> PointsSelectorOneOf {
    PointsSelectorOneOf::Points(PointsIdsList { ids: ids.into_iter().collect() })
}
