//! [`KeywordIndex`]: a finished index, open for searching and reading.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::{Analyzer, Profile};
use deadline::CancelFlag;
use domain::{Filter, Passage, PassageId};
use tantivy::schema::{IndexRecordOption, Value};
use tantivy::{
    DocAddress, DocSet, Index, ReloadPolicy, Searcher, TERMINATED, TantivyDocument, TantivyError,
};

use super::collection::Collection;
use super::error::KeywordError;
use super::question::Question;
use super::recent::RecentPassages;
use super::schema::{Fields, Payload, schema, tokenizers};
use super::scoring::{Scores, score};
use super::top::{admitted, top};
use super::watch::{Stopped, Watch};

/// A committed index, opened. Immutable, and cheap to share behind an `Arc`.
pub struct KeywordIndex {
    /// Where it lies, for messages.
    dir: PathBuf,
    profile: Profile,
    fields: Fields,
    searcher: Searcher,
    collection: Collection,
    recent: RecentPassages,
}

/// What to search for.
#[derive(Clone, Copy, Debug)]
pub struct KeywordRequest<'a> {
    /// A question or a few words. It is never read as query syntax.
    pub text: &'a str,
    /// Which passages may answer.
    pub filter: &'a Filter,
    /// How many hits at most.
    pub k: usize,
    /// Whether the last word may still be being typed, so that its continuations count too.
    pub last_word_is_prefix: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct KeywordHits {
    /// Best first; equal scores in the order of passage ids.
    pub hits: Vec<KeywordHit>,
}

/// A passage that holds something of the question.
#[derive(Clone, Debug)]
pub struct KeywordHit {
    pub passage: Arc<Passage>,
    /// Comparable within one search only.
    pub score: f32,
    /// The share, 0 to 1, of the question's content words that the passage holds in its title, headings or
    /// text; each word weighs its idf, words that no passage holds weigh most.
    pub coverage: f32,
}

impl KeywordIndex {
    /// Opens the index in `dir`, after checking the checksums of its files.
    ///
    /// # Errors
    ///
    /// [`KeywordError::Missing`], [`KeywordError::Damaged`] or [`KeywordError::Format`], naming `dir`.
    pub fn open(dir: &Path) -> Result<Self, KeywordError> {
        if !dir.join("meta.json").exists() {
            return Err(KeywordError::Missing { dir: dir.to_owned() });
        }
        // tantivy trusts its files' lengths, and panics on some damaged ones.
        std::panic::catch_unwind(|| Self::open_undamaged(dir)).unwrap_or_else(|_panic| {
            let detail = "its files are not what was written".to_owned();
            Err(KeywordError::Damaged { dir: dir.to_owned(), detail })
        })
    }

    fn open_undamaged(dir: &Path) -> Result<Self, KeywordError> {
        let index = Index::open_in_dir(dir).map_err(KeywordError::while_doing("open", dir))?;
        let payload = index.load_metas().map_err(KeywordError::while_doing("open", dir))?.payload;
        let profile = Payload::read(payload.as_deref(), dir)?;
        check_files(&index, dir)?;
        Self::over(index, profile, dir)
    }

    /// An index in memory.
    ///
    /// # Errors
    ///
    /// None are expected; tantivy could report a broken invariant.
    pub fn in_ram(profile: Profile, passages: &[Passage]) -> Result<Self, KeywordError> {
        const ONE_THREAD: usize = 1;
        const BYTES: usize = 16 << 20;
        let dir = Path::new("(memory)");
        let building = KeywordError::while_doing("build", dir);
        let (schema, fields) = schema();
        let mut index = Index::create_in_ram(schema);
        index.set_tokenizers(tokenizers(profile));
        let mut writer = index.writer_with_num_threads(ONE_THREAD, BYTES).map_err(&building)?;
        for passage in passages {
            writer.delete_term(fields.id_term(passage.id));
            let document = fields
                .document(passage)
                .map_err(|error| building(TantivyError::IoError(Arc::new(error.into()))))?;
            writer.add_document(document).map_err(&building)?;
        }
        writer.commit().map_err(&building)?;
        writer.wait_merging_threads().map_err(building)?;
        Self::over(index, profile, dir)
    }

    fn over(mut index: Index, profile: Profile, dir: &Path) -> Result<Self, KeywordError> {
        let opening = KeywordError::while_doing("open", dir);
        let (expected, fields) = schema();
        if index.schema() != expected {
            let detail = "its fields are not those of its format".to_owned();
            return Err(KeywordError::Damaged { dir: dir.to_owned(), detail });
        }
        index.set_tokenizers(tokenizers(profile));
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into();
        let searcher = reader.map_err(&opening)?.searcher();
        let collection = Collection::of(&searcher, &fields).map_err(opening)?;
        let recent = RecentPassages::default();
        Ok(Self { dir: dir.to_owned(), profile, fields, searcher, collection, recent })
    }

    /// The analyzer that the passages were indexed with.
    #[must_use]
    pub fn analyzer(&self) -> Analyzer {
        Analyzer::new(self.profile)
    }

