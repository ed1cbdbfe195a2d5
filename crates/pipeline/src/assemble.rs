//! From what is in hand to the answer. The last rung is total: there is always something to say.

use std::sync::Arc;

use domain::{Answer, AnswerKind, Hit, ModelUse, Outcome, Passage, Reason, Stage, StageReport};
use template::citations::{self, Checked};
use template::sentence::cut_at_sentence;
use tokio::time::Instant;

use crate::calls::Fate;
use crate::drafts::Closed;
use crate::drive::Run;
use crate::policy::Model;
use crate::{Answered, Found};

/// What a model's draft came to.
struct Written {
    draft: usize,
    checked: Checked,
    whole: bool,
}

impl Run<'_> {
    /// The best answer in hand.
    pub(crate) fn into_answered(mut self) -> Answered {
        let hits = self.take_hits();
        let (answer, model) = match self.written(&hits) {
            Some(written) => self.generated(written),
            None => (self.templated(&hits), None),
        };
        self.telling.up_to(&answer.text);
        let calls = self.drafts.take_calls();
        let attempts = self.attempts();
        Answered {
            answer,
            hits,
            stages: self.table.into_reports(),
            model,
            calls,
            attempts,
            trace: self.trace,
        }
    }

    /// The passages in hand.
    pub(crate) fn into_found(mut self) -> Found {
        let hits = self.take_hits();
        let attempts = self.attempts();
        let mut stages = self.table.into_reports();
        stages.retain(|report| report.stage < Stage::Generate);
        Found { hits, stages, attempts, trace: self.trace }
    }

    fn take_hits(&mut self) -> Vec<Hit> {
        self.fused.as_mut().map(|fused| std::mem::take(&mut fused.hits)).unwrap_or_default()
    }

    /// What a model wrote, if it can be used: whole, or up to its last whole sentence, with citations that
    /// hold. A model that declined has said all it has to say, and what its provider blocks midway is not shown
    /// up to there.
    fn written(&mut self, hits: &[Hit]) -> Option<Written> {
        let whole = self.table.outcome(Stage::Generate)? == Outcome::Ok;
        if let Some(Reason::Declined | Reason::Blocked) = self.table.reason(Stage::Generate) {
            return None;
        }
        let passages: Vec<Arc<Passage>> = hits.iter().map(|hit| hit.passage.clone()).collect();
        let analyzer = self.request.generation.keyword().analyzer();
        let (draft, closed) = self.drafts.best()?;
        let text = closed.writing.text();
        let text = if whole { Some(text) } else { cut_at_sentence(text) };
        let checked = citations::check(text?, &passages, &analyzer, &self.pipeline.grounds);
        if checked.supported {
            return Some(Written { draft, checked, whole });
        }
        // A text that broke off has its reason already.
        if whole {
            self.table.overrule(Stage::Generate, Outcome::Failed, Reason::Unsupported);
            self.drafts.judge(draft, Fate::Lost(Reason::Unsupported));
        }
        None
    }

    fn generated(&mut self, written: Written) -> (Answer, Option<ModelUse>) {
        let Written { draft, checked: Checked { text, citations, .. }, whole } = written;
        self.drafts.judge(draft, Fate::Used);
        self.table.skipped(Stage::Template, Instant::now(), None);
        let used = self.drafts.get(draft);
        if whole && used.is_some_and(|closed| closed.model == Model::Lighter) {
            self.table.overrule(Stage::Generate, Outcome::Ok, Reason::Downgraded);
        }
        let model = used.map(|closed| self.model_use(closed));
        let kind = if whole { AnswerKind::Generated } else { AnswerKind::Partial };
        (Answer { kind, text, lang: self.request.question.lang(), citations }, model)
    }

    /// Sentences of the articles themselves, or why there are none.
    fn templated(&mut self, hits: &[Hit]) -> Answer {
        let began = Instant::now();
        let question = &self.request.question;
        let answerable = self.fused.as_ref().is_some_and(|fused| fused.answerable);
        let answer = if answerable {
            let analyzer = self.request.generation.keyword().analyzer();
            template::templated(question, hits, &analyzer, &self.pipeline.parts.template)
        } else if self.retrieved.keyword.is_some() {
            template::no_match(question, hits)
        } else {
            template::out_of_time(question)
        };
        self.table.add(StageReport {
            stage: Stage::Template,
            outcome: Outcome::Ok,
            started: began.saturating_duration_since(self.request.start),
            elapsed: began.elapsed(),
            budget: self.request.deadline.remaining_at(began),
            reason: None,
        });
        answer
    }

    fn model_use(&self, used: &Closed) -> ModelUse {
        let models = self.pipeline.parts.models.as_ref();
        let requested = models.map_or(used.call.model.as_str(), |models| models.primary.model());
        let usage = used.writing.usage();
        ModelUse {
            requested: requested.to_owned(),
            served: used.writing.served().unwrap_or(&used.call.model).to_owned(),
            input_tokens: usage.map(|usage| usage.input_tokens),
            output_tokens: usage.map(|usage| usage.output_tokens),
        }
    }
}
