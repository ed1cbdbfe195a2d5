//! Settings: as written in layers, as relied on in one [`Config`].
//!
//! The built-in `config/default.toml` holds every key and its default. `kiwari.toml` goes over it, and the
//! environment (`KIWARI__SECTION__KEY`) over that. Unknown keys and impossible combinations are refused,
//! naming the key.

mod check;
mod duration;
mod embedder;
mod file;
mod layers;
mod ledger;
mod origins;
mod secrets;
mod shares;

pub(crate) use check::{Config, LogFormat};
pub(crate) use embedder::{EmbedProvider, EmbedderChoice, RemoteEmbedder};
pub(crate) use file::{Breaker, Generate, Provider};
pub(crate) use layers::{ConfigError, Sources, load};
pub(crate) use origins::{Changed, changed};
pub(crate) use secrets::refused_for_qdrant;
pub(crate) use shares::{ConfiguredShares, Kind};
