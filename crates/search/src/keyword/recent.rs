//! [`RecentPassages`]: passages as they were read last, because reading one means inflating a block of them.

use std::sync::Arc;

use domain::{Passage, PassageId};
use quick_cache::Weighter;
use quick_cache::sync::Cache;
use tantivy::DocAddress;

/// Bytes of passages kept, and how many that about is: the whole of most help centers.
const MOST_BYTES: u64 = 32 << 20;
const ABOUT_PASSAGES: usize = 20_000;

/// Places remembered; each is some 40 bytes.
const MOST_ADDRESSES: usize = 100_000;

/// What one passage takes beside its text, roughly.
const OVERHEAD: usize = 256;

/// Passages of one index, which never change. Bounded; what is used least goes first.
pub(super) struct RecentPassages {
    passages: Cache<DocAddress, Arc<Passage>, Size>,
    addresses: Cache<PassageId, DocAddress>,
}

#[derive(Clone)]
struct Size;

impl Weighter<DocAddress, Arc<Passage>> for Size {
    fn weight(&self, _: &DocAddress, passage: &Arc<Passage>) -> u64 {
        let headings: usize = passage.headings.iter().map(String::len).sum();
        let bytes = passage.text.len() + passage.title.len() + headings + OVERHEAD;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl Default for RecentPassages {
    fn default() -> Self {
        Self {
            passages: Cache::with_weighter(ABOUT_PASSAGES, MOST_BYTES, Size),
            addresses: Cache::new(MOST_ADDRESSES),
        }
    }
}

impl RecentPassages {
    /// The passage at `address`, read if it is not at hand.
    pub(super) fn passage<E>(
        &self,
        address: DocAddress,
        read: impl FnOnce() -> Result<Arc<Passage>, E>,
    ) -> Result<Arc<Passage>, E> {
        if let Some(passage) = self.passages.get(&address) {
            return Ok(passage);
        }
        let passage = read()?;
        self.passages.insert(address, Arc::clone(&passage));
        Ok(passage)
    }

    /// Where the passage is, if it was looked up lately.
    pub(super) fn address(&self, id: PassageId) -> Option<DocAddress> {
        self.addresses.get(&id)
    }

    pub(super) fn keep_address(&self, id: PassageId, address: DocAddress) {
        self.addresses.insert(id, address);
    }
}
