//! Who is asked what, and when: all of it follows from the seed.

use std::iter;
use std::str::FromStr;
use std::time::Duration;

use fastrand::Rng;
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::options::Arrivals;

/// Requests a second; above zero, and not so many that a microsecond holds more than one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rate(f64);

/// No rate at which requests can be sent.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("must be a number of requests a second, above 0 and at most 1000000")]
pub(crate) struct InvalidRate;

/// One request to be sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// From 1.
    pub(crate) number: u64,
    /// Which of the questions.
    pub(crate) question: usize,
    /// When it is to leave.
    pub(crate) at: Instant,
}

impl FromStr for Rate {
    type Err = InvalidRate;

    fn from_str(text: &str) -> Result<Self, InvalidRate> {
        let rate = text.parse().map_err(|_| InvalidRate)?;
        if rate > 0.0 && rate <= 1_000_000.0 { Ok(Self(rate)) } else { Err(InvalidRate) }
    }
}

/// The questions' places in a random order, and again in another one, without end: none comes a second time
/// before all have come once.
pub(crate) fn order(questions: usize, seed: u64) -> impl Iterator<Item = usize> + Send {
    let mut rng = Rng::with_seed(seed);
    let mut round: Vec<usize> = Vec::new();
    iter::repeat_with(move || {
        if round.is_empty() {
            round.extend(0..questions);
            rng.shuffle(&mut round);
        }
        round.pop()
    })
    .map_while(|place| place)
}

/// From the start to each request, without end.
pub(crate) fn moments(
    rate: Rate,
    arrivals: Arrivals,
    seed: u64,
) -> impl Iterator<Item = Duration> + Send {
    // Another stream of numbers than the order's.
    let mut rng = Rng::with_seed(!seed);
    let mut next = 0.0;
    iter::repeat_with(move || {
        let moment = next;
        next += match arrivals {
            Arrivals::Even => 1.0,
            // `f64` draws from [0, 1), so that the logarithm is of what is above zero.
            Arrivals::Poisson => -(1.0 - rng.f64()).ln(),
        } / rate.0;
        Duration::try_from_secs_f64(moment).unwrap_or(Duration::MAX)
    })
}

/// Hands `plan` over, each request at its moment, until all are sent or nobody takes them.
///
/// A thread of its own: the runtime's timers count in whole milliseconds, which is as much as some servers take.
pub(crate) fn pace(plan: impl Iterator<Item = Arrival>, arrivals: &mpsc::Sender<Arrival>) {
    for arrival in plan {
        let early = arrival.at.saturating_duration_since(Instant::now());
        if !early.is_zero() {
            #[expect(
                clippy::disallowed_methods,
                reason = "a thread of its own, not the runtime's"
            )]
            std::thread::sleep(early);
        }
        // With the queue full it waits here, but what was planned stays planned.
        if arrivals.blocking_send(arrival).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Rate {
        text.parse().unwrap()
    }

    #[test]
    fn one_seed_gives_one_plan_and_another_gives_another() {
        let plan = |seed| -> (Vec<usize>, Vec<Duration>) {
            let moments = moments(rate("50"), Arrivals::Poisson, seed);
            (order(40, seed).take(100).collect(), moments.take(100).collect())
        };
        assert_eq!(plan(7), plan(7));
        assert_ne!(plan(7).0, plan(8).0);
        assert_ne!(plan(7).1, plan(8).1);
    }

    #[test]
    fn every_question_comes_once_before_any_comes_twice() {
        let order: Vec<usize> = order(9, 3).take(27).collect();
        for round in order.chunks(9) {
            let mut places = round.to_vec();
            places.sort_unstable();
            assert_eq!(places, (0..9).collect::<Vec<_>>());
        }
        assert_ne!(order[..9], order[9..18]);
        assert_eq!(super::order(0, 3).next(), None);
    }

    #[test]
    fn even_requests_are_equally_far_apart() {
        let moments: Vec<Duration> = moments(rate("4"), Arrivals::Even, 1).take(4).collect();
        assert_eq!(moments, [0, 250, 500, 750].map(Duration::from_millis));
    }

    #[test]
    fn random_requests_keep_the_rate_and_are_spread_exponentially() {
        let moments: Vec<Duration> =
            moments(rate("200"), Arrivals::Poisson, 1).take(20_001).collect();
        let seconds = moments.last().unwrap().as_secs_f64();
        // The sum of 20,000 gaps of 5 ms: 100 s, standard deviation 0.7 s.
        assert!((seconds - 100.0).abs() < 3.0, "{seconds}");
        let gaps = moments.windows(2).map(|pair| pair[1].checked_sub(pair[0]).unwrap());
        let long = gaps.filter(|gap| *gap > Duration::from_millis(5)).count();
        // e⁻¹ of them are longer than the mean: 7,358, standard deviation 68.
        assert!((7_050..7_650).contains(&long), "{long}");
    }

    #[test]
    fn only_rates_above_zero_are_rates() {
        for bad in ["0", "-1", "nan", "inf", "1e9", "fast", ""] {
            assert_eq!(bad.parse::<Rate>(), Err(InvalidRate), "{bad}");
        }
        assert_eq!(rate("0.5"), Rate(0.5));
    }
}
