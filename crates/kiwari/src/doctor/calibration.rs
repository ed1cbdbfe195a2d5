//! The calibration in force for each app: whether there is one, and whether it fits what is configured.

use std::collections::BTreeSet;
use std::time::Duration;

use catalog::Published;
use deadline::Deadline;
use domain::AppName;
use ingest::DataDir;
use ledger::PgSettings;
use ledger::calibration::{Applied, Values, newest};

use super::check::{Check, timed};
use super::words::chain;
use crate::calibration;
use crate::config::{Config, Kind};

const ID: &str = "calibration";
const PATIENCE: Duration = Duration::from_secs(2);

/// Looks at what was applied for the apps that are `published` or have shares of their own.
pub(super) async fn examine(
    config: &Config,
    database: Option<&PgSettings>,
    published: &[Published],
    until: Deadline,
) -> Vec<Check> {
    let data = DataDir::new(&config.data_dir);
    if database.is_none() && !data.ledger().is_file() {
        return vec![Check::ok(ID, "none: the configured shares apply")];
    }
    let reading = async {
        let source = calibration::source(&data, database).await?;
        let newest = newest(&source).await;
        source.close().await;
        anyhow::Ok(newest?)
    };
    let (read, _) = timed(until.remaining().min(PATIENCE), reading).await;
    let newest = match read {
        Some(Ok(newest)) => newest,
        Some(Err(error)) => {
            let advice = "see the latency log, where calibrations are kept";
            return vec![Check::failed(ID, chain(error.as_ref()), advice)];
        }
        None => {
            return vec![Check::failed(
                ID,
                "no answer in time",
                "see the latency log, where they are kept",
            )];
        }
    };
    let apps: BTreeSet<&AppName> =
        published.iter().map(|published| &published.id.app).chain(config.shares.apps()).collect();
    let of = |app: &&AppName| app_check(config, app, &newest).of(app);
    let checks: Vec<Check> = apps.iter().map(of).collect();
    if checks.is_empty() { vec![Check::ok(ID, "none: no app is published")] } else { checks }
}

fn app_check(config: &Config, app: &AppName, newest: &[Applied]) -> Check {
    let mut of_app = newest.iter().filter(|applied| applied.app == app.as_str());
    let Some(first) = of_app.next() else {
        return Check::ok(ID, "none: the configured shares apply");
    };
    let newest = match calibration::understood(config, first) {
        Ok(values) => return in_force(config, app, first.number, &values),
        Err(error) => format!("number {} cannot be used: {error:#}", first.number),
    };
    let sound = of_app.find(|applied| calibration::understood(config, applied).is_ok());
    let instead = sound.map_or("the configured shares apply".to_owned(), |sound| {
        format!("number {} applies", sound.number)
    });
    let advice = "run `kiwari calibrate --apply` with the budget as it is configured now";
    Check::warning(ID, format!("{newest}; {instead}"), advice)
}

fn in_force(config: &Config, app: &AppName, number: u64, values: &Values) -> Check {
    if config.calibration.look_every.is_none() {
        let detail = format!("number {number} is applied, and calibration.follow is false");
        return Check::warning(
            ID,
            detail,
            "set calibration.follow = true for servers to take it up",
        );
    }
    let total = config.shares.of_app(Some(app), Kind::REMOTE).total();
    if Duration::from_millis(values.total_ms) == total {
        return Check::ok(
            ID,
            format!("number {number} is in force, and fits the budget of {total:?}"),
        );
    }
    let (made_for, advice) = (values.total_ms, "run `kiwari calibrate --apply`");
    let detail = format!(
        "number {number} is in force, made for a budget of {made_for} ms; it is {total:?} now"
    );
    Check::warning(ID, detail, advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Sources, load};
    use crate::doctor::State;

    fn applied(number: u64, total: u64, embed: u64) -> Applied {
        let calibrated = format!(
            r#"{{"total_ms":{total},"minimums":{{"embed_ms":{embed},"vector_ms":600,"generate_ms":900}},
                "retrieval_cutoff_ms":1800,"first_token_cutoff_ms":0}}"#
        );
        Applied { number, app: "shop".to_owned(), calibrated }
    }

    #[track_caller]
    fn check(newest: &[Applied], state: State, part: &str) {
        let config = load(&Sources::default()).unwrap();
        let check = app_check(&config, &"shop".parse().unwrap(), newest);
        assert!(check.state == state && check.detail.contains(part), "{check:?}");
    }

    #[test]
    fn what_does_not_fit_any_more_is_told_with_what_applies_instead() {
        check(&[], State::Ok, "none");
        check(&[applied(3, 4000, 500)], State::Ok, "number 3 is in force");
        check(&[applied(3, 3000, 500)], State::Warning, "made for a budget of 3000 ms");
        let too_much = applied(4, 4000, 3900);
        check(std::slice::from_ref(&too_much), State::Warning, "the configured shares apply");
        check(&[too_much, applied(3, 4000, 500)], State::Warning, "number 3 applies");
    }
}
