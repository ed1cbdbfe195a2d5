//! Packs the tables that `build-dictionary/compact.py` writes into the dictionary file of this crate.
//!
//! ```text
//! cargo run --release -p japanese --example pack_dictionary -- TABLES OUT
//! zstd -19 OUT
//! ```
//!
//! `TABLES.tsv` has one entry a line, sorted by the bytes of its surface: surface, left class, right class,
//! cost, 1 for a content word, lemma. `TABLES.mat` is the connection matrix with four numbers of header,
//! `TABLES.unk` has classes and costs of unknown words. The layout is described in `src/format.rs`.

use std::collections::HashMap;
use std::fs;

use anyhow::{Context, Result, ensure};
use japanese::{Dictionary, MAGIC};

/// Row and column counts, right class of the start, left class of the end.
const MATRIX_HEADER_BYTES: usize = 8;
/// Facts of an entry are stored in three bytes.
const FACTS_END: usize = 1 << 24;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [tables, out] = arguments.as_slice() else {
        anyhow::bail!("usage: pack_dictionary TABLES OUT");
    };
    let read = |extension| {
        let path = format!("{tables}.{extension}");
        fs::read(&path).with_context(|| path)
    };
    let entries = String::from_utf8(read("tsv")?)?;
    let rows: Vec<Row<'_>> = entries.lines().map(Row::parse).collect::<Result<_>>()?;
    let matrix = matrix(&read("mat")?, &String::from_utf8(read("unk")?)?)?;
    let packed = pack(&rows, &matrix)?;
    Dictionary::from_raw(&packed).context("the packed dictionary does not load")?;
    fs::write(out, packed).with_context(|| out.clone())
}

/// One entry.
struct Row<'a> {
    surface: &'a str,
    classes: (u16, u16),
    cost: i16,
    is_content: bool,
    lemma: &'a str,
}

impl<'a> Row<'a> {
    fn parse(line: &'a str) -> Result<Self> {
        let columns: Vec<&str> = line.split('\t').collect();
        let [surface, left, right, cost, content, lemma] = columns.as_slice() else {
            anyhow::bail!("not six columns: {line:?}");
        };
        Ok(Self {
            surface,
            classes: (left.parse()?, right.parse()?),
            cost: cost.parse()?,
            is_content: *content == "1",
            lemma,
        })
    }
}

fn pack(rows: &[Row<'_>], matrix: &[u8]) -> Result<Vec<u8>> {
    let mut lemmas: Vec<&str> = rows.iter().map(|row| row.lemma).collect();
    lemmas.sort_unstable();
    lemmas.dedup();
    let lemma_numbers: HashMap<&str, usize> =
        lemmas.iter().enumerate().map(|(number, lemma)| (*lemma, number)).collect();

    let mut surfaces = fst::raw::Builder::memory();
    let mut pair_numbers = HashMap::new();
    let (mut classes, mut costs, mut facts, mut pairs) = (vec![], vec![], vec![], vec![]);
    let mut last = None;
    for (number, row) in (0_u64..).zip(rows) {
        let is_first = last != Some(row.surface);
        if is_first {
            surfaces.insert(row.surface, number)?;
            last = Some(row.surface);
        }
        let next = u16::try_from(pair_numbers.len()).context("too many class pairs")?;
        let pair = *pair_numbers.entry(row.classes).or_insert_with(|| {
            pairs.extend(row.classes.0.to_le_bytes());
            pairs.extend(row.classes.1.to_le_bytes());
            next
        });
        classes.extend(pair.to_le_bytes());
        costs.extend(row.cost.to_le_bytes());
        let fact = lemma_numbers[row.lemma] << 2
            | usize::from(is_first) << 1
            | usize::from(row.is_content);
        ensure!(fact < FACTS_END, "too many lemmas");
        facts.extend(fact.to_le_bytes().iter().take(3));
    }
    let surfaces = surfaces.into_inner()?;
    let lemmas = front_coded(&lemmas)?;
    let sections: [&[u8]; 7] = [&surfaces, &classes, &costs, &facts, &lemmas, &pairs, matrix];
    let mut packed = MAGIC.to_vec();
    for section in sections {
        packed.extend(u32::try_from(section.len())?.to_le_bytes());
    }
    packed.extend(sections.concat());
    Ok(packed)
}

/// Each lemma as the number of bytes shared with the one before, the number added, and the added ones.
fn front_coded(lemmas: &[&str]) -> Result<Vec<u8>> {
    let mut coded = Vec::new();
    let mut last: &[u8] = &[];
    for lemma in lemmas.iter().map(|lemma| lemma.as_bytes()) {
        let shared = last.iter().zip(lemma).take_while(|(a, b)| a == b).count().min(255);
        let (_, added) = lemma.split_at(shared);
        coded.extend([u8::try_from(shared)?, u8::try_from(added.len()).context("lemma too long")?]);
        coded.extend(added);
        last = lemma;
    }
    Ok(coded)
}

/// The matrix section: its header completed by the classes and costs of unknown words.
fn matrix(table: &[u8], unknown: &str) -> Result<Vec<u8>> {
    let (header, costs) =
        table.split_at_checked(MATRIX_HEADER_BYTES).context("the matrix has no header")?;
    let noun = |script: &str| unknown_noun(unknown, script);
    let (katakana, kanji) = (noun("KATAKANA")?, noun("KANJI")?);
    let (hiragana, other) = (noun("HIRAGANA")?, noun("ALPHA")?);
    let mut section = header.to_vec();
    section.extend(katakana.0.to_le_bytes());
    section.extend(katakana.1.to_le_bytes());
    for (_, _, cost) in [katakana, kanji, hiragana, other] {
        section.extend(cost.to_le_bytes());
    }
    section.extend(costs);
    Ok(section)
}

/// Left class, right class and cost of an unknown common noun in `script`.
fn unknown_noun(table: &str, script: &str) -> Result<(u16, u16, i16)> {
    let row = table.lines().map(|line| line.split('\t').collect::<Vec<_>>()).find(|columns| {
        columns.first() == Some(&script) && columns.get(4) == Some(&"普通名詞一般")
    });
    let row = row.with_context(|| format!("no unknown noun for {script}"))?;
    Ok((row[1].parse()?, row[2].parse()?, row[3].parse()?))
}
