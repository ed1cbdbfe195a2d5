//! What is taken up, and what is not.

use pipeline::policy::{Measured, Speed};

use super::*;
use crate::config::{Sources, load};

const REMOTE: Kind = Kind { remote_embedder: true, remote_vectors: true, writes: true };

fn calibrations() -> Calibrations {
    let configured = load(&Sources::default()).unwrap().shares.with_model(true);
    let expected = Expected {
        primary: Some(("main".to_owned(), speed(800, 60.0))),
        lighter: Some(("light".to_owned(), speed(400, 90.0))),
    };
    Calibrations { expected, ..Calibrations::new(configured, None) }
}

fn speed(first_token_ms: u64, tokens_per_second: f64) -> Speed {
    Speed { first_token: Duration::from_millis(first_token_ms), tokens_per_second }
}

fn applied(number: u64, minimums: [u64; 3], cutoffs: [u64; 2]) -> Applied {
    let [embed, vector, generate] = minimums;
    let [retrieval, first_token] = cutoffs;
    let calibrated = format!(
        r#"{{"total_ms":4000,"minimums":{{"embed_ms":{embed},"vector_ms":{vector},"generate_ms":{generate}}},
            "retrieval_cutoff_ms":{retrieval},"first_token_cutoff_ms":{first_token},"of_later":1}}"#
    );
    Applied { number, app: "shop".to_owned(), calibrated }
}

