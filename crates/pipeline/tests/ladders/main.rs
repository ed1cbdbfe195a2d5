//! Every mix of stage behaviours, at every kind of budget, on a paused clock, against an expectation that
//! is written down separately.

mod expectation;
mod peers;
mod world;

use std::time::Duration;

use expectation::expected;
use peers::{Embedding, Keywords, Vectors, Writing};
use world::{Case, World};

/// Budgets in milliseconds: too short for anything but the keywords, for the embedding, for the whole
/// ladder by a hair on either side, and ample.
const BUDGETS: [u64; 9] = [4, 60, 400, 1000, 1500, 2249, 2250, 3000, 4000];

fn cases() -> impl Iterator<Item = Case> {
    let mut cases = Vec::new();
    for budget in BUDGETS {
        for keyword in Keywords::ALL {
            for embed in Embedding::ALL {
                for vector in Vectors::ALL {
                    for write in Writing::ALL {
                        cases.push(Case { budget, keyword, embed, vector, write });
                    }
                }
            }
        }
    }
    cases.into_iter()
}

/// Runs one case and compares everything that a caller sees.
fn check(world: &World, case: Case) {
    let (seen, took) = world.run(case);
    assert_eq!(seen, expected(case), "{case:?}");
    assert!(took <= Duration::from_millis(case.budget), "{case:?} took {took:?}");
}

#[test]
fn every_mix_of_behaviours_gives_the_expected_answer_in_time() {
    let world = World::new();
    let mut count = 0;
    for case in cases() {
        check(&world, case);
        count += 1;
    }
    assert_eq!(count, 9 * 4 * 6 * 5 * 16);
}
