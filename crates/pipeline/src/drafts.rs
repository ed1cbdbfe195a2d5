//! [`Drafts`]: the texts that models write for one request. Two may be under way at once: one that keeps silent,
//! and one that was called in its place.

use std::sync::Arc;

use domain::{Delta, FinishReason, GenerateLimits};
use tokio::time::Instant;

use crate::calls::{AbandonedCalls, Fate, ModelCall};
use crate::policy::{self, Model};
use crate::request::Models;
use crate::tally::Tally;
use crate::writing::{Ending, Writing};

/// Bytes of text that a token stands for, with room to spare: a model that pays no heed to its cap is stopped there,
/// because a text without end would cost memory and time without end.
const LONGEST_TOKEN: usize = 16;

/// The text being written, the calls before it, and the best of what they left.
#[derive(Debug)]
pub(crate) struct Drafts {
    start: Instant,
    accounts: Accounts,
    /// Oldest first.
    open: Vec<Draft>,
    closed: Vec<Closed>,
}

/// Where calls are accounted for once their request has ended, one way or the other.
#[derive(Debug)]
pub(crate) struct Accounts {
    /// They know their prices.
    pub(crate) models: Option<Models>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) abandoned: AbandonedCalls,
}

#[derive(Debug)]
struct Draft {
    model: Model,
    name: String,
    attempt: u32,
    began: Instant,
    first_token: Option<Instant>,
    /// Bytes of text at most.
    most: usize,
    writing: Writing,
}

/// A draft that nothing will be added to.
#[derive(Debug)]
pub(crate) struct Closed {
    pub(crate) model: Model,
    pub(crate) writing: Writing,
    pub(crate) call: ModelCall,
}

impl Drafts {
    pub(crate) fn new(start: Instant, accounts: Accounts) -> Self {
        Self { start, accounts, open: Vec::new(), closed: Vec::new() }
    }

    /// Begins a draft beside those under way.
    pub(crate) fn begin(
        &mut self,
        model: Model,
        name: &str,
        attempt: u32,
        limits: GenerateLimits,
        now: Instant,
    ) {
        let tokens = usize::try_from(limits.max_output_tokens).unwrap_or(usize::MAX);
        self.open.push(Draft {
            model,
            name: name.to_owned(),
            attempt,
            began: now,
            first_token: None,
            most: tokens.saturating_mul(LONGEST_TOKEN),
            writing: Writing::default(),
        });
    }

    /// Takes in one event of the stream of call `attempt`.
    pub(crate) fn add(&mut self, attempt: u32, delta: Delta, now: Instant) {
        let draft = self.open.iter_mut().find(|draft| draft.attempt == attempt);
        let Some(draft) = draft else { return };
        if matches!(delta, Delta::Text(_)) {
            draft.first_token.get_or_insert(now);
        }
        draft.writing.add(delta);
        if draft.writing.truncate(draft.most) {
            draft.writing.add(Delta::Finish(FinishReason::Length));
        }
    }

    /// What call `attempt` is writing.
    pub(crate) fn writing(&self, attempt: u32) -> Option<&Writing> {
        let draft = self.open.iter().find(|draft| draft.attempt == attempt);
        draft.map(|draft| &draft.writing)
    }

    /// The calls whose drafts are under way, oldest first.
    pub(crate) fn under_way(&self) -> Vec<u32> {
        self.open.iter().map(|draft| draft.attempt).collect()
    }

    /// The call under way that has finished, if one has.
    pub(crate) fn finished(&self) -> Option<u32> {
        let finished = self.open.iter().find(|draft| draft.writing.is_finished());
        finished.map(|draft| draft.attempt)
    }

    /// What the policy is to know of the drafts under way: the latest call, and whether any of them has text.
    pub(crate) fn state(&self) -> Option<policy::Draft> {
        let latest = self.open.last()?;
        Some(policy::Draft {
            model: latest.model,
            began: latest.began,
            has_text: self.open.iter().any(|draft| draft.first_token.is_some()),
        })
    }

    /// Ends the draft of call `attempt`.
    pub(crate) fn close(&mut self, attempt: u32, now: Instant, fate: Fate) {
        if let Some(at) = self.open.iter().position(|draft| draft.attempt == attempt) {
            let draft = self.open.remove(at);
            self.closed.push(draft.close(self.start, now, fate));
        }
    }

    /// Ends all drafts under way.
    pub(crate) fn close_all(&mut self, now: Instant, fate: Fate) {
        for attempt in self.under_way() {
            self.close(attempt, now, fate);
        }
    }

    /// The text to use: a whole one if there is one, else the longest that any call left.
    pub(crate) fn best(&self) -> Option<(usize, &Closed)> {
        let numbered = || self.closed.iter().enumerate();
        numbered()
            .find(|(_, closed)| closed.call.fate == Fate::Used)
            .or_else(|| numbered().max_by_key(|(_, closed)| closed.writing.text().len()))
    }

    /// A closed draft by its number.
    pub(crate) fn get(&self, index: usize) -> Option<&Closed> {
        self.closed.get(index)
    }

    /// Says what became of a closed draft after all.
    pub(crate) fn judge(&mut self, index: usize, fate: Fate) {
        if let Some(closed) = self.closed.get_mut(index) {
            closed.call.fate = fate;
        }
    }

    /// Every call, in order, accounted for; no more can follow.
    pub(crate) fn take_calls(&mut self) -> Vec<ModelCall> {
        let priced = |closed| self.accounts.priced(closed);
        let mut calls: Vec<ModelCall> = self.closed.drain(..).map(priced).collect();
        calls.sort_by_key(|call| call.attempt);
        calls.iter().for_each(|call| self.accounts.tally.note(call));
        calls
    }
}

impl Accounts {
    fn priced(&self, Closed { model, call, .. }: Closed) -> ModelCall {
        let cost = |usage| self.models.as_ref()?.get(model).cost_micros(usage);
        ModelCall { cost_micros: call.usage.and_then(cost), ..call }
    }
}

impl Draft {
    fn close(self, start: Instant, now: Instant, fate: Fate) -> Closed {
        let since = |later: Instant, earlier: Instant| later.saturating_duration_since(earlier);
        let call = ModelCall {
            model: self.name,
            attempt: self.attempt,
            started: since(self.began, start),
            elapsed: since(now, self.began),
            first_token: self.first_token.map(|at| since(at, self.began)),
            fate,
            usage: self.writing.usage_or_estimate(),
            cost_micros: None,
        };
        Closed { model: self.model, writing: self.writing, call }
    }
}

impl Drop for Drafts {
    /// A request that is dropped midway has still cost what its calls cost.
    fn drop(&mut self) {
        self.close_all(Instant::now(), Fate::Abandoned);
        let calls = self.take_calls();
        if !calls.is_empty() {
            self.accounts.abandoned.set(calls);
        }
    }
}

impl Ending {
    /// What it makes of the call, until the text has been looked at.
    pub(crate) fn fate(self) -> Fate {
        self.reason.map_or(Fate::Used, Fate::Lost)
    }
}
