//! Scores of all passages for one question, word by word.
//!
//! Words are taken one after the other over the whole collection, which keeps the arithmetic in one order
//! whatever the segments are: equal passages get equal scores, bit for bit.

use std::collections::{BTreeMap, HashSet};

use tantivy::postings::Postings;
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{DocSet, Searcher, SegmentReader, TERMINATED, Term};

use super::collection::{Collection, ScoredField, lengths};
use super::question::{Asked, MOST_BIGRAMS, MOST_WORDS, Question};
use super::ranking::{BIGRAM_SHARE, idf, saturated};
use super::watch::{Stopped, Watch};

/// Continuations of an unfinished word that are looked for, most frequent first.
const MOST_CONTINUATIONS: usize = 32;
/// Terms looked through for them, per field and segment.
const MOST_TERMS_SCANNED: usize = 4096;

/// Per slot of the collection (see [`Collection`]), what the question's words add up to.
pub(super) struct Scores {
    /// Zero where nothing of the question occurs.
    pub(super) relevance: Vec<f32>,
    /// Idf of the question's words that the passage holds.
    pub(super) covered: Vec<f32>,
    /// Idf of all words of the question; those that no passage holds weigh most.
    pub(super) asked: f32,
}

pub(super) fn score(
    question: Question,
    searcher: &Searcher,
    collection: &Collection,
    watch: &mut Watch<'_>,
) -> Result<Scores, Stopped> {
    let mut pass = Pass {
        searcher,
        collection,
        watch,
        frequencies: vec![0.0; collection.slots],
        touched: Vec::new(),
    };
    let mut scores = Scores {
        relevance: vec![0.0; collection.slots],
        covered: vec![0.0; collection.slots],
        asked: 0.0,
    };
    for word in rarest(question.words, MOST_WORDS, &collection.words, searcher)? {
        let idf = pass.count(&word, &collection.words)?;
        scores.asked += idf;
        pass.take(|slot, frequency| {
            scores.relevance[slot] += idf * saturated(frequency);
            scores.covered[slot] += idf;
        });
    }
    for pair in rarest(question.bigrams, MOST_BIGRAMS, &collection.bigrams, searcher)? {
        let idf = pass.count(&pair, &collection.bigrams)?;
        pass.take(|slot, frequency| {
            scores.relevance[slot] += BIGRAM_SHARE * idf * saturated(frequency);
        });
    }
    Ok(scores)
}

/// The work of one search.
struct Pass<'a, 'c> {
    searcher: &'a Searcher,
    collection: &'a Collection,
    watch: &'a mut Watch<'c>,
    /// Of the word at hand, its weighted frequency per slot; all zero between words.
    frequencies: Vec<f32>,
    /// The slots where it is not zero.
    touched: Vec<usize>,
}

impl Pass<'_, '_> {
    /// Fills in the frequencies of `asked`, and returns its idf.
    fn count(&mut self, asked: &Asked, fields: &[ScoredField]) -> Result<f32, Stopped> {
        let continuations = match &asked.prefix {
            Some(prefix) => continuations(prefix, &asked.terms, fields, self.searcher, self.watch)?,
            None => Vec::new(),
        };
        let starts = self.collection.starts.iter().copied();
        for (segment, start) in self.searcher.segment_readers().iter().zip(starts) {
            for field in fields {
                for term in asked.terms.iter().chain(&continuations) {
                    self.count_in(segment, start, field, term)?;
                }
            }
        }
        Ok(idf(self.touched.len(), self.collection.passages))
    }

