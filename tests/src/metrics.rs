//! [`Metrics`]: a page in Prometheus' text format, read strictly.

use std::collections::{BTreeMap, BTreeSet};

use crate::http::get;

/// Labels and their values.
type Labels = BTreeMap<String, String>;

/// What `/metrics` said at one moment.
#[derive(Debug)]
pub struct Metrics {
    samples: BTreeMap<String, Vec<(Labels, f64)>>,
}

/// One metric, between its `HELP` and the next.
#[derive(Debug)]
struct Family<'a> {
    name: &'a str,
    kind: &'a str,
    samples: Vec<(&'a str, Labels, f64)>,
}

impl Metrics {
    /// Reads the page of the server at `address`.
    ///
    /// # Panics
    ///
    /// If it breaks any rule of the format, or of how metrics are named.
    #[must_use]
    pub fn of(address: &str) -> Self {
        let reply = get(&format!("{address}/metrics"));
        assert_eq!(reply.status, 200, "{}", reply.text);
        assert_eq!(reply.headers["content-type"], "text/plain; version=0.0.4; charset=utf-8");
        Self::read(&reply.text)
    }

    /// # Panics
    ///
    /// As of [`of`](Self::of).
    #[must_use]
    pub fn read(page: &str) -> Self {
        assert!(page.ends_with('\n'), "the last line has no end");
        let mut samples: BTreeMap<String, Vec<(Labels, f64)>> = BTreeMap::new();
        let mut names = BTreeSet::new();
        for family in families(page) {
            assert!(names.insert(family.name.to_owned()), "{} is there twice", family.name);
            family.check();
            for (name, labels, value) in family.samples {
                let known = samples.entry(name.to_owned()).or_default();
                assert!(known.iter().all(|(other, _)| *other != labels), "{name}{labels:?} twice");
                known.push((labels, value));
            }
        }
        Self { samples }
    }

    /// The sum of the samples of `name` that have these labels, perhaps among others; 0 if there is none.
    #[must_use]
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let has = |sample: &Labels| {
            labels.iter().all(|(name, value)| sample.get(*name).is_some_and(|own| own == value))
        };
        let samples = self.samples.get(name).into_iter().flatten();
        samples.filter(|(own, _)| has(own)).map(|(_, value)| value).sum()
    }

    /// Whether there is any sample of `name`.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.samples.contains_key(name)
    }
}

fn families(page: &str) -> Vec<Family<'_>> {
    let mut families: Vec<Family<'_>> = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, words) = help.split_once(' ').expect("a name and words");
            assert!(!words.is_empty() && is_name(name), "{line}");
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE "));
            let (typed, kind) =
                kind.and_then(|kind| kind.split_once(' ')).expect("TYPE follows HELP");
            assert_eq!(typed, name);
            families.push(Family { name, kind, samples: Vec::new() });
            continue;
        }
        let family = families.last_mut().expect("samples follow HELP and TYPE");
        family.samples.push(sample(line));
    }
    families
}

fn is_name(text: &str) -> bool {
    let starts_well = text.starts_with(|c: char| c.is_ascii_lowercase());
    starts_well && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
}

/// `name{label="value",…} number`.
fn sample(line: &str) -> (&str, Labels, f64) {
    let (named, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("no sample: {line:?}"));
    let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number: {line:?}"));
    let (name, labels) = match named.split_once('{') {
        None => (named, Labels::new()),
        Some((name, rest)) => {
            let inside = rest.strip_suffix('}').unwrap_or_else(|| panic!("no end: {line:?}"));
            (name, labels(inside))
        }
    };
    assert!(is_name(name), "{line:?}");
    (name, labels, value)
}

fn labels(mut rest: &str) -> Labels {
    let mut labels = Labels::new();
    while !rest.is_empty() {
        let (name, after) = rest.split_once("=\"").expect("a label's name and its opening quote");
        let (value, after) = unquoted(after);
        assert!(is_name(name), "{name:?}");
        assert!(labels.insert(name.to_owned(), value).is_none(), "{name} twice");
        rest = match after.strip_prefix(',') {
            Some(more) if !more.is_empty() => more,
            Some(_) => panic!("a comma before nothing"),
            None => {
                assert_eq!(after, "", "labels are apart by commas");
                after
            }
        };
    }
    labels
}

/// What stands before the closing quote, and what after it.
fn unquoted(text: &str) -> (String, &str) {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return (value, text.get(at + 1..).expect("a quote is one byte long")),
            '\\' => match chars.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, c @ ('\\' | '"'))) => value.push(c),
                other => panic!("no escape: {other:?}"),
            },
            c => value.push(c),
        }
    }
    panic!("no closing quote: {text:?}")
}

impl Family<'_> {
    fn check(&self) {
        let is_total = self.name.ends_with("_total");
        assert_eq!(is_total, self.kind == "counter", "{} is a {}", self.name, self.kind);
        match self.kind {
            "counter" => {
                assert!(self.samples.iter().all(|(_, _, value)| *value >= 0.0), "{self:?}");
            }
            "gauge" => {}
            "histogram" => return self.check_histograms(),
            other => panic!("{} is a {other}", self.name),
        }
        assert!(self.samples.iter().all(|(name, ..)| *name == self.name), "{self:?}");
    }

    fn check_histograms(&self) {
        assert!(self.name.ends_with("_seconds"), "{}", self.name);
        let mut series: BTreeMap<Labels, Vec<(f64, f64)>> = BTreeMap::new();
        let (mut sums, mut counts) = (BTreeMap::new(), BTreeMap::new());
        for (name, labels, value) in &self.samples {
            let mut labels = labels.clone();
            let bound = labels.remove("le");
            match (name.strip_prefix(self.name), bound) {
                (Some("_bucket"), Some(bound)) => {
                    let bound = bound.replace("+Inf", "inf").parse().expect("a bound");
                    series.entry(labels).or_default().push((bound, *value));
                }
                (Some("_sum"), None) => drop(sums.insert(labels, *value)),
                (Some("_count"), None) => drop(counts.insert(labels, *value)),
                other => panic!("{other:?} in {}", self.name),
            }
        }
        assert_eq!((series.len(), series.len()), (sums.len(), counts.len()), "{}", self.name);
        for (labels, buckets) in series {
            let grows = buckets.windows(2).all(|two| two[0].0 < two[1].0 && two[0].1 <= two[1].1);
            assert!(grows, "{}{labels:?} {buckets:?}", self.name);
            let (bound, all) = buckets.last().expect("there is one");
            assert!(bound.is_infinite() && counts.get(&labels) == Some(all), "{}", self.name);
            assert!(sums.get(&labels).is_some_and(|sum| *sum >= 0.0), "{}", self.name);
        }
    }
}
