//! The configuration: what differs from the defaults and who says so, what contradicts itself, which secrets are set.

use deadline::Allotment;
use domain::AppName;
use upstream::Url;

use super::check::Check;
use super::words::chain;
use crate::config::{Changed, Config, ConfigError, ConfiguredShares, Kind};

/// Settings of which every one is known and fits the others, or there would be no `config`.
pub(super) fn examine(config: &Config, changed: &[Changed]) -> Vec<Check> {
    let mut checks = vec![Check::ok("configuration", told(changed)), secrets(config)];
    checks.extend(contradictions(config));
    checks
}

/// Settings that cannot be used; nothing else can be looked at.
pub(crate) fn refused(error: &ConfigError) -> Check {
    let advice = "mend what is named here; `kiwari config` prints the effective settings";
    Check::failed("configuration", chain(error), advice)
}

fn told(changed: &[Changed]) -> String {
    if changed.is_empty() {
        return "valid; everything is as by default".to_owned();
    }
    let one = |one: &Changed| format!("{} = {} ({})", one.key, one.value, one.from);
    let all: Vec<String> = changed.iter().map(one).collect();
    format!("valid; not as by default: {}", all.join(", "))
}

fn secrets(config: &Config) -> Check {
    let secrets = &config.secrets;
    let all = [
        ("DATABASE_URL", secrets.database.is_some()),
        ("QDRANT_URL", secrets.qdrant.is_some()),
        ("QDRANT_API_KEY", secrets.qdrant_key.is_some()),
        ("GEMINI_API_KEY", secrets.gemini_key.is_some()),
        ("GEMINI_BASE_URL", secrets.gemini_base.is_some()),
        ("OPENAI_API_KEY", secrets.openai_key.is_some()),
        ("OPENAI_BASE_URL", secrets.openai_base.is_some()),
        ("HTTPS_PROXY", secrets.https_proxy.is_some()),
    ];
    let names = |is_set: bool| -> String {
        let names = all.iter().filter(|(_, set)| *set == is_set).map(|(name, _)| *name);
        let names: Vec<&str> = names.collect();
        if names.is_empty() { "none".to_owned() } else { names.join(", ") }
    };
    Check::ok("configuration.secrets", format!("set: {}; not set: {}", names(true), names(false)))
}

/// What is allowed and does not do what it seems to.
fn contradictions(config: &Config) -> Vec<Check> {
    let mut found = Vec::new();
    if !config.public && !config.bind.ip().is_loopback() {
        let detail = format!(
            "server.bind is {}, which other machines reach, and server.public is false: `kiwari serve` refuses to \
             start",
            config.bind
        );
        let advice = "set server.public = true, or bind to 127.0.0.1";
        found.push(Check::failed("configuration.contradiction", detail, advice));
    }
    let mut warn = |detail: String, advice: &str| {
        found.push(Check::warning("configuration.contradiction", detail, advice));
    };
    let shares = config.shares.clone().with_model(true);
    for app in std::iter::once(None).chain(config.shares.apps().map(Some)) {
        cutoffs(&shares, app).into_iter().for_each(|detail| warn(detail, "shorten it"));
    }
    let calibration = &config.calibration;
    if calibration.daily_at.is_some() && calibration.look_every.is_none() {
        let detail = "calibration.daily_at calibrates every day, and calibration.follow = false leaves that unused";
        warn(detail.to_owned(), "set calibration.follow = true, or empty calibration.daily_at");
    }
    let generate = &config.generate;
    if !generate.model.is_empty() && generate.model == generate.lighter_model {
        let detail = "generate.lighter_model is generate.model";
        warn(
            detail.to_owned(),
            "name a lighter one, or leave it empty for a fresh call of the same",
        );
    }
    unused_secrets(config).into_iter().for_each(|(detail, advice)| warn(detail, advice));
    found
}

/// Cut-offs that no request comes to.
fn cutoffs(shares: &ConfiguredShares, app: Option<&AppName>) -> Vec<String> {
    let section = app.map_or("budget".to_owned(), |app| format!("apps.{app}.budget"));
    let allotment: Allotment = shares.of_app(app, Kind::REMOTE);
    let (total, reserve) = (allotment.total(), allotment.reserve());
    let cutoffs = [
        ("retrieval_cutoff", allotment.retrieval_cutoff()),
        ("first_token_cutoff", allotment.first_token_cutoff()),
    ];
    let never = cutoffs.into_iter().filter(|(_, cutoff)| *cutoff >= total - reserve);
    let words = |(name, cutoff)| {
        format!("{section}.{name} is {cutoff:?}, and all is over by then: total is {total:?}")
    };
    never.map(words).collect()
}

