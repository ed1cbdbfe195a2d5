//! What all calls share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::draws::{Draws, Key, LIGHTER_SCALE, marker_in};
use crate::embedding::Vectors;
use crate::faults::{Fault, FaultPlan, Stage};
use crate::http::Received;
use crate::journal::{Call, Journal};
use crate::settings::Settings;

#[derive(Debug)]
pub(crate) struct State {
    pub(crate) settings: Settings,
    pub(crate) draws: Draws,
    pub(crate) journal: Arc<Journal>,
    pub(crate) vectors: Vectors,
    faults: Mutex<FaultPlan>,
    nameless: AtomicU64,
}

/// Whose luck a call has, and what it comes to.
#[derive(Debug)]
pub(crate) struct Luck {
    pub(crate) key: Key,
    /// 1, or less for a lighter model.
    pub(crate) scale: f64,
    pub(crate) fault: Option<Fault>,
}

impl State {
    pub(crate) fn new(settings: Settings) -> Self {
        Self {
            draws: settings.draws(),
            journal: Arc::new(Journal::new(settings.journal_capacity)),
            vectors: Vectors::new(settings.embedder.clone()),
            faults: Mutex::new(settings.faults.clone()),
            nameless: AtomicU64::new(0),
            settings,
        }
    }

    pub(crate) fn faults(&self) -> MutexGuard<'_, FaultPlan> {
        self.faults.lock().expect("nothing panics while it holds the faults")
    }

    /// The luck of a call about `text`, noted in the journal with the call's model.
    pub(crate) fn luck(
        &self,
        stage: Stage,
        model: &str,
        text: &str,
        received: &Received,
        call: &mut Call,
    ) -> Luck {
        let (key, label) = self.identify(text, received);
        let attempt = attempt(received);
        let lighter = stage == Stage::Generate && self.settings.is_lighter(model);
        let key = if lighter { key.lighter(model) } else { key }.attempt(attempt);
        let fault = self.faults().of_mut(stage).next(&self.draws, key, model);
        let entry = call.entry_mut();
        model.clone_into(&mut entry.model);
        entry.key = label;
        entry.attempt = attempt;
        entry.fault = fault.as_ref().map(|fault| fault.kind);
        Luck { key, scale: if lighter { LIGHTER_SCALE } else { 1.0 }, fault }
    }

    /// The key of a call, and its name in the journal.
    fn identify(&self, text: &str, received: &Received) -> (Key, String) {
        if let Some(number) = marker_in(text) {
            return (Key::marker(number), format!("#{number}"));
        }
        if let Some(id) = received.header("x-request-id") {
            return (Key::request(id), id.to_owned());
        }
        let number = self.nameless.fetch_add(1, Ordering::Relaxed);
        (Key::counted(number), format!("~{number}"))
    }
}

/// Which attempt this is: by `x-attempt`, which counts from 1, or by OpenAI's clients' count of retries.
fn attempt(received: &Received) -> u32 {
    let number = |name| received.header(name).and_then(|value| value.parse::<u32>().ok());
    let retries = || number("x-stainless-retry-count").map(|retries| retries.saturating_add(1));
    number("x-attempt").or_else(retries).unwrap_or(1).max(1)
}
