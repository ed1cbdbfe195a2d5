//! [`Shipper`]: the one task that moves rows from the disk to Postgres.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use domain::Causes;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::backoff::Backoff;
use crate::counts::{OutboxTallies, Tallies};
use crate::entry::unix_micros;
use crate::ledger::{PRUNE_EVERY, prune};
use crate::outbox::Parcel;
use crate::postgres::{self, ClockOffset, Delivered, Maintained, PgError, PgSettings, Session};
use crate::seldom::Seldom;
use crate::{LedgerError, Settings, Store};

/// How often the disk is looked at while nothing waits. Rows gather meanwhile.
const IDLE: Duration = Duration::from_millis(250);

/// How often partitions, retention and histograms are seen to.
const MAINTAIN_EVERY: Duration = Duration::from_secs(3600);

/// How soon clocks that differ are looked at again.
const COMPARE_EVERY: Duration = Duration::from_secs(60);

const MICROS_PER_DAY: i64 = 86_400_000_000;

#[derive(Debug)]
pub(crate) struct Shipper {
    store: Store,
    kept: Settings,
    settings: PgSettings,
    tallies: Arc<Tallies>,
    session: Option<Session>,
    /// Whether the schema was seen to be up to date, and nothing has gone wrong since.
    is_migrated: bool,
    /// Whether rows were to be let go that should be kept: maintenance puts that right where it can.
    is_floor_doubted: bool,
    /// Requests of the next batch at most; fewer after one that was not done in time.
    batch: usize,
    maintain_at: Instant,
    prune_at: Instant,
    complaint: Seldom,
    overflow_complaint: Seldom,
    expired_complaint: Seldom,
    clocks_complaint: Seldom,
    backoff: Backoff,
}

/// A round that came to nothing.
#[derive(Debug, thiserror::Error)]
enum RoundError {
    #[error("the latency log cannot be shipped to Postgres")]
    Postgres(#[from] PgError),
    #[error("the latency log's outbox cannot be used")]
    Disk(#[from] LedgerError),
}

/// What a round left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    Nothing,
    More,
}

impl Shipper {
    pub(crate) fn new(
        store: Store,
        kept: Settings,
        settings: PgSettings,
        tallies: Arc<Tallies>,
    ) -> Self {
        let now = Instant::now();
        Self {
            store,
            kept,
            batch: settings.batch,
            backoff: Backoff::up_to(settings.longest_pause),
            settings,
            tallies,
            session: None,
            is_migrated: false,
            is_floor_doubted: false,
            maintain_at: now,
            prune_at: now,
            complaint: Seldom::default(),
            overflow_complaint: Seldom::default(),
            expired_complaint: Seldom::default(),
            clocks_complaint: Seldom::default(),
        }
    }

    /// Ships until told to stop, then what can be shipped without a failure.
    pub(crate) async fn run(mut self, mut stopped: oneshot::Receiver<()>) {
        loop {
            let pause = match self.round().await {
                Ok(Left::More) => Duration::ZERO,
                Ok(Left::Nothing) => IDLE,
                Err(error) => self.failed(&error),
            };
            tokio::select! {
                biased;
                // Told to stop, or the ledger is gone.
                _ = &mut stopped => break,
                () = sleep(pause) => {}
            }
        }
        while let Ok(Left::More) = self.round().await {}
        if let Some(session) = self.session.take() {
            session.end().await;
        }
    }

    /// Ships one batch, and sees to Postgres's own affairs when that is due.
    async fn round(&mut self) -> Result<Left, RoundError> {
        self.let_go().await?;
        let parcels = self.store.oldest(self.batch).await?;
        self.outbox().note_oldest(parcels.first().map(|parcel| parcel.received_at_us));
        let left = if parcels.len() < self.batch { Left::Nothing } else { Left::More };
        if parcels.is_empty() {
            self.maintain_if_due().await?;
            self.store.shrink().await?;
            return Ok(left);
        }
        self.ready().await?;
        if self.is_floor_doubted {
            self.maintain_at = Instant::now();
            self.maintain_if_due().await?;
            self.is_floor_doubted = false;
        }
        self.ship(&parcels).await?;
        self.maintain_if_due().await?;
        Ok(left)
    }

    /// Lets go of what has waited too long or takes too much of the disk. Nobody is shipping it meanwhile.
    async fn let_go(&mut self) -> Result<(), LedgerError> {
        if self.prune_at <= Instant::now() {
            self.prune_at = Instant::now() + PRUNE_EVERY;
            let pruned = prune(&self.store, self.kept.retention).await?;
            self.outbox().expired.add(pruned);
        }
        let Some(most) = self.kept.most_waiting else { return Ok(()) };
        let overflowed = self.store.keep_within(most).await?;
        self.outbox().overflowed.add(overflowed);
        if overflowed > 0 && self.overflow_complaint.is_due() {
            let overflowed = self.outbox().overflowed.get();
            tracing::warn!(
                overflowed.count = overflowed,
                "the outbox is as large as it may be; its oldest requests are let go"
            );
        }
        Ok(())
    }

