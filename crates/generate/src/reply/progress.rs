//! [`Progress`]: what has been understood of a reply, and how it ends.

use std::collections::VecDeque;
use std::time::Duration;

use domain::{Delta, Fault, FaultKind, FinishReason, Usage};
use normalize::short_name;

use super::sentinel::{Heard, Sentinel};
use super::{Chunk, Ending, ReplyError, bare};

/// A reply under way: takes in chunks, gives out deltas.
///
/// [`Delta::Finish`] is given out at the end only, because some models go on after they said to be done, and
/// counts may follow.
#[derive(Debug)]
pub(super) struct Progress {
    /// The model that was asked, and once told, the one that answers.
    model: String,
    sentinel: Sentinel,
    wrote: bool,
    usage: Usage,
    finish: Option<FinishReason>,
}

impl Progress {
    pub(super) fn new(model: &str) -> Self {
        Self {
            model: model.to_owned(),
            sentinel: Sentinel::default(),
            wrote: false,
            usage: Usage::default(),
            finish: None,
        }
    }

    /// Whether the answer is known to be whole: the model said so, or that there is none.
    pub(super) fn is_finished(&self) -> bool {
        self.finish.is_some()
    }

    fn is_declined(&self) -> bool {
        self.finish == Some(FinishReason::Declined)
    }

    /// Takes in a chunk.
    pub(super) fn take(&mut self, chunk: Chunk, out: &mut VecDeque<Delta>) -> Result<(), Fault> {
        self.take_model(chunk.model, out);
        self.take_text(&chunk.text, out);
        self.take_usage(chunk.usage.unwrap_or_default(), out);
        let finish = match chunk.ending {
            _ if self.is_declined() => return Ok(()),
            None => return Ok(()),
            Some(Ending::Stop) => FinishReason::Stop,
            Some(Ending::Length) => FinishReason::Length,
            Some(Ending::Blocked(why)) => {
                let blocked = ReplyError::Blocked(shortened(&why));
                return Err(Fault::new(FaultKind::Blocked, blocked));
            }
            Some(Ending::Failed(why)) => {
                let stopped = ReplyError::Stopped(shortened(&why));
                return Err(Fault::new(FaultKind::Error, stopped));
            }
        };
        self.finish = Some(finish);
        Ok(())
    }

    /// The reply is over; says whether it was whole.
    pub(super) fn end(&mut self, out: &mut VecDeque<Delta>) -> Result<bool, Fault> {
        let recognisable = self.sentinel.is_recognisable();
        let finish = match self.finish {
            Some(FinishReason::Stop) if !self.wrote => {
                let empty = Fault::new(FaultKind::Error, ReplyError::Empty);
                return Err(empty.passing(Duration::ZERO));
            }
            Some(FinishReason::Length) if !self.wrote => {
                let exhausted = ReplyError::ThinkingExhausted;
                return Err(Fault::new(FaultKind::ThinkingExhausted, exhausted));
            }
            Some(FinishReason::Length) if recognisable => Some(FinishReason::Declined),
            finish => finish,
        };
        let shown = match finish {
            Some(FinishReason::Declined) => false,
            Some(FinishReason::Stop) => true,
            // Broken off: it may have been on its way to become the sentinel.
            Some(FinishReason::Length) | None => !recognisable,
        };
        if shown {
            push_text(self.sentinel.rest(), out);
        }
        out.extend(finish.map(Delta::Finish));
        Ok(finish.is_some())
    }

    fn take_model(&mut self, model: Option<String>, out: &mut VecDeque<Delta>) {
        let Some(model) = model else { return };
        if bare(&model) != bare(&self.model) {
            self.model.clone_from(&model);
            out.push_back(Delta::Served(model));
        }
    }

    fn take_text(&mut self, text: &str, out: &mut VecDeque<Delta>) {
        if self.is_declined() {
            return;
        }
        self.wrote |= !text.trim().is_empty();
        match self.sentinel.hear(text) {
            Heard::Text(text) => push_text(text, out),
            Heard::NoAnswer => self.finish = Some(FinishReason::Declined),
        }
    }

    /// Counts only ever grow: a chunk that knows less than one before it is not believed.
    fn take_usage(&mut self, told: Usage, out: &mut VecDeque<Delta>) {
        let most = Usage {
            input_tokens: self.usage.input_tokens.max(told.input_tokens),
            cached_tokens: self.usage.cached_tokens.max(told.cached_tokens),
            output_tokens: self.usage.output_tokens.max(told.output_tokens),
            thinking_tokens: self.usage.thinking_tokens.max(told.thinking_tokens),
        };
        if most != self.usage {
            self.usage = most;
            out.push_back(Delta::Usage(most));
        }
    }
}

fn push_text(text: String, out: &mut VecDeque<Delta>) {
    if !text.is_empty() {
        out.push_back(Delta::Text(text));
    }
}

