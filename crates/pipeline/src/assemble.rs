//! From what is in hand to the answer. The last rung is total: there is always something to say.

use std::sync::Arc;

use domain::{Answer, AnswerKind, Hit, ModelUse, Outcome, Passage, Reason, Stage, StageReport};
use template::citations::{self, Checked};
use template::sentence::cut_at_sentence;
use tokio::time::Instant;

use crate::drive::Run;
use crate::{Answered, Found};

impl Run<'_> {
    /// The best answer in hand.
    pub(crate) fn into_answered(mut self) -> Answered {
        let hits = self.take_hits();
        let answer = match self.generated(&hits) {
            Some(answer) => {
                self.table.skipped(Stage::Template, Instant::now(), None);
                answer
            }
            None => self.templated(&hits),
        };
        let model = self.model_use(&answer);
        Answered { answer, hits, stages: self.table.into_reports(), model, trace: self.trace }
    }

    /// The passages in hand.
    pub(crate) fn into_found(mut self) -> Found {
        let hits = self.take_hits();
        let mut stages = self.table.into_reports();
        stages.retain(|report| report.stage < Stage::Generate);
        Found { hits, stages, trace: self.trace }
    }

    fn take_hits(&mut self) -> Vec<Hit> {
        self.fused.as_mut().map(|fused| std::mem::take(&mut fused.hits)).unwrap_or_default()
    }

    /// What the model wrote, if it can be used: whole, or up to its last whole sentence, with citations
    /// that hold.
    fn generated(&mut self, hits: &[Hit]) -> Option<Answer> {
        let whole = self.table.outcome(Stage::Generate)? == Outcome::Ok;
        let text =
            if whole { Some(self.writing.text()) } else { cut_at_sentence(self.writing.text()) };
        let passages: Vec<Arc<Passage>> = hits.iter().map(|hit| hit.passage.clone()).collect();
        let analyzer = self.request.generation.keyword().analyzer();
        let Checked { text, citations, supported } = citations::check(text?, &passages, &analyzer);
        if !supported {
            // A text that broke off has its reason already.
            if whole {
                self.table.overrule(Stage::Generate, Outcome::Failed, Reason::Unsupported);
            }
            return None;
        }
        let kind = if whole { AnswerKind::Generated } else { AnswerKind::Partial };
        Some(Answer { kind, text, lang: self.request.question.lang(), citations })
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

    fn model_use(&self, answer: &Answer) -> Option<ModelUse> {
        let generator = self.pipeline.parts.generator.as_ref()?;
        if !matches!(answer.kind, AnswerKind::Generated | AnswerKind::Partial) {
            return None;
        }
        let (input_tokens, output_tokens) = self.writing.tokens();
        Some(ModelUse {
            requested: generator.model().to_owned(),
            served: generator.model().to_owned(),
            input_tokens,
            output_tokens,
        })
    }
}
