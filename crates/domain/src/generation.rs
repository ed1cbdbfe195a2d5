//! [`GenerationId`]: which published state of an app's knowledge a request works on.

use serde::{Deserialize, Serialize};

use crate::AppName;

/// Names one published generation of one app. Numbers only grow.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GenerationId {
    pub app: AppName,
    /// Changes when embedder, dimensions, analyser or splitter change: nothing is carried over.
    pub epoch: u32,
    /// Counts publications across epochs; what answers call `generation`.
    pub number: u64,
}
