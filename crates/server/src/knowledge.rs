//! [`Knowledge`]: the generation that each app answers from right now.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use domain::AppName;
use search::Generation;

/// One generation per app, replaced as a whole. A request pins its `Arc` once and keeps it.
#[derive(Debug, Default)]
pub struct Knowledge {
    apps: RwLock<BTreeMap<AppName, Option<Arc<Generation>>>>,
}

/// What is known of an app.
#[derive(Clone, Debug)]
pub(crate) enum Pin {
    Generation(Arc<Generation>),
    /// The app exists, but nothing has been published for it.
    NoIndex,
    Unknown,
}

impl Knowledge {
    /// Makes `app` known, with nothing published yet. An app that is known keeps its generation.
    pub fn announce(&self, app: AppName) {
        self.write(|apps| {
            apps.entry(app).or_insert(None);
        });
    }

    /// Requests that start from now on use `generation`, which may have a lower number than the one in use: numbers
    /// begin anew when a database does.
    pub fn publish(&self, generation: Arc<Generation>) {
        self.write(|apps| {
            apps.insert(generation.id().app.clone(), Some(generation));
        });
    }

    /// The apps and the number of the generation each is on.
    #[must_use]
    pub fn overview(&self) -> Vec<(AppName, Option<Arc<Generation>>)> {
        self.read(|apps| apps.iter().map(|(app, at)| (app.clone(), at.clone())).collect())
    }

    /// Whether any app can answer.
    pub(crate) fn any_loaded(&self) -> bool {
        self.read(|apps| apps.values().any(Option::is_some))
    }

    pub(crate) fn pin(&self, app: &AppName) -> Pin {
        self.read(|apps| match apps.get(app) {
            Some(Some(generation)) => Pin::Generation(Arc::clone(generation)),
            Some(None) => Pin::NoIndex,
            None => Pin::Unknown,
        })
    }

    /// The app that is meant when none is named: the only one that can answer, or the only one there is.
    pub(crate) fn only_app(&self) -> Option<AppName> {
        self.read(|apps| {
            let can_answer = apps.iter().filter(|(_, at)| at.is_some()).map(|(name, _)| name);
            only(can_answer).or_else(|| only(apps.keys())).cloned()
        })
    }

    // The map is whole between any two statements, so a poisoned lock changes nothing.
    fn read<T>(&self, look: impl FnOnce(&BTreeMap<AppName, Option<Arc<Generation>>>) -> T) -> T {
        look(&self.apps.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn write(&self, change: impl FnOnce(&mut BTreeMap<AppName, Option<Arc<Generation>>>)) {
        change(&mut self.apps.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The item of an iterator that has just one.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    items.next().filter(|_| items.next().is_none())
}
