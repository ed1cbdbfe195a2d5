//! tantivy's view of an [`Analyzer`]: one tokenizer for words, one for bigrams.

use analysis::{Analyzer, Word};
use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// The content words of a text.
#[derive(Clone)]
pub(super) struct Words(pub(super) Analyzer);

/// The bigrams of a text.
#[derive(Clone)]
pub(super) struct Bigrams(pub(super) Analyzer);

/// Words that were cut beforehand.
pub(super) struct Cut {
    words: std::vec::IntoIter<Word>,
    token: Token,
}

impl Cut {
    fn new(words: Vec<Word>) -> Self {
        Self { words: words.into_iter(), token: Token::default() }
    }
}

impl Tokenizer for Words {
    type TokenStream<'a> = Cut;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Cut {
        Cut::new(self.0.words(text))
    }
}

impl Tokenizer for Bigrams {
    type TokenStream<'a> = Cut;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> Cut {
        Cut::new(self.0.bigrams(text))
    }
}

impl TokenStream for Cut {
    fn advance(&mut self) -> bool {
        let Some(word) = self.words.next() else { return false };
        self.token = Token {
            offset_from: word.range.start,
            offset_to: word.range.end,
            position: self.token.position.wrapping_add(1),
            text: word.text,
            position_length: 1,
        };
        true
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}
