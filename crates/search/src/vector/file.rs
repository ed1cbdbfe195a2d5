//! [`VectorFile`]: an opened vector file, checked and ready to be searched.

use std::fmt;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;

use deadline::CancelFlag;
use domain::{EmbedderId, Filter, Neighbour, PassageId, Vector};
use serde::Deserialize;

use super::best::{Best, Candidate};
use super::error::VectorError;
use super::format::{ALIGNMENT, Header, Section};
use super::labels::{Admission, Labels};
use super::mmap::Bytes;
use super::quantize::{Codes, code_products, float_products};

/// Rows between two looks at the cancel flag: 2 MB of codes at 512 dimensions, a few hundred microseconds.
const BLOCK_ROWS: u32 = 4096;

/// Rows whose exact cosine is computed: enough that rounding to eight bits pushes no neighbour out.
const LEAST_CANDIDATES: usize = 100;
const CANDIDATES_PER_HIT: usize = 5;

/// Where there are no more rows than this for each candidate, their exact cosines are computed at once: that takes
/// no longer than picking the candidates by their codes.
const ROWS_PER_CANDIDATE: usize = 4;

/// The vectors of one generation, immutable. Opening verifies every byte's checksum, which also brings the
/// file into memory, so that the first search is as fast as the others.
pub struct VectorFile {
    bytes: Bytes,
    ranges: [Range<usize>; Section::ALL.len()],
    rows: u32,
    embedder: EmbedderId,
    labels: Vec<Labels>,
}

/// The last section; `VectorWriter` writes it.
#[derive(Deserialize)]
struct Description {
    embedder: EmbedderId,
    labels: Vec<Labels>,
}

impl VectorFile {
    /// Opens and verifies a file.
    ///
    /// # Errors
    ///
    /// [`VectorError::Read`]; [`VectorError::Corrupt`] for a file that is cut short, changed, of another
    /// version or none of ours.
    pub fn open(path: &Path) -> Result<Self, VectorError> {
        Self::open_with(path, Bytes::of)
    }

    /// Opens a file whose content `bytes` provides.
    pub(super) fn open_with(
        path: &Path,
        bytes: impl FnOnce(&File) -> io::Result<Bytes>,
    ) -> Result<Self, VectorError> {
        let bytes = File::open(path)
            .and_then(|file| bytes(&file))
            .map_err(|source| VectorError::Read { file: path.to_owned(), source })?;
        Self::verified(bytes)
            .map_err(|problem| VectorError::Corrupt { file: path.to_owned(), problem })
    }

    fn verified(bytes: Bytes) -> Result<Self, String> {
        let header = Header::decode(&bytes)?;
        let mut ranges = [const { 0..0 }; Section::ALL.len()];
        for section in Section::ALL {
            let range = header.range(section, bytes.len())?;
            if blake3::hash(&bytes[range.clone()]) != header.extent(section).checksum {
                return Err(format!("section {section:?} was changed"));
            }
            ranges[section as usize] = range;
        }
        // The description is the last section; a whole block more or less is damage too.
        let whole = ranges[Section::Description as usize].end.next_multiple_of(ALIGNMENT);
        if bytes.len() != whole {
            return Err(format!("it has {} bytes, not {whole}", bytes.len()));
        }
        let description = &bytes[ranges[Section::Description as usize].clone()];
        let Description { embedder, labels } = serde_json::from_slice(description)
            .map_err(|error| format!("its description: {error}"))?;
        let rows =
            u32::try_from(header.rows).map_err(|_| format!("it claims {} rows", header.rows))?;
        let file = Self { bytes, ranges, rows, embedder, labels };
        file.consistent(header.dimensions)?;
        Ok(file)
    }

    /// What later lookups rely on. The checksums say that the file is as it was written; this says that it
    /// was written well.
    fn consistent(&self, dimensions: u32) -> Result<(), String> {
        if self.embedder.dimensions != dimensions {
            return Err(format!(
                "its vectors have {dimensions} dimensions, its embedder {}",
                self.embedder
            ));
        }
        if self.row_labels().iter().any(|place| *place as usize >= self.labels.len()) {
            return Err("a row's labels are not in its table".to_owned());
        }
        if self.order().iter().any(|row| *row >= self.rows) {
            return Err("its order of ids names a row that it does not have".to_owned());
        }
        Ok(())
    }

    /// The model that made the vectors.
    #[must_use]
    pub fn embedder(&self) -> &EmbedderId {
        &self.embedder
    }

