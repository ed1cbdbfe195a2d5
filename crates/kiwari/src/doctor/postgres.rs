//! Postgres, where there is one: whether it takes us in, is up to date, and gets the latency log.

use std::time::Duration;

use ledger::postgres::{ClockOffset, LogState, Look, Trouble, look};
use ledger::{PgError, PgSettings};

use super::check::{Check, timed};
use super::words::{age, chain};
use crate::config::Config;

const SERVER: &str = "postgres.server";
const MIGRATIONS: &str = "postgres.migrations";
const PARTITIONS: &str = "postgres.partitions";
const LOG: &str = "postgres.log";

/// How long all questions together may take.
const PATIENCE: Duration = Duration::from_secs(4);

/// The oldest that Kiwari is used with, as Postgres counts.
const OLDEST: i32 = 140_000;

/// What was found.
pub(super) struct Seen {
    pub(super) checks: Vec<Check>,
    /// Where there is no Postgres, there is a file.
    pub(super) catalog: Tables,
    pub(super) log: Tables,
    pub(super) clock: Option<ClockOffset>,
}

/// Whether some of our tables can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tables {
    Usable,
    /// They are not there, or of an older version.
    Behind,
    /// Postgres cannot be asked at all.
    Away,
}

/// Looks at the Postgres of `settings`; of a process without one there is nothing to say.
pub(super) async fn examine(config: &Config, settings: Option<&PgSettings>) -> Seen {
    let (Some(settings), Some(catalog)) = (settings, &config.secrets.database) else {
        let detail = "DATABASE_URL is not set: all is in data.dir";
        let checks = vec![Check::ok(SERVER, detail)];
        return Seen { checks, catalog: Tables::Usable, log: Tables::Usable, clock: None };
    };
    let looking = async { tokio::join!(look(settings), behind(catalog)) };
    let (seen, took) = timed(PATIENCE, looking).await;
    let (look, behind) = seen.unwrap_or((Err(PgError::TimedOut), Err(None)));
    match look {
        Ok(look) => of_look(config, settings, &look, behind, took),
        Err(error) => {
            let (detail, advice) = words(&error, settings);
            let mut checks = vec![Check::failed(SERVER, detail, advice).after(took)];
            checks.extend([MIGRATIONS, PARTITIONS, LOG].map(away));
            Seen { checks, catalog: Tables::Away, log: Tables::Away, clock: None }
        }
    }
}

fn away(id: &'static str) -> Check {
    Check::skipped(id, "Postgres cannot be asked")
}

/// The catalog's migrations: those missing, and those that a newer program has applied.
struct Behind {
    pending: Vec<String>,
    newer: Vec<i64>,
    /// Whether what is missing could be made.
    may_create: bool,
}

/// `Err(None)`: nobody could say in time.
async fn behind(catalog: &catalog::PgSettings) -> Result<Behind, Option<String>> {
    let (pending, newer, may_create) = tokio::join!(
        catalog::pending(catalog),
        catalog::newer(catalog),
        catalog::may_create(catalog)
    );
    let words = |error: catalog::CatalogError| Some(chain(&error));
    Ok(Behind {
        pending: pending.map_err(words)?,
        newer: newer.map_err(words)?,
        may_create: may_create.map_err(words)?,
    })
}

fn of_look(
    config: &Config,
    settings: &PgSettings,
    look: &Look,
    behind: Result<Behind, Option<String>>,
    took: Duration,
) -> Seen {
    let mut checks = vec![server(settings, look).after(took)];
    let catalog = match behind {
        Ok(behind) => {
            let pending: Vec<&String> = look.pending.iter().chain(&behind.pending).collect();
            let newer = !look.newer.is_empty() || !behind.newer.is_empty();
            let forbidden = forbidden(settings, look, &behind);
            checks.push(migrations(config, &pending, newer, forbidden));
            if behind.pending.is_empty() { Tables::Usable } else { Tables::Behind }
        }
        Err(words) => {
            let detail = words.unwrap_or_else(|| "nobody could say in time".to_owned());
            checks.push(Check::failed(MIGRATIONS, detail, "see `kiwari migrate --check`"));
            Tables::Away
        }
    };
    let log = match &look.log {
        Some(log) => {
            checks.extend([partitions(log), arrivals(log)]);
            Tables::Usable
        }
        None => {
            let why = "the log's tables are not up to date";
            checks.extend([PARTITIONS, LOG].map(|id| Check::skipped(id, why)));
            Tables::Behind
        }
    };
    Seen { checks, catalog, log, clock: Some(look.clock) }
}

fn server(settings: &PgSettings, look: &Look) -> Check {
    let server = &look.server;
    let version = format!("{}.{}", server.version / 10_000, server.version % 10_000);
    let tls = if server.tls { "with TLS" } else { "without TLS" };
    let detail =
        format!("Postgres {version} at {} lets {} in, {tls}", settings.place(), settings.user());
    if server.read_only {
        let advice = "point DATABASE_URL to the primary, and see default_transaction_read_only";
        return Check::failed(SERVER, format!("{detail}, and takes no writes"), advice);
    }
    if server.version < OLDEST {
        let advice = "use Postgres 14 or later";
        return Check::warning(SERVER, format!("{detail}; that version is untried"), advice);
    }
    Check::ok(SERVER, detail)
}