fn unused_secrets(config: &Config) -> Vec<(String, &'static str)> {
    let secrets = &config.secrets;
    let mut found = Vec::new();
    if secrets.qdrant_key.is_some() && secrets.qdrant.is_none() {
        found.push(("QDRANT_API_KEY is set and QDRANT_URL is not", "set QDRANT_URL as well"));
    }
    if secrets.gemini_base.is_some() && secrets.gemini_key.is_none() {
        found.push(("GEMINI_BASE_URL is set and no key of Gemini is", "set GEMINI_API_KEY"));
    }
    let mut found: Vec<_> =
        found.into_iter().map(|(detail, advice)| (detail.to_owned(), advice)).collect();
    let qdrant = secrets.qdrant.as_deref().and_then(|url| Url::parse(url).ok());
    let keys = [
        ("QDRANT_API_KEY", secrets.qdrant_key.is_some(), qdrant.as_ref()),
        ("GEMINI_API_KEY", secrets.gemini_key.is_some(), secrets.gemini_base.as_ref()),
        ("OPENAI_API_KEY", secrets.openai_key.is_some(), secrets.openai_base.as_ref()),
    ];
    for (name, is_set, url) in keys {
        if is_set && url.is_some_and(is_in_the_clear) {
            let detail = format!("{name} goes over http://, where all on the way can read it");
            found.push((detail, "use https://, or see that nobody else is on that network"));
        }
    }
    found
}

/// Whether `url` leads to another host without TLS. A name without dots is of this host or of a network of its own,
/// as composed services have.
fn is_in_the_clear(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let is_near = host.starts_with("127.") || host == "[::1]" || !host.contains(['.', ':']);
    url.scheme() == "http" && !is_near
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::{Sources, load};
    use crate::doctor::State;

    fn with(pairs: &[(&str, &str)]) -> Vec<Check> {
        let environment: BTreeMap<String, String> =
            pairs.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        let config = load(&Sources { environment, ..Sources::default() }).unwrap();
        contradictions(&config)
    }

    #[track_caller]
    fn warned(pairs: &[(&str, &str)], part: &str) {
        let found = with(pairs);
        let details: Vec<&str> = found.iter().map(|check| &*check.detail).collect();
        assert!(matches!(&details[..], [detail] if detail.contains(part)), "{details:?}");
    }

    #[test]
    fn defaults_contradict_nothing() {
        assert_eq!(with(&[]), []);
    }

    #[test]
    fn what_does_not_do_what_it_seems_to_is_told() {
        warned(&[("KIWARI__BUDGET__RETRIEVAL_CUTOFF", "4s")], "budget.retrieval_cutoff is 4s");
        warned(
            &[("KIWARI__APPS__SHOP__BUDGET__FIRST_TOKEN_CUTOFF", "9s")],
            "apps.shop.budget.first_token_cutoff",
        );
        let daily =
            [("KIWARI__CALIBRATION__FOLLOW", "false"), ("KIWARI__CALIBRATION__DAILY_AT", "03:30")];
        warned(&daily, "calibration.follow");
        let same = [("KIWARI__GENERATE__MODEL", "m"), ("KIWARI__GENERATE__LIGHTER_MODEL", "m")];
        warned(&same, "lighter_model");
        warned(&[("QDRANT_API_KEY", "hush")], "QDRANT_URL is not");
        let clear = [("QDRANT_API_KEY", "hush"), ("QDRANT_URL", "http://q.example:6334")];
        warned(&clear, "QDRANT_API_KEY goes over http://");
        let composed = [("QDRANT_API_KEY", "hush"), ("QDRANT_URL", "http://qdrant:6334")];
        assert_eq!(with(&composed), []);
    }

    #[test]
    fn an_address_that_serve_refuses_has_failed() {
        let found = with(&[("KIWARI__SERVER__BIND", "0.0.0.0:8080")]);
        assert_eq!(found.first().map(|check| check.state), Some(State::Failed));
        let public = [("KIWARI__SERVER__BIND", "0.0.0.0:8080"), ("KIWARI__SERVER__PUBLIC", "true")];
        assert_eq!(with(&public), []);
    }
}