    /// How many passages there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows as usize
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// The at most `k` passages nearest to `vector` among those that `filter` admits, nearest first; equal
    /// cosines in order of passage id.
    ///
    /// A vector of other dimensions has no neighbours, and neither has a search that was cancelled.
    #[must_use]
    pub fn nearest(
        &self,
        vector: &Vector,
        filter: &Filter,
        k: usize,
        cancel: &CancelFlag,
    ) -> Vec<Neighbour> {
        if vector.dimensions() != self.dimensions() || k == 0 || cancel.is_raised() {
            return Vec::new();
        }
        let limit = k.saturating_mul(CANDIDATES_PER_HIT).max(LEAST_CANDIDATES);
        let few = self.len() <= limit.saturating_mul(ROWS_PER_CANDIDATE);
        let rows = if few {
            Some(self.admitted(0..self.rows, &Admission::of(filter, &self.labels)))
        } else {
            self.candidates(vector, filter, limit, cancel)
        };
        self.nearest_of(&rows.unwrap_or_default(), vector, k)
    }

    /// The at most `k` nearest of these rows by their exact cosines.
    fn nearest_of(&self, rows: &[u32], vector: &Vector, k: usize) -> Vec<Neighbour> {
        let cosines = float_products(vector.as_slice(), self.floats(), rows);
        let mut best = Best::of(k);
        for (row, cosine) in rows.iter().zip(cosines) {
            if best.may_keep(cosine) {
                best.offer(Candidate { score: cosine, passage: self.id(*row), row: *row });
            }
        }
        let mut nearest: Vec<_> = best.into_candidates().collect();
        nearest.sort_unstable_by(|a, b| b.cmp(a));
        nearest.iter().map(|best| Neighbour { passage: best.passage, cosine: best.score }).collect()
    }

    /// The vector stored for a passage, bit by bit as it was added.
    #[must_use]
    pub fn vector_of(&self, id: PassageId) -> Option<Vector> {
        let at = self.order().binary_search_by_key(&id, |row| self.id(*row)).ok()?;
        let start = self.order()[at] as usize * self.dimensions();
        Vector::from_unit(self.floats()[start..][..self.dimensions()].to_vec())
    }

    /// The `limit` best admitted rows by their codes, in no order; `None` when cancelled.
    fn candidates(
        &self,
        vector: &Vector,
        filter: &Filter,
        limit: usize,
        cancel: &CancelFlag,
    ) -> Option<Vec<u32>> {
        let query = Codes::of(vector.as_slice());
        let admission = Admission::of(filter, &self.labels);
        let mut best = Best::of(limit);
        let mut first = 0;
        while first < self.rows {
            if cancel.is_raised() {
                return None;
            }
            let end = first.saturating_add(BLOCK_ROWS).min(self.rows);
            let admitted = self.admitted(first..end, &admission);
            self.offer(&mut best, &query, &admitted);
            first = end;
        }
        Some(best.into_candidates().map(|candidate| candidate.row).collect())
    }

    fn admitted(&self, rows: Range<u32>, admission: &Admission) -> Vec<u32> {
        let labels = &self.row_labels()[rows.start as usize..rows.end as usize];
        rows.zip(labels)
            .filter(|(_, place)| admission.admits(**place))
            .map(|(row, _)| row)
            .collect()
    }

    fn offer(&self, best: &mut Best, query: &Codes, rows: &[u32]) {
        let products = code_products(&query.codes, self.codes(), rows);
        for (row, product) in rows.iter().zip(products) {
            // The query's own scale is the same for all rows.
            let score = product as f32 * self.scales()[*row as usize];
            if best.may_keep(score) {
                best.offer(Candidate { score, passage: self.id(*row), row: *row });
            }
        }
    }

    fn dimensions(&self) -> usize {
        self.embedder.dimensions as usize
    }

    fn id(&self, row: u32) -> PassageId {
        let (ids, _) = self.section(Section::Ids).as_chunks();
        PassageId::from_bytes(ids[row as usize])
    }

    fn floats(&self) -> &[f32] {
        bytemuck::cast_slice(self.section(Section::Floats))
    }

    fn codes(&self) -> &[i8] {
        bytemuck::cast_slice(self.section(Section::Codes))
    }

    fn scales(&self) -> &[f32] {
        bytemuck::cast_slice(self.section(Section::Scales))
    }

    fn order(&self) -> &[u32] {
        bytemuck::cast_slice(self.section(Section::Order))
    }

    fn row_labels(&self) -> &[u32] {
        bytemuck::cast_slice(self.section(Section::Labels))
    }

    /// Sections begin at multiples of 64 in memory aligned to 8 or more, so every cast fits.
    fn section(&self, section: Section) -> &[u8] {
        &self.bytes[self.ranges[section as usize].clone()]
    }
}

impl fmt::Debug for VectorFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("VectorFile")
            .field("embedder", &self.embedder)
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}
