//! [`State`]: where a request stands.

use domain::Stage;
use tokio::time::Instant;

use super::Model;

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    Waiting,
    Running,
    /// Its call failed in a way that another one may not, from `again` on.
    Failed {
        again: Instant,
    },
    /// It delivered; `useful` says whether there was anything in it.
    Delivered {
        useful: bool,
    },
    /// Skipped, cut or given up.
    Gone,
}

impl Progress {
    pub(super) fn is_settled(self) -> bool {
        match self {
            Self::Waiting | Self::Running | Self::Failed { .. } => false,
            Self::Delivered { .. } | Self::Gone => true,
        }
    }

    pub(super) fn is_useful(self) -> bool {
        self == Self::Delivered { useful: true }
    }
}

/// Where the request stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub keyword: Progress,
    pub embed: Progress,
    pub vector: Progress,
    pub generate: Progress,
    /// Whether the hits in hand answer the question at all; asked once retrieval has settled.
    pub answerable: bool,
    /// About how long the prompt is; known once retrieval has settled.
    pub input_tokens: u64,
    /// Calls made so far.
    pub calls: Calls,
    /// The generation under way.
    pub draft: Option<Draft>,
    /// Some of the text has reached the reader, so nothing else may be written in its place.
    pub told: bool,
    /// Whether the budgets for extra calls would pay for one now.
    pub purse: Purse,
}

/// How many calls of each stage have been made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    pub embed: u32,
    pub vector: u32,
    pub generate: u32,
}

/// The generations under way, of which there may be two: the latest call, and whether any has text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Draft {
    pub model: Model,
    /// When the call was made.
    pub began: Instant,
    /// Whether any text has come.
    pub has_text: bool,
}

/// Whether the budgets for extra calls would pay for one now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Purse {
    pub embed_retry: bool,
    pub vector_retry: bool,
    pub generate_retry: bool,
    pub replacement: bool,
}

impl Purse {
    pub const FULL: Self =
        Self { embed_retry: true, vector_retry: true, generate_retry: true, replacement: true };
}

impl Calls {
    /// How often `stage` was called, where it calls anybody.
    #[must_use]
    pub fn of(&self, stage: Stage) -> Option<u32> {
        match stage {
            Stage::Embed => Some(self.embed),
            Stage::Vector => Some(self.vector),
            Stage::Generate => Some(self.generate),
            Stage::Normalize | Stage::Keyword | Stage::Template => None,
        }
    }
}

impl State {
    /// Nothing has happened yet.
    pub const START: Self = Self {
        keyword: Progress::Waiting,
        embed: Progress::Waiting,
        vector: Progress::Waiting,
        generate: Progress::Waiting,
        answerable: false,
        input_tokens: 0,
        calls: Calls { embed: 0, vector: 0, generate: 0 },
        draft: None,
        told: false,
        purse: Purse::FULL,
    };

    /// Where `stage` stands. Normalising is over before a plan is made; the template is what `Finish`
    /// leads to.
    #[must_use]
    pub fn progress(&self, stage: Stage) -> Progress {
        match stage {
            Stage::Keyword => self.keyword,
            Stage::Embed => self.embed,
            Stage::Vector => self.vector,
            Stage::Generate => self.generate,
            Stage::Normalize => Progress::Delivered { useful: true },
            Stage::Template => Progress::Waiting,
        }
    }

    /// Moves `stage` on.
    pub fn set(&mut self, stage: Stage, progress: Progress) {
        match stage {
            Stage::Keyword => self.keyword = progress,
            Stage::Embed => self.embed = progress,
            Stage::Vector => self.vector = progress,
            Stage::Generate => self.generate = progress,
            Stage::Normalize | Stage::Template => {}
        }
    }

    /// Moves `stage` on to its next call.
    pub fn call(&mut self, stage: Stage) {
        self.set(stage, Progress::Running);
        match stage {
            Stage::Embed => self.calls.embed += 1,
            Stage::Vector => self.calls.vector += 1,
            Stage::Generate => self.calls.generate += 1,
            Stage::Normalize | Stage::Keyword | Stage::Template => {}
        }
    }

    /// How many calls of `stage` have been made; searching the keywords and the template call nobody.
    #[must_use]
    pub fn calls(&self, stage: Stage) -> u32 {
        self.calls.of(stage).unwrap_or(0)
    }

    /// Whether every search has ended, one way or another.
    #[must_use]
    pub fn retrieval_settled(&self) -> bool {
        [self.keyword, self.embed, self.vector].into_iter().all(Progress::is_settled)
    }
}
