//! [`Store`]: all collections, and what is done to them.

use std::collections::BTreeMap;
use std::ops::Bound;

use qdrant_client::qdrant::points_selector::PointsSelectorOneOf;
use qdrant_client::qdrant::{Filter, PointStruct, PointsSelector, VectorParams};
use tonic::Status;

use crate::filter::admits;
use crate::point::{Name, Payload, Point, dot, unit, vector_of};
use crate::service::{invalid, unknown};

#[derive(Debug, Default)]
pub(crate) struct Store {
    pub(crate) collections: BTreeMap<String, Collection>,
    /// Collections by alias.
    pub(crate) aliases: BTreeMap<String, String>,
}

#[derive(Debug)]
pub(crate) struct Collection {
    pub(crate) params: VectorParams,
    pub(crate) points: BTreeMap<Name, Point>,
    /// Kinds of the indexed fields. Everything is searched without them.
    pub(crate) indexed: BTreeMap<String, i32>,
}

impl Store {
    pub(crate) fn get(&mut self, name: &str) -> Result<&mut Collection, Status> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        let missing =
            || Status::not_found(format!("Not found: Collection `{name}` doesn't exist!"));
        self.collections.get_mut(name).ok_or_else(missing)
    }

    pub(crate) fn create(&mut self, name: &str, params: VectorParams) -> Result<(), Status> {
        if self.collections.contains_key(name) || self.aliases.contains_key(name) {
            let message = format!("Wrong input: Collection `{name}` already exists!");
            return Err(Status::already_exists(message));
        }
        let collection = Collection { params, points: BTreeMap::new(), indexed: BTreeMap::new() };
        self.collections.insert(name.to_owned(), collection);
        Ok(())
    }

    /// Whether it was there. Its aliases go with it.
    pub(crate) fn delete(&mut self, name: &str) -> bool {
        self.aliases.retain(|_, collection| collection != name);
        self.collections.remove(name).is_some()
    }

    pub(crate) fn set_alias(&mut self, alias: &str, collection: &str) -> Result<(), Status> {
        if self.collections.contains_key(alias) {
            return Err(invalid(&format!("Collection `{alias}` already exists!")));
        }
        self.get(collection)?;
        self.aliases.insert(alias.to_owned(), collection.to_owned());
        Ok(())
    }
}

impl Collection {
    /// All of them or none.
    pub(crate) fn upsert(&mut self, points: Vec<PointStruct>) -> Result<(), Status> {
        let points = points.into_iter().map(|point| self.checked(point));
        let points: Vec<(Name, Point)> = points.collect::<Result<_, _>>()?;
        self.points.extend(points);
        Ok(())
    }

    fn checked(&self, point: PointStruct) -> Result<(Name, Point), Status> {
        let name = Name::of(point.id.as_ref())?;
        let vector = vector_of(point.vectors)?;
        self.check_size(&vector)?;
        Ok((name, Point { payload: point.payload, vector: unit(vector) }))
    }

    fn check_size(&self, vector: &[f32]) -> Result<(), Status> {
        let (expected, found) = (self.params.size, vector.len());
        if u64::try_from(found) == Ok(expected) {
            return Ok(());
        }
        Err(invalid(&format!("Vector dimension error: expected dim: {expected}, got {found}")))
    }

    /// The points that a call means. Of named ones all must be there if it `needs` them.
    pub(crate) fn selected(
        &self,
        selector: Option<PointsSelector>,
        needs: bool,
    ) -> Result<Vec<Name>, Status> {
        match selector.and_then(|selector| selector.points_selector_one_of) {
            Some(PointsSelectorOneOf::Filter(filter)) => self.admitted(Some(&filter)),
            Some(PointsSelectorOneOf::Points(points)) => {
                let names = points.ids.iter().map(|id| Name::of(Some(id)));
                let names: Vec<Name> = names.collect::<Result<_, _>>()?;
                match names.iter().find(|name| needs && !self.points.contains_key(name)) {
                    Some(missing) => Err(Status::not_found(format!(
                        "Not found: No point with id {missing} found"
                    ))),
                    None => Ok(names),
                }
            }
            None => Err(invalid("no points are selected")),
        }
    }

    pub(crate) fn admitted(&self, filter: Option<&Filter>) -> Result<Vec<Name>, Status> {
        let mut admitted = Vec::new();
        for (name, point) in &self.points {
            if admits(filter, *name, &point.payload)? {
                admitted.push(*name);
            }
        }
        Ok(admitted)
    }

    pub(crate) fn set_payload(&mut self, names: &[Name], payload: &Payload) {
        for name in names {
            if let Some(point) = self.points.get_mut(name) {
                point.payload.extend(payload.clone());
            }
        }
    }

    /// Up to `limit` points from `start` on, and the one after them.
    pub(crate) fn page(
        &self,
        start: Option<Name>,
        limit: usize,
        filter: Option<&Filter>,
    ) -> Result<(Vec<Name>, Option<Name>), Status> {
        let start = start.map_or(Bound::Unbounded, Bound::Included);
        let mut page = Vec::new();
        for (name, point) in self.points.range((start, Bound::Unbounded)) {
            if admits(filter, *name, &point.payload)? {
                if page.len() == limit {
                    return Ok((page, Some(*name)));
                }
                page.push(*name);
            }
        }
        Ok((page, None))
    }

    /// Cosines and points, nearest first; equal ones in no order that anybody should rely on.
    pub(crate) fn nearest(
        &self,
        vector: Vec<f32>,
        filter: Option<&Filter>,
        limit: usize,
    ) -> Result<Vec<(f32, Name)>, Status> {
        self.check_size(&vector)?;
        if limit == 0 {
            return Err(invalid("limit must be 1 or larger"));
        }
        let vector = unit(vector);
        let admitted = self.admitted(filter)?;
        let score = |name: Name| Some((dot(&self.points.get(&name)?.vector, &vector), name));
        let mut scored: Vec<_> = admitted.into_iter().filter_map(score).collect();
        scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.cmp(&a.1)));
        scored.truncate(limit);
        Ok(scored)
    }
}

/// The one kind of collection that there is.
pub(crate) fn check_params(params: &VectorParams) -> Result<(), Status> {
    use qdrant_client::qdrant::Distance;
    if params.size == 0 {
        return Err(invalid("vectors of no dimensions"));
    }
    if params.distance() != Distance::Cosine || params.multivector_config.is_some() {
        return Err(unknown("anything but single vectors by cosine"));
    }
    Ok(())
}
