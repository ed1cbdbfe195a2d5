//! What an open index knows of its collection as a whole: counts that scores are relative to.

use std::ops::Range;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::schema::Field;
use tantivy::{DocId, Searcher, SegmentReader};

use super::ranking::{self, FieldWeight};
use super::schema::Fields;

/// A searched field.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScoredField {
    pub(super) field: Field,
    pub(super) weight: FieldWeight,
    /// Mean number of words, over passages that are not deleted.
    pub(super) average_length: f32,
}

/// The searched fields, and how passages of all segments are numbered through.
#[derive(Debug)]
pub(super) struct Collection {
    /// Title, headings and body.
    pub(super) words: [ScoredField; 3],
    pub(super) bigrams: [ScoredField; 1],
    /// Passages that are not deleted.
    pub(super) passages: usize,
    /// Of each segment, the number of its first passage.
    pub(super) starts: Vec<usize>,
    /// Passages, deleted ones included.
    pub(super) slots: usize,
}

impl Collection {
    pub(super) fn of(searcher: &Searcher, fields: &Fields) -> tantivy::Result<Self> {
        let mut starts = Vec::new();
        let mut slots = 0;
        for segment in searcher.segment_readers() {
            starts.push(slots);
            slots += segment.max_doc() as usize;
        }
        let scored = |field, weight| {
            let average_length = average_length(searcher, field)?;
            tantivy::Result::Ok(ScoredField { field, weight, average_length })
        };
        Ok(Self {
            words: [
                scored(fields.title, ranking::TITLE)?,
                scored(fields.headings, ranking::HEADINGS)?,
                scored(fields.body, ranking::BODY)?,
            ],
            bigrams: [scored(fields.bigrams, ranking::BIGRAMS)?],
            passages: usize::try_from(searcher.num_docs()).unwrap_or(usize::MAX),
            starts,
            slots,
        })
    }

    /// The segment of a passage's slot, and the slot's number within it.
    pub(super) fn locate(&self, slot: usize) -> (u32, DocId) {
        let segment = self.starts.partition_point(|start| *start <= slot).saturating_sub(1);
        let within = slot - self.starts.get(segment).copied().unwrap_or_default();
        (to_u32(segment), to_u32(within))
    }
}

/// The mean, from alive passages only: tantivy's own counts include deleted ones until they are merged
/// away, and scores would depend on an index's history.
fn average_length(searcher: &Searcher, field: Field) -> tantivy::Result<f32> {
    let (mut words, mut passages) = (0_u64, 0_u64);
    for segment in searcher.segment_readers() {
        let lengths = segment.get_fieldnorms_reader(field)?;
        for doc in alive(segment) {
            words += u64::from(lengths.fieldnorm(doc));
            passages += 1;
        }
    }
    Ok(words as f32 / passages.max(1) as f32)
}

fn alive(segment: &SegmentReader) -> impl Iterator<Item = DocId> {
    let all: Range<DocId> = 0..segment.max_doc();
    all.filter(|doc| !segment.is_deleted(*doc))
}

/// Lengths of one field in one segment.
pub(super) fn lengths(segment: &SegmentReader, field: Field) -> tantivy::Result<FieldNormReader> {
    segment.get_fieldnorms_reader(field)
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