    fn count_in(
        &mut self,
        segment: &SegmentReader,
        start: usize,
        scored: &ScoredField,
        term: &str,
    ) -> Result<(), Stopped> {
        let term = Term::from_field_text(scored.field, term);
        let index = segment.inverted_index(scored.field)?;
        let Some(mut postings) = index.read_postings(&term, IndexRecordOption::WithFreqs)? else {
            return Ok(());
        };
        let lengths = lengths(segment, scored.field)?;
        let mut doc = postings.doc();
        while doc != TERMINATED {
            self.watch.step()?;
            if !segment.is_deleted(doc) {
                let length = lengths.fieldnorm(doc);
                let slot = start + doc as usize;
                let frequency = &mut self.frequencies[slot];
                if *frequency <= 0.0 {
                    self.touched.push(slot);
                }
                *frequency +=
                    scored.weight.weighted(postings.term_freq(), length, scored.average_length);
            }
            doc = postings.advance();
        }
        Ok(())
    }

    /// Hands out the frequencies that are not zero, and clears them.
    fn take(&mut self, mut each: impl FnMut(usize, f32)) {
        for slot in self.touched.drain(..) {
            each(slot, std::mem::take(&mut self.frequencies[slot]));
        }
    }
}

/// Of `asked`, in its order, the `most` rarest that occur anywhere, and all that occur nowhere: those cost
/// nothing, and tell how little of the question is known here.
fn rarest(
    asked: Vec<Asked>,
    most: usize,
    fields: &[ScoredField],
    searcher: &Searcher,
) -> tantivy::Result<Vec<Asked>> {
    if asked.len() <= most {
        return Ok(asked);
    }
    let mut counts = Vec::with_capacity(asked.len());
    for asked in &asked {
        counts.push(occurrences(asked, fields, searcher)?);
    }
    let mut known: Vec<usize> = (0..asked.len()).filter(|index| 0 < counts[*index]).collect();
    known.sort_by_key(|index| counts[*index]);
    let too_common: HashSet<usize> = known.into_iter().skip(most).collect();
    let kept = asked.into_iter().enumerate().filter(|(index, _)| !too_common.contains(index));
    Ok(kept.map(|(_, asked)| asked).collect())
}

/// In how many passages the terms of `asked` occur, counted once per field and term.
fn occurrences(asked: &Asked, fields: &[ScoredField], searcher: &Searcher) -> tantivy::Result<u64> {
    let mut sum = 0;
    for term in &asked.terms {
        for scored in fields {
            sum += searcher.doc_freq(&Term::from_field_text(scored.field, term))?;
        }
    }
    Ok(sum)
}

/// The most frequent terms that begin with `prefix`, without those in `known`.
fn continuations(
    prefix: &str,
    known: &[String],
    fields: &[ScoredField],
    searcher: &Searcher,
    watch: &mut Watch<'_>,
) -> Result<Vec<String>, Stopped> {
    let mut found = BTreeMap::<String, u64>::new();
    for segment in searcher.segment_readers() {
        for scored in fields {
            add_continuations(prefix, segment, scored.field, &mut found, watch)?;
        }
    }
    let mut found: Vec<(String, u64)> =
        found.into_iter().filter(|(term, _)| !known.contains(term)).collect();
    found.sort_by(|(a, a_count), (b, b_count)| b_count.cmp(a_count).then_with(|| a.cmp(b)));
    found.truncate(MOST_CONTINUATIONS);
    Ok(found.into_iter().map(|(term, _)| term).collect())
}

fn add_continuations(
    prefix: &str,
    segment: &SegmentReader,
    field: Field,
    found: &mut BTreeMap<String, u64>,
    watch: &mut Watch<'_>,
) -> Result<(), Stopped> {
    watch.look()?;
    let index = segment.inverted_index(field)?;
    let mut terms = index.terms().range().ge(prefix.as_bytes()).into_stream()?;
    for _ in 0..MOST_TERMS_SCANNED {
        if !terms.advance() || !terms.key().starts_with(prefix.as_bytes()) {
            break;
        }
        watch.step()?;
        if let Ok(term) = std::str::from_utf8(terms.key()) {
            *found.entry(term.to_owned()).or_default() += u64::from(terms.value().doc_freq);
        }
    }
    Ok(())
}