/// A far side's word for a reason, fit for a log whatever the far side is.
fn shortened(why: &str) -> String {
    short_name(why, 60)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn chunk(text: &str) -> Chunk {
        Chunk { text: text.to_owned(), ..Chunk::default() }
    }

    fn ended(text: &str, ending: Ending) -> Chunk {
        Chunk { ending: Some(ending), ..chunk(text) }
    }

    fn counted(input_tokens: u64, output_tokens: u64) -> Chunk {
        let usage = Usage { input_tokens, output_tokens, ..Usage::default() };
        Chunk { usage: Some(usage), ..Chunk::default() }
    }

    /// The deltas of a reply of these chunks, and whether it was whole, or why it is none.
    fn read(chunks: &[Chunk]) -> (Vec<Delta>, Result<bool, FaultKind>) {
        let (mut progress, mut out) = (Progress::new("m"), VecDeque::new());
        let mut taken = chunks.iter().map(|chunk| progress.take(chunk.clone(), &mut out));
        let outcome = match taken.find_map(Result::err) {
            Some(fault) => Err(fault),
            None => progress.end(&mut out),
        };
        (out.into(), outcome.map_err(|fault| fault.kind()))
    }

    #[track_caller]
    fn check(chunks: &[Chunk], text: &str, outcome: Result<Option<FinishReason>, FaultKind>) {
        let (deltas, whole) = read(chunks);
        let finish = deltas.iter().find_map(|delta| match delta {
            Delta::Finish(reason) => Some(*reason),
            Delta::Text(_) | Delta::Usage(_) | Delta::Served(_) => None,
        });
        assert_eq!(shown(&deltas), text);
        assert_eq!(whole.map(|_| finish), outcome);
        assert!(whole.is_err() || whole == Ok(finish.is_some()));
    }

    fn shown(deltas: &[Delta]) -> String {
        let text = deltas.iter().filter_map(|delta| match delta {
            Delta::Text(text) => Some(text.as_str()),
            Delta::Finish(_) | Delta::Usage(_) | Delta::Served(_) => None,
        });
        text.collect()
    }

    #[test]
    fn a_reply_ends_as_the_model_says() {
        check(
            &[chunk("Open "), ended("it.", Ending::Stop)],
            "Open it.",
            Ok(Some(FinishReason::Stop)),
        );
        check(&[ended("Open", Ending::Length)], "Open", Ok(Some(FinishReason::Length)));
        check(&[chunk("Open")], "Open", Ok(None));
        check(&[], "", Ok(None));
        let refused = Ending::Blocked("SAFETY".to_owned());
        check(&[chunk("Op"), ended("en", refused)], "Open", Err(FaultKind::Blocked));
        let failed = Ending::Failed("OTHER".to_owned());
        check(&[chunk("Open"), ended("", failed)], "Open", Err(FaultKind::Error));
    }

    #[test]
    fn a_reply_may_go_on_after_it_was_done() {
        let chunks = [ended("One.", Ending::Stop), chunk(" Two."), ended("", Ending::Stop)];
        check(&chunks, "One. Two.", Ok(Some(FinishReason::Stop)));
        let chunks = [ended("One.", Ending::Stop), ended(" Tw", Ending::Length)];
        check(&chunks, "One. Tw", Ok(Some(FinishReason::Length)));
    }

    #[test]
    fn a_reply_without_text_is_none() {
        check(&[ended("", Ending::Length)], "", Err(FaultKind::ThinkingExhausted));
        check(&[ended("", Ending::Stop)], "", Err(FaultKind::Error));
        check(&[chunk(" \n"), ended("", Ending::Stop)], "", Err(FaultKind::Error));
    }

    #[test]
    fn the_sentinel_is_a_decision_and_no_text() {
        let declined = Ok(Some(FinishReason::Declined));
        check(&[ended("NO_ANSWER_IN_PASSAGES", Ending::Stop)], "", declined);
        check(&[chunk("NO_ANSWER_IN_PASSAGES"), chunk(". But")], "", declined);
        check(&[chunk("NO_ANSWER_IN"), ended("_PASSAGES", Ending::Length)], "", declined);
        check(&[ended("NO_ANSWER_IN", Ending::Length)], "", declined);
        check(&[chunk("NO_ANSWER")], "", Ok(None));
        check(&[ended("Say NO", Ending::Stop)], "Say NO", Ok(Some(FinishReason::Stop)));
        check(&[chunk("Say NO")], "Say NO", Ok(None));
        let blocked = Ending::Blocked("SAFETY".to_owned());
        check(&[chunk("NO_ANSWER_IN_PASSAGES"), ended("", blocked)], "", declined);
    }

    #[test]
    fn counts_never_fall_and_are_told_when_they_change() {
        let chunks =
            [counted(29, 0), counted(29, 19), counted(29, 0), counted(29, 33), counted(29, 33)];
        let (deltas, _) = read(&chunks);
        let usages = [(29, 0), (29, 19), (29, 33)].map(|(input_tokens, output_tokens)| {
            Delta::Usage(Usage { input_tokens, output_tokens, ..Usage::default() })
        });
        assert_eq!(deltas, usages);
    }

    #[test]
    fn another_model_is_told_once() {
        let from = |model: &str| Chunk { model: Some(model.to_owned()), ..Chunk::default() };
        let (deltas, _) = read(&[from("models/m"), from("n"), Chunk::default(), from("n")]);
        assert_eq!(deltas, [Delta::Served("n".to_owned())]);
    }

    proptest! {
        #[test]
        fn no_delta_is_empty_and_none_follows_the_finish(
            chunks in prop::collection::vec(
                ("(NO_ANSWER_IN_|PASSAGES|N| |a){0,4}", prop::option::of(0..3_usize)),
                0..6,
            )
        ) {
            let endings = [Ending::Stop, Ending::Length, Ending::Failed("OTHER".to_owned())];
            let chunks: Vec<_> = chunks
                .into_iter()
                .map(|(text, ending)| Chunk { ending: ending.map(|n| endings[n].clone()), ..chunk(&text) })
                .collect();
            let (deltas, _) = read(&chunks);
            prop_assert!(!deltas.contains(&Delta::Text(String::new())));
            prop_assert!(!shown(&deltas).contains(crate::NO_ANSWER));
            let finish = deltas.iter().position(|delta| matches!(delta, Delta::Finish(_)));
            prop_assert!(finish.is_none_or(|at| at + 1 == deltas.len()));
        }
    }
}
