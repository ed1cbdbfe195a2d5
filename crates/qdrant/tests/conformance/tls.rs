//! Over TLS, to whom it should be.

use std::time::Duration;

use domain::{Fault, FaultKind};
use qdrant::{Health, Qdrant, QdrantError, QdrantSettings};
use qdrant_stand_in::{Identity, Settings, StandIn};

use crate::sites::call_within;

struct Authority {
    issuer: rcgen::Issuer<'static, rcgen::KeyPair>,
    pem: String,
}

fn authority() -> Authority {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let pem = params.self_signed(&key).unwrap().pem();
    Authority { issuer: rcgen::Issuer::new(params, key), pem }
}

/// Says of itself that it is `name`.
fn server(authority: &Authority, name: &str) -> StandIn {
    let key = rcgen::KeyPair::generate().unwrap();
    let params = rcgen::CertificateParams::new(vec![name.to_owned()]).unwrap();
    let certificate = params.signed_by(&key, &authority.issuer).unwrap().pem();
    let identity = Some(Identity { certificate, key: key.serialize_pem() });
    StandIn::start(Settings { identity, ..Settings::local() }).unwrap()
}

async fn health(url: &str, ca_pem: Option<&str>) -> Result<Health, QdrantError> {
    let ca_pem = ca_pem.map(str::to_owned);
    let qdrant = Qdrant::new(&QdrantSettings { ca_pem, ..QdrantSettings::at(url) }).unwrap();
    qdrant.health(&call_within(Duration::from_secs(20))).await
}

#[tokio::test]
async fn a_server_is_trusted_by_its_certificate_or_not_at_all() {
    let (ours, theirs) = (authority(), authority());
    let right = server(&ours, "127.0.0.1");
    let of_another_name = server(&ours, "qdrant.example");
    assert!(right.url().starts_with("https://"));
    health(&right.url(), Some(&ours.pem)).await.unwrap();
    let plain = right.url().replace("https", "http");
    for (url, ca) in [
        (&right.url(), Some(theirs.pem.as_str())),
        (&right.url(), None),
        (&of_another_name.url(), Some(ours.pem.as_str())),
        (&plain, None),
    ] {
        let fault = Fault::from(health(url, ca).await.unwrap_err());
        assert_eq!(fault.kind(), FaultKind::Error, "{url} {fault:?}");
    }
}
