//! The vector file as a whole: what is written is found, exactly, and damage is noticed.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deadline::{CancelFlag, CpuPool, Deadline};
use domain::{
    AppName, Call, EmbedderId, FaultKind, Filter, GenerationId, Language, Neighbour, PassageId,
    Vector, VectorIndex,
};
use proptest::prelude::*;
use tempfile::TempDir;

use super::mmap::Bytes;
use super::{EmbeddedVectors, VectorError, VectorFile, VectorWriter};

/// One passage to be written.
#[derive(Clone, Debug)]
struct Row {
    id: PassageId,
    lang: Language,
    tags: Vec<String>,
    vector: Vector,
}

/// Pseudo-random numbers in −1…1, none of which is 0.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> f32 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (f32::from((self.0 >> 48) as u16) + 0.5) / 32_768.0 - 1.0
    }

    fn vector(&mut self, dimensions: usize) -> Vector {
        Vector::normalized((0..dimensions).map(|_| self.next()).collect()).expect("not all zero")
    }

    /// A vector at some distance from `centre`, as texts on one subject are.
    fn near(&mut self, centre: &Vector, spread: f32) -> Vector {
        let noise = self.vector(centre.dimensions());
        let sum = centre.as_slice().iter().zip(noise.as_slice()).map(|(a, b)| a + spread * b);
        Vector::normalized(sum.collect()).expect("not opposite to the centre")
    }
}

fn id(number: u32) -> PassageId {
    // Multiplying scrambles the order: rows are not written in the order of their ids.
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&number.wrapping_mul(2_654_435_761).to_be_bytes());
    PassageId::from_bytes(bytes)
}

/// Passages in clusters, in two languages, some with tags.
fn rows(count: u32, dimensions: usize, seed: u64) -> Vec<Row> {
    let mut numbers = Numbers(seed);
    let centres: Vec<_> = (0..count.div_ceil(20)).map(|_| numbers.vector(dimensions)).collect();
    let row = |number: u32| Row {
        id: id(number),
        lang: if number.is_multiple_of(3) { Language::JAPANESE } else { Language::ENGLISH },
        tags: (1..4)
            .filter(|tag| number.is_multiple_of(tag + 1))
            .map(|tag| format!("tag{tag}"))
            .collect(),
        vector: numbers.near(&centres[number as usize % centres.len()], 0.8),
    };
    (0..count).map(row).collect()
}

fn embedder(dimensions: usize) -> EmbedderId {
    EmbedderId { name: "test/random".to_owned(), dimensions: u32::try_from(dimensions).unwrap() }
}

/// A file in a folder of its own, which goes with it.
struct Written {
    _folder: TempDir,
    path: PathBuf,
}

fn written(rows: &[Row], dimensions: usize) -> Written {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passages.vectors");
    let mut writer = VectorWriter::create(&path, &embedder(dimensions)).unwrap();
    for row in rows {
        writer.push(row.id, row.lang, &row.tags, &row.vector).unwrap();
    }
    assert_eq!(writer.finish().unwrap(), rows.len() as u64);
    Written { _folder: folder, path }
}

fn opened(rows: &[Row], dimensions: usize) -> VectorFile {
    VectorFile::open(&written(rows, dimensions).path).unwrap()
}

