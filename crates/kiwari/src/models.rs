//! Which models write and embed, as configured.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use deadline::Deadline;
use domain::{Call, Embedder, EmbedderId, Generator};
use embed::remote::{GeminiEmbedder, GeminiSettings, OpenAiEmbedder, OpenAiSettings};
use generate::{GeminiGenerator, Model, ModelError, ModelSettings, OpenAiGenerator};
use pipeline::policy::{Speed, Writers};
use pipeline::{ExtraCalls, ExtraCallsByStage, Models};
use tokio::time::Duration;
use upstream::{Auth, BreakerMode, BreakerSettings, Http, HttpSettings, Secret, Upstream, Url};

use crate::config::{Breaker, Config, EmbedProvider, Generate, Provider, RemoteEmbedder};

const GEMINI: &str = "https://generativelanguage.googleapis.com";
const OPENAI: &str = "https://api.openai.com/v1";
const GEMINI_MODEL: &str = "gemini-3.5-flash-lite";

/// How long an embedding server may take to show how long its vectors are.
const FIRST_LOOK: Duration = Duration::from_secs(30);

/// The model APIs that may be called, and how.
#[derive(Clone, Debug)]
pub(crate) struct Apis {
    pub(crate) gemini: Option<Api>,
    pub(crate) openai: Option<Api>,
}

/// One model API.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    http: Http,
    name: &'static str,
    base: Url,
    auth: Auth,
    breaker: BreakerSettings,
    /// One per model, over one connection pool: a model that is unwell, or whose limit is reached, closes the
    /// way to no other.
    upstreams: Arc<Mutex<BTreeMap<String, Arc<Upstream>>>>,
    /// What extra calls for writing may cost, whichever model they go to.
    writing: Arc<ExtraCalls>,
    embedding: Arc<ExtraCalls>,
}

impl Api {
    /// The way to `model`.
    pub(crate) fn upstream(&self, model: &str) -> Arc<Upstream> {
        // A panic while holding the lock cannot leave the map half-written.
        let mut upstreams = self.upstreams.lock().unwrap_or_else(PoisonError::into_inner);
        let make = || {
            let name = format!("{}/{model}", self.name);
            let (http, base, auth) = (self.http.clone(), self.base.clone(), self.auth.clone());
            Arc::new(Upstream::new(http, &name, base, auth, self.breaker))
        };
        Arc::clone(upstreams.entry(model.to_owned()).or_insert_with(make))
    }
}

