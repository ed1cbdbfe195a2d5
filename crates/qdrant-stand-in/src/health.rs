//! The service of health.

use qdrant_client::qdrant::qdrant_server::Qdrant;
use qdrant_client::qdrant::{HealthCheckReply, HealthCheckRequest};
use tonic::Request;

use crate::journal::Call;
use crate::service::{Reply, Service};

#[tonic::async_trait]
impl Qdrant for Service {
    async fn health_check(&self, request: Request<HealthCheckRequest>) -> Reply<HealthCheckReply> {
        let call = Call { method: "HealthCheck", timeout: None, wait: None };
        self.answer(request.metadata(), call, |_store| {
            Ok(HealthCheckReply {
                title: "stand-in for Qdrant, not the real one".to_owned(),
                version: concat!(env!("CARGO_PKG_VERSION"), "-stand-in").to_owned(),
                commit: None,
            })
        })
        .await
    }
}