/// Number 3, with these rows of speeds.
fn with_speeds(rows: &[String]) -> Applied {
    let sound = applied(3, [500, 600, 1000], [1800, 0]);
    let speeds = format!(r#""speeds":[{}]"#, rows.join(","));
    Applied { calibrated: sound.calibrated.replace(r#""of_later":1"#, &speeds), ..sound }
}

/// `hour` and `pace` as JSON has them.
fn row(model: &str, hour: &str, n: u64, first_token_ms: u64, pace: &str) -> String {
    format!(
        r#"{{"model":"{model}","hour":{hour},"n":{n},"first_token_ms":{first_token_ms},"tokens_per_second":{pace}}}"#
    )
}

/// A moment of the day on which Europe's clocks went from 01:00 UTC an hour ahead.
fn at(hour: u64, second: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_774_742_400 + hour * 3600 + second)
}

fn measured(calibrations: &Calibrations, received: SystemTime) -> Measured {
    calibrations.allotted(&"shop".parse().unwrap(), REMOTE, received).measured
}

fn of(calibrations: &Calibrations, app: &str) -> (u64, u128) {
    let allotted = calibrations.allotted(&app.parse().unwrap(), REMOTE, at(0, 0));
    (allotted.calibration, allotted.allotment.minimums().embed.as_millis())
}

#[test]
fn what_is_applied_goes_over_the_configuration_of_its_app_alone() {
    let calibrations = calibrations();
    assert_eq!(of(&calibrations, "shop"), (0, 700));
    calibrations.take_up(&[applied(3, [500, 600, 1000], [1800, 0])]);
    assert_eq!(of(&calibrations, "shop"), (3, 500));
    assert_eq!(of(&calibrations, "docs"), (0, 700));
    calibrations.take_up(&[applied(4, [450, 600, 1000], [1800, 900])]);
    assert_eq!(of(&calibrations, "shop"), (4, 450));
    // What runs in the process keeps its configured minimum.
    let local = Kind { remote_embedder: false, ..REMOTE };
    let allotted = calibrations.allotted(&"shop".parse().unwrap(), local, at(0, 0));
    assert_eq!(allotted.allotment.minimums().embed.as_millis(), 5);
    assert_eq!(allotted.allotment.first_token_cutoff().as_millis(), 900);
}

#[test]
fn nonsense_is_refused_and_the_old_one_stays() {
    let calibrations = calibrations();
    calibrations.take_up(&[applied(3, [500, 600, 1000], [1800, 1000])]);
    let broken = |calibrated: &str| Applied {
        number: 9,
        app: "shop".to_owned(),
        calibrated: calibrated.to_owned(),
    };
    for nonsense in [
        broken("{}"),
        broken("no JSON"),
        broken("[1, 2]"),
        applied(9, [2000, 2000, 2000], [1800, 1000]),
        applied(9, [u64::MAX, u64::MAX, u64::MAX], [1800, 1000]),
        applied(9, [0, 600, 900], [1800, 1000]),
        applied(9, [500, 600, 900], [0, 1000]),
        applied(9, [500, 600, 900], [4001, 1000]),
        applied(9, [500, 600, 900], [1800, 7]),
        with_speeds(&[row("main", "24", 40, 500, "80.0")]),
        with_speeds(&[row("main", "-1", 40, 500, "80.0")]),
        with_speeds(&[row("main", "3", 40, 0, "80.0")]),
        with_speeds(&[row("main", "3", 40, 4001, "80.0")]),
        with_speeds(&[row("main", "3", 40, 500, "0.5")]),
        with_speeds(&[row("main", "3", 40, 500, "-80.0")]),
        with_speeds(&[row("main", "3", 40, 500, "5001.0")]),
        with_speeds(&[row("main", "3", 40, 500, "1e999")]),
        with_speeds(&[row("main", "null", 40, 500, "80.0"), row("other", "3", 40, 500, "0.0")]),
        with_speeds(&["7".to_owned()]),
        Applied { app: "Not A Name".to_owned(), ..applied(9, [500, 600, 900], [1800, 900]) },
    ] {
        let nonsense = Applied { number: 9, ..nonsense };
        assert!(read(&calibrations.configured, &nonsense).is_err(), "{nonsense:?}");
        calibrations.take_up(std::slice::from_ref(&nonsense));
        assert_eq!(of(&calibrations, "shop"), (3, 500), "{nonsense:?}");
        // It is complained of once.
        assert!(calibrations.refused().remove(&9));
    }
    // A server that starts afterwards goes back to the last one that is sound.
    let later = self::calibrations();
    let newest = [broken("{}"), applied(4, [400, 600, 900], [1800, 1000])];
    later.take_up(&[newest, [applied(3, [500, 600, 900], [1800, 1000]), broken("{}")]].concat());
    assert_eq!(of(&later, "shop"), (4, 400));
}

#[test]
fn each_request_has_the_speeds_of_its_hour() {
    let calibrations = calibrations();
    assert_eq!(measured(&calibrations, at(7, 0)), Measured::default());
    let mut rows: Vec<String> = (0..24_u64)
        .filter(|hour| *hour != 5)
        .map(|hour| row("main", &hour.to_string(), 40, 500 + hour, "80.5"))
        .collect();
    rows.push(row("main", "null", 960, 555, "77.0"));
    calibrations.take_up(&[with_speeds(&rows)]);
    // Set forward, set back, and a day on: nothing of one request is left for the next.
    for (hour, second) in [(7, 0), (7, 3599), (8, 0), (23, 3599), (24, 0), (0, 0), (2, 1), (1, 0)] {
        let expected = speed(500 + hour % 24, 80.5);
        let measured = measured(&calibrations, at(hour, second));
        assert_eq!(measured, Measured { primary: Some(expected), lighter: None }, "{hour}");
    }
    for hour in 0..24 {
        let expected = if hour == 5 { speed(555, 77.0) } else { speed(500 + hour, 80.5) };
        assert_eq!(measured(&calibrations, at(hour, 1800)).primary, Some(expected));
    }
    // The number that the log has is the one that the speeds came from.
    let allotted = calibrations.allotted(&"shop".parse().unwrap(), REMOTE, at(5, 0));
    assert_eq!((allotted.calibration, allotted.measured.primary), (3, Some(speed(555, 77.0))));
    let docs = calibrations.allotted(&"docs".parse().unwrap(), REMOTE, at(5, 0));
    assert_eq!((docs.calibration, docs.measured), (0, Measured::default()));
}

#[test]
fn what_was_not_measured_is_as_configured() {
    let calibrations = calibrations();
    calibrations.take_up(&[with_speeds(&[
        row("main", "null", 40, 500, "null"),
        row("main", "3", 29, 100, "300.0"),
        row("light", "null", 29, 100, "300.0"),
        row("other", "null", 900, 100, "300.0"),
    ])]);
    let expected = Measured { primary: Some(speed(500, 60.0)), lighter: None };
    assert_eq!(measured(&calibrations, at(3, 0)), expected);
    // A first token of which only so much is known that it is late may be as late as was expected.
    for (first_token_ms, expected) in [(500, 800), (900, 900)] {
        let late = row("main", "null", 40, first_token_ms, "80.0");
        let late = late.replace("}", r#","is_lower_bound":true}"#);
        let calibrations = self::calibrations();
        calibrations.take_up(&[with_speeds(&[late])]);
        assert_eq!(measured(&calibrations, at(3, 0)).primary, Some(speed(expected, 80.0)));
    }
    // A calibration without speeds is one.
    calibrations.take_up(&[applied(4, [450, 600, 1000], [1800, 900])]);
    assert_eq!(measured(&calibrations, at(3, 0)), Measured::default());
    assert_eq!(of(&calibrations, "shop"), (4, 450));
}
