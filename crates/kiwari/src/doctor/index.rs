//! What is published of each app: whether it can be had here, and whether all that asking it takes is there.

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use catalog::{CatalogError, Heard, Published};
use deadline::Deadline;
use domain::{Call, Fault, FaultKind, Filter, Role, Vector};
use futures_util::future::join_all;
use ingest::{IngestError, SILENCE, Stores};
use search::Generation;

use super::check::{Check, bounded, timed};
use super::postgres::Tables;
use super::words::{age, chain, counted};
use super::{apis, qdrant};
use crate::compose::Engine;
use crate::config::Config;
use crate::{stores, take_up};

const CATALOG: &str = "index.catalog";
const GENERATION: &str = "index.generation";
const EMBEDDER: &str = "index.embedder";
const SEARCH: &str = "index.search";
const SERVERS: &str = "index.servers";

/// How long each look may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a server may take to take up what was published.
const TAKE_UP: Duration = Duration::from_secs(60);

/// What of the services behind the index can be asked.
#[derive(Clone, Copy)]
pub(super) struct Usable {
    pub(super) catalog: Tables,
    pub(super) qdrant: bool,
}

/// What was found.
pub(super) struct Seen {
    pub(super) checks: Vec<Check>,
    pub(super) published: Vec<Published>,
}

impl From<Check> for Seen {
    fn from(check: Check) -> Self {
        Self { checks: vec![check], published: Vec::new() }
    }
}

/// `config` must not be one that migrates.
pub(super) async fn examine(
    config: &Config,
    engine: &Engine,
    usable: Usable,
    until: Deadline,
) -> Seen {
    match usable.catalog {
        Tables::Usable => {}
        Tables::Behind => {
            let detail = "its tables in Postgres are not there, or of an older version";
            let advice = "`kiwari index DIR` makes and fills them, `kiwari migrate` brings older ones up to date";
            return Check::failed(CATALOG, detail, advice).into();
        }
        Tables::Away => return Check::skipped(CATALOG, "Postgres cannot be asked").into(),
    }
    let opening = async {
        let stores = stores::indexed(config).await?;
        let newest = stores.catalog.newest().await;
        anyhow::Ok((stores, newest?))
    };
    let (opened, took) = timed(patience(until), opening).await;
    let (stores, newest) = match opened {
        Some(Ok(opened)) => opened,
        Some(Err(error)) => {
            return unopened(&error).after(took).into();
        }
        None => {
            let advice = "see the disk, or Postgres";
            return Check::failed(CATALOG, "no answer in time", advice).after(took).into();
        }
    };
    let (mut checks, mut published) = (vec![catalog(newest.len()).after(took)], Vec::new());
    for newest in newest {
        match newest {
            Ok(newest) => published.push(newest),
            Err(error) => {
                let advice = "use the Kiwari that published it, or index the app anew";
                checks.push(Check::failed(CATALOG, chain(&error), advice));
            }
        }
    }
    let apps = published.iter().map(|published| app(&stores, published, engine, usable, until));
    checks.extend(join_all(apps).await.into_iter().flatten());
    // Whoever still waits for it has been given up.
    let _gone = timed(Duration::from_millis(200), stores.catalog.close()).await;
    Seen { checks, published }
}

fn patience(until: Deadline) -> Duration {
    until.remaining().min(PATIENCE)
}

fn unopened(error: &anyhow::Error) -> Check {
    if let Some(CatalogError::Missing { path }) = error.downcast_ref() {
        let detail = format!("there is none at {}", path.display());
        return Check::failed(CATALOG, detail, "run `kiwari index DIR`");
    }
    let advice = "see who owns it, and whether another Kiwari is older or newer";
    Check::failed(CATALOG, chain(error.as_ref()), advice)
}

fn catalog(apps: usize) -> Check {
    match apps {
        0 => Check::failed(CATALOG, "nothing has been published", "run `kiwari index DIR`"),
        1 => Check::ok(CATALOG, "opens; one app is published"),
        _ => Check::ok(CATALOG, format!("opens; {apps} apps are published")),
    }
}

