//! Building a generation's parts on disk.

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::Path;

use analysis::Profile;
use domain::{EmbedderId, Passage, PassageId, Vector};
use search::{GenerationFolder, KeywordWriter, VectorWriter};

use crate::IngestError;

/// What the keyword part is built from.
pub(crate) enum KeywordBasis {
    /// Everything anew.
    Nothing(Profile),
    /// The published generation's index, less `removed`, plus `written`.
    Previous { folder: GenerationFolder, removed: Vec<PassageId>, written: Vec<Passage> },
}

/// What a vector file is made of.
pub(crate) struct FileVectors {
    pub(crate) embedder: EmbedderId,
    pub(crate) vectors: HashMap<PassageId, Vector>,
}

/// Everything that a generation's parts are made of.
pub(crate) struct Material {
    pub(crate) folder: GenerationFolder,
    pub(crate) keyword: KeywordBasis,
    /// All passages of the generation, in order; where only `keyword` needs some, those.
    pub(crate) passages: Vec<Passage>,
    /// `None` where vectors lie elsewhere.
    pub(crate) vectors: Option<FileVectors>,
}

/// Writes all parts; blocking. What an earlier run left in the folder is removed first.
pub(crate) fn write(material: &Material) -> Result<(), IngestError> {
    let folder = material.folder.path();
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(IngestError::io("remove", folder))?;
    }
    fs::create_dir_all(folder).map_err(IngestError::io("make the folder", folder))?;
    write_keyword(material)?;
    if let Some(vectors) = &material.vectors {
        write_vectors(material, vectors)?;
    }
    sync(folder)
}

fn write_keyword(material: &Material) -> Result<(), IngestError> {
    let at = material.folder.keyword();
    let mut writer = match &material.keyword {
        KeywordBasis::Nothing(profile) => KeywordWriter::create(&at, *profile)?,
        KeywordBasis::Previous { folder, .. } => KeywordWriter::derive(&at, &folder.keyword())?,
    };
    match &material.keyword {
        KeywordBasis::Nothing(_) => {
            material.passages.iter().try_for_each(|passage| writer.add(passage))?;
        }
        KeywordBasis::Previous { removed, written, .. } => {
            removed.iter().try_for_each(|id| writer.remove(*id))?;
            written.iter().try_for_each(|passage| writer.add(passage))?;
        }
    }
    writer.commit()?;
    Ok(())
}

fn write_vectors(material: &Material, vectors: &FileVectors) -> Result<(), IngestError> {
    let mut writer = VectorWriter::create(&material.folder.vectors(), &vectors.embedder)?;
    for passage in &material.passages {
        if let Some(vector) = vectors.vectors.get(&passage.id) {
            writer.push(passage.id, passage.lang, &passage.tags, vector)?;
        }
    }
    let found = writer.finish()?;
    let expected = u64::try_from(material.passages.len()).unwrap_or(u64::MAX);
    if found == expected { Ok(()) } else { Err(IngestError::Incomplete { found, expected }) }
}

/// Makes the folder and its entries survive a power cut, as its files already do.
pub(crate) fn sync(folder: &Path) -> Result<(), IngestError> {
    for folder in folder.parent().into_iter().chain([folder]) {
        let handle = File::open(folder).map_err(IngestError::io("open", folder))?;
        handle.sync_all().map_err(IngestError::io("sync", folder))?;
    }
    Ok(())
}
