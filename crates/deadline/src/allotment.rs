//! The kiwari itself: how one request's time is shared out among its stages.

use std::time::Duration;

use thiserror::Error;

/// The least time each slow stage is worth starting with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Minimums {
    /// Turning the question into a vector.
    pub embed: Duration,
    /// Looking up the nearest passages.
    pub vector: Duration,
    /// Writing the answer; zero where no model is configured.
    pub generate: Duration,
}

impl Minimums {
    /// Remote services, from field latencies (p50/p95 seconds: embed 0.35/0.9, vector 0.4/1.8,
    /// generate 0.8/3.2). Starting values until a calibration replaces them.
    pub const REMOTE: Self = Self {
        embed: Duration::from_millis(700),
        vector: Duration::from_millis(600),
        generate: Duration::from_millis(900),
    };

    /// The in-process model and index, which take a few milliseconds at worst; no generator.
    pub const EMBEDDED: Self = Self {
        embed: Duration::from_millis(5),
        vector: Duration::from_millis(5),
        generate: Duration::ZERO,
    };

    /// What all of them need together.
    #[must_use]
    pub fn sum(self) -> Duration {
        self.embed.saturating_add(self.vector).saturating_add(self.generate)
    }
}

/// One app's shares. Checked: its minimums and reserve fit its total.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Allotment {
    total: Duration,
    minimums: Minimums,
    reserve: Duration,
    retrieval_cutoff: Duration,
    first_token_cutoff: Duration,
}

/// Shares that cannot work.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum AllotmentError {
    /// The stages' minimums and the reserve need more than there is.
    #[error(
        "embed {embed} + vector {vector} + generate {generate} + reserve {reserve} = {sum} ms, \
         but total is {total} ms"
    )]
    DoesNotFit { embed: u128, vector: u128, generate: u128, reserve: u128, sum: u128, total: u128 },
    /// The total is zero or over a day.
    #[error("total is {total} ms; it must lie between 1 ms and one day")]
    Total { total: u128 },
}

impl Allotment {
    /// Checks that the shares fit `total`.
    ///
    /// # Errors
    ///
    /// [`AllotmentError`] with the sum shown.
    pub fn new(
        total: Duration,
        minimums: Minimums,
        reserve: Duration,
        retrieval_cutoff: Duration,
        first_token_cutoff: Duration,
    ) -> Result<Self, AllotmentError> {
        if total.is_zero() || total > crate::LONGEST_BUDGET {
            return Err(AllotmentError::Total { total: total.as_millis() });
        }
        let sum = minimums.sum().saturating_add(reserve);
        if sum > total {
            return Err(AllotmentError::DoesNotFit {
                embed: minimums.embed.as_millis(),
                vector: minimums.vector.as_millis(),
                generate: minimums.generate.as_millis(),
                reserve: reserve.as_millis(),
                sum: sum.as_millis(),
                total: total.as_millis(),
            });
        }
        Ok(Self { total, minimums, reserve, retrieval_cutoff, first_token_cutoff })
    }

    /// The longest budget a request of this app gets.
    #[must_use]
    pub fn total(&self) -> Duration {
        self.total
    }

    /// The least time each slow stage is started with.
    #[must_use]
    pub fn minimums(&self) -> Minimums {
        self.minimums
    }

    /// Time kept back for putting the response on the wire.
    #[must_use]
    pub fn reserve(&self) -> Duration {
        self.reserve
    }

    /// *R*: how long after the start the keyword hits are taken instead of waiting for vectors.
    #[must_use]
    pub fn retrieval_cutoff(&self) -> Duration {
        self.retrieval_cutoff
    }

    /// *F*: how long after generation starts its first token may take.
    #[must_use]
    pub fn first_token_cutoff(&self) -> Duration {
        self.first_token_cutoff
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn with_total(total: u64) -> Result<Allotment, AllotmentError> {
        Allotment::new(ms(total), Minimums::REMOTE, ms(50), ms(2000), ms(1200))
    }

    #[test]
    fn minimums_that_do_not_fit_are_refused_with_the_sum_shown() {
        let error = with_total(2249).unwrap_err();
        assert_eq!(
            error.to_string(),
            "embed 700 + vector 600 + generate 900 + reserve 50 = 2250 ms, but total is 2249 ms"
        );
        assert!(with_total(2250).is_ok());
    }

    #[test]
    fn a_total_of_nothing_or_of_more_than_a_day_is_refused() {
        assert_eq!(with_total(0).unwrap_err(), AllotmentError::Total { total: 0 });
        assert_eq!(
            with_total(86_400_001).unwrap_err(),
            AllotmentError::Total { total: 86_400_001 }
        );
    }
}