async fn app(
    stores: &Stores,
    published: &Published,
    engine: &Engine,
    usable: Usable,
    until: Deadline,
) -> Vec<Check> {
    let opening = take_up::open_here(stores, published, engine);
    let (opened, took) = timed(patience(until), opening).await;
    let limit = patience(until);
    let is_remote = published.recipe.vectors == catalog::VectorHome::Qdrant;
    let opened = opened.map(|opened| opened.map(Arc::new));
    let searching = search(published, opened.as_ref(), !is_remote || usable.qdrant, limit);
    let (vectors, search, embedder, servers) = tokio::join!(
        qdrant::vectors(stores, published, usable.qdrant, limit),
        searching,
        embedder(published, engine, limit),
        servers(stores, published, limit),
    );
    let generation = generation(published, opened.as_ref(), stores.is_shared()).after(took);
    let checks = std::iter::once(generation).chain(vectors).chain([search, embedder]);
    checks.chain(servers).map(|check| check.of(&published.id.app)).collect()
}

fn generation(
    published: &Published,
    opened: Option<&Result<Arc<Generation>, IngestError>>,
    is_shared: bool,
) -> Check {
    let Published { id, recipe, articles, passages, published_at } = published;
    let since = SystemTime::now().duration_since(*published_at).unwrap_or_default();
    let what = format!(
        "generation {}, published {} ago: {}, {}, embedded with {}",
        id.number,
        age(since),
        counted(*articles, "article"),
        counted(*passages, "passage"),
        recipe.embedder
    );
    let again =
        if is_shared { "`kiwari serve` builds it anew" } else { "`kiwari index` builds it anew" };
    match opened {
        Some(Ok(_)) => Check::ok(GENERATION, format!("{what}; opens here")),
        Some(Err(IngestError::NoCopy { .. })) => {
            let detail = format!("{what}; this host has not built its copy of it");
            Check::warning(GENERATION, detail, "`kiwari serve` does that, in the background")
        }
        Some(Err(error)) => {
            Check::failed(GENERATION, format!("{what}; does not open: {}", chain(error)), again)
        }
        None => {
            let detail = format!("{what}; the disk did not give it in time");
            Check::failed(GENERATION, detail, "see the disk under data.dir")
        }
    }
}

/// A search as a question makes it, of a vector that means nothing.
async fn search(
    published: &Published,
    opened: Option<&Result<Arc<Generation>, IngestError>>,
    is_reachable: bool,
    limit: Duration,
) -> Check {
    let Some(Ok(generation)) = opened else {
        return Check::skipped(SEARCH, "the generation does not open here");
    };
    if !is_reachable {
        return Check::skipped(SEARCH, "Qdrant cannot be asked");
    }
    let call = Call::background("doctor", Deadline::after(limit));
    let components = vec![1.0; published.recipe.embedder.dimensions as usize];
    let vector = Vector::normalized(components).filter(|_| published.passages > 0);
    let Some(vector) = vector else { return Check::skipped(SEARCH, "there are no passages") };
    let nothing = Filter::default();
    let index = generation.vectors();
    let (found, took) =
        timed(limit, index.nearest(&published.id, &vector, &nothing, 1, &call)).await;
    let check = match found {
        Some(Ok(found)) if !found.is_empty() => Check::ok(SEARCH, "the nearest vector is found"),
        Some(Ok(_)) => Check::failed(SEARCH, "no vector is found", "index the app anew"),
        Some(Err(fault)) => {
            Check::failed(SEARCH, fault_words(&fault), "see whether Qdrant is well")
        }
        None => Check::failed(SEARCH, "nothing is found in time", "see whether Qdrant is well"),
    };
    check.after(took)
}

fn fault_words(fault: &Fault) -> String {
    fault.source().map_or_else(|| fault.to_string(), chain)
}