    /// Delivers `parcels` and removes them from the disk. What Postgres refuses is found by halving.
    async fn ship(&mut self, parcels: &[Parcel]) -> Result<(), RoundError> {
        let mut open = vec![parcels];
        while let Some(some) = open.pop() {
            match self.deliver(some).await {
                Ok(delivered) => self.arrived(some, delivered).await?,
                Err(error) if error.is_refusal() && some.len() > 1 => {
                    let (first, second) = some.split_at(some.len() / 2);
                    open.extend([second, first]);
                }
                Err(error) if error.is_refusal() => self.refused(some, &error).await?,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    async fn deliver(&mut self, parcels: &[Parcel]) -> Result<Delivered, PgError> {
        let settings = self.settings.clone();
        postgres::deliver(self.ready().await?, &settings, parcels).await
    }

    /// Every row is where it belongs; a kill before it is removed here ships it once more, to no effect.
    async fn arrived(&mut self, parcels: &[Parcel], done: Delivered) -> Result<(), LedgerError> {
        let outbox = self.outbox();
        // What could not be removed is delivered, and counted, once more.
        let counted = |gone: &[Parcel]| {
            let shipped = gone.iter().filter(|parcel| done.keeps(parcel)).count();
            outbox.shipped.add(as_u64(shipped));
            outbox.expired.add(as_u64(gone.len() - shipped));
        };
        self.store.trim(parcels, counted).await?;
        self.complain_of_expired(parcels, done);
        self.recovered();
        Ok(())
    }

    fn complain_of_expired(&mut self, parcels: &[Parcel], done: Delivered) {
        let expired = parcels.iter().filter(|parcel| !done.keeps(parcel));
        let Some(newest) = expired.map(|parcel| parcel.received_at_us).max() else { return };
        if !self.expired_complaint.is_due() {
            return;
        }
        tracing::warn!(
            expired.count = self.outbox().expired.get(),
            newest_age_days = (unix_micros(SystemTime::now()) - newest) / MICROS_PER_DAY,
            kept_days = self.settings.retention_days,
            postgres_clock_ahead_s = done.ahead_s,
            "Postgres does not keep the days of some requests any more; their rows are let go"
        );
    }

    async fn refused(&mut self, parcels: &[Parcel], error: &PgError) -> Result<(), LedgerError> {
        for parcel in parcels {
            tracing::error!(
                request_id = parcel.request_id,
                error = %Causes(error),
                "Postgres refuses a request's rows; they are given up"
            );
        }
        let counted = |gone: &[Parcel]| self.outbox().refused.add(as_u64(gone.len()));
        self.store.trim(parcels, counted).await
    }

    /// A connection to a Postgres whose schema is up to date.
    async fn ready(&mut self) -> Result<&mut Session, PgError> {
        if !self.is_migrated {
            migrate(&self.settings).await?;
            self.is_migrated = true;
        }
        let session = match self.session.take() {
            Some(session) => session,
            None => postgres::connect(&self.settings).await?,
        };
        Ok(self.session.insert(session))
    }

    async fn maintain_if_due(&mut self) -> Result<(), PgError> {
        if Instant::now() < self.maintain_at {
            return Ok(());
        }
        let settings = self.settings.clone();
        match postgres::maintain(self.ready().await?, &settings).await? {
            Maintained::Done => self.maintain_at = Instant::now() + MAINTAIN_EVERY,
            Maintained::Unfinished => {}
            Maintained::ClocksDiffer(clock) => {
                self.maintain_at = Instant::now() + COMPARE_EVERY;
                self.complain_of_clocks(clock);
            }
        }
        // Whether the floor is right now shows when rows are shipped.
        if !self.is_floor_doubted {
            self.recovered();
        }
        Ok(())
    }

    fn complain_of_clocks(&mut self, clock: ClockOffset) {
        if self.clocks_complaint.is_due() {
            tracing::warn!(
                postgres_clock_ahead_s = clock.ahead_s(),
                "Postgres' clock and this machine's differ: no day of the log is dropped until they agree"
            );
        }
    }

    fn recovered(&mut self) {
        let failures = self.outbox().failures.get();
        if failures > 0 {
            tracing::info!(failures.count = failures, "the latency log is shipped again");
            self.outbox().recovered();
            self.complaint = Seldom::default();
        }
        self.backoff.reset();
        self.batch = self.settings.batch.min(self.batch.saturating_mul(2));
    }

    /// Notes a failure and says how long to wait.
    fn failed(&mut self, error: &RoundError) -> Duration {
        // Whatever state its connection is in, a new one is in a better.
        self.session = None;
        self.outbox().failed(Causes(error).to_string());
        if let RoundError::Postgres(error) = error {
            self.learn(error);
        }
        if self.complaint.is_due() {
            tracing::warn!(
                error = %Causes(error),
                "the latency log waits on this disk; trying on"
            );
        }
        self.backoff.next()
    }

    /// What the next try does otherwise.
    fn learn(&mut self, error: &PgError) {
        self.is_floor_doubted |= matches!(error, PgError::Floor { .. });
        if error.is_out_of_time() {
            self.batch = (self.batch / 2).max(1);
        } else {
            // It may be another database by now, or the same without its tables.
            self.is_migrated = false;
        }
    }

    fn outbox(&self) -> &OutboxTallies {
        self.tallies.outbox.as_ref().expect("a shipper is only started with an outbox")
    }
}

async fn migrate(settings: &PgSettings) -> Result<(), PgError> {
    if settings.migrate_at_start {
        let applied = postgres::migrate(settings).await?;
        if !applied.is_empty() {
            tracing::info!(migrations.count = applied.len(), "Postgres was brought up to date");
        }
        return Ok(());
    }
    let missing = postgres::pending(settings).await?;
    if missing.is_empty() { Ok(()) } else { Err(PgError::Pending(missing)) }
}

fn as_u64(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
