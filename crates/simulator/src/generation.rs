//! [`Performance`]: a reply's text and when each piece of it comes, before any dialect.

use std::time::Duration;

use crate::answer::{Hint, Length, Manner, Prompt, reply};
use crate::draws::GenerateDraw;
use crate::faults::FaultKind;
use crate::journal::Decoding;
use crate::state::{Luck, State};
use crate::tokens::{beginning, count_tokens, pieces, running_tokens};

/// What is asked of a model, whatever the dialect.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) system: String,
    pub(crate) user: String,
    pub(crate) prompt_tokens: u32,
    /// The cap on output tokens, thoughts included.
    pub(crate) cap: Option<u32>,
    /// Tokens that this model thinks at this level.
    pub(crate) thoughts: u32,
    pub(crate) shows_thoughts: bool,
    pub(crate) stops: Vec<String>,
    /// The text is to be JSON of this schema.
    pub(crate) json: Option<serde_json::Value>,
}

/// A reply in the making.
#[derive(Clone, Debug)]
pub(crate) struct Performance {
    pub(crate) pieces: Vec<Piece>,
    pub(crate) ending: Ending,
    pub(crate) prompt_tokens: u32,
    pub(crate) thoughts: u32,
    pub(crate) shows_thoughts: bool,
    /// When the first and the last piece come.
    pub(crate) first: Duration,
    pub(crate) end: Duration,
}

/// A piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    pub(crate) at: Duration,
    pub(crate) text: String,
    /// Answer tokens up to here.
    pub(crate) tokens: u32,
}

/// How a reply ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Stop,
    /// The token cap was reached.
    Length,
    /// All of the token cap went into thinking; there are no pieces.
    Exhausted,
    /// Blocked before anything was said; there are no pieces.
    PromptBlocked,
    /// Blocked; the pieces are what was said before.
    Blocked,
    /// One part without text.
    Empty,
}

/// Tokens in the first piece of a stream, and in the others: a few times a second at 60–90 tokens/s.
const FIRST_PIECE: u32 = 4;
const PIECE: u32 = 16;
/// A reply of so few tokens comes as one piece.
const ONE_PIECE: u32 = 8;

/// Plays what `asked` would have got from a model with such `luck`.
pub(crate) fn perform(state: &State, asked: &Asked, luck: &Luck) -> Performance {
    let draw = state.draws.generate(&luck.key, state.settings.physics, luck.scale);
    let kind = luck.fault.as_ref().map(|fault| fault.kind);
    let base = Performance {
        pieces: Vec::new(),
        ending: Ending::Stop,
        prompt_tokens: asked.prompt_tokens,
        thoughts: asked.thoughts,
        shows_thoughts: asked.shows_thoughts,
        first: draw.first_token,
        end: draw.whole,
    };
    let thinks_too_long = asked.cap.is_some_and(|cap| asked.thoughts >= cap);
    match kind {
        Some(FaultKind::BlockedPrompt) => Performance {
            ending: Ending::PromptBlocked,
            thoughts: 0,
            end: draw.first_token,
            ..base
        },
        Some(FaultKind::EmptyParts) => Performance { ending: Ending::Empty, ..base },
        Some(FaultKind::ThinkingExhausted) => base.exhausted(asked.cap),
        _ if thinks_too_long => base.exhausted(asked.cap),
        _ => base.written(asked, draw, kind),
    }
}

impl Performance {
    fn exhausted(self, cap: Option<u32>) -> Self {
        /// What is thought without a cap.
        const UNCAPPED: u32 = 64;
        Self { ending: Ending::Exhausted, thoughts: cap.unwrap_or(UNCAPPED), ..self }
    }