impl Apis {
    /// Those for which there is a key or, as servers of one's own may want none, an address.
    pub(crate) fn of(config: &Config) -> anyhow::Result<Self> {
        let secrets = &config.secrets;
        let uses_gemini = secrets.gemini_key.is_some();
        let uses_openai = secrets.openai_key.is_some() || secrets.openai_base.is_some();
        if !uses_gemini && !uses_openai {
            return Ok(Self { gemini: None, openai: None });
        }
        let http = Http::new(&HttpSettings {
            https_proxy: secrets.https_proxy.clone(),
            no_proxy: secrets.no_proxy.clone(),
            ..HttpSettings::default()
        })
        .context("cannot make an HTTP client")?;
        let mode = match config.breaker {
            Breaker::Off => BreakerMode::Off,
            Breaker::Observe => BreakerMode::Observe,
            Breaker::Enforce => BreakerMode::Enforce,
        };
        let breaker = BreakerSettings { mode, ..BreakerSettings::default() };
        let api = |name: &'static str, base: Option<&Url>, usual: &str, auth: Auth| Api {
            http: http.clone(),
            name,
            base: base.cloned().unwrap_or_else(|| {
                Url::parse(usual).expect("the usual addresses are literals that parse")
            }),
            auth,
            breaker,
            upstreams: Arc::default(),
            writing: Arc::default(),
            embedding: Arc::default(),
        };
        let (gemini_base, openai_base) =
            (secrets.gemini_base.as_ref(), secrets.openai_base.as_ref());
        Ok(Self {
            gemini: secrets
                .gemini_key
                .clone()
                .map(|key: Secret| api("gemini", gemini_base, GEMINI, Auth::GoogKey(key))),
            openai: uses_openai.then(|| {
                let auth = secrets.openai_key.clone().map_or(Auth::None, Auth::Bearer);
                api("openai", openai_base, OPENAI, auth)
            }),
        })
    }

    /// The ways to the models in use.
    pub(crate) fn upstreams(&self) -> Vec<Arc<Upstream>> {
        let apis = self.gemini.iter().chain(&self.openai);
        let of = |api: &Api| -> Vec<Arc<Upstream>> {
            api.upstreams.lock().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
        };
        apis.flat_map(of).collect()
    }

    /// The models that write answers, with the API they are behind; `None` if none is configured.
    pub(crate) fn models(&self, config: &Config) -> anyhow::Result<Option<Models>> {
        let generate = &config.generate;
        Ok(match self.writer(generate)? {
            None => None,
            Some(Provider::Openai) => {
                let api = self.openai.as_ref().context(
                    "generate.provider is openai, but neither OPENAI_API_KEY nor OPENAI_BASE_URL is set",
                )?;
                Some(models(config, |model| {
                    let generator = OpenAiGenerator::new(api.upstream(model.name()), model)?;
                    Ok(Arc::new(generator))
                })?)
            }
            Some(Provider::Gemini | Provider::Auto | Provider::Off) => {
                let api = self.gemini.as_ref().context(
                    "generate.provider is gemini, but neither GEMINI_API_KEY nor GOOGLE_API_KEY is set",
                )?;
                Some(models(config, |model| {
                    let generator = GeminiGenerator::new(api.upstream(model.name()), model)?;
                    Ok(Arc::new(generator))
                })?)
            }
        })
    }

    /// Who writes, if anybody.
    pub(crate) fn writer(&self, generate: &Generate) -> anyhow::Result<Option<Provider>> {
        let names_model = !generate.model.is_empty();
        Ok(match generate.provider {
            Provider::Off => None,
            Provider::Gemini => Some(Provider::Gemini),
            Provider::Openai if names_model => Some(Provider::Openai),
            Provider::Openai => {
                anyhow::bail!("generate.provider is openai: say which model in generate.model")
            }
            Provider::Auto if self.gemini.is_some() => Some(Provider::Gemini),
            Provider::Auto if self.openai.is_some() && names_model => Some(Provider::Openai),
            Provider::Auto => None,
        })
    }

    /// The budgets for extra calls.
    pub(crate) fn extra_calls(&self, config: &Config) -> anyhow::Result<ExtraCallsByStage> {
        let writer = match self.writer(&config.generate)? {
            Some(Provider::Openai) => self.openai.as_ref(),
            Some(Provider::Gemini | Provider::Auto | Provider::Off) | None => self.gemini.as_ref(),
        };
        let embedder = self.gemini.as_ref().or(self.openai.as_ref());
        Ok(ExtraCallsByStage {
            embed: embedder.map(|api| Arc::clone(&api.embedding)).unwrap_or_default(),
            vector: Arc::default(),
            generate: writer.map(|api| Arc::clone(&api.writing)).unwrap_or_default(),
        })
    }

    /// The remote embedder that made vectors of `id`; `None` if it cannot be called here.
    pub(crate) fn embedder_of(
        &self,
        config: &Config,
        id: &EmbedderId,
    ) -> Option<Arc<dyn Embedder>> {
        let remote = RemoteEmbedder::of(id)?;
        // A prefix of passages is part of the name, as other vectors come of it.
        let model = remote.model.as_deref()?.split('#').next()?.to_owned();
        match remote.provider {
            EmbedProvider::Gemini => self.gemini_embedder(&model, id.dimensions).ok(),
            EmbedProvider::OpenAi => self.openai_embedder(config, &model, id.dimensions).ok(),
        }
    }

    /// The remote embedder that was asked for, for indexing.
    pub(crate) async fn embedder(
        &self,
        config: &Config,
        remote: &RemoteEmbedder,
    ) -> anyhow::Result<Arc<dyn Embedder>> {
        match remote.provider {
            EmbedProvider::Gemini => {
                let usual = GeminiSettings::default();
                let model = remote.model.as_deref().unwrap_or(&usual.model);
                self.gemini_embedder(model, remote.dimensions.unwrap_or(usual.dimensions))
            }
            EmbedProvider::OpenAi => {
                let model = remote.model.as_deref().unwrap_or_default();
                let dimensions = match remote.dimensions {
                    Some(dimensions) => dimensions,
                    None => {
                        let call = Call::background("index", Deadline::after(FIRST_LOOK));
                        OpenAiEmbedder::dimensions_of(&self.openai()?.upstream(model), model, &call)
                            .await
                            .with_context(|| format!("cannot ask openai/{model} for a vector"))?
                    }
                };
                self.openai_embedder(config, model, dimensions)
            }
        }
    }

    fn openai(&self) -> anyhow::Result<&Api> {
        self.openai.as_ref().context("neither OPENAI_API_KEY nor OPENAI_BASE_URL is set")
    }

    fn gemini_embedder(&self, model: &str, dimensions: u32) -> anyhow::Result<Arc<dyn Embedder>> {
        let api = self.gemini.as_ref();
        let api = api.context("neither GEMINI_API_KEY nor GOOGLE_API_KEY is set")?;
        let settings = GeminiSettings { model: model.to_owned(), dimensions };
        Ok(Arc::new(GeminiEmbedder::new(api.upstream(model), &settings)?))
    }

    fn openai_embedder(
        &self,
        config: &Config,
        model: &str,
        dimensions: u32,
    ) -> anyhow::Result<Arc<dyn Embedder>> {
        let settings = OpenAiSettings {
            ask_for_dimensions: config.ask_for_dimensions,
            query_prefix: config.query_prefix.clone(),
            passage_prefix: config.passage_prefix.clone(),
            ..OpenAiSettings::plain(model, dimensions)
        };
        Ok(Arc::new(OpenAiEmbedder::new(self.openai()?.upstream(model), settings)?))
    }
}