async fn embedder(published: &Published, engine: &Engine, limit: Duration) -> Check {
    let id = &published.recipe.embedder;
    let Some(embedder) = engine.embedder_of(id) else {
        let detail = format!("{id} cannot be called here, so keywords alone answer");
        return Check::warning(EMBEDDER, detail, "set its key or address, or index with another");
    };
    let looking = async {
        let call = Call::background("doctor", Deadline::after(limit));
        match embedder.embed(&["password".to_owned()], Role::Query, &call).await {
            Ok(vectors) => dimensions(id, vectors.first()),
            Err(fault) if fault.kind() == FaultKind::Timeout => {
                let detail = format!("{id}: no answer in time");
                Check::failed(EMBEDDER, detail, "see the network and the service's own status")
            }
            Err(fault) => {
                let (detail, advice) = apis::words(&fault);
                Check::failed(EMBEDDER, format!("{id}: {detail}"), advice)
            }
        }
    };
    // The call ends by itself first.
    bounded(EMBEDDER, limit + Duration::from_millis(200), looking).await
}

fn dimensions(id: &domain::EmbedderId, vector: Option<&Vector>) -> Check {
    let found = vector.map_or(0, Vector::dimensions);
    if found == id.dimensions as usize {
        Check::ok(EMBEDDER, format!("{id} embeds"))
    } else {
        let detail =
            format!("{id} gives vectors of {found} dimensions, which those published are not");
        Check::failed(EMBEDDER, detail, "index the app anew")
    }
}

/// Whether all servers answer from what is on record, where servers say from what they do.
async fn servers(stores: &Stores, published: &Published, limit: Duration) -> Option<Check> {
    if !stores.is_shared() {
        return None;
    }
    let app = &published.id.app;
    let (heard, _) = timed(limit, stores.catalog.servers(app, SILENCE)).await;
    let advice = "see whether Postgres is well";
    Some(match heard {
        Some(Ok(heard)) => of_servers(published, &heard),
        Some(Err(error)) => Check::failed(SERVERS, chain(&error), advice),
        None => Check::failed(SERVERS, "nobody could say in time", advice),
    })
}

/// `heard` is in order of their generations.
fn of_servers(published: &Published, heard: &[Heard]) -> Check {
    let (Some(oldest), Some(newest)) = (heard.first(), heard.last()) else {
        return Check::ok(SERVERS, "no server answers from it at present");
    };
    let number = published.id.number;
    let ago = |heard: &Heard| format!("it was last heard of {} ago", age(heard.ago));
    if newest.generation > number {
        let (from, ago) = (newest.generation, ago(newest));
        let detail = format!(
            "some server answers from generation {from}, and no more than {number} is on record ({ago}): the \
             database was replaced or restored"
        );
        let advice = "it takes up what is on record within seconds; if not, see its log";
        return Check::warning(SERVERS, detail, advice);
    }
    let is_fresh =
        SystemTime::now().duration_since(published.published_at).unwrap_or_default() < TAKE_UP;
    let from = oldest.generation;
    if from == number || is_fresh {
        let detail = format!("all servers that were heard of answer from generation {from}");
        return Check::ok(SERVERS, detail);
    }
    let ago = ago(oldest);
    let detail = format!("some server still answers from generation {from}, not {number} ({ago})");
    let advice =
        "if that is long ago, it has died and is forgotten within minutes; else see its log";
    Check::warning(SERVERS, detail, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;
    use crate::doctor::server::tests::published;

    #[track_caller]
    fn check(heard: &[(u64, u64)], state: State, part: &str) {
        let heard = heard.iter().map(|(generation, seconds)| Heard {
            replica: generation.to_string(),
            generation: *generation,
            ago: Duration::from_secs(*seconds),
        });
        let heard: Vec<Heard> = heard.collect();
        let check = of_servers(&published(7, 3600), &heard);
        assert!(check.state == state && check.detail.contains(part), "{check:?}");
    }

    #[test]
    fn servers_should_answer_from_what_is_on_record_and_neither_before_nor_beyond() {
        check(&[], State::Ok, "no server");
        check(&[(7, 3), (7, 4)], State::Ok, "generation 7");
        check(&[(5, 301), (7, 4)], State::Warning, "5, not 7 (it was last heard of 5min 1s ago)");
        check(&[(7, 3), (9, 4)], State::Warning, "9, and no more than 7 is on record (it was last");
    }
}
