//! Single decisions; mixes of them are tested with the driver.

use deadline::{Allotment, Deadline, Minimums};

use super::*;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn plan(budget: u64, generator: Readiness) -> Plan {
    let start = Instant::now();
    let allotment = Allotment::new(ms(4000), Minimums::REMOTE, ms(50), ms(2000), ms(1200)).unwrap();
    let deadline = Deadline::from_start(start, ms(budget));
    Plan {
        start,
        deadline,
        allotment,
        embedder: Readiness::Ready,
        generator,
        writers: Writers { lighter: Some(FAST), ..Writers::UNMEASURED },
        reasoning: Reasoning::Auto,
    }
}

/// A lighter model: 240 ms to the first token, 125 tokens a second.
const FAST: Speed = Speed { first_token: Duration::from_millis(240), tokens_per_second: 125.0 };

const USEFUL: Progress = Progress::Delivered { useful: true };
const EMPTY: Progress = Progress::Delivered { useful: false };

/// What is decided `at` milliseconds after the start, with moments as milliseconds.
#[track_caller]
fn check(plan: &Plan, state: State, at: u64, expected: &str) {
    let since = |moment: Instant| moment.duration_since(plan.start).as_millis();
    let action = match next(plan, state, plan.start + ms(at)) {
        Action::Start { stage, until } => format!("start {} {}", stage.as_str(), since(until)),
        Action::Skip { stage, reason } => {
            format!("skip {} {}", stage.as_str(), reason.map_or("-", Reason::as_str))
        }
        Action::Write(Write { model, until, limits, why }) => format!(
            "{} {} {} max {} ask {}{}",
            why.as_str(),
            model.as_str(),
            since(until),
            limits.max_output_tokens,
            limits.answer_tokens,
            if limits.reasoning { " thinking" } else { "" },
        ),
        Action::GiveUp { stage } => format!("give up {}", stage.as_str()),
        Action::Cut { stage } => format!("cut {}", stage.as_str()),
        Action::Wait { until } => format!("wait {}", since(until)),
        Action::Finish => "finish".to_owned(),
    };
    assert_eq!(action, expected, "{state:?} at {at} ms");
}

#[test]
fn keywords_start_first_and_the_embedding_beside_them() {
    let plan = plan(4000, Readiness::Ready);
    check(&plan, State::START, 0, "start keyword 3050");
    let searching = State { keyword: Progress::Running, ..State::START };
    check(&plan, searching, 0, "start embed 2450");
    let both = State { embed: Progress::Running, ..searching };
    check(&plan, both, 1, "wait 2450");
}

#[test]
fn with_keyword_hits_in_hand_vectors_are_waited_for_until_the_cutoff() {
    let plan = plan(4000, Readiness::Ready);
    let embedding = State { keyword: USEFUL, embed: Progress::Running, ..State::START };
    check(&plan, embedding, 5, "wait 2000");
    check(&plan, embedding, 2000, "cut embed");
    let looking = State { embed: USEFUL, vector: Progress::Running, ..embedding };
    check(&plan, looking, 1999, "wait 2000");
    check(&plan, looking, 2000, "cut vector");
}

#[test]
fn with_nothing_in_hand_the_cutoff_does_not_apply() {
    let plan = plan(4000, Readiness::Ready);
    let empty = State { keyword: EMPTY, embed: USEFUL, vector: Progress::Running, ..State::START };
    check(&plan, empty, 2000, "wait 3050");
    check(&plan, empty, 3050, "cut vector");
}

#[test]
fn vector_hits_in_hand_bound_a_stalled_keyword_search() {
    let plan = plan(4000, Readiness::Ready);
    let stalled =
        State { keyword: Progress::Running, embed: USEFUL, vector: USEFUL, ..State::START };
    check(&plan, stalled, 1000, "wait 2000");
    check(&plan, stalled, 2000, "cut keyword");
}

#[test]
fn a_stage_starts_only_if_its_minimum_and_those_after_it_fit() {
    let keyword = State { keyword: USEFUL, ..State::START };
    check(&plan(2249, Readiness::Ready), keyword, 0, "skip embed skipped_budget");
    check(&plan(2250, Readiness::Ready), keyword, 0, "start embed 700");
    // What generation would need is free where there is none.
    check(&plan(1350, Readiness::Missing(Reason::NoGenerator)), keyword, 0, "start embed 700");

    let embedded = State { embed: USEFUL, ..keyword };
    let plan = plan(4000, Readiness::Ready);
    check(&plan, embedded, 1400, "start vector 2000");
    check(&plan, embedded, 1401, "skip vector skipped_budget");
}

#[test]
fn what_follows_a_stage_that_is_gone_is_skipped_without_a_second_reason() {
    let plan = plan(4000, Readiness::Ready);
    let gone = State { keyword: USEFUL, embed: Progress::Gone, ..State::START };
    check(&plan, gone, 10, "skip vector -");
}

