//! Published revisions stay as they are, whatever is written, killed, or swept beside them.

use std::collections::BTreeMap;
use std::time::Duration;

use domain::{Filter, GenerationId, VectorIndex};
use proptest::prelude::*;
use qdrant_stand_in::Trouble;

use crate::passages::{DIMENSIONS, Numbers, Row, by_definition, generation, ids, row};
use crate::sites::{Site, at_every_site, call, call_within};

/// The knowledge at some time: which of a few passages there are, and how they are tagged.
#[derive(Clone, Debug)]
struct Knowledge(BTreeMap<u32, u8>);

/// One run.
#[derive(Clone, Debug)]
struct Run {
    knowledge: Knowledge,
    /// Killed at this call, before or after it is done, if it makes so many.
    killed: Option<(u64, bool)>,
    /// Whether everything is embedded anew, into a new epoch.
    new_epoch: bool,
    /// How many published generations are still needed afterwards.
    needed: usize,
}

impl Knowledge {
    fn rows(&self) -> Vec<Row> {
        let tags = |variant: u8| -> &[&str] {
            match variant {
                0 => &[],
                1 => &["billing"],
                _ => &["billing", "返金"],
            }
        };
        self.0.iter().map(|(number, variant)| row(*number, tags(*variant))).collect()
    }
}

fn knowledge() -> impl Strategy<Value = Knowledge> {
    prop::collection::btree_map(0_u32..12, 0_u8..3, 0..10).prop_map(Knowledge)
}

fn run() -> impl Strategy<Value = Run> {
    let killed = prop::option::of((0_u64..14, any::<bool>()));
    let new_epoch = prop::bool::weighted(0.2);
    (knowledge(), killed, new_epoch, 1_usize..4).prop_map(
        |(knowledge, killed, new_epoch, needed)| Run { knowledge, killed, new_epoch, needed },
    )
}

/// Whether `generation` answers as if there were nothing but `rows`.
pub(crate) async fn check_whole(site: &Site, generation: &GenerationId, rows: &[Row]) {
    let index = site.index(generation, rows.len());
    let query = Numbers(generation.number).vector(DIMENSIONS);
    assert_eq!(index.count(&call()).await.unwrap(), rows.len() as u64, "{generation:?}");
    for tags in [vec![], vec!["billing".to_owned()], vec!["billing".to_owned(), "返金".to_owned()]]
    {
        let filter = Filter { lang: None, tags };
        let found = index.nearest(generation, &query, &filter, 100, &call()).await.unwrap();
        let expected = by_definition(rows, &query, &filter, 100);
        assert_eq!(ids(&found), ids(&expected), "{generation:?} {filter:?}");
    }
}

/// What follows `newest`.
fn next(newest: Option<&GenerationId>, new_epoch: bool) -> GenerationId {
    let (epoch, number) = newest.map_or((1, 0), |newest| (newest.epoch, newest.number));
    generation("history", epoch + u32::from(new_epoch), number + 1)
}

/// What has been published so far, oldest first.
struct History<'a> {
    site: &'a Site,
    published: Vec<(GenerationId, Vec<Row>)>,
}

impl History<'_> {
    async fn go_on(&mut self, run: &Run) {
        let newest = self.published.last().map(|(newest, _)| newest.clone());
        let next = next(newest.as_ref(), run.new_epoch);
        let rows = run.knowledge.rows();
        if self.was_written(&next, newest.as_ref(), &rows, run.killed).await {
            self.published.push((next, rows));
            self.sweep(run.needed).await;
        }
        self.check_all().await;
    }

    /// Writes, or is killed on the way; whatever was published before is asked for at that moment.
    async fn was_written(
        &self,
        next: &GenerationId,
        newest: Option<&GenerationId>,
        rows: &[Row],
        killed: Option<(u64, bool)>,
    ) -> bool {
        let all_the_time = call();
        let Some((calls, done)) = killed else {
            self.site.sync(next, newest, rows, &all_the_time).await.unwrap();
            return true;
        };
        let Some(server) = &self.site.stand_in else {
            // A real server does not stall on command; a run without time is cut off somewhere.
            let little = call_within(Duration::from_millis(calls * 2));
            return self.site.sync(next, newest, rows, &little).await.is_ok();
        };
        let trouble = if done { Trouble::LoseReply } else { Trouble::Stall };
        server.clear_calls();
        server.set_trouble_after(calls, trouble);
        let written = tokio::select! {
            outcome = self.site.sync(next, newest, rows, &all_the_time) => {
                outcome.unwrap();
                true
            }
            () = server.until_stalled() => false,
        };
        server.set_trouble(None);
        written
    }

    async fn sweep(&mut self, needed: usize) {
        let oldest = self.published.len().saturating_sub(needed);
        self.published.drain(..oldest);
        let ends = (self.published.first(), self.published.last());
        let (Some((oldest, _)), Some((newest, _))) = ends else { return };
        self.site.writer().sweep(oldest, newest, &call()).await.unwrap();
    }

    async fn check_all(&self) {
        for (generation, rows) in &self.published {
            check_whole(self.site, generation, rows).await;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn no_published_revision_ever_changes(runs in prop::collection::vec(run(), 1..8)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(at_every_site(async |site| {
            let mut history = History { site, published: Vec::new() };
            for run in &runs {
                history.go_on(run).await;
            }
        }));
    }
}

#[tokio::test]
async fn a_passage_that_goes_and_comes_back_is_not_in_the_revision_between() {
    at_every_site(async |site| {
        let [first, second, third] = [1, 2, 3].map(|number| generation("back", 1, number));
        let (with, without) = ([row(1, &[]), row(2, &[])], [row(2, &[])]);
        site.sync(&first, None, &with, &call()).await.unwrap();
        site.sync(&second, Some(&first), &without, &call()).await.unwrap();
        site.sync(&third, Some(&second), &with, &call()).await.unwrap();
        check_whole(site, &first, &with).await;
        check_whole(site, &second, &without).await;
        check_whole(site, &third, &with).await;
    })
    .await;
}