    /// With text, whose length and times are as `draw` has it.
    fn written(self, asked: &Asked, draw: GenerateDraw, kind: Option<FaultKind>) -> Self {
        let prompt = Prompt::parse(&asked.system, &asked.user);
        let hint = prompt.hint.map(Hint::tokens);
        let (planned, _) = draw.length(hint, None);
        let length =
            if draw.natural_tokens == 0 { Length::AtMost(hint) } else { Length::About(planned) };
        let text = dressed(&reply(&prompt, manner(kind), length), asked);
        let tokens = count_tokens(&text);
        let cap = match (kind, asked.cap) {
            (Some(FaultKind::Length), _) => Some((tokens / 2).max(1)),
            (_, cap) => cap.map(|cap| cap - asked.thoughts),
        };
        let cut = cap.filter(|cap| *cap < tokens);
        let text = cut.map_or(text.as_str(), |cap| beginning(&text, cap));
        let spoken = cut.unwrap_or(tokens);
        let end = draw.ends_after(paced(spoken, planned));
        let whole = if is_midstream(kind) { 0 } else { ONE_PIECE };
        let pieces = schedule(text, whole, self.first, end);
        let ending = match kind {
            Some(FaultKind::BlockedMidstream) => Ending::Blocked,
            _ if cut.is_some() => Ending::Length,
            _ => Ending::Stop,
        };
        Self { pieces, ending, end, ..self }
    }

    /// All of the text.
    pub(crate) fn text(&self) -> String {
        self.pieces.iter().map(|piece| piece.text.as_str()).collect()
    }

    /// Answer tokens in all.
    pub(crate) fn tokens(&self) -> u32 {
        self.pieces.last().map_or(0, |piece| piece.tokens)
    }

    /// How far a reply in one piece is at each moment.
    pub(crate) fn decoding(&self) -> Decoding {
        let tokens = self.tokens() + self.thoughts;
        Decoding { first: self.first, end: self.end, tokens }
    }
}

/// The tokens that time is reckoned by: a text that was filled up to its length may fall a little short of it.
fn paced(spoken: u32, planned: u32) -> u32 {
    const SLACK: u32 = 8;
    if spoken + SLACK >= planned { planned } else { spoken }
}

fn manner(kind: Option<FaultKind>) -> Manner {
    match kind {
        Some(FaultKind::Sentinel) => Manner::Declines,
        Some(FaultKind::Unsupported) => Manner::Unsupported,
        Some(FaultKind::Uncited) => Manner::Uncited,
        _ => Manner::Honest,
    }
}

/// Whether the fault needs a reply of several pieces to be in the middle of.
pub(crate) fn is_midstream(kind: Option<FaultKind>) -> bool {
    matches!(
        kind,
        Some(
            FaultKind::StallMidstream
                | FaultKind::ResetMidstream
                | FaultKind::MidstreamClose
                | FaultKind::MidstreamErrorRaw
                | FaultKind::MidstreamErrorEvent
                | FaultKind::EofWithoutFinish
                | FaultKind::BlockedMidstream
        )
    )
}

/// `text` cut at the first stop sequence, and as JSON if that was asked for.
fn dressed(text: &str, asked: &Asked) -> String {
    let stops = asked.stops.iter().filter(|stop| !stop.is_empty());
    let end = stops.filter_map(|stop| text.find(stop.as_str())).min();
    let text = end.and_then(|end| text.get(..end)).unwrap_or(text);
    asked.json.as_ref().map_or_else(|| text.to_owned(), |schema| as_json(text, schema).to_string())
}

/// The text as a value of a schema: all its strings are the text, all else is as small as can be.
fn as_json(text: &str, schema: &serde_json::Value) -> serde_json::Value {
    use serde_json::{Value, json};
    let kind = schema["type"].as_str().unwrap_or("object").to_ascii_lowercase();
    match (kind.as_str(), schema["properties"].as_object()) {
        ("object", None) => json!({ "answer": text }),
        ("object", Some(properties)) => {
            let member = |(name, schema): (&String, &Value)| (name.clone(), as_json(text, schema));
            properties.iter().map(member).collect()
        }
        ("string", _) => Value::from(text),
        ("array", _) => json!([]),
        ("boolean", _) => Value::from(false),
        ("null", _) => Value::Null,
        _ => Value::from(0),
    }
}