/// The primary and the lighter model of the configuration.
fn models(
    config: &Config,
    generator: impl Fn(Model) -> anyhow::Result<Arc<dyn Generator>>,
) -> anyhow::Result<Models> {
    let generate = &config.generate;
    let primary = if generate.model.is_empty() { GEMINI_MODEL } else { &generate.model };
    let primary = resolve(config, primary)?;
    let lighter = match generate.lighter_model.as_str() {
        "" => None,
        name => Some(resolve(config, name)?),
    };
    Ok(Models {
        writers: Writers {
            primary: expected(&primary),
            lighter: lighter.as_ref().map(expected),
            answer_tokens: generate.answer_tokens,
            long_input: generate.long_input_tokens,
        },
        primary: generator(primary)?,
        lighter: lighter.map(generator).transpose()?,
    })
}

fn resolve(config: &Config, name: &str) -> Result<Model, ModelError> {
    let known = ModelSettings::default();
    Model::resolve(name, config.models.get(name).unwrap_or(&known))
}

/// How fast the model called `name` is expected to write before it is measured.
pub(crate) fn expected_speed(config: &Config, name: &str) -> Speed {
    // A name that was called once and cannot be resolved now belongs to nobody who is called.
    resolve(config, name).map_or(Speed::UNMEASURED, |model| expected(&model))
}

fn expected(model: &Model) -> Speed {
    let known = model.capabilities();
    Speed { first_token: known.first_token, tokens_per_second: known.tokens_per_second }
}
