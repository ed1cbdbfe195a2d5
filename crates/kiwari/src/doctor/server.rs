//! A server that runs where `kiwari serve` would listen: whether it is one of ours, ready, and up to date.

use std::io;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

use catalog::Published;
use serde::Deserialize;

use super::check::{Check, timed};
use super::words::age;
use crate::commands::healthcheck;
use crate::config::Config;

const ID: &str = "server";
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a server may take to take up what was published.
const TAKE_UP: Duration = Duration::from_secs(60);

/// What a server of ours says of itself, as far as it matters here.
#[derive(Debug, Deserialize)]
pub(super) struct Running {
    status: String,
    version: String,
    apps: Vec<RunningApp>,
}

#[derive(Debug, Deserialize)]
struct RunningApp {
    app: String,
    generation: Option<u64>,
}

/// What was found at the address.
pub(super) enum Seen {
    Check(Check),
    Running(Running, Duration),
}

/// Asks whoever listens.
pub(super) async fn examine(config: &Config) -> Seen {
    let address = config.bind;
    if address.port() == 0 {
        return Seen::Check(Check::ok(ID, "server.bind names no port to look at"));
    }
    let (asked, took) = timed(PATIENCE, ask(healthcheck::reachable(address))).await;
    let advice = "stop what listens there, or choose another server.bind";
    let check = match asked {
        Some(Ok(running)) => return Seen::Running(running, took),
        Some(Err(error)) if is_nobody(&error) => {
            return Seen::Check(Check::ok(ID, format!("none runs on {address}")));
        }
        Some(Err(error)) => {
            let detail = format!("what listens on {address} is no Kiwari ({error:#})");
            Check::warning(ID, detail, advice)
        }
        None => {
            let detail = format!("who listens on {address} says nothing within {PATIENCE:?}");
            Check::warning(ID, detail, advice)
        }
    };
    Seen::Check(check.after(took))
}

/// What is found of the server, which should answer from what is `published`.
pub(super) fn judged(seen: Seen, config: &Config, published: &[Published]) -> Check {
    match seen {
        Seen::Check(check) => check,
        Seen::Running(running, took) => of_running(&running, config, published).after(took),
    }
}

fn of_running(running: &Running, config: &Config, published: &[Published]) -> Check {
    let (address, ours) = (config.bind, env!("CARGO_PKG_VERSION"));
    let version = &running.version;
    if running.status != "ok" {
        let detail = format!("the one on {address} is not ready to answer");
        return Check::warning(ID, detail, "see its log: nothing is published, or it is stopping");
    }
    if version != ours {
        let detail = format!("the one on {address} is Kiwari {version}, and this is {ours}");
        return Check::warning(ID, detail, "start it anew with this binary");
    }
    match behind(running, published) {
        None => Check::ok(ID, format!("Kiwari {version} runs on {address} and is ready")),
        Some(behind) => {
            let detail = format!("the one on {address} {behind}");
            Check::warning(ID, detail, "see its log, and whether it has this data.dir and database")
        }
    }
}

/// What it has not taken up, though there was time.
fn behind(running: &Running, published: &[Published]) -> Option<String> {
    published.iter().find_map(|published| {
        let since = SystemTime::now().duration_since(published.published_at).unwrap_or_default();
        let of_app = running.apps.iter().find(|running| running.app == published.id.app.as_str());
        let answers_from = of_app.and_then(|running| running.generation);
        // A higher number than is on record is of a database that was replaced or restored.
        let is_another = answers_from != Some(published.id.number) && since > TAKE_UP;
        is_another.then(|| {
            let from =
                answers_from.map_or("nothing".to_owned(), |from| format!("generation {from}"));
            let (app, number) = (&published.id.app, published.id.number);
            format!("answers from {from} of {app}; {number} was published {} ago", age(since))
        })
    })
}

async fn ask(address: SocketAddr) -> anyhow::Result<Running> {
    let (_status, reply) = healthcheck::ask(&format!("http://{address}/health").parse()?).await?;
    Ok(serde_json::from_str(&reply)?)
}

fn is_nobody(error: &anyhow::Error) -> bool {
    let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
    error.downcast_ref().is_some_and(refused)
}

#[cfg(test)]
pub(super) mod tests {
    use catalog::{Recipe, VectorHome};
    use domain::{AppName, EmbedderId, GenerationId};

    use super::*;
    use crate::config::{Sources, load};
    use crate::doctor::State;

    pub(in crate::doctor) fn published(number: u64, seconds_ago: u64) -> Published {
        let embedder = EmbedderId { name: "local/m".to_owned(), dimensions: 4 };
        Published {
            id: GenerationId { app: AppName::default_app(), number, epoch: 1 },
            recipe: Recipe {
                embedder,
                splitter: 1,
                passage_text: 1,
                analyser: String::new(),
                vectors: VectorHome::Files,
                owner: None,
            },
            articles: 1,
            passages: 1,
            published_at: SystemTime::now() - Duration::from_secs(seconds_ago),
        }
    }

    #[track_caller]
    fn check(health: &str, published: &[Published], state: State, part: &str) {
        let running = serde_json::from_str(health).unwrap();
        let config = load(&Sources::default()).unwrap();
        let check = of_running(&running, &config, published);
        assert!(check.state == state && check.detail.contains(part), "{check:?}");
    }

    #[test]
    fn a_server_should_be_ready_of_this_version_and_up_to_date() {
        let ours = env!("CARGO_PKG_VERSION");
        let health = |status: &str, version: &str, generation: &str| {
            format!(
                r#"{{"status":"{status}","version":"{version}","more":1,
                    "apps":[{{"app":"default","generation":{generation}}}]}}"#
            )
        };
        let well = health("ok", ours, "7");
        check(&well, &[published(7, 3600)], State::Ok, "is ready");
        check(&well, &[published(8, 5)], State::Ok, "is ready");
        check(
            &well,
            &[published(8, 3600)],
            State::Warning,
            "answers from generation 7 of default; 8",
        );
        check(&well, &[published(3, 3600)], State::Warning, "from generation 7 of default; 3 was");
        check(&health("ok", ours, "null"), &[published(1, 90)], State::Warning, "from nothing");
        check(&health("not_ready", ours, "7"), &[], State::Warning, "not ready");
        check(&health("ok", "0.0.1", "7"), &[], State::Warning, "is Kiwari 0.0.1");
    }
}