/// The pieces of `text`: the first at `first`, the last at `end`, those between when their last token is due.
fn schedule(text: &str, one_piece: u32, first: Duration, end: Duration) -> Vec<Piece> {
    let whole = count_tokens(text) <= one_piece;
    let parts = if whole { vec![text] } else { pieces(text, FIRST_PIECE, PIECE) };
    let running = running_tokens(&parts);
    let total = f64::from(running.last().copied().unwrap_or(0).max(1));
    let span = end.saturating_sub(first);
    let piece = |(index, (part, tokens)): (usize, (&&str, u32))| {
        let share = f64::from(tokens) / total;
        let at = if index == 0 && !whole { first } else { first + span.mul_f64(share) };
        Piece { at, text: (*part).to_owned(), tokens }
    };
    parts.iter().zip(running).enumerate().map(piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::{Key, Physics};
    use crate::faults::Fault;
    use crate::settings::Settings;

    const USER: &str = "At most 40 words. <passage n=\"1\" title=\"t\">To reset a badge, open Settings. Choose Reset and \
        wait. Badges show roles. They can be hidden.</passage> <question>How do I reset a badge?</question>";

    fn play(physics: Physics, key: Key, cap: Option<u32>, fault: Option<Fault>) -> Performance {
        let state = State::new(Settings::field(physics));
        let asked = Asked { user: USER.to_owned(), cap, ..Asked::default() };
        perform(&state, &asked, &Luck { key, scale: 1.0, fault })
    }

    #[test]
    fn pieces_come_between_the_first_token_and_the_last() {
        for physics in [Physics::Split, Physics::Tokens] {
            let draws = Settings::field(physics).draws();
            for n in 0..200 {
                let key = Key::marker(n);
                let performance = play(physics, key, None, None);
                let draw = draws.generate(&key, physics, 1.0);
                let times: Vec<Duration> =
                    performance.pieces.iter().map(|piece| piece.at).collect();
                assert!(times.is_sorted(), "{times:?}");
                assert!(times.len() == 1 || times[0] == draw.first_token);
                assert_eq!(times[times.len() - 1], performance.end);
                assert_eq!(performance.tokens(), count_tokens(&performance.text()));
                match physics {
                    Physics::Split => assert_eq!(performance.end, draw.whole),
                    Physics::Tokens => assert!(performance.end <= draw.whole),
                }
            }
        }
    }

    #[test]
    fn in_tokens_replies_are_as_long_as_drawn_or_as_wished_for() {
        let draws = Settings::field(Physics::Tokens).draws();
        let mut long = 0;
        for n in 0..200 {
            let key = Key::marker(n);
            let draw = draws.generate(&key, Physics::Tokens, 1.0);
            let performance = play(Physics::Tokens, key, None, None);
            // Forty words are sixty tokens; a first sentence is some twelve.
            let (planned, _) = draw.length(Some(60), None);
            let tokens = performance.tokens();
            assert!(tokens <= planned.max(15) && tokens + 8 >= planned, "{tokens} of {planned}");
            assert_eq!(performance.end, draw.ends_after(planned));
            long += u32::from(tokens > 60);
        }
        assert!(long > 10, "some pay no heed");
    }

    #[test]
    fn a_cap_cuts_the_reply_and_its_time() {
        let key = (0..).map(Key::marker).find(|key| {
            let draw = Settings::field(Physics::Tokens).draws().generate(key, Physics::Tokens, 1.0);
            draw.ignores_hint && draw.natural_tokens > 100
        });
        let key = key.unwrap();
        let (free, capped) =
            (play(Physics::Tokens, key, None, None), play(Physics::Tokens, key, Some(50), None));
        assert_eq!((free.ending, capped.ending), (Ending::Stop, Ending::Length));
        assert_eq!(capped.tokens(), 50);
        assert!(capped.end < free.end && capped.first == free.first);
        assert!(free.text().starts_with(&capped.text()));
    }

    #[test]
    fn a_fault_in_the_middle_has_a_middle_to_be_in() {
        for kind in [FaultKind::StallMidstream, FaultKind::BlockedMidstream] {
            let state = State::new(Settings::quiet());
            let asked = Asked { user: "hi".to_owned(), ..Asked::default() };
            let luck = Luck { key: Key::counted(1), scale: 1.0, fault: Some(Fault::always(kind)) };
            assert!(perform(&state, &asked, &luck).pieces.len() >= 2);
        }
    }

    #[test]
    fn a_schema_is_filled_with_the_text() {
        let schema = serde_json::json!({ "type": "OBJECT", "properties": {
            "a": { "type": "STRING" }, "n": { "type": "INTEGER" }, "l": { "type": "ARRAY" } } });
        assert_eq!(as_json("x", &schema).to_string(), r#"{"a":"x","l":[],"n":0}"#);
        assert_eq!(as_json("x", &serde_json::Value::Null).to_string(), r#"{"answer":"x"}"#);
    }
}
