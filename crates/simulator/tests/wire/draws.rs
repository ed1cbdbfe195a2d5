//! The draws in bulk: their quantiles are what they are said to be.

use std::time::Duration;

use simulator::{Draws, Key, LIGHTER_SCALE, Physics, Profile};

const N: u64 = 100_000;

/// Median and 95th percentile, in seconds.
fn quantiles(draw: impl Fn(&Key) -> Duration) -> (f64, f64) {
    let mut all: Vec<f64> = (0..N).map(|n| draw(&Key::marker(n)).as_secs_f64()).collect();
    all.sort_by(f64::total_cmp);
    (all[all.len() / 2], all[all.len() * 95 / 100])
}

#[track_caller]
fn check(got: (f64, f64), expected: (f64, f64)) {
    let near = |got: f64, expected: f64| (got / expected - 1.0).abs() < 0.02;
    assert!(near(got.0, expected.0) && near(got.1, expected.1), "{got:?}, not {expected:?}");
}

#[test]
fn quantiles_are_those_of_the_field() {
    let draws = Draws::new(3, Profile::Field);
    check(quantiles(|key| draws.embed(key)), (0.35, 0.9));
    check(quantiles(|key| draws.vector(key)), (0.4, 1.8));
    for physics in [Physics::Split, Physics::Tokens] {
        check(quantiles(|key| draws.generate(key, physics, 1.0).whole), (0.8, 3.2));
        let lighter = |key: &Key| key.lighter("gemini-lighter");
        let whole = |key: &Key| draws.generate(&lighter(key), physics, LIGHTER_SCALE).whole;
        check(quantiles(whole), (0.48, 1.92));
    }
    check(quantiles(|key| draws.generate(key, Physics::Split, 1.0).first_token), (0.4, 1.6));
}

#[test]
fn in_tokens_the_rest_is_decoding() {
    let draws = Draws::new(3, Profile::Field);
    let mut ignoring = 0;
    for n in 0..N {
        let draw = draws.generate(&Key::marker(n), Physics::Tokens, 1.0);
        assert!(draw.first_token <= draw.whole.mul_f64(0.9) + Duration::from_nanos(2));
        assert!((60.0..=90.0).contains(&draw.tokens_per_second));
        let decoding = (draw.whole - draw.first_token).as_secs_f64() * draw.tokens_per_second;
        assert!((decoding - f64::from(draw.natural_tokens)).abs() <= 1.0);
        assert_eq!(draw.ends_after(draw.natural_tokens), draw.whole);
        let half = draw.natural_tokens / 2;
        let (length, cut) = draw.length(Some(half), None);
        assert_eq!(
            (length, cut),
            (if draw.ignores_hint { draw.natural_tokens } else { half }, false)
        );
        assert_eq!(draw.length(None, Some(half)), (half, true));
        assert!(draw.ends_after(half) < draw.whole);
        ignoring += u32::from(draw.ignores_hint);
    }
    assert!((29_000..31_000).contains(&ignoring), "{ignoring}");
}

#[test]
fn first_tokens_are_soon_in_tokens() {
    let draws = Draws::new(3, Profile::Field);
    let (median, _) = quantiles(|key| draws.generate(key, Physics::Tokens, 1.0).first_token);
    assert!((0.3..0.4).contains(&median), "{median}: 0.4, but for short calls");
}

#[test]
fn a_heavy_day_has_a_tail() {
    let (field, heavy) = (Draws::new(3, Profile::Field), Draws::new(3, Profile::Heavy));
    let factor = |n| {
        let key = Key::marker(n);
        heavy.embed(&key).as_secs_f64() / field.embed(&key).as_secs_f64()
    };
    let factors: Vec<f64> = (0..N).map(factor).collect();
    let tail: Vec<f64> = factors.into_iter().filter(|factor| *factor > 1.001).collect();
    assert!((900..1100).contains(&tail.len()), "{}", tail.len());
    assert!(tail.iter().all(|factor| (9.99..100.01).contains(factor)));
    assert!(tail.iter().any(|factor| *factor > 40.0));
}

#[test]
fn draws_depend_on_seed_key_attempt_and_lighter_model_only() {
    let draws = Draws::new(1, Profile::Field);
    let key = Key::marker(5);
    let whole = |draws: &Draws, key: &Key| draws.generate(key, Physics::Split, 1.0).whole;
    assert_eq!(whole(&draws, &key), whole(&Draws::new(1, Profile::Field), &Key::marker(5)));
    for other in [key.attempt(2), key.lighter("a"), Key::marker(6), Key::request("5")] {
        assert_ne!(whole(&draws, &key), whole(&draws, &other));
    }
    assert_ne!(whole(&draws, &key), whole(&Draws::new(2, Profile::Field), &key));
    let slow = draws.time_scaled(2.0);
    assert_eq!(slow.embed(&key).as_millis() / 2, draws.embed(&key).as_millis());
    let zero = Draws::new(1, Profile::Zero);
    assert_eq!((zero.embed(&key), whole(&zero, &key)), (Duration::ZERO, Duration::ZERO));
}

#[test]
fn embed_and_generate_of_one_key_are_independent() {
    let draws = Draws::new(3, Profile::Field);
    let logs = |n| {
        let key = Key::marker(n);
        let generate = draws.generate(&key, Physics::Split, 1.0).whole.as_secs_f64().ln();
        (draws.embed(&key).as_secs_f64().ln(), generate)
    };
    let all: Vec<(f64, f64)> = (0..N).map(logs).collect();
    let mean = |of: &dyn Fn(&(f64, f64)) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
    let (a, b) = (mean(&|x| x.0), mean(&|x| x.1));
    let covariance = mean(&|x| (x.0 - a) * (x.1 - b));
    let spread = mean(&|x| (x.0 - a).powi(2)).sqrt() * mean(&|x| (x.1 - b).powi(2)).sqrt();
    assert!((covariance / spread).abs() < 0.02, "{}", covariance / spread);
}
