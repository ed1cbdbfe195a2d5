//! [`Service`]: what all methods share.

use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use qdrant_client::qdrant::{PointsOperationResponse, UpdateResult, UpdateStatus};
use tonic::metadata::MetadataMap;
use tonic::{Response, Status};

use crate::journal::{Call, Journal};
use crate::store::Store;
use crate::trouble::{Trouble, Troubles};

/// Everything that outlives a connection.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) api_key: Option<String>,
    pub(crate) store: Mutex<Store>,
    pub(crate) troubles: Troubles,
    pub(crate) journal: Journal,
}

/// Answers the calls of all three services.
#[derive(Clone, Debug)]
pub(crate) struct Service(pub(crate) Arc<State>);

/// What comes of a method.
pub(crate) type Reply<T> = Result<Response<T>, Status>;

/// Answers that a method is none of this server's.
macro_rules! refused {
    ($($name:ident($request:ty) -> $reply:ty;)*) => {$(
        fn $name<'life0, 'async_trait>(
            &'life0 self,
            _request: tonic::Request<$request>,
        ) -> std::pin::Pin<Box<dyn Future<Output = crate::service::Reply<$reply>> + Send + 'async_trait>>
        where
            'life0: 'async_trait,
            Self: 'async_trait,
        {
            Box::pin(async {
                Err(tonic::Status::unimplemented(concat!("no stand-in for ", stringify!($name))))
            })
        }
    )*};
}
pub(crate) use refused;

impl Service {
    /// Checks the key, notes the call, lets it meet its trouble, and does the `work`.
    pub(crate) async fn answer<T>(
        &self,
        caller: &MetadataMap,
        call: Call,
        work: impl FnOnce(&mut Store) -> Result<T, Status>,
    ) -> Reply<T> {
        self.check_key(caller)?;
        let limitless = call.timeout == Some(0);
        let underway = self.0.journal.begin(call);
        let trouble = self.0.troubles.next();
        match trouble {
            Some(Trouble::Slow(by)) => tokio::time::sleep(by).await,
            Some(Trouble::Stall) => {
                underway.stalled();
                pending::<()>().await;
            }
            Some(Trouble::LoseReply) | None => {}
            Some(Trouble::Refuse(code)) => {
                underway.ended();
                return Err(Status::new(code, "refused as told"));
            }
        }
        let reply = if limitless {
            Err(invalid("a timeout of no seconds"))
        } else {
            work(&mut self.store())
        };
        if trouble == Some(Trouble::LoseReply) {
            underway.stalled();
            pending::<()>().await;
        }
        underway.ended();
        reply.map(Response::new)
    }

    fn store(&self) -> MutexGuard<'_, Store> {
        self.0.store.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_key(&self, caller: &MetadataMap) -> Result<(), Status> {
        let Some(key) = &self.0.api_key else { return Ok(()) };
        let given = caller.get("api-key").and_then(|value| value.to_str().ok());
        if given == Some(key) {
            Ok(())
        } else {
            Err(Status::unauthenticated("Invalid API key or JWT"))
        }
    }
}

/// A request that no server of the kind accepts.
pub(crate) fn invalid(what: &str) -> Status {
    Status::invalid_argument(format!("Wrong input: {what}"))
}

/// A request that the real server may accept, and this one does not understand.
pub(crate) fn unknown(what: &str) -> Status {
    Status::unimplemented(format!("no stand-in for {what}"))
}

/// The answer to a change that is done.
pub(crate) fn changed() -> PointsOperationResponse {
    let result = UpdateResult { operation_id: None, status: UpdateStatus::Completed.into() };
    PointsOperationResponse { result: Some(result), ..PointsOperationResponse::default() }
}
