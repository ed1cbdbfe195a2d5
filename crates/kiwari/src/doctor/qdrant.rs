//! Qdrant, where there is one: whether it answers and lets us in, and whether it holds what was published.

use std::io;
use std::time::Duration;

use anyhow::Chain;
use catalog::{Published, VectorHome};
use deadline::Deadline;
use domain::Call;
use ingest::{Stores, vectors_are_complete};
use qdrant::{Qdrant, QdrantError, QdrantVectors};

use super::check::{Check, timed};
use super::words::chain;

const SERVER: &str = "qdrant.server";
const KEY: &str = "qdrant.key";
const VECTORS: &str = "qdrant.vectors";

const PATIENCE: Duration = Duration::from_secs(4);

/// What was found, and whether more can be asked.
pub(super) struct Seen {
    pub(super) checks: Vec<Check>,
    pub(super) usable: bool,
}

/// Looks at the server itself.
pub(super) async fn examine(qdrant: Option<&Qdrant>) -> Seen {
    let Some(qdrant) = qdrant else {
        let detail = "QDRANT_URL is not set: vectors lie with the articles";
        return Seen { checks: vec![Check::ok(SERVER, detail)], usable: false };
    };
    let call = Call::background("doctor", Deadline::after(PATIENCE));
    let (health, took) = timed(PATIENCE, qdrant.health(&call)).await;
    let place = qdrant.url();
    let server = match health {
        Some(Ok(health)) => {
            Check::ok(SERVER, format!("Qdrant {} at {place} answers", health.version)).after(took)
        }
        // Some servers tell nobody how they are who has no key.
        Some(Err(error)) if error.is_not_allowed() => {
            Check::ok(SERVER, format!("{place} answers")).after(took)
        }
        Some(Err(error)) => return away(unreachable(&place, &error).after(took)),
        None => return away(silent(&place).after(took)),
    };
    let (let_in, took) = timed(PATIENCE, qdrant.check_key(&call)).await;
    let key = match let_in {
        Some(Ok(())) => Check::ok(KEY, "it lets us in"),
        Some(Err(error)) if error.is_not_allowed() => {
            let detail = format!("it does not let us in ({})", told(&error));
            Check::failed(KEY, detail, "set QDRANT_API_KEY to a key that it knows")
        }
        Some(Err(error)) => unreachable(&place, &error),
        None => silent(&place),
    };
    let usable = key.state == super::State::Ok;
    Seen { checks: vec![server, key.after(took)], usable }
}

fn away(server: Check) -> Seen {
    Seen { checks: vec![server, Check::skipped(KEY, "Qdrant cannot be asked")], usable: false }
}

fn silent(place: &str) -> Check {
    let detail =
        format!("{place}: no answer within {PATIENCE:?}; something between drops the connection");
    Check::failed(SERVER, detail, "see QDRANT_URL, firewalls, and whether Qdrant is well")
}

fn unreachable(place: &str, error: &QdrantError) -> Check {
    if matches!(error, QdrantError::OutOfTime { .. }) {
        return silent(place);
    }
    let (detail, advice) = match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => {
            ("nobody listens there", "start Qdrant, or mend host and port in QDRANT_URL")
        }
        Some(io::ErrorKind::InvalidData) => (
            "no secure connection",
            "see whether Qdrant speaks TLS (https:// or http:// in QDRANT_URL), and qdrant.ca_file for its CA",
        ),
        Some(
            io::ErrorKind::TimedOut
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable,
        ) => (
            "no way there, or something between drops the connection",
            "see QDRANT_URL, the network and its firewalls",
        ),
        _ if told(error).contains("lookup") => {
            ("there is no host of that name", "mend the host in QDRANT_URL, or see the DNS")
        }
        _ => (
            "what listens there does not answer as Qdrant's gRPC side does",
            "see QDRANT_URL: gRPC is on port 6334 (6333 is REST), and https:// only where it speaks TLS",
        ),
    };
    Check::failed(SERVER, format!("{place}: {detail} ({})", told(error)), advice)
}

/// The kind of the innermost trouble with the connection.
fn io_kind(error: &QdrantError) -> Option<io::ErrorKind> {
    Chain::new(error).filter_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind())).last()
}

/// What it says, or why it says nothing. A status itself prints more than people can read.
fn told(error: &QdrantError) -> String {
    let QdrantError::Refused { source, .. } = error else { return chain(error) };
    let mut words = source.message();
    if let Some(innermost) = Chain::new(error).skip(2).last().map(ToString::to_string)
        && !words.contains(&innermost)
    {
        words.push_str(": ");
        words.push_str(&innermost);
    }
    words
}

/// Looks at the vectors of one published generation, if they are there.
pub(super) async fn vectors(
    stores: &Stores,
    published: &Published,
    usable: bool,
    limit: Duration,
) -> Option<Check> {
    if published.recipe.vectors != VectorHome::Qdrant {
        return None;
    }
    let app = &published.id.app;
    let Some(qdrant) = stores.qdrant_of(&published.recipe) else {
        let detail = "they are in a Qdrant, and QDRANT_URL is not set: keywords alone answer";
        return Some(Check::failed(VECTORS, detail, "set QDRANT_URL").of(app));
    };
    if !usable {
        return Some(Check::skipped(VECTORS, "Qdrant cannot be asked").of(app));
    }
    let (check, took) = timed(limit, complete(&qdrant, stores, published, limit)).await;
    let late =
        || Check::warning(VECTORS, "Qdrant did not count them in time", "see how loaded Qdrant is");
    Some(check.unwrap_or_else(late).of(app).after(took))
}

async fn complete(
    qdrant: &Qdrant,
    stores: &Stores,
    published: &Published,
    limit: Duration,
) -> Check {
    const ANEW: &str = "`kiwari index DIR --app …` writes them anew";
    let call = Call::background("doctor", Deadline::after(limit));
    let (id, embedder) = (&published.id, &published.recipe.embedder);
    let index = QdrantVectors::new(qdrant, id.clone(), embedder, published.passages);
    match index.check_collection(&call).await {
        Ok(()) => {}
        Err(error) if error.is_not_found() => {
            let detail = format!(
                "Qdrant has no collection for generation {}: keywords alone answer",
                id.number
            );
            return Check::failed(VECTORS, detail, ANEW);
        }
        Err(error) => return Check::failed(VECTORS, told(&error), ANEW),
    }
    match vectors_are_complete(stores, published, limit).await {
        Ok(true) => {
            let (passages, dimensions) = (published.passages, embedder.dimensions);
            Check::ok(VECTORS, format!("all {passages} are in Qdrant, of {dimensions} dimensions"))
        }
        Ok(false) => {
            let detail = format!(
                "Qdrant does not hold the {} vectors of generation {}",
                published.passages, id.number
            );
            Check::failed(VECTORS, detail, ANEW)
        }
        Err(error) => Check::failed(VECTORS, chain(&error), "see whether Qdrant is well"),
    }
}
