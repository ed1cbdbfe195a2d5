//! Proposals from a field day that was logged by hand.

use generate::ModelSettings;
use ledger::calibration::{Ended, Observed, PastCall, PastRequest, speed_at};
use simulator::{Draws, GenerateDraw, Key, LIGHTER_SCALE, Physics, Profile};

use super::*;
use crate::config::{Sources, load};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What would have been logged: `took`, or a cut after `limit`.
fn observed(took: Duration, limit: Duration) -> Observed {
    let ended = if took <= limit { Ended::Done } else { Ended::Cut };
    Observed { took: took.min(limit), ended }
}

fn call(model: &str, attempt: u32, draw: GenerateDraw, limit: Duration) -> PastCall {
    let Observed { took, ended } = observed(draw.whole, limit);
    PastCall {
        model: model.to_owned(),
        attempt,
        first_token: Some(draw.first_token).filter(|first_token| *first_token <= took),
        took,
        ended,
        text_tokens: Some(100),
    }
}

/// A day of the field profile, logged by a server that gives retrieval two seconds and everything four.
/// Where no first token comes within 1,200 ms, a lighter model is called beside, and the faster one counts.
fn field_request(draws: &Draws, number: u64) -> PastRequest {
    let key = Key::marker(number);
    let embed = observed(draws.embed(&key), ms(2000));
    let vector =
        (embed.ended == Ended::Done).then(|| observed(draws.vector(&key), ms(2000) - embed.took));
    let retrieved = embed.took + vector.map_or(Duration::ZERO, |vector| vector.took);
    let left = ms(3950) - retrieved;
    let first = draws.generate(&key, Physics::Split, 1.0);
    let second_key = key.attempt(2).lighter("light");
    let second = draws.generate(&second_key, Physics::Split, LIGHTER_SCALE);
    let is_replaced = first.first_token > ms(1200);
    let ends = if is_replaced { first.whole.min(ms(1200) + second.whole) } else { first.whole };
    let until = ends.min(left);
    let mut calls = vec![call("main", 1, first, until)];
    if is_replaced {
        calls.push(call("light", 2, second, until - ms(1200)));
    }
    PastRequest {
        received_at_us: 0,
        keyword: Some(observed(ms(2), ms(2000))),
        embed: Some(embed),
        vector,
        generate: Some(observed(ends, left)),
        lacked_time: false,
        calls,
    }
}

fn field(requests: u64) -> History {
    let draws = Draws::new(11, Profile::Field);
    let requests = (0..requests).map(|number| field_request(&draws, number)).collect::<Vec<_>>();
    History { answered: requests.len() as u64, requests }
}

fn proposed(history: &History) -> Result<Proposal, Refusal> {
    proposed_over(&[], history, None)
}

/// The same, with speeds of models in the configuration, and with a calibration in force.
fn proposed_over(
    models: &[(&str, u64, f64)],
    history: &History,
    in_force: Option<&(u64, Values)>,
) -> Result<Proposal, Refusal> {
    let mut config = load(&Sources::default()).unwrap();
    for (model, first_token, pace) in models {
        let settings = ModelSettings {
            first_token: Some(ms(*first_token)),
            tokens_per_second: Some(*pace),
            ..ModelSettings::default()
        };
        config.models.insert((*model).to_owned(), settings);
    }
    propose(&config, &AppName::default_app(), history, Known::default(), in_force)
}

#[track_caller]
fn near(found: f64, expected: f64, within: f64) {
    assert!((found / expected - 1.0).abs() <= within, "{found} is not near {expected}");
}

#[test]
fn the_fields_percentiles_are_found_again_although_much_was_cut() {
    let proposal = proposed(&field(20_000)).unwrap();
    let [embed, vector, generate] = proposal.stages.map(|line| line.evidence.unwrap());
    near(embed.p50.ms, 350.0, 0.03);
    near(embed.p95.ms, 900.0, 0.03);
    near(vector.p50.ms, 400.0, 0.03);
    near(vector.p95.ms, 1800.0, 0.05);
    assert!(vector.cut > 0.05, "{vector:?}");
    near(generate.p50.ms, 800.0, 0.03);
    // The lighter model takes the tail off.
    assert!(generate.p95.ms < 2500.0, "{generate:?}");
    let main = speed_at(&proposal.values.speeds, "main", 0).unwrap();
    assert_eq!((main.hour, main.n), (Some(0), 20_000));
    near(main.first_token_ms, 400.0, 0.03);
}

