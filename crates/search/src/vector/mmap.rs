//! [`Bytes`]: a whole file as one slice, mapped or read. The one place of this crate with `unsafe`.

#![expect(unsafe_code, reason = "mapping a file is unsafe because others could change it")]

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;

use memmap2::Mmap;

/// A file's content, aligned for every number type.
#[derive(Debug)]
pub(super) enum Bytes {
    /// Pages come from the system's cache as they are touched.
    Mapped(Mmap),
    /// A copy; whole words keep it aligned, `length` leaves out the last word's padding.
    Read { words: Vec<u64>, length: usize },
}

impl Bytes {
    /// Maps `file`, or reads it where it cannot be mapped (some network and container file systems).
    pub(super) fn of(file: &File) -> io::Result<Self> {
        Self::map(file).or_else(|_cannot_be_mapped| Self::read(file))
    }

    fn map(file: &File) -> io::Result<Self> {
        // SAFETY: a mapping is sound while nobody changes the file. Vector files are complete before they
        // get their name, and are only ever replaced by another file under that name, never written to.
        unsafe { Mmap::map(file) }.map(Self::Mapped)
    }

    /// Reads all of `file` into memory.
    pub(super) fn read(mut file: &File) -> io::Result<Self> {
        let length = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let mut words = vec![0_u64; length.div_ceil(size_of::<u64>())];
        file.read_exact(&mut bytemuck::cast_slice_mut(&mut words)[..length])?;
        Ok(Self::Read { words, length })
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Read { words, length } => &bytemuck::cast_slice(words)[..*length],
        }
    }
}
