//! What a point holds, and how it is called.

use std::collections::HashMap;

use domain::{Language, Passage, PassageId, Vector};
use qdrant_client::qdrant::point_id::PointIdOptions;
use qdrant_client::qdrant::{PointId, PointStruct, RetrievedPoint, Value};
use uuid::Uuid;

/// A point's fields. All but the passage are looked at by filters, and indexed.
pub(crate) mod field {
    /// The passage's id, 32 hexadecimal digits.
    pub(crate) const PASSAGE: &str = "passage";
    /// Its language, such as `en`.
    pub(crate) const LANG: &str = "lang";
    /// Its tags, a list of texts.
    pub(crate) const TAGS: &str = "tags";
    /// The first revision that it is of.
    pub(crate) const FROM: &str = "from";
    /// The first revision that it is no longer of; [`OPEN`](super::OPEN) while there is none.
    pub(crate) const UNTIL: &str = "until";
}

/// After every revision. Bounds of a range travel as `f64`, which counts no further exactly.
pub(crate) const OPEN: i64 = (1 << 53) - 1;

/// A point as it is found in a collection, less its vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) point: Uuid,
    pub(crate) passage: PassageId,
    pub(crate) lang: Language,
    pub(crate) tags: Vec<String>,
    pub(crate) until: i64,
}

impl Held {
    /// Whether it goes on in every revision until it is closed.
    pub(crate) fn is_open(&self) -> bool {
        self.until == OPEN
    }

    /// Whether a search finds `passage` by it as it should. Its text is in its id, its tags are not.
    pub(crate) fn stands_for(&self, passage: &Passage) -> bool {
        self.passage == passage.id && self.lang == passage.lang && self.tags == passage.tags
    }

    /// `None` if it is not of our making.
    pub(crate) fn decode(found: &RetrievedPoint) -> Option<Self> {
        let text = |name| Some(found.payload.get(name)?.as_str()?.as_str());
        let tags = found.payload.get(field::TAGS)?.as_list()?;
        let tag = |tag: &Value| tag.as_str().cloned();
        Some(Self {
            point: uuid(found.id.as_ref()?)?,
            passage: text(field::PASSAGE)?.parse().ok()?,
            lang: text(field::LANG)?.parse().ok()?,
            tags: tags.iter().map(tag).collect::<Option<_>>()?,
            until: found.payload.get(field::UNTIL)?.as_integer()?,
        })
    }
}

/// The point that begins `passage` in `revision`. A passage that goes and comes back begins anew, with another
/// point, for the old one is still of the revisions before it went. Written twice, it is the same point.
pub(crate) fn id_of(passage: PassageId, revision: u64) -> Uuid {
    let mut hasher = blake3::Hasher::new();
    hasher.update(passage.as_bytes()).update(&revision.to_le_bytes());
    Uuid::from_u128_le(u128::from_le_bytes(
        *hasher.finalize().as_bytes().first_chunk().expect("a hash has 32 bytes"),
    ))
}

/// `passage` as an open point.
pub(crate) fn encode(passage: &Passage, revision: u64, vector: &Vector) -> PointStruct {
    let payload: [(&str, Value); 5] = [
        (field::PASSAGE, passage.id.to_string().into()),
        (field::LANG, passage.lang.as_str().into()),
        (field::TAGS, passage.tags.clone().into()),
        (field::FROM, stored(revision).into()),
        (field::UNTIL, OPEN.into()),
    ];
    PointStruct {
        id: Some(point_id(id_of(passage.id, revision))),
        payload: payload.map(|(name, value)| (name.to_owned(), value)).into(),
        vectors: Some(vector.as_slice().to_vec().into()),
    }
}

/// The change that closes a point, or opens it again.
pub(crate) fn ending(until: i64) -> HashMap<String, Value> {
    HashMap::from([(field::UNTIL.to_owned(), until.into())])
}

/// A revision as Qdrant counts.
pub(crate) fn stored(revision: u64) -> i64 {
    i64::try_from(revision).unwrap_or(OPEN).min(OPEN - 1)
}

pub(crate) fn point_id(uuid: Uuid) -> PointId {
    uuid.to_string().into()
}

pub(crate) fn uuid(id: &PointId) -> Option<Uuid> {
    match id.point_id_options.as_ref()? {
        PointIdOptions::Uuid(text) => text.parse().ok(),
        PointIdOptions::Num(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use domain::ArticleId;

    use super::*;

    fn passage() -> Passage {
        Passage {
            id: PassageId::from_bytes([0xa7; 16]),
            article_id: ArticleId::new("refunds".to_owned()),
            title: "Refunds".to_owned(),
            headings: vec![],
            url: None,
            lang: Language::JAPANESE,
            tags: vec!["billing".to_owned(), "返金".to_owned()],
            ordinal: 0,
            text: "…".to_owned(),
        }
    }

    fn found(point: PointStruct) -> RetrievedPoint {
        RetrievedPoint { id: point.id, payload: point.payload, ..RetrievedPoint::default() }
    }

    #[test]
    fn what_is_written_is_read() {
        let vector = Vector::normalized(vec![1.0, 2.0]).unwrap();
        let held = Held::decode(&found(encode(&passage(), 7, &vector))).unwrap();
        assert!(held.is_open() && held.stands_for(&passage()));
        assert_eq!(held.point, id_of(passage().id, 7));
        let other_tags = Passage { tags: vec![], ..passage() };
        assert!(!held.stands_for(&other_tags));
    }

    #[test]
    fn a_point_of_somebody_else_is_not_read() {
        let vector = Vector::normalized(vec![1.0, 2.0]).unwrap();
        for name in [field::PASSAGE, field::LANG, field::TAGS, field::UNTIL] {
            let mut point = found(encode(&passage(), 7, &vector));
            point.payload.insert(name.to_owned(), true.into());
            assert_eq!(Held::decode(&point), None, "{name}");
        }
    }

    #[test]
    fn a_passage_has_one_point_per_beginning() {
        let id = passage().id;
        assert_eq!(id_of(id, 7), id_of(id, 7));
        assert_ne!(id_of(id, 7), id_of(id, 8));
        assert_ne!(id_of(id, 7), id_of(PassageId::from_bytes([1; 16]), 7));
    }
}
