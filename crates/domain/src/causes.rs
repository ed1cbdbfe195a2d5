//! [`Causes`]: an error with all that lies behind it, in one line.

use std::error::Error;
use std::fmt;

/// Shows an error and its sources, from the outermost to the innermost: `cannot read the log: no such table`.
///
/// For fields of the log, whose JSON shows of an error only its own words. A source that says nothing but what has
/// been said is left out.
#[derive(Clone, Copy, Debug)]
pub struct Causes<'a>(pub &'a dyn Error);

impl fmt::Display for Causes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut said = self.0.to_string();
        f.write_str(&said)?;
        let mut source = self.0.source();
        while let Some(error) = source {
            let words = error.to_string();
            if !said.contains(&words) {
                write!(f, ": {words}")?;
                said = words;
            }
            source = error.source();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use thiserror::Error;

    use super::*;

    #[derive(Debug, Error)]
    #[error("{words}")]
    struct Told {
        words: &'static str,
        source: Option<Box<Told>>,
    }

    #[track_caller]
    fn check(words: &[&'static str], expected: &str) {
        let error =
            words.iter().rev().fold(None, |source, &words| Some(Box::new(Told { words, source })));
        let error = error.expect("something is told");
        assert_eq!(Causes(&*error).to_string(), expected);
    }

    #[test]
    fn every_cause_is_named_once() {
        check(&["no answer"], "no answer");
        check(&["no answer", "refused", "port 1"], "no answer: refused: port 1");
        check(&["the database says: gone", "gone", "reset"], "the database says: gone: reset");
    }
}
