//! [`LedgerSettings`]: how the latency log is written, shipped and kept.

use std::ops::RangeInclusive;
use std::time::Duration;

use ledger::{PgSettings, Settings};

use super::ConfigError;
use super::check::invalid;
use super::file;

const DAY: Duration = Duration::from_secs(86_400);
const MEGABYTE: u64 = 1 << 20;

/// Beyond a second, a killed process would lose what operators would miss.
const FLUSH: RangeInclusive<Duration> = Duration::from_millis(1)..=Duration::from_secs(1);
/// A transaction of more rows takes longer than the flush interval.
const BATCH: RangeInclusive<usize> = 1..=10_000;
/// A queued request takes some 2 KB of memory.
const QUEUE: RangeInclusive<usize> = 1..=1_000_000;
const PAUSE: RangeInclusive<Duration> = Duration::from_millis(100)..=Duration::from_secs(3600);
/// The least that SQLite's own pages leave room in.
const LEAST_MEGABYTES: u64 = 16;

/// What is configured of the latency log.
#[derive(Clone, Debug)]
pub(crate) struct LedgerSettings {
    written: file::Ledger,
}

impl LedgerSettings {
    /// Checks what was written.
    pub(super) fn check(written: &file::Ledger) -> Result<Self, ConfigError> {
        within("ledger.flush_every", &written.flush_every.0, &FLUSH)?;
        within("ledger.batch", &written.batch, &BATCH)?;
        within("ledger.queue", &written.queue, &QUEUE)?;
        within("ledger.ship_batch", &written.ship_batch, &BATCH)?;
        within("ledger.longest_pause", &written.longest_pause.0, &PAUSE)?;
        within("ledger.keep_days", &written.keep_days, &(1..=u16::MAX))?;
        if written.queue < written.batch {
            let message = format!("must hold a batch, which is ledger.batch = {}", written.batch);
            return Err(invalid("ledger.queue", message));
        }
        if written.histogram_days < written.keep_days {
            let message = format!("must be at least ledger.keep_days = {}", written.keep_days);
            return Err(invalid("ledger.histogram_days", message));
        }
        // Postgres would not take what is older than it keeps.
        within("ledger.outbox_days", &written.outbox_days, &(1..=written.keep_days))?;
        if (1..LEAST_MEGABYTES).contains(&written.outbox_megabytes) {
            let message = format!("must be at least {LEAST_MEGABYTES}, or 0 for no bound");
            return Err(invalid("ledger.outbox_megabytes", message));
        }
        Ok(Self { written: written.clone() })
    }

    /// How rows are written to this disk; before a Postgres they are kept there for as long as they may wait.
    pub(crate) fn on_disk(&self, is_outbox: bool) -> Settings {
        let written = &self.written;
        let days = if is_outbox { written.outbox_days } else { written.keep_days };
        Settings {
            queue: written.queue,
            batch: written.batch,
            linger: written.flush_every.0,
            retention: DAY * u32::from(days),
            most_waiting: match written.outbox_megabytes {
                0 => None,
                megabytes => Some(megabytes.saturating_mul(MEGABYTE)),
            },
        }
    }

    /// How rows are shipped to `postgres` and kept there.
    pub(crate) fn shipped_to(&self, postgres: PgSettings) -> PgSettings {
        let mut settings = postgres;
        settings.batch = self.written.ship_batch;
        settings.longest_pause = self.written.longest_pause.0;
        settings.retention_days = self.written.keep_days;
        settings.histogram_days = self.written.histogram_days;
        settings
    }
}

fn within<T: PartialOrd + Shown>(
    key: &str,
    value: &T,
    allowed: &RangeInclusive<T>,
) -> Result<(), ConfigError> {
    if allowed.contains(value) {
        return Ok(());
    }
    let (least, most) = (allowed.start().shown(), allowed.end().shown());
    Err(invalid(key, format!("must lie between {least} and {most}")))
}

/// As it is written in a configuration.
trait Shown {
    fn shown(&self) -> String;
}

impl Shown for Duration {
    fn shown(&self) -> String {
        humantime::format_duration(*self).to_string()
    }
}

impl Shown for usize {
    fn shown(&self) -> String {
        self.to_string()
    }
}

impl Shown for u16 {
    fn shown(&self) -> String {
        self.to_string()
    }
}