/// What keeps us from making what is missing, and what to do about it.
fn forbidden(settings: &PgSettings, look: &Look, behind: &Behind) -> Option<(String, String)> {
    let (user, server) = (settings.user(), &look.server);
    let database = &server.database;
    let owner = format!("or make it the owner: ALTER DATABASE \"{database}\" OWNER TO \"{user}\"");
    if !look.pending.is_empty() && !server.may_create {
        // Where the search path leads nowhere, it is the usual schema that is closed to us.
        let schema = if server.schema.is_empty() { "public" } else { &server.schema };
        let detail = format!("{user} may not make tables in the schema {schema}");
        let grant = format!("GRANT USAGE, CREATE ON SCHEMA \"{schema}\" TO \"{user}\"");
        return Some((detail, format!("as its owner: {grant}; {owner}")));
    }
    if !behind.pending.is_empty() && !behind.may_create {
        let detail = format!("{user} may not make the schema catalog in the database {database}");
        let grant = format!("GRANT CREATE ON DATABASE \"{database}\" TO \"{user}\"");
        return Some((detail, format!("as its owner: {grant}; {owner}")));
    }
    None
}

fn migrations(
    config: &Config,
    pending: &[&String],
    newer: bool,
    forbidden: Option<(String, String)>,
) -> Check {
    if !pending.is_empty() {
        let names: Vec<&str> = pending.iter().map(|name| name.as_str()).collect();
        let detail = format!("missing: {}", names.join(", "));
        if let Some((why, advice)) = forbidden {
            return Check::failed(MIGRATIONS, format!("{detail}; {why}"), advice);
        }
        let advice = "run `kiwari migrate`";
        return if config.migrate_at_start {
            let detail = format!("{detail}; whatever writes first applies them");
            Check::warning(MIGRATIONS, detail, advice)
        } else {
            Check::failed(MIGRATIONS, detail, advice)
        };
    }
    if newer {
        let detail = "the tables are of a newer Kiwari than this one";
        return Check::warning(MIGRATIONS, detail, "bring this binary up to date as well");
    }
    Check::ok(MIGRATIONS, "up to date")
}

fn partitions(log: &LogState) -> Check {
    if !log.any_day {
        return Check::ok(PARTITIONS, "there are none yet; the first `kiwari serve` makes them");
    }
    if log.today && log.tomorrow {
        return Check::ok(PARTITIONS, "there for today and tomorrow (UTC)");
    }
    let missing = if log.today { "tomorrow" } else { "today" };
    let detail = format!("there is none for {missing} (UTC): no server has kept them lately");
    Check::warning(PARTITIONS, detail, "see that a `kiwari serve` runs and ships its log")
}

fn arrivals(log: &LogState) -> Check {
    match log.newest_age() {
        None => Check::ok(LOG, "no request has arrived yet"),
        Some(newest) => {
            Check::ok(LOG, format!("the newest request in it was received {} ago", age(newest)))
        }
    }
}

/// What went wrong, and what to do about it.
fn words(error: &PgError, settings: &PgSettings) -> (String, String) {
    let (place, user) = (settings.place(), settings.user());
    let (detail, advice) = match error.trouble() {
        Trouble::Refused => {
            ("nobody listens there", "start Postgres, or mend host and port in DATABASE_URL")
        }
        Trouble::UnknownHost => {
            ("there is no host of that name", "mend the host in DATABASE_URL, or see the DNS")
        }
        Trouble::Silent => (
            "no answer in time: something between drops the connection, or what listens there is no Postgres",
            "see host and port in DATABASE_URL, firewalls, and whether Postgres is well",
        ),
        Trouble::WrongPassword => {
            ("there is no such user, or the password is wrong", "mend it in DATABASE_URL")
        }
        Trouble::NotLetIn => (
            "the server's rules do not let this user in from here",
            "see the user in DATABASE_URL, and pg_hba.conf; it may want TLS (?sslmode=require)",
        ),
        Trouble::NoSuchDatabase => (
            "there is no such database",
            "make it with `createdb`, or mend its name in DATABASE_URL",
        ),
        Trouble::Full => (
            "as many connections are open as it allows",
            "raise max_connections, or put a pooler before it",
        ),
        Trouble::NotReady => ("it is starting or stopping", "wait a moment and look again"),
        Trouble::Tls if settings.insists_on_tls() => (
            "no secure connection, which sslmode in DATABASE_URL insists on",
            "set Postgres up for TLS, or name its CA with sslrootcert, or use another sslmode",
        ),
        Trouble::Tls => ("no secure connection", "see sslmode and sslrootcert in DATABASE_URL"),
        Trouble::NotPostgres => (
            "what listens there does not speak Postgres' protocol",
            "mend host and port in DATABASE_URL",
        ),
        Trouble::Other => ("it cannot be used", "see what it says"),
    };
    let chain = chain(error);
    (format!("{place} as {user}: {detail} ({chain})"), advice.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::State;

    #[test]
    fn days_without_a_partition_are_told_once_there_were_some() {
        let log = |any_day, today, tomorrow| LogState {
            today,
            tomorrow,
            any_day,
            newest_us: None,
            now_us: 0,
        };
        assert_eq!(partitions(&log(false, false, false)).state, State::Ok);
        assert_eq!(partitions(&log(true, true, true)).state, State::Ok);
        let check = partitions(&log(true, true, false));
        assert!(check.state == State::Warning && check.detail.contains("tomorrow"), "{check:?}");
        assert!(partitions(&log(true, false, false)).detail.contains("today"));
    }
}
