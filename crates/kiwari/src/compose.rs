//! Putting the parts together.

use std::sync::Arc;

use anyhow::Context;
use deadline::CpuPool;
use domain::Embedder;
use embed::LocalEmbedder;
use pipeline::{ExtraCallsByStage, Parts, Pipeline};
use template::TemplateSettings;

/// What every command needs that answers or indexes.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) pool: CpuPool,
    pub(crate) embedder: Arc<dyn Embedder>,
}

impl Engine {
    /// Loads the bundled model.
    pub(crate) fn load() -> anyhow::Result<Self> {
        let pool = CpuPool::per_core();
        let embedder =
            LocalEmbedder::bundled(pool.clone()).context("the bundled model does not load")?;
        Ok(Self { pool, embedder: Arc::new(embedder) })
    }

    /// The pipeline on embedded defaults: no model writes answers.
    pub(crate) fn pipeline(&self) -> Pipeline {
        Pipeline::new(Parts {
            pool: self.pool.clone(),
            embedders: vec![Arc::clone(&self.embedder)],
            models: None,
            extra_calls: ExtraCallsByStage::default(),
            template: TemplateSettings::STANDARD,
        })
    }
}
