//! [`TakenUp`]: what each app is answered from, as the catalog had it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use catalog::Published;
use domain::AppName;

/// The generations in use. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct TakenUp(Arc<Mutex<BTreeMap<AppName, Published>>>);

impl TakenUp {
    /// That of one app.
    pub(crate) fn of(&self, app: &AppName) -> Option<Published> {
        self.apps().get(app).cloned()
    }

    /// Those of all apps.
    pub(crate) fn all(&self) -> Vec<Published> {
        self.apps().values().cloned().collect()
    }

    /// Its app is answered from `published` from now on.
    pub(crate) fn put(&self, published: &Published) {
        self.apps().insert(published.id.app.clone(), published.clone());
    }

    // Whole between any two statements, so a poisoned lock changes nothing.
    fn apps(&self) -> MutexGuard<'_, BTreeMap<AppName, Published>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
