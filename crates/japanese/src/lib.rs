//! Japanese words: lattice segmentation with a compact dictionary derived from UniDic.
//!
//! Every token carries its lemma, which unifies spellings (申込, 申込み, 申し込み) and inflected forms, and
//! a flag that marks content words. Input should be NFKC-normalised and in lower case, as the dictionary
//! is. Any string is accepted; nothing here panics on its content.

mod dictionary;
mod format;
mod lattice;
mod script;

pub use dictionary::Dictionary;
pub use format::{DictionaryError, MAGIC};
pub use lattice::{Segmenter, Token};
