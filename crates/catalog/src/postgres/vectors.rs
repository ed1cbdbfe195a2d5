//! Vectors beside the passages.

use std::collections::{HashMap, HashSet};

use async_trait::async_trait;
use domain::{AppName, GenerationId, PassageId, Vector};

use super::{PgCatalog, READ};
use crate::stored::{damaged, passage_id, stored};
use crate::{CatalogError, KeptVectors};

/// Vectors per statement: at 512 dimensions half a megabyte.
const BATCH: usize = 256;
/// Ids per statement.
const LOOKUPS: usize = 10_000;

#[async_trait]
impl KeptVectors for PgCatalog {
    async fn keep(
        &self,
        app: &AppName,
        space: &str,
        vectors: &HashMap<PassageId, Vector>,
    ) -> Result<(), CatalogError> {
        let vectors: Vec<(String, Vec<u8>)> =
            vectors.iter().map(|(id, vector)| (id.to_string(), encode(vector))).collect();
        for batch in vectors.chunks(BATCH) {
            let (ids, vectors): (Vec<&str>, Vec<&[u8]>) =
                batch.iter().map(|(id, vector)| (id.as_str(), vector.as_slice())).unzip();
            let query = sqlx::query(
                "INSERT INTO catalog.vector (app, space, passage_id, vector)
                 SELECT $1, $2, passage_id, vector
                 FROM unnest($3::text[], $4::bytea[]) AS row (passage_id, vector)
                 ON CONFLICT DO NOTHING",
            )
            .bind(app.as_str())
            .bind(space)
            .bind(ids)
            .bind(vectors);
            self.write(READ, query.execute(self.pool().await?)).await?;
        }
        Ok(())
    }

    async fn missing(
        &self,
        app: &AppName,
        space: &str,
        passages: &[PassageId],
    ) -> Result<HashSet<PassageId>, CatalogError> {
        let mut missing = HashSet::new();
        for batch in passages.chunks(LOOKUPS) {
            let ids: Vec<String> = batch.iter().map(ToString::to_string).collect();
            let query = sqlx::query_scalar(
                "SELECT passage_id FROM unnest($3::text[]) AS wanted (passage_id)
                 WHERE NOT EXISTS (SELECT FROM catalog.vector AS v
                     WHERE v.app = $1 AND v.space = $2 AND v.passage_id = wanted.passage_id)",
            )
            .bind(app.as_str())
            .bind(space)
            .bind(ids);
            let rows: Vec<String> = self.read(READ, query.fetch_all(self.pool().await?)).await?;
            for id in rows {
                missing.insert(passage_id(app.as_str(), &id)?);
            }
        }
        Ok(missing)
    }

    async fn find(
        &self,
        app: &AppName,
        space: &str,
        passages: &[PassageId],
    ) -> Result<HashMap<PassageId, Vector>, CatalogError> {
        let mut found = HashMap::with_capacity(passages.len());
        for batch in passages.chunks(BATCH) {
            let ids: Vec<String> = batch.iter().map(ToString::to_string).collect();
            let query = sqlx::query_as(
                "SELECT passage_id, vector FROM catalog.vector
                 WHERE app = $1 AND space = $2 AND passage_id = ANY($3)",
            )
            .bind(app.as_str())
            .bind(space)
            .bind(ids);
            let rows: Vec<(String, Vec<u8>)> =
                self.read(READ, query.fetch_all(self.pool().await?)).await?;
            for (id, bytes) in rows {
                found.insert(passage_id(app.as_str(), &id)?, decode(app, &bytes)?);
            }
        }
        Ok(found)
    }

    async fn count(&self, generation: &GenerationId, space: &str) -> Result<u64, CatalogError> {
        let query = sqlx::query_scalar(
            "SELECT count(*) FROM catalog.passage AS p
             JOIN catalog.vector AS v ON v.app = p.app AND v.space = $3 AND v.passage_id = p.passage_id
             WHERE p.app = $1 AND p.from_generation <= $2
                 AND (p.until_generation IS NULL OR p.until_generation > $2)",
        )
        .bind(generation.app.as_str())
        .bind(stored(generation.number))
        .bind(space);
        let count: i64 = self.read(READ, query.fetch_one(self.pool().await?)).await?;
        Ok(u64::try_from(count).unwrap_or(0))
    }

    async fn trim(
        &self,
        app: &AppName,
        oldest: u64,
        spaces: &[String],
    ) -> Result<(), CatalogError> {
        let query = sqlx::query(
            "DELETE FROM catalog.vector AS v WHERE v.app = $1 AND (v.space <> ALL($3) OR NOT EXISTS (
                 SELECT FROM catalog.passage AS p WHERE p.app = v.app AND p.passage_id = v.passage_id
                     AND (p.until_generation IS NULL OR p.until_generation > $2)))",
        )
        .bind(app.as_str())
        .bind(stored(oldest))
        .bind(spaces);
        self.write(READ, query.execute(self.pool().await?)).await.map(drop)
    }
}

fn encode(vector: &Vector) -> Vec<u8> {
    vector.as_slice().iter().flat_map(|component| component.to_le_bytes()).collect()
}

fn decode(app: &AppName, bytes: &[u8]) -> Result<Vector, CatalogError> {
    let (components, rest) = bytes.as_chunks::<4>();
    let vector = Vector::from_unit(components.iter().copied().map(f32::from_le_bytes).collect());
    vector
        .filter(|_| rest.is_empty())
        .ok_or_else(|| damaged(app.as_str(), "vector", "it is not of unit length"))
}
