//! [`Tokenizer`]: text → piece ids, by a unigram model as in `SentencePiece`.
//!
//! Of all ways to cut a text into pieces of the vocabulary, the one whose scores (log probabilities) sum
//! highest wins; a Viterbi pass over the characters finds it.

use std::path::Path;

use crawdad::Trie;
use serde::Deserialize;

use super::error::ModelError;
use super::text::{self, SPACE};

/// Stands for a character that is in no piece.
pub(super) const UNKNOWN: u32 = 0;
/// Stands at the start of every text.
const START: u32 = 1;
/// Stands at the end of every text.
const END: u32 = 2;

/// How much less than the worst piece an unknown character scores, in `SentencePiece` too.
const UNKNOWN_PENALTY: f64 = 10.0;

/// A vocabulary, ready for cutting texts.
pub(super) struct Tokenizer {
    /// Piece → its place in `scores`, which is its id.
    pieces: Trie,
    scores: Vec<f32>,
    unknown_score: f64,
}

/// The part of a `tokenizer.json` that is read. Its normaliser is [`text::normalized`], its template
/// `<s> … </s>`.
#[derive(Deserialize)]
struct Description {
    model: Vocabulary,
}

#[derive(Deserialize)]
struct Vocabulary {
    r#type: String,
    unk_id: u32,
    vocab: Vec<(String, f32)>,
}

/// The best way to reach one position: its summed score, and the last piece on it.
#[derive(Clone, Copy)]
struct Arrival {
    score: f64,
    from: usize,
    piece: u32,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`; `file` is its name in errors.
    pub(super) fn parse(json: &[u8], file: &Path) -> Result<Self, ModelError> {
        let wrong = |problem: String| ModelError::Vocabulary { file: file.to_owned(), problem };
        let Description { model } = serde_json::from_slice(json)
            .map_err(|source| ModelError::NotTokenizer { file: file.to_owned(), source })?;
        if model.r#type != "Unigram" || model.unk_id != UNKNOWN {
            return Err(wrong(format!(
                "the model is {} with unknown piece {}, not Unigram with unknown piece {UNKNOWN}",
                model.r#type, model.unk_id
            )));
        }
        if let Some((piece, _)) = model.vocab.iter().find(|(_, score)| !score.is_finite()) {
            return Err(wrong(format!("the score of piece {piece:?} is not finite")));
        }
        // The first three are marks, not text: "<s>" typed by a user is three characters.
        let text_pieces =
            model.vocab.iter().zip(0_u32..).skip(3).map(|((piece, _), id)| (piece.as_str(), id));
        let pieces = Trie::from_records(text_pieces)
            .map_err(|error| wrong(format!("the pieces make no dictionary: {error}")))?;
        let scores: Vec<f32> = model.vocab.iter().map(|(_, score)| *score).collect();
        let worst = scores.iter().copied().fold(0.0, f32::min);
        Ok(Self { pieces, scores, unknown_score: f64::from(worst) - UNKNOWN_PENALTY })
    }

    /// How many ids there are.
    pub(super) fn len(&self) -> usize {
        self.scores.len()
    }

    /// The ids of `text`'s pieces between the marks of start and end, at most `most` in all. A blank text
    /// is one unknown piece.
    pub(super) fn encode(&self, text: &str, most: usize) -> Vec<u32> {
        let mut ids = vec![START];
        ids.extend(self.pieces_of(&text::normalized(text)));
        if ids.len() == 1 {
            ids.push(UNKNOWN);
        }
        ids.truncate(most.saturating_sub(1));
        ids.push(END);
        ids
    }

    /// The share, 0…1, of `text`'s characters (spaces apart) that belong to known pieces; 0 for a blank
    /// text.
    pub(super) fn known_share(&self, text: &str) -> f32 {
        let chars = text::normalized(text);
        let all = chars.iter().filter(|char| **char != SPACE).count();
        // An unknown piece is always one character.
        let unknown = self.pieces_of(&chars).into_iter().filter(|id| *id == UNKNOWN).count();
        if all == 0 {
            return 0.0;
        }
        all.saturating_sub(unknown) as f32 / all as f32
    }

    fn pieces_of(&self, chars: &[char]) -> Vec<u32> {
        let arrivals = self.arrivals(chars);
        let mut ids = Vec::new();
        let mut at = chars.len();
        while at > 0 {
            ids.push(arrivals[at].piece);
            at = arrivals[at].from;
        }
        ids.reverse();
        ids
    }

    /// The best arrival at every position, 0 to the text's length. Of equal scores the one from the
    /// earliest start stays, as in `SentencePiece`.
    fn arrivals(&self, chars: &[char]) -> Vec<Arrival> {
        let nowhere = Arrival { score: f64::NEG_INFINITY, from: 0, piece: UNKNOWN };
        let mut arrivals = vec![nowhere; chars.len() + 1];
        arrivals[0].score = 0.0;
        for from in 0..chars.len() {
            let base = arrivals[from].score;
            let mut arrive = |length: usize, piece: u32, score: f64| {
                let best = &mut arrivals[from + length];
                if base + score > best.score {
                    *best = Arrival { score: base + score, from, piece };
                }
            };
            let mut single = false;
            for (piece, length) in self.pieces.common_prefix_search(chars[from..].iter().copied()) {
                single |= length == 1;
                arrive(length, piece, f64::from(self.scores[piece as usize]));
            }
            if !single {
                arrive(1, UNKNOWN, self.unknown_score);
            }
        }
        arrivals
    }
}