    /// How many passages there are.
    #[must_use]
    pub fn passage_count(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// The passage with this id, if there is one.
    ///
    /// # Errors
    ///
    /// When the index cannot be read.
    pub fn passage(&self, id: PassageId) -> Result<Option<Arc<Passage>>, KeywordError> {
        if let Some(address) = self.recent.address(id) {
            return self.load(address).map(Some);
        }
        let address = self.address(id).map_err(KeywordError::while_doing("read", &self.dir))?;
        let Some(address) = address else { return Ok(None) };
        self.recent.keep_address(id, address);
        self.load(address).map(Some)
    }

    /// The passages that answer the request best. Any text is a valid question; one without content words
    /// finds nothing.
    ///
    /// # Errors
    ///
    /// [`KeywordError::Cancelled`] soon after `cancel` was raised; others when the index cannot be read.
    pub fn search(
        &self,
        request: &KeywordRequest<'_>,
        cancel: &CancelFlag,
    ) -> Result<KeywordHits, KeywordError> {
        let (scores, slots) =
            self.best(request, Watch::over(cancel)).map_err(|stopped| match stopped {
                Stopped::Cancelled => KeywordError::Cancelled,
                Stopped::Failed(error) => KeywordError::new("search", &self.dir, error),
            })?;
        let mut hits = Vec::with_capacity(slots.len());
        for slot in slots {
            if cancel.is_raised() {
                return Err(KeywordError::Cancelled);
            }
            hits.push(self.hit(slot, &scores)?);
        }
        hits.sort_by(|a, b| {
            b.score.total_cmp(&a.score).then_with(|| a.passage.id.cmp(&b.passage.id))
        });
        Ok(KeywordHits { hits })
    }

    /// All scores, and the slots of the best of them that the filter admits.
    fn best(
        &self,
        request: &KeywordRequest<'_>,
        mut watch: Watch<'_>,
    ) -> Result<(Scores, Vec<usize>), Stopped> {
        let Self { fields, searcher, collection, .. } = self;
        let question = Question::read(request.text, self.analyzer(), request.last_word_is_prefix);
        let scores = score(question, searcher, collection, &mut watch)?;
        let admitted = admitted(request.filter, fields, searcher, collection, &mut watch)?;
        let slots = top(&scores.relevance, admitted.as_deref(), request.k, searcher, collection)?;
        Ok((scores, slots))
    }

    fn hit(&self, slot: usize, scores: &Scores) -> Result<KeywordHit, KeywordError> {
        let (segment, doc) = self.collection.locate(slot);
        let passage = self.load(DocAddress::new(segment, doc))?;
        let share = if 0.0 < scores.asked { scores.covered[slot] / scores.asked } else { 0.0 };
        Ok(KeywordHit { passage, score: scores.relevance[slot], coverage: share.min(1.0) })
    }

    fn address(&self, id: PassageId) -> tantivy::Result<Option<DocAddress>> {
        let term = self.fields.id_term(id);
        for (number, segment) in (0..).zip(self.searcher.segment_readers()) {
            let index = segment.inverted_index(self.fields.id)?;
            let Some(mut postings) = index.read_postings(&term, IndexRecordOption::Basic)? else {
                continue;
            };
            let mut doc = postings.doc();
            while doc != TERMINATED {
                if !segment.is_deleted(doc) {
                    return Ok(Some(DocAddress::new(number, doc)));
                }
                doc = postings.advance();
            }
        }
        Ok(None)
    }

    fn load(&self, address: DocAddress) -> Result<Arc<Passage>, KeywordError> {
        self.recent.passage(address, || self.read(address))
    }

    fn read(&self, address: DocAddress) -> Result<Arc<Passage>, KeywordError> {
        let document: TantivyDocument =
            self.searcher.doc(address).map_err(KeywordError::while_doing("read", &self.dir))?;
        let stored = document.get_first(self.fields.passage);
        let json = stored.as_ref().and_then(|value| value.as_bytes()).unwrap_or_default();
        serde_json::from_slice(json).map(Arc::new).map_err(|error| KeywordError::Damaged {
            dir: self.dir.clone(),
            detail: format!("a stored passage does not parse: {error}"),
        })
    }
}

/// Compares every segment file with its checksum: tantivy panics on damage that it meets while reading.
fn check_files(index: &Index, dir: &Path) -> Result<(), KeywordError> {
    let damaged = |detail| KeywordError::Damaged { dir: dir.to_owned(), detail };
    let unreadable = |source| KeywordError::Io { action: "read", path: dir.to_owned(), source };
    let segments =
        index.searchable_segment_ids().map_err(KeywordError::while_doing("open", dir))?;
    for entry in fs::read_dir(dir).map_err(unreadable)? {
        let name = entry.map_err(unreadable)?.file_name();
        let shown = name.to_string_lossy();
        if !segments.iter().any(|segment| shown.starts_with(&segment.uuid_string())) {
            continue;
        }
        let whole = index
            .directory()
            .validate_checksum(Path::new(&name))
            .map_err(|error| damaged(format!("{shown}: {error}")))?;
        if !whole {
            return Err(damaged(format!("{shown} does not match its checksum")));
        }
    }
    Ok(())
}

impl fmt::Debug for KeywordIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeywordIndex")
            .field("dir", &self.dir)
            .field("profile", &self.profile)
            .field("passages", &self.passage_count())
            .finish_non_exhaustive()
    }
}
