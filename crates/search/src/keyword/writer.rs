//! [`KeywordWriter`]: builds the keyword part of a new generation.

use std::collections::HashSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use analysis::Profile;
use domain::{Passage, PassageId};
use tantivy::directory::error::LockError;
use tantivy::directory::{Directory, INDEX_WRITER_LOCK, MmapDirectory};
use tantivy::merge_policy::LogMergePolicy;
use tantivy::{Index, IndexWriter, TantivyError};

use super::error::KeywordError;
use super::link::carry_over;
use super::schema::{Fields, Payload, schema, tokenizers};

/// Memory that each indexing thread fills before it writes a segment.
const BYTES_PER_THREAD: usize = 48 << 20;
/// More threads would mostly make more segments to merge.
const MOST_THREADS: usize = 4;
/// A segment with more deleted passages than this is rewritten without them.
const DELETED_SHARE_TO_REWRITE: f32 = 0.2;

/// Builds an index in a directory of its own. Nothing is visible before [`commit`](Self::commit); dropping
/// the writer, or killing its process, leaves a directory that can be deleted, and the index that it was
/// derived from as it was.
pub struct KeywordWriter {
    dir: PathBuf,
    profile: Profile,
    fields: Fields,
    writer: IndexWriter,
    known: Known,
}

/// Which passages may be in the index already, so that adding one again replaces it.
enum Known {
    /// Only those added through this writer.
    These(HashSet<PassageId>),
    /// Any: the index was derived from another one.
    Any,
}

/// What a commit wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeywordStats {
    /// Passages in the index.
    pub passages: u64,
}

impl KeywordWriter {
    /// An empty index in `dir`, which is created if need be.
    ///
    /// # Errors
    ///
    /// [`KeywordError::Exists`] where there is one already; others when `dir` cannot be written.
    pub fn create(dir: &Path, profile: Profile) -> Result<Self, KeywordError> {
        let creating = KeywordError::while_doing("create", dir);
        fs::create_dir_all(dir).map_err(|source| KeywordError::Io {
            action: "create",
            path: dir.to_owned(),
            source,
        })?;
        let directory = MmapDirectory::open(dir).map_err(|error| creating(error.into()))?;
        if Index::exists(&directory).map_err(|error| creating(error.into()))? {
            return Err(occupied(dir));
        }
        let (schema, fields) = schema();
        let index = Index::create(directory, schema, tantivy::IndexSettings::default())
            .map_err(creating)?;
        Self::start(dir, index, profile, fields, Known::These(HashSet::new()))
    }

    /// A copy of the index in `previous`, to be changed, in the new directory `dir`. The files of
    /// `previous` are shared where the file system has hard links, and stay byte for byte as they are.
    ///
    /// # Errors
    ///
    /// [`KeywordError::Exists`] when `dir` holds an index already; others when `previous` holds none or one
    /// of another format, or when `dir` cannot be written.
    pub fn derive(dir: &Path, previous: &Path) -> Result<Self, KeywordError> {
        let opening = KeywordError::while_doing("derive", previous);
        if dir.join("meta.json").exists() {
            return Err(occupied(dir));
        }
        if !previous.join("meta.json").exists() {
            return Err(KeywordError::Missing { dir: previous.to_owned() });
        }
        carry_over(previous, dir)?;
        let index = Index::open_in_dir(dir).map_err(&opening)?;
        let payload = index.load_metas().map_err(opening)?.payload;
        let profile = Payload::read(payload.as_deref(), previous)?;
        let (expected, fields) = schema();
        if index.schema() != expected {
            let detail = "its fields are not those of its format".to_owned();
            return Err(KeywordError::Damaged { dir: previous.to_owned(), detail });
        }
        Self::start(dir, index, profile, fields, Known::Any)
    }

    fn start(
        dir: &Path,
        mut index: Index,
        profile: Profile,
        fields: Fields,
        known: Known,
    ) -> Result<Self, KeywordError> {
        index.set_tokenizers(tokenizers(profile));
        let threads =
            std::thread::available_parallelism().map_or(1, |cores| cores.get().min(MOST_THREADS));
        let writer = index
            .writer_with_num_threads(threads, threads * BYTES_PER_THREAD)
            .map_err(KeywordError::while_doing("write", dir))?;
        let mut merging = LogMergePolicy::default();
        merging.set_del_docs_ratio_before_merge(DELETED_SHARE_TO_REWRITE);
        writer.set_merge_policy(Box::new(merging));
        Ok(Self { dir: dir.to_owned(), profile, fields, writer, known })
    }

    /// Adds `passage`, or replaces the one with its id.
    ///
    /// # Errors
    ///
    /// When an earlier write failed (a full disk shows up here or in [`commit`](Self::commit)).
    pub fn add(&mut self, passage: &Passage) -> Result<(), KeywordError> {
        let may_exist = match &mut self.known {
            Known::These(ids) => !ids.insert(passage.id),
            Known::Any => true,
        };
        if may_exist {
            self.writer.delete_term(self.fields.id_term(passage.id));
        }
        let document = self.fields.document(passage).map_err(|error| self.not_written(error))?;
        let added = self.writer.add_document(document);
        added.map(|_stamp| ()).map_err(KeywordError::while_doing("write", &self.dir))
    }

    /// Removes the passage with this id, if there is one.
    ///
    /// # Errors
    ///
    /// None at present; a failing disk shows up in [`commit`](Self::commit).
    pub fn remove(&mut self, id: PassageId) -> Result<(), KeywordError> {
        self.writer.delete_term(self.fields.id_term(id));
        Ok(())
    }

    /// Makes everything durable and readable, waits for merges, and says what there is.
    ///
    /// # Errors
    ///
    /// When something cannot be written; the directory then holds no finished index (or, when derived, one
    /// equal to the previous).
    pub fn commit(mut self) -> Result<KeywordStats, KeywordError> {
        let payload = Payload::write(self.profile).map_err(|error| self.not_written(error))?;
        let committing = KeywordError::while_doing("commit", &self.dir);
        let index = self.writer.index().clone();
        let mut commit = self.writer.prepare_commit().map_err(&committing)?;
        commit.set_payload(&payload);
        commit.commit().map_err(&committing)?;
        self.writer.wait_merging_threads().map_err(&committing)?;
        let segments = index.searchable_segment_metas().map_err(&committing)?;
        let passages = segments.iter().map(|segment| u64::from(segment.num_docs())).sum();
        Ok(KeywordStats { passages })
    }

    fn not_written(&self, error: serde_json::Error) -> KeywordError {
        KeywordError::new(
            "write",
            &self.dir,
            TantivyError::IoError(std::sync::Arc::new(error.into())),
        )
    }
}

/// Why no index can be made in `dir`, which has one.
fn occupied(dir: &Path) -> KeywordError {
    let lock = MmapDirectory::open(dir).map(|directory| directory.acquire_lock(&INDEX_WRITER_LOCK));
    match lock {
        Ok(Err(LockError::LockBusy)) => KeywordError::Locked { dir: dir.to_owned() },
        Ok(_) | Err(_) => KeywordError::Exists { dir: dir.to_owned() },
    }
}

impl fmt::Debug for KeywordWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeywordWriter")
            .field("dir", &self.dir)
            .field("profile", &self.profile)
            .finish_non_exhaustive()
    }
}
