//! Opening [`Stores`] as configured.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use catalog::{Catalog, CatalogError, PgCatalog, PgSettings, SqliteCatalog};
use ingest::{DataDir, Stores};
use qdrant::{Qdrant, QdrantSettings};

use crate::config::{Config, refused_for_qdrant};

/// What the environment names: Postgres or a file, Qdrant or none. Neither service is called.
pub(crate) async fn configured(config: &Config) -> anyhow::Result<Stores> {
    let data = DataDir::new(&config.data_dir);
    let catalog: Arc<dyn Catalog> = match &config.secrets.database {
        Some(settings) => postgres(settings, config.migrate_at_start),
        None => {
            data.create()?;
            Arc::new(SqliteCatalog::open(&data.catalog()).await?)
        }
    };
    Ok(Stores { data, catalog, qdrant: qdrant(config)? })
}

/// The same, of a data directory that must have been indexed into where it holds the catalog.
pub(crate) async fn indexed(config: &Config) -> anyhow::Result<Stores> {
    let path = DataDir::new(&config.data_dir).catalog();
    if config.secrets.database.is_none() && !path.is_file() {
        return Err(CatalogError::Missing { path }.into());
    }
    configured(config).await
}

/// Everything in one folder, whatever the environment names.
pub(crate) async fn embedded(folder: &Path) -> anyhow::Result<Stores> {
    let data = DataDir::new(folder);
    data.create()?;
    let catalog = Arc::new(SqliteCatalog::open(&data.catalog()).await?);
    Ok(Stores { data, catalog, qdrant: None })
}

fn postgres(settings: &PgSettings, migrate_at_start: bool) -> Arc<dyn Catalog> {
    let mut settings = settings.clone();
    settings.migrate_at_start = migrate_at_start;
    Arc::new(PgCatalog::new(settings))
}

/// Qdrant, if the environment names one; it is not called.
pub(crate) fn qdrant(config: &Config) -> anyhow::Result<Option<Qdrant>> {
    let Some(url) = &config.secrets.qdrant else { return Ok(None) };
    let written = &config.qdrant;
    let ca_pem = match written.ca_file.as_str() {
        "" => None,
        path => Some(std::fs::read_to_string(path).with_context(|| {
            format!("setting qdrant.ca_file: cannot read the certificates in {path}")
        })?),
    };
    let settings = QdrantSettings {
        api_key: config.secrets.qdrant_key.clone(),
        prefix: written.prefix.parse()?,
        ca_pem,
        vectors_on_disk: written.vectors_on_disk,
        ..QdrantSettings::at(url)
    };
    Ok(Some(Qdrant::new(&settings).map_err(|error| refused_for_qdrant(&error))?))
}

/// Names this process to others, as one that is `doing` something.
pub(crate) fn holder(doing: &str) -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = if host.trim().is_empty() { "an unnamed host" } else { host.trim() };
    format!("{doing} (process {} on {host})", std::process::id())
}