#[test]
fn what_is_proposed_fits_and_never_lowers_what_was_cut_too_often() {
    let proposal = proposed(&field(5000)).unwrap();
    let [embed, vector, generate] = proposal.stages;
    let sum = embed.proposed_ms + vector.proposed_ms + generate.proposed_ms;
    assert!(sum + 50 <= 4000, "{proposal:?}");
    assert!(vector.proposed_ms >= 600 && vector.remark.is_some(), "{vector:?}");
    let outlook = proposal.outlook.unwrap();
    assert!(outlook.proposed.complete >= outlook.today.complete - 0.01, "{outlook:?}");
    assert!(outlook.proposed.extra_calls <= 0.16, "{outlook:?}");
    let config = load(&Sources::default()).unwrap();
    let kind = Kind { remote_embedder: true, remote_vectors: true, writes: true };
    let shares = config.shares.calibrated(&proposal.app, kind, &proposal.values).unwrap();
    assert_eq!(in_order(shares.minimums()).map(super::ms), proposal.stages.map(|l| l.proposed_ms));
}

/// The shares that an independent simulation of the same latencies gives for today's cut-offs.
#[test]
fn the_expectation_is_that_of_the_field() {
    let models = [("main", 400, 75.0), ("light", 240, 125.0)];
    let outlook = proposed_over(&models, &field(10_000), None).unwrap().outlook.unwrap();
    let close = |found: f64, expected: f64| (found - expected).abs() < 0.015;
    assert!(close(outlook.today.complete, 0.997), "{outlook:?}");
    assert!(close(outlook.today.semantic, 0.923), "{outlook:?}");
    assert!(close(outlook.today.extra_calls, 0.121), "{outlook:?}");
    let [more, most] = outlook.larger;
    assert!(more.semantic > outlook.proposed.semantic && most.semantic > more.semantic);
    let all = outlook.today.complete + outlook.today.partial + outlook.today.template;
    assert!((all - 1.0).abs() < 1e-9);
}

/// What is expected today goes by the speeds that servers go by today.
#[test]
fn what_is_in_force_is_replayed_with_its_own_speeds() {
    let history = field(4000);
    let first = proposed(&history).unwrap();
    let outlook = first.outlook.unwrap();
    // Models that nothing is known of are thought slower than these are, and are called less often.
    assert!(outlook.today.extra_calls < outlook.proposed.extra_calls, "{outlook:?}");
    let again = proposed_over(&[], &history, Some(&(7, first.values))).unwrap();
    assert_eq!(again.calibration, 7);
    assert_eq!(again.outlook.unwrap().today, outlook.proposed);
}

/// A local embedder on a busy machine is slow, and a model server next door is fast.
#[test]
fn what_is_known_to_be_remote_counts_however_fast_it_is() {
    let config = load(&Sources::default()).unwrap();
    let app = AppName::default_app();
    let under = |history: &History, embedder: &str, vectors: VectorHome| {
        let recipe = Recipe {
            embedder: domain::EmbedderId { name: embedder.to_owned(), dimensions: 4 },
            splitter: 1,
            passage_text: 1,
            analyser: String::new(),
            vectors,
            owner: None,
        };
        propose(&config, &app, history, Known::of(&recipe), None)
    };
    let busy = field(400);
    let proposal = under(&busy, "local/m", VectorHome::Files).unwrap();
    assert_eq!(proposal.stages[0].remark, Some("in the process"));
    assert_eq!(proposal.values.minimums.embed_ms, None);
    let remote = under(&busy, "openai/m", VectorHome::Files).unwrap();
    assert!(remote.values.minimums.embed_ms.is_some(), "{remote:?}");

    let fast = PastRequest { vector: Some(observed(ms(3), ms(600))), ..PastRequest::default() };
    let fast = History { answered: 300, requests: vec![fast; 300] };
    assert!(under(&fast, "local/m", VectorHome::Catalog).is_err());
    let proposal = under(&fast, "local/m", VectorHome::Qdrant).unwrap();
    assert!(proposal.values.minimums.vector_ms.is_some(), "{proposal:?}");
}

#[test]
fn too_few_answers_are_refused_with_what_is_missing() {
    let refused = proposed(&field(150)).unwrap_err();
    assert_eq!(refused, Refusal::Thin { app: AppName::default_app(), found: 150 });
    assert!(refused.to_string().contains("50 more are needed"), "{refused}");
    assert!(proposed(&field(200)).is_ok());
    // Answers that nothing remote took part in do not count.
    let local = PastRequest { vector: Some(observed(ms(3), ms(600))), ..PastRequest::default() };
    let history = History { answered: 1000, requests: vec![local; 1000] };
    assert_eq!(
        proposed(&history).unwrap_err(),
        Refusal::Thin { app: AppName::default_app(), found: 0 }
    );
}
