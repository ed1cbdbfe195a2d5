//! Help articles from files: a folder of Markdown and HTML becomes [`domain::Article`]s, and an article becomes
//! [`domain::Passage`]s.
//!
//! The one promise: whatever lies in the folder, reading ends, stays inside the folder, never panics, and says what
//! it left out. Nothing here knows how passages are searched.

mod address;
mod anchor;
mod decode;
mod front_matter;
mod html;
mod identity;
mod language;
mod markdown;
mod metadata;
mod outline;
mod page;
mod problem;
mod reading;
mod split;
mod template_tags;
mod walk;

pub use problem::{Problem, Severity};
pub use reading::{Progress, ReadError, ReadOptions, Reading, read_folder};
pub use split::{SPLITTER_VERSION, SplitSettings, split};
