//! [`VectorWriter`]: makes a vector file, which appears under its name only when it is complete.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use domain::{EmbedderId, Language, PassageId, Vector};
use serde::Serialize;
use tempfile::NamedTempFile;

use super::error::VectorError;
use super::format::{ALIGNMENT, Extent, HEADER_BYTES, Header};
use super::labels::{LabelTable, Labels};
use super::quantize::Codes;

/// Writes one generation's vectors. Dropped without [`finish`](Self::finish), it leaves nothing behind.
///
/// Vectors go to the disk as they come; of each row some 30 bytes and its eight-bit codes wait in memory.
#[derive(Debug)]
pub struct VectorWriter {
    path: PathBuf,
    embedder: EmbedderId,
    out: Sections,
    floats: OpenSection,
    codes: Vec<i8>,
    scales: Vec<f32>,
    ids: Vec<PassageId>,
    row_labels: Vec<u32>,
    labels: LabelTable,
}

/// The last section. `VectorFile` reads the same names.
#[derive(Serialize)]
struct Description<'a> {
    embedder: &'a EmbedderId,
    labels: Vec<Labels>,
}

impl VectorWriter {
    /// Starts a file that will stand at `path`, whose folder exists.
    ///
    /// # Errors
    ///
    /// [`VectorError::Write`].
    pub fn create(path: &Path, embedder: &EmbedderId) -> Result<Self, VectorError> {
        let out = Sections::create(path).map_err(|source| write_error(path, source))?;
        Ok(Self {
            path: path.to_owned(),
            embedder: embedder.clone(),
            floats: out.open(),
            out,
            codes: Vec::new(),
            scales: Vec::new(),
            ids: Vec::new(),
            row_labels: Vec::new(),
            labels: LabelTable::default(),
        })
    }

    /// Adds a passage.
    ///
    /// # Errors
    ///
    /// [`VectorError::Dimensions`] if the vector is not the embedder's, [`VectorError::Write`].
    pub fn push(
        &mut self,
        id: PassageId,
        lang: Language,
        tags: &[String],
        vector: &Vector,
    ) -> Result<(), VectorError> {
        let (found, expected) = (vector.dimensions(), self.embedder.dimensions as usize);
        if found != expected {
            return Err(VectorError::Dimensions {
                file: self.path.clone(),
                passage: id,
                found,
                expected,
            });
        }
        let Codes { codes, scale } = Codes::of(vector.as_slice());
        self.out
            .append(&mut self.floats, bytemuck::cast_slice(vector.as_slice()))
            .map_err(|source| write_error(&self.path, source))?;
        self.codes.extend(codes);
        self.scales.push(scale);
        self.ids.push(id);
        self.row_labels.push(self.labels.place(lang, tags));
        Ok(())
    }

    /// Completes the file: everything is on the disk before it takes its name, replacing what stood there.
    /// Returns the number of rows.
    ///
    /// # Errors
    ///
    /// [`VectorError::Duplicate`], [`VectorError::Write`]; what stood at the path is untouched then.
    pub fn finish(self) -> Result<u64, VectorError> {
        let order = order_of(&self.ids)
            .map_err(|passage| VectorError::Duplicate { file: self.path.clone(), passage })?;
        let path = self.path.clone();
        self.complete(&order).map_err(|source| write_error(&path, source))
    }

    fn complete(mut self, order: &[u32]) -> io::Result<u64> {
        let out = &mut self.out;
        let ids: Vec<u8> = self.ids.iter().flat_map(PassageId::as_bytes).copied().collect();
        let description =
            Description { embedder: &self.embedder, labels: self.labels.into_entries() };
        // In the order of `Section::ALL`.
        let extents = [
            out.close(self.floats)?,
            out.write(bytemuck::cast_slice(&self.codes))?,
            out.write(bytemuck::cast_slice(&self.scales))?,
            out.write(&ids)?,
            out.write(bytemuck::cast_slice(order))?,
            out.write(bytemuck::cast_slice(&self.row_labels))?,
            out.write(&serde_json::to_vec(&description)?)?,
        ];
        let rows = self.ids.len() as u64;
        let header = Header { dimensions: self.embedder.dimensions, rows, extents };
        self.out.publish(&header, &self.path)?;
        Ok(rows)
    }
}

/// Rows in ascending order of their ids, or an id that two rows have.
fn order_of(ids: &[PassageId]) -> Result<Vec<u32>, PassageId> {
    let mut order: Vec<u32> = (0..).take(ids.len()).collect();
    order.sort_unstable_by_key(|row| ids[*row as usize]);
    let twin = order.windows(2).find(|pair| ids[pair[0] as usize] == ids[pair[1] as usize]);
    twin.map_or(Ok(()), |pair| Err(ids[pair[0] as usize])).map(|()| order)
}

fn write_error(path: &Path, source: io::Error) -> VectorError {
    VectorError::Write { file: path.to_owned(), source }
}

/// A file under way: sections one behind the other, a hole for the header in front.
#[derive(Debug)]
struct Sections {
    file: BufWriter<NamedTempFile>,
    position: u64,
}

/// A section that is being appended to.
#[derive(Debug)]
struct OpenSection {
    offset: u64,
    hasher: blake3::Hasher,
}

impl Sections {
    /// In the folder of `path`, because only within a file system a rename is atomic.
    fn create(path: &Path) -> io::Result<Self> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut file = BufWriter::new(NamedTempFile::new_in(folder.unwrap_or(Path::new(".")))?);
        file.write_all(&[0; HEADER_BYTES])?;
        Ok(Self { file, position: HEADER_BYTES as u64 })
    }

    fn open(&self) -> OpenSection {
        OpenSection { offset: self.position, hasher: blake3::Hasher::new() }
    }

    fn append(&mut self, section: &mut OpenSection, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes)?;
        self.position += bytes.len() as u64;
        section.hasher.update(bytes);
        Ok(())
    }

    /// Ends a section and fills up to where the next may begin.
    fn close(&mut self, section: OpenSection) -> io::Result<Extent> {
        let OpenSection { offset, hasher } = section;
        let length = self.position - offset;
        let next = self.position.next_multiple_of(ALIGNMENT as u64);
        io::copy(&mut io::repeat(0).take(next - self.position), &mut self.file)?;
        self.position = next;
        Ok(Extent { offset, length, checksum: hasher.finalize() })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<Extent> {
        let mut section = self.open();
        self.append(&mut section, bytes)?;
        self.close(section)
    }

    /// Writes the header, waits for the disk, and gives the file its name.
    fn publish(mut self, header: &Header, path: &Path) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(0))?;
        self.file.write_all(&header.encode())?;
        let file = self.file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.as_file().sync_all()?;
        file.persist(path)?;
        sync_folder(path)
    }
}

/// Makes the new name itself durable. Only Unix can and needs to.
fn sync_folder(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    if cfg!(unix) { File::open(folder.unwrap_or(Path::new(".")))?.sync_all() } else { Ok(()) }
}