#[test]
fn generation_gets_all_the_time_that_is_left() {
    let plan = plan(4000, Readiness::Ready);
    let found =
        State { keyword: USEFUL, embed: USEFUL, vector: USEFUL, answerable: true, ..State::START };
    check(&plan, found, 300, "start primary 3950 max 243 ask 194");
    check(&plan, found, 3051, "skip generate skipped_budget");
    let draft = Draft { model: Model::Primary, began: plan.start + ms(300), has_text: true };
    let writing = State { generate: Progress::Running, draft: Some(draft), ..found };
    check(&plan, writing, 3949, "wait 3950");
    check(&plan, writing, 3950, "cut generate");
    check(&plan, State { answerable: false, ..found }, 300, "skip generate -");
    check(&plan, State { generate: Progress::Gone, ..found }, 300, "finish");
}

#[test]
fn what_is_missing_or_not_wanted_is_skipped_with_its_reason_or_none() {
    let mut plan = plan(4000, Readiness::Missing(Reason::NoGenerator));
    plan.embedder = Readiness::Missing(Reason::Unavailable);
    let keyword = State { keyword: USEFUL, ..State::START };
    check(&plan, keyword, 0, "skip embed unavailable");
    plan.embedder = Readiness::NotWanted;
    check(&plan, keyword, 0, "skip embed -");
    let settled = State { embed: Progress::Gone, vector: Progress::Gone, ..keyword };
    check(&plan, settled, 1, "skip generate no_generator");
    plan.generator = Readiness::NotWanted;
    check(&plan, settled, 1, "skip generate -");
}

#[test]
fn even_a_few_milliseconds_are_enough_to_try_the_keywords() {
    check(&plan(8, Readiness::Ready), State::START, 0, "start keyword 6");
    check(&plan(940, Readiness::Ready), State::START, 0, "start keyword 890");
    check(&plan(1000, Readiness::Ready), State::START, 0, "start keyword 50");
    check(&plan(8, Readiness::Ready), State::START, 8, "skip keyword skipped_budget");
}

/// Retrieval has settled with something to answer from.
const FOUND: State = State {
    keyword: USEFUL,
    embed: USEFUL,
    vector: USEFUL,
    answerable: true,
    input_tokens: 1500,
    ..State::START
};

/// A generation that began `at` milliseconds after the start and is the `nth`.
fn drafting(plan: &Plan, at: u64, nth: u32, model: Model, has_text: bool) -> State {
    State {
        generate: Progress::Running,
        calls: Calls { embed: 1, vector: 1, generate: nth },
        draft: Some(Draft { model, began: plan.start + ms(at), has_text }),
        ..FOUND
    }
}

#[test]
fn a_model_without_a_first_token_by_its_cutoff_is_replaced_by_the_lighter_one() {
    let plan = plan(4000, Readiness::Ready);
    let silent = drafting(&plan, 500, 1, Model::Primary, false);
    check(&plan, silent, 1699, "wait 1700");
    check(&plan, silent, 1700, "replace lighter 3950 max 251 ask 200");
    // Not if it has begun to write.
    check(&plan, drafting(&plan, 500, 1, Model::Primary, true), 1700, "wait 3950");
    // The lighter one is given three quarters of that, and after a third call there is none.
    let again = drafting(&plan, 1700, 2, Model::Lighter, false);
    check(&plan, again, 2599, "wait 2600");
    check(&plan, again, 2600, "replace lighter 3950 max 138 ask 110");
    check(&plan, drafting(&plan, 2600, 3, Model::Lighter, false), 3700, "wait 3950");
}

#[test]
fn without_a_lighter_model_a_fresh_call_of_the_same_one_takes_over() {
    let mut plan = plan(4000, Readiness::Ready);
    plan.writers.lighter = None;
    let silent = drafting(&plan, 500, 1, Model::Primary, false);
    check(&plan, silent, 1700, "replace primary 3950 max 138 ask 110");
}

#[test]
fn nothing_is_replaced_that_the_budget_does_not_pay_for_or_that_comes_too_late() {
    let plan = plan(4000, Readiness::Ready);
    let broke = State {
        purse: Purse { replacement: false, ..Purse::FULL },
        ..drafting(&plan, 500, 1, Model::Primary, false)
    };
    check(&plan, broke, 1700, "wait 3950");
    // Of 1650 ms two fifths are waited for.
    let late = drafting(&plan, 2300, 1, Model::Primary, false);
    check(&plan, late, 2959, "wait 2960");
    check(&plan, late, 2960, "replace lighter 3950 max 128 ask 74");
    // The lighter model's first sentence takes 496 ms, and only 470 would be left.
    check(&plan, drafting(&plan, 3167, 1, Model::Primary, false), 3480, "wait 3950");
}

#[test]
fn what_has_reached_the_reader_is_not_written_again() {
    let plan = plan(4000, Readiness::Ready);
    let failed = Progress::Failed { again: plan.start + ms(1000) };
    let broken = State { generate: failed, ..drafting(&plan, 500, 1, Model::Primary, true) };
    check(&plan, State { told: true, ..broken }, 1000, "give up generate");
    check(&plan, broken, 1000, "retry lighter 3950 max 338 ask 200");
}

