//! Putting the parts together.

use std::sync::Arc;

use anyhow::Context;
use deadline::CpuPool;
use domain::{Embedder, EmbedderId};
use embed::LocalEmbedder;
use pipeline::{ExtraCallsByStage, Models, Parts, Pipeline};
use search::Generation;
use template::TemplateSettings;

use crate::config::{Config, ConfiguredShares, EmbedderChoice, Provider};
use crate::delays::VectorDelays;
use crate::models::Apis;

/// What every command needs that answers or indexes.
#[derive(Clone, Debug)]
pub(crate) struct Engine {
    pub(crate) pool: CpuPool,
    pub(crate) local: Arc<dyn Embedder>,
    pub(crate) apis: Apis,
    models: Option<Models>,
    extra_calls: ExtraCallsByStage,
    delays: Option<VectorDelays>,
    config: Arc<Config>,
}

impl Engine {
    /// Loads the bundled model, and prepares for calling those that are configured.
    pub(crate) fn load(config: &Config) -> anyhow::Result<Self> {
        let pool = CpuPool::per_core();
        let local =
            LocalEmbedder::bundled(pool.clone()).context("the bundled model does not load")?;
        let apis = Apis::of(config)?;
        let models = apis.models(config)?;
        let extra_calls = apis.extra_calls(config)?;
        let config = Arc::new(config.clone());
        Ok(Self { pool, local: Arc::new(local), apis, models, extra_calls, delays: None, config })
    }

    /// The same, with every vector search delayed; for tests and benches.
    pub(crate) fn with_delays(self, delays: Option<VectorDelays>) -> Self {
        Self { delays, ..self }
    }

    /// `generation`, with the delays that were asked for.
    pub(crate) fn delayed(&self, generation: Generation) -> Generation {
        match self.delays {
            Some(delays) => generation.with_vectors(|vectors| delays.before(vectors)),
            None => generation,
        }
    }

    /// The stages, ready to answer.
    pub(crate) fn pipeline(&self) -> Pipeline {
        Pipeline::new(Parts {
            pool: self.pool.clone(),
            extra_calls: self.extra_calls.clone(),
            models: self.models.clone(),
            template: TemplateSettings::STANDARD,
        })
    }

    /// The models that write answers, if any is configured.
    pub(crate) fn models(&self) -> Option<&Models> {
        self.models.as_ref()
    }

    /// Whose models they are.
    pub(crate) fn writer(&self) -> Option<Provider> {
        self.apis.writer(&self.config.generate).unwrap_or_default()
    }

    /// How each request's time is shared out.
    pub(crate) fn shares(&self) -> ConfiguredShares {
        self.config.shares.clone().with_model(self.models.is_some())
    }

    /// The embedder that makes vectors of `id`; `None` if it cannot be called here.
    pub(crate) fn embedder_of(&self, id: &EmbedderId) -> Option<Arc<dyn Embedder>> {
        if *id == *self.local.id() {
            return Some(Arc::clone(&self.local));
        }
        self.apis.embedder_of(&self.config, id)
    }

    /// What to index with: `choice`, where `published` is what the app's last generation was embedded with.
    pub(crate) async fn embedder(
        &self,
        choice: &EmbedderChoice,
        published: Option<&EmbedderId>,
    ) -> anyhow::Result<Arc<dyn Embedder>> {
        match (choice, published) {
            (EmbedderChoice::Local, _) | (EmbedderChoice::Auto, None) => {
                Ok(Arc::clone(&self.local))
            }
            // A local model of an earlier version gives way to this one.
            (EmbedderChoice::Auto, Some(id)) if id.is_local() => Ok(Arc::clone(&self.local)),
            (EmbedderChoice::Auto, Some(id)) => self.embedder_of(id).with_context(|| {
                format!(
                    "the app was embedded with {id}, which cannot be called here: set its key, or choose \
                     another embedder with --embedder"
                )
            }),
            (EmbedderChoice::Remote(remote), _) => self.apis.embedder(&self.config, remote).await,
        }
    }
}
