//! The service of collections and aliases.

use qdrant_client::qdrant::alias_operations::Action;
use qdrant_client::qdrant::collections_server::Collections;
use qdrant_client::qdrant::vectors_config::Config;
use qdrant_client::qdrant::{
    AliasDescription, ChangeAliases, CollectionClusterInfoRequest, CollectionClusterInfoResponse,
    CollectionConfig, CollectionDescription, CollectionExists, CollectionExistsRequest,
    CollectionExistsResponse, CollectionInfo, CollectionOperationResponse, CollectionParams,
    CollectionStatus, CreateCollection, CreateShardKeyRequest, CreateShardKeyResponse,
    DeleteCollection, DeleteShardKeyRequest, DeleteShardKeyResponse, GetCollectionInfoRequest,
    GetCollectionInfoResponse, ListAliasesRequest, ListAliasesResponse,
    ListCollectionAliasesRequest, ListCollectionsRequest, ListCollectionsResponse,
    ListShardKeysRequest, ListShardKeysResponse, PayloadSchemaInfo, UpdateCollection,
    UpdateCollectionClusterSetupRequest, UpdateCollectionClusterSetupResponse, VectorsConfig,
};
use tonic::{Request, Status};

use crate::journal::Call;
use crate::service::{Reply, Service, invalid, refused, unknown};
use crate::store::{Collection, Store, check_params};

#[tonic::async_trait]
impl Collections for Service {
    async fn get(
        &self,
        request: Request<GetCollectionInfoRequest>,
    ) -> Reply<GetCollectionInfoResponse> {
        let (caller, _, wanted) = request.into_parts();
        self.answer(&caller, call("Get", None), |store| {
            let result = Some(described(store.get(&wanted.collection_name)?));
            Ok(GetCollectionInfoResponse { result, ..GetCollectionInfoResponse::default() })
        })
        .await
    }

    async fn list(
        &self,
        request: Request<ListCollectionsRequest>,
    ) -> Reply<ListCollectionsResponse> {
        let (caller, _, _) = request.into_parts();
        self.answer(&caller, call("List", None), |store| {
            let names = store.collections.keys().cloned();
            let collections = names.map(|name| CollectionDescription { name }).collect();
            Ok(ListCollectionsResponse { collections, ..ListCollectionsResponse::default() })
        })
        .await
    }

    async fn create(
        &self,
        request: Request<CreateCollection>,
    ) -> Reply<CollectionOperationResponse> {
        let (caller, _, wanted) = request.into_parts();
        self.answer(&caller, call("Create", wanted.timeout), |store| {
            let Some(Config::Params(params)) =
                wanted.vectors_config.and_then(|config| config.config)
            else {
                return Err(unknown("collections without one unnamed vector"));
            };
            check_params(&params)?;
            store.create(&wanted.collection_name, params)?;
            Ok(done(true))
        })
        .await
    }

    async fn delete(
        &self,
        request: Request<DeleteCollection>,
    ) -> Reply<CollectionOperationResponse> {
        let (caller, _, wanted) = request.into_parts();
        self.answer(&caller, call("Delete", wanted.timeout), |store| {
            Ok(done(store.delete(&wanted.collection_name)))
        })
        .await
    }

    async fn update_aliases(
        &self,
        request: Request<ChangeAliases>,
    ) -> Reply<CollectionOperationResponse> {
        let (caller, _, wanted) = request.into_parts();
        self.answer(&caller, call("UpdateAliases", wanted.timeout), |store| {
            let actions = wanted.actions.into_iter().map(|action| action.action);
            actions.into_iter().try_for_each(|action| change_alias(store, action))?;
            Ok(done(true))
        })
        .await
    }

    async fn list_aliases(
        &self,
        request: Request<ListAliasesRequest>,
    ) -> Reply<ListAliasesResponse> {
        let (caller, _, _) = request.into_parts();
        self.answer(&caller, call("ListAliases", None), |store| {
            let described = |(alias, collection): (&String, &String)| AliasDescription {
                alias_name: alias.clone(),
                collection_name: collection.clone(),
            };
            let aliases = store.aliases.iter().map(described).collect();
            Ok(ListAliasesResponse { aliases, ..ListAliasesResponse::default() })
        })
        .await
    }

    async fn collection_exists(
        &self,
        request: Request<CollectionExistsRequest>,
    ) -> Reply<CollectionExistsResponse> {
        let (caller, _, wanted) = request.into_parts();
        self.answer(&caller, call("CollectionExists", None), |store| {
            let exists = store.get(&wanted.collection_name).is_ok();
            let result = Some(CollectionExists { exists });
            Ok(CollectionExistsResponse { result, ..CollectionExistsResponse::default() })
        })
        .await
    }

    refused! {
        update(UpdateCollection) -> CollectionOperationResponse;
        list_collection_aliases(ListCollectionAliasesRequest) -> ListAliasesResponse;
        collection_cluster_info(CollectionClusterInfoRequest) -> CollectionClusterInfoResponse;
        update_collection_cluster_setup(UpdateCollectionClusterSetupRequest) -> UpdateCollectionClusterSetupResponse;
        create_shard_key(CreateShardKeyRequest) -> CreateShardKeyResponse;
        delete_shard_key(DeleteShardKeyRequest) -> DeleteShardKeyResponse;
        list_shard_keys(ListShardKeysRequest) -> ListShardKeysResponse;
    }
}

fn call(method: &'static str, timeout: Option<u64>) -> Call {
    Call { method, timeout, wait: None }
}

fn done(result: bool) -> CollectionOperationResponse {
    CollectionOperationResponse { result, ..CollectionOperationResponse::default() }
}

fn change_alias(store: &mut Store, action: Option<Action>) -> Result<(), Status> {
    match action {
        Some(Action::CreateAlias(create)) => {
            store.set_alias(&create.alias_name, &create.collection_name)
        }
        Some(Action::DeleteAlias(delete)) => {
            store.aliases.remove(&delete.alias_name);
            Ok(())
        }
        Some(Action::RenameAlias(_)) => Err(unknown("renaming an alias")),
        None => Err(invalid("no action")),
    }
}

fn described(collection: &Collection) -> CollectionInfo {
    let vectors_config = Some(VectorsConfig { config: Some(Config::Params(collection.params)) });
    let params = CollectionParams { vectors_config, ..CollectionParams::default() };
    let schema = |(field, kind): (&String, &i32)| {
        (field.clone(), PayloadSchemaInfo { data_type: *kind, ..PayloadSchemaInfo::default() })
    };
    CollectionInfo {
        status: CollectionStatus::Green.into(),
        config: Some(CollectionConfig { params: Some(params), ..CollectionConfig::default() }),
        payload_schema: collection.indexed.iter().map(schema).collect(),
        points_count: u64::try_from(collection.points.len()).ok(),
        ..CollectionInfo::default()
    }
}