/// The nearest rows by definition: every admitted row's cosine in double precision, sorted.
fn by_definition(rows: &[Row], query: &Vector, filter: &Filter, k: usize) -> Vec<PassageId> {
    let cosine = |row: &Row| -> f64 {
        let pairs = row.vector.as_slice().iter().zip(query.as_slice());
        pairs.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let admitted = rows.iter().filter(|row| filter.admits_parts(row.lang, &row.tags));
    let mut scored: Vec<_> = admitted.map(|row| (cosine(row), row.id)).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().take(k).map(|(_, id)| id).collect()
}

fn ids(neighbours: &[Neighbour]) -> Vec<PassageId> {
    neighbours.iter().map(|neighbour| neighbour.passage).collect()
}

fn nearest(file: &VectorFile, query: &Vector, filter: &Filter, k: usize) -> Vec<Neighbour> {
    file.nearest(query, filter, k, &CancelFlag::default())
}

#[test]
fn almost_every_true_neighbour_is_found() {
    let rows = rows(5000, 512, 1);
    let file = opened(&rows, 512);
    let mut numbers = Numbers(2);
    let (mut found, mut wanted) = (0, 0);
    for row in rows.iter().step_by(50) {
        let query = numbers.near(&row.vector, 0.5);
        let truth: HashSet<_> =
            by_definition(&rows, &query, &Filter::default(), 20).into_iter().collect();
        found += ids(&nearest(&file, &query, &Filter::default(), 20))
            .iter()
            .filter(|id| truth.contains(id))
            .count();
        wanted += truth.len();
    }
    assert!(found * 1000 >= wanted * 995, "recall@20 is {found} of {wanted}");
}

#[test]
fn a_filter_gives_exactly_the_best_of_what_it_admits() {
    let rows = rows(6000, 64, 3);
    let file = opened(&rows, 64);
    let query = Numbers(4).vector(64);
    let tags = |tags: &[&str]| tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>();
    let filters = [
        Filter { lang: Some(Language::JAPANESE), tags: tags(&[]) },
        Filter { lang: None, tags: tags(&["tag2"]) },
        Filter { lang: Some(Language::ENGLISH), tags: tags(&["tag1", "tag3"]) },
        Filter { lang: Some(Language::KOREAN), tags: tags(&[]) },
        Filter { lang: None, tags: tags(&["no such tag"]) },
    ];
    for filter in filters {
        let expected = by_definition(&rows, &query, &filter, 10);
        assert_eq!(ids(&nearest(&file, &query, &filter, 10)), expected, "{filter:?}");
    }
}

#[test]
fn hits_come_nearest_first_and_equal_ones_by_id() {
    // So few that all are candidates, and more.
    for count in [300, 600] {
        let mut rows = rows(count, 16, 5);
        // More twins than candidates are kept.
        let twin = rows[0].vector.clone();
        rows.iter_mut().take(250).for_each(|row| row.vector = twin.clone());
        let file = opened(&rows, 16);
        let hits = nearest(&file, &twin, &Filter::default(), 15);
        assert!(hits.is_sorted_by(|a, b| (b.cosine, a.passage) <= (a.cosine, b.passage)));
        assert_eq!(ids(&hits), by_definition(&rows, &twin, &Filter::default(), 15));
    }
}

#[test]
fn vectors_are_carried_over_bit_by_bit() {
    let rows = rows(400, 512, 6);
    let file = opened(&rows, 512);
    for row in &rows {
        assert_eq!(file.vector_of(row.id).as_ref(), Some(&row.vector));
    }
    assert_eq!(file.vector_of(PassageId::from_bytes([9; 16])), None);
    assert_eq!((file.len(), file.embedder()), (400, &embedder(512)));
}

#[test]
fn an_empty_file_is_a_file() {
    let file = opened(&[], 8);
    assert!(file.is_empty());
    assert_eq!(nearest(&file, &Numbers(1).vector(8), &Filter::default(), 5), []);
}

#[test]
fn a_question_without_an_answer_has_none() {
    let file = opened(&rows(10, 8, 7), 8);
    let query = Numbers(1).vector(8);
    assert_eq!(nearest(&file, &query, &Filter::default(), 0), []);
    assert_eq!(nearest(&file, &Numbers(1).vector(9), &Filter::default(), 5), []);
    assert_eq!(nearest(&file, &query, &Filter::default(), usize::MAX).len(), 10);
    let cancel = CancelFlag::default();
    cancel.raise();
    assert_eq!(file.nearest(&query, &Filter::default(), 5, &cancel), []);
}

#[test]
fn a_file_that_is_read_equals_one_that_is_mapped() {
    let rows = rows(500, 33, 8);
    let written = written(&rows, 33);
    let mapped = VectorFile::open(&written.path).unwrap();
    let read = VectorFile::open_with(&written.path, Bytes::read).unwrap();
    let query = Numbers(9).vector(33);
    assert_eq!(
        nearest(&mapped, &query, &Filter::default(), 20),
        nearest(&read, &query, &Filter::default(), 20)
    );
    assert!(rows.iter().all(|row| read.vector_of(row.id) == mapped.vector_of(row.id)));
}

/// Writes `damaged` in place of the file and expects it to be refused by name.
#[track_caller]
fn check_refused(path: &Path, damaged: &[u8], what: &str) {
    let other = path.with_extension("damaged");
    fs::write(&other, damaged).unwrap();
    let error = VectorFile::open(&other).expect_err(what);
    assert!(matches!(error, VectorError::Corrupt { .. }), "{what}: {error:?}");
    assert!(error.to_string().contains("passages.damaged"), "{what}: {error}");
}

#[test]
fn damaged_files_are_refused_by_name() {
    let written = written(&rows(20, 8, 10), 8);
    let good = fs::read(&written.path).unwrap();
    for length in (0..good.len()).step_by(61) {
        check_refused(&written.path, &good[..length], &format!("cut to {length}"));
    }
    check_refused(&written.path, b"not a vector file at all", "text");
    check_refused(&written.path, &[0; 4096], "zeros");
    let mut newer = good.clone();
    newer[8] = 2;
    check_refused(&written.path, &newer, "another version");
    let missing = VectorFile::open(&written.path.with_extension("missing")).unwrap_err();
    assert!(
        matches!(missing, VectorError::Read { .. })
            && missing.to_string().contains("passages.missing")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn no_changed_byte_goes_unnoticed(at in any::<prop::sample::Index>(), bit in 0..8_u32) {
        let rows = rows(10, 8, 11);
        let written = written(&rows, 8);
        let mut bytes = fs::read(&written.path).unwrap();
        let at = at.index(bytes.len());
        bytes[at] ^= 1 << bit;
        fs::write(&written.path, &bytes).unwrap();
        // Padding between sections means nothing; every other byte is covered by a checksum.
        if let Ok(file) = VectorFile::open(&written.path) {
            prop_assert!(rows.iter().all(|row| file.vector_of(row.id).as_ref() == Some(&row.vector)));
        }
    }

    #[test]
    fn searches_equal_the_definition_in_every_shape(
        count in prop_oneof![0_u32..90, 380_u32..700], dimensions in 1_usize..40, k in 0_usize..30, seed in any::<u64>(),
    ) {
        let rows = rows(count, dimensions, seed);
        let file = opened(&rows, dimensions);
        let query = Numbers(!seed).vector(dimensions);
        let hits = nearest(&file, &query, &Filter::default(), k);
        let truth = by_definition(&rows, &query, &Filter::default(), k);
        prop_assert_eq!(hits.len(), truth.len());
        // In few dimensions cosines differ by less than single precision tells apart: compare those.
        for (hit, expected) in hits.iter().zip(truth) {
            let row = rows.iter().find(|row| row.id == expected).expect("the truth is among the rows");
            prop_assert!((hit.cosine - row.vector.cosine(&query)).abs() < 1e-5);
        }
    }
}

#[test]
fn a_passage_added_twice_is_refused_and_the_old_file_stays() {
    let rows = rows(5, 8, 12);
    let written = written(&rows, 8);
    let mut writer = VectorWriter::create(&written.path, &embedder(8)).unwrap();
    for _ in 0..2 {
        writer.push(rows[0].id, rows[0].lang, &[], &rows[0].vector).unwrap();
    }
    let error = writer.finish().unwrap_err();
    assert!(matches!(error, VectorError::Duplicate { passage, .. } if passage == rows[0].id));
    assert_eq!(VectorFile::open(&written.path).unwrap().len(), 5);
}

#[test]
fn an_abandoned_writer_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("passages.vectors");
    let mut writer = VectorWriter::create(&path, &embedder(8)).unwrap();
    let row = rows(1, 8, 13).remove(0);
    writer.push(row.id, row.lang, &row.tags, &row.vector).unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_vector_of_other_dimensions_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = VectorWriter::create(&folder.path().join("v"), &embedder(8)).unwrap();
    let error = writer.push(id(1), Language::ENGLISH, &[], &Numbers(1).vector(9)).unwrap_err();
    assert!(matches!(error, VectorError::Dimensions { found: 9, expected: 8, .. }));
}

fn generation(number: u64) -> GenerationId {
    let app: AppName = "demo".parse().unwrap();
    GenerationId { app, epoch: 1, number }
}

async fn asked(number: u64, dimensions: usize, budget: Duration) -> Result<usize, FaultKind> {
    let file = Arc::new(opened(&rows(30, 8, 14), 8));
    let index = EmbeddedVectors::new(generation(7), file, CpuPool::per_core());
    let (generation, vector) = (generation(number), Numbers(1).vector(dimensions));
    let call = Call::background("test", Deadline::after(budget));
    let hits = index.nearest(&generation, &vector, &Filter::default(), 5, &call).await;
    hits.map(|hits| hits.len()).map_err(|fault| fault.kind())
}

#[tokio::test(start_paused = true)]
async fn an_index_answers_for_its_own_generation_and_dimensions() {
    let second = Duration::from_secs(1);
    assert_eq!(asked(7, 8, second).await, Ok(5));
    assert_eq!(asked(8, 8, second).await, Err(FaultKind::Unavailable));
    assert_eq!(asked(7, 9, second).await, Err(FaultKind::Error));
}
