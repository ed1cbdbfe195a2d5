//! [`Replica`]: what this server says of itself to whoever tidies, and tidying in its turn.
//!
//! Vectors of older generations may be removed when no request anywhere can be on one. So every server says, every
//! few seconds, which is the oldest that it may still answer from: one that it has replaced counts until the longest
//! budget has passed since.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use catalog::{Beat, CatalogError};
use domain::{AppName, Causes};
use ingest::{IngestError, Stores, tidy};
use tokio::time::Instant;
use uuid::Uuid;

use crate::heard::Heard;
use crate::stores::holder;

const BEAT_EVERY: Duration = Duration::from_secs(5);

/// Well within the silence after which a server is taken for gone.
const PAUSE_AFTER_ERROR: Duration = Duration::from_secs(30);

/// A request's last bytes leave a little after its budget.
const SLACK: Duration = Duration::from_secs(1);

/// One server among those that share a catalog or a Qdrant. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Replica {
    name: String,
    stores: Stores,
    in_use: Arc<Mutex<InUse>>,
    heard: Heard,
}

impl Replica {
    /// A server whose requests take `longest` at most; `None` where nobody but this process needs to know.
    pub(crate) fn of(stores: &Stores, longest: Duration) -> Option<Self> {
        let is_needed = stores.is_shared() || stores.qdrant.is_some();
        is_needed.then(|| Self {
            name: Uuid::now_v7().to_string(),
            stores: stores.clone(),
            in_use: Arc::new(Mutex::new(InUse::new(longest + SLACK))),
            heard: Heard::now(),
        })
    }

    /// Whether others know that it answers.
    pub(crate) fn heard(&self) -> &Heard {
        &self.heard
    }

    /// Says that `number` of `app` is about to be used, if that is the first one: from then on it is kept.
    pub(crate) async fn expect(&self, app: &AppName, number: u64) {
        if self.look(|in_use| in_use.expect(app, number))
            && let Err(error) = self.beat().await
        {
            warn(&error);
        }
    }

    /// Requests from now on use `number` of `app`.
    pub(crate) fn took_up(&self, app: &AppName, number: u64) {
        self.look(|in_use| in_use.took_up(app, number, Instant::now()));
    }

    /// Beats, and tidies whenever there may be something to tidy; ends when dropped.
    pub(crate) async fn live(self) -> Infallible {
        let mut tidied = BTreeMap::new();
        loop {
            let pause = match self.beat_and_tidy(&mut tidied).await {
                Ok(()) => BEAT_EVERY,
                Err(error) => {
                    let error = Causes(&error);
                    tracing::warn!(%error, "old vectors are not tidied up for now");
                    PAUSE_AFTER_ERROR
                }
            };
            tokio::time::sleep(pause).await;
        }
    }

    /// This server answers no more.
    pub(crate) async fn leave(&self) {
        if let Err(error) = self.stores.catalog.leave(&self.name).await {
            warn(&error);
        }
    }

    async fn beat(&self) -> Result<(), CatalogError> {
        let now = Instant::now();
        let oldest_in_use = self.look(|in_use| in_use.oldest(now));
        self.stores.catalog.beat(&Beat { replica: self.name.clone(), oldest_in_use }).await?;
        self.heard.at(now);
        Ok(())
    }

    async fn beat_and_tidy(
        &self,
        tidied: &mut BTreeMap<AppName, Option<u64>>,
    ) -> Result<(), IngestError> {
        self.beat().await?;
        let catalog = &self.stores.catalog;
        for (app, _) in self.look(|in_use| in_use.oldest(Instant::now())) {
            let oldest = catalog.oldest_in_use(&app, ingest::SILENCE).await?;
            if tidied.get(&app) == Some(&oldest) {
                continue;
            }
            match catalog.writer(&app, &holder("kiwari serve, tidying up")).await {
                Ok(writer) => {
                    let done = tidy(&self.stores, &app, &*writer).await;
                    writer.release().await;
                    tidied.insert(app, done?);
                }
                // A run is at it, or another server: later, then.
                Err(CatalogError::Busy { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    // Whole between any two statements, so a poisoned lock changes nothing.
    fn look<T>(&self, look: impl FnOnce(&mut InUse) -> T) -> T {
        look(&mut self.in_use.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn warn(error: &CatalogError) {
    let error = Causes(error);
    tracing::warn!(%error, "the catalog does not know what this server answers from");
}

/// Which generations requests may be on.
#[derive(Debug)]
struct InUse {
    longest: Duration,
    apps: BTreeMap<AppName, Generations>,
}

#[derive(Debug)]
struct Generations {
    current: u64,
    /// Those before, and when each was replaced.
    older: Vec<(u64, Instant)>,
}

impl InUse {
    fn new(longest: Duration) -> Self {
        Self { longest, apps: BTreeMap::new() }
    }

    /// Whether `app` was unknown.
    fn expect(&mut self, app: &AppName, number: u64) -> bool {
        let is_new = !self.apps.contains_key(app);
        if is_new {
            let generations = Generations { current: number, older: Vec::new() };
            self.apps.insert(app.clone(), generations);
        }
        is_new
    }

    fn took_up(&mut self, app: &AppName, number: u64, now: Instant) {
        self.expect(app, number);
        let Some(generations) = self.apps.get_mut(app) else { return };
        if generations.current != number {
            generations.older.push((generations.current, now));
            generations.current = number;
        }
    }

    /// The oldest of each app, forgetting those that no request can be on any more.
    fn oldest(&mut self, now: Instant) -> Vec<(AppName, u64)> {
        let longest = self.longest;
        let oldest = |(app, generations): (&AppName, &mut Generations)| {
            generations.older.retain(|(_, replaced)| now.duration_since(*replaced) <= longest);
            let older = generations.older.iter().map(|(number, _)| *number).min();
            (app.clone(), older.unwrap_or(u64::MAX).min(generations.current))
        };
        self.apps.iter_mut().map(oldest).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replaced_generation_counts_until_the_longest_budget_has_passed() {
        let (app, start) = (AppName::default_app(), Instant::now());
        let at = |ms| start + Duration::from_millis(ms);
        let mut in_use = InUse::new(Duration::from_secs(4));
        assert_eq!(in_use_at(&mut in_use, at(0)), None);
        in_use.took_up(&app, 7, at(0));
        in_use.took_up(&app, 8, at(10_000));
        in_use.took_up(&app, 9, at(13_000));
        for (now, expected) in [(13_000, 7), (14_000, 7), (14_001, 8), (17_000, 8), (17_001, 9)] {
            assert_eq!(in_use_at(&mut in_use, at(now)), Some(expected), "after {now} ms");
        }
    }

    #[test]
    fn what_is_expected_first_counts_at_once_and_what_is_expected_later_does_not() {
        let (app, now) = (AppName::default_app(), Instant::now());
        let mut in_use = InUse::new(Duration::from_secs(4));
        assert!(in_use.expect(&app, 3));
        assert!(!in_use.expect(&app, 5));
        assert_eq!(in_use_at(&mut in_use, now), Some(3));
    }

    fn in_use_at(in_use: &mut InUse, now: Instant) -> Option<u64> {
        in_use.oldest(now).first().map(|(_, number)| *number)
    }
}