#[test]
fn a_failed_call_is_made_again_once_its_pause_is_over() {
    let plan = plan(4000, Readiness::Ready);
    let failed = Progress::Failed { again: plan.start + ms(130) };
    let embedding = State {
        keyword: USEFUL,
        embed: failed,
        calls: Calls { embed: 1, ..Calls::default() },
        ..State::START
    };
    check(&plan, embedding, 100, "wait 130");
    check(&plan, embedding, 130, "start embed 2000");
    let twice = State { calls: Calls { embed: 2, ..Calls::default() }, ..embedding };
    check(&plan, twice, 130, "give up embed");
    let broke = State { purse: Purse { embed_retry: false, ..Purse::FULL }, ..embedding };
    check(&plan, broke, 100, "give up embed");
}

#[test]
fn a_failed_call_that_would_not_be_over_in_time_is_given_up_at_once() {
    let plan = plan(4000, Readiness::Ready);
    let looking = |again: u64| State {
        keyword: USEFUL,
        embed: USEFUL,
        vector: Progress::Failed { again: plan.start + ms(again) },
        calls: Calls { embed: 1, vector: 1, generate: 0 },
        ..State::START
    };
    // Half the vector search's minimum of 600 ms must fit before the retrieval cut-off.
    check(&plan, looking(1700), 400, "wait 1700");
    check(&plan, looking(1701), 400, "give up vector");
    // A model asked to be left alone for longer than there is.
    let limited = Progress::Failed { again: plan.start + ms(36_000) };
    let writing = State { generate: limited, ..drafting(&plan, 500, 1, Model::Primary, false) };
    check(&plan, writing, 600, "give up generate");
}

#[test]
fn an_answer_is_sized_by_what_fits_and_asked_for_a_little_shorter() {
    let mut plan = plan(4000, Readiness::Ready);
    plan.writers.lighter = None;
    check(&plan, FOUND, 800, "start primary 3950 max 206 ask 164");
    check(&plan, FOUND, 3050, "start primary 3950 max 128 ask 32");
    plan.writers.primary.tokens_per_second = 50.0;
    check(&plan, FOUND, 3050, "skip generate skipped_budget");
    plan.writers.primary.tokens_per_second = 5000.0;
    plan.reasoning = Reasoning::Off;
    check(&plan, FOUND, 300, "start primary 3950 max 1024 ask 200");
}

#[test]
fn measured_speeds_go_over_expected_ones() {
    let mut plan = plan(4000, Readiness::Ready);
    let expected = plan.writers;
    check(&plan, FOUND, 800, "start primary 3950 max 206 ask 164");
    let slow = Speed { first_token: ms(200), tokens_per_second: 20.0 };
    plan.writers = expected.at(Measured { primary: Some(slow), lighter: None });
    // The primary one would have written 59 tokens by then, so that the lighter one is called at once …
    check(&plan, FOUND, 800, "start lighter 3950 max 363 ask 200");
    let slower = Speed { first_token: ms(1000), tokens_per_second: 50.0 };
    plan.writers = expected.at(Measured { primary: Some(slow), lighter: Some(slower) });
    // … unless it would not have written much either.
    check(&plan, FOUND, 800, "start primary 3950 max 128 ask 47");
    let alone = Writers { lighter: None, ..expected };
    plan.writers = alone.at(Measured { primary: None, lighter: Some(slower) });
    assert_eq!(plan.writers, alone);
}

#[test]
fn long_prompts_and_short_times_go_to_the_lighter_model_at_once() {
    let plan = plan(4000, Readiness::Ready);
    let long = State { input_tokens: 12_001, ..FOUND };
    check(&plan, long, 300, "start lighter 3950 max 426 ask 200");
    // The primary one would have written 127 tokens by then, the lighter one 213.
    check(&plan, FOUND, 1851, "start lighter 3950 max 232 ask 185");
    check(&plan, FOUND, 1843, "start primary 3950 max 128 ask 102");
}

#[test]
fn a_model_thinks_only_where_there_is_time_for_it() {
    let mut plan = plan(4000, Readiness::Ready);
    plan.reasoning = Reasoning::On;
    check(&plan, FOUND, 300, "start primary 3950 max 243 ask 194");
    plan.writers.primary.tokens_per_second = 300.0;
    check(&plan, FOUND, 300, "start primary 3950 max 975 ask 200 thinking");
    plan.reasoning = Reasoning::Auto;
    check(&plan, FOUND, 300, "start primary 3950 max 975 ask 200");
    plan.writers.primary.tokens_per_second = 2000.0;
    check(&plan, FOUND, 300, "start primary 3950 max 1536 ask 200 thinking");
    plan.reasoning = Reasoning::Off;
    check(&plan, FOUND, 300, "start primary 3950 max 1024 ask 200");
}
