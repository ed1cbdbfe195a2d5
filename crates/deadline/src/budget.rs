//! Where a caller's time budget comes from: the request body and the headers people already send.
//!
//! The wire is relative, the inside absolute: every form is read into a [`Duration`] here and becomes a
//! [`Deadline`](crate::Deadline) at the entry point. Anything malformed is an error that names its
//! source; nothing is ever read as "no limit".

use std::time::Duration;

use thiserror::Error;

/// The longest budget that can be asked for: one day.
pub const LONGEST_BUDGET: Duration = Duration::from_millis(LONGEST_BUDGET_MS);
const LONGEST_BUDGET_MS: u64 = 86_400_000;

/// A header that carries a caller's time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetHeader {
    /// Our own: whole milliseconds.
    RequestTimeout,
    /// gRPC: one to eight digits and a unit of `H M S m u n`.
    Grpc,
    /// Connect: whole milliseconds, one to ten digits.
    Connect,
    /// Envoy: whole milliseconds. Read only where an operator opts in, because Envoy's zero means
    /// "unlimited" and any client can send it.
    Envoy,
}

impl BudgetHeader {
    /// Every header, in the order in which they are looked at.
    pub const ALL: [Self; 4] = [Self::RequestTimeout, Self::Grpc, Self::Connect, Self::Envoy];

    /// The header's name, in lower case as HTTP/2 wants it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RequestTimeout => "x-request-timeout-ms",
            Self::Grpc => "grpc-timeout",
            Self::Connect => "connect-timeout-ms",
            Self::Envoy => "x-envoy-expected-rq-timeout-ms",
        }
    }

    /// What a well-formed value looks like, for messages.
    fn expected(self) -> &'static str {
        match self {
            Self::RequestTimeout | Self::Envoy => "whole milliseconds from 1 to 86400000",
            Self::Connect => "whole milliseconds from 1 to 86400000, in at most ten digits",
            Self::Grpc => "one to eight digits and a unit (H, M, S, m, u or n), not zero",
        }
    }
}

/// A budget that cannot be used.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum BudgetError {
    /// A header's value does not have the header's form.
    #[error("header {name} must be {expected}")]
    Header { name: &'static str, expected: &'static str },
    /// `budget_ms` in the body is out of range.
    #[error("budget_ms must be a whole number from 1 to 86400000")]
    Body,
}

/// Reads `budget_ms` from a body.
///
/// # Errors
///
/// [`BudgetError::Body`] for zero and for more than a day.
pub fn budget_from_ms(budget_ms: u64) -> Result<Duration, BudgetError> {
    in_range(budget_ms).ok_or(BudgetError::Body)
}

/// Reads one header's value.
///
/// # Errors
///
/// [`BudgetError::Header`] naming the header, for anything but its documented form.
pub fn budget_from_header(header: BudgetHeader, value: &str) -> Result<Duration, BudgetError> {
    let parsed = match header {
        BudgetHeader::RequestTimeout | BudgetHeader::Envoy => millis(value),
        BudgetHeader::Connect => (value.len() <= 10).then(|| millis(value)).flatten(),
        BudgetHeader::Grpc => grpc(value),
    };
    parsed.ok_or(BudgetError::Header { name: header.name(), expected: header.expected() })
}

/// The budgets found in one request; the least one counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetSources(Option<Duration>);

impl BudgetSources {
    /// Takes one more source into account.
    #[must_use]
    pub fn and(self, budget: Duration) -> Self {
        Self(Some(self.0.map_or(budget, |least| least.min(budget))))
    }

    /// What the caller asked for, or `None` if no source named a budget.
    #[must_use]
    pub fn requested(self) -> Option<Duration> {
        self.0
    }

    /// The budget to work with: the caller's, at most `most`, or `most` if the caller named none.
    #[must_use]
    pub fn capped(self, most: Duration) -> Duration {
        self.0.map_or(most, |asked| asked.min(most))
    }
}

fn in_range(ms: u64) -> Option<Duration> {
    (1..=LONGEST_BUDGET_MS).contains(&ms).then(|| Duration::from_millis(ms))
}

/// Digits only: `parse` alone would take a sign.
fn digits(value: &str) -> Option<u64> {
    let plain = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| value.parse().ok()).flatten()
}

fn millis(value: &str) -> Option<Duration> {
    in_range(digits(value)?)
}

/// `TimeoutValue TimeoutUnit` of the gRPC-over-HTTP/2 protocol. Its largest value is eleven thousand
/// years, so what exceeds a day is cut to a day: the form is right, and the server caps it anyway.
fn grpc(value: &str) -> Option<Duration> {
    let (amount, unit) = value.split_at_checked(value.len().checked_sub(1)?)?;
    if amount.len() > 8 {
        return None;
    }
    let amount = digits(amount).filter(|amount| *amount != 0)?;
    let budget = match unit {
        "H" => Duration::from_secs(amount.saturating_mul(3600)),
        "M" => Duration::from_secs(amount.saturating_mul(60)),
        "S" => Duration::from_secs(amount),
        "m" => Duration::from_millis(amount),
        "u" => Duration::from_micros(amount),
        "n" => Duration::from_nanos(amount),
        _ => return None,
    };
    Some(budget.min(LONGEST_BUDGET))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(header: BudgetHeader, value: &str, expected: Option<Duration>) {
        let read = budget_from_header(header, value);
        assert_eq!(read.clone().ok(), expected, "{}: {value:?}", header.name());
        if let Err(error) = read {
            assert!(error.to_string().contains(header.name()), "the message names the header");
        }
    }

    #[test]
    fn every_well_formed_header_is_read() {
        check(BudgetHeader::RequestTimeout, "1500", Some(Duration::from_millis(1500)));
        check(BudgetHeader::Envoy, "1", Some(Duration::from_millis(1)));
        check(BudgetHeader::Connect, "0000001500", Some(Duration::from_millis(1500)));
        check(BudgetHeader::Grpc, "250m", Some(Duration::from_millis(250)));
        check(BudgetHeader::Grpc, "3S", Some(Duration::from_secs(3)));
        check(BudgetHeader::Grpc, "2M", Some(Duration::from_secs(120)));
        check(BudgetHeader::Grpc, "1H", Some(Duration::from_secs(3600)));
        check(BudgetHeader::Grpc, "900u", Some(Duration::from_micros(900)));
        check(BudgetHeader::Grpc, "1n", Some(Duration::from_nanos(1)));
        check(BudgetHeader::Grpc, "99999999H", Some(LONGEST_BUDGET));
    }

    #[test]
    fn every_malformed_header_is_refused() {
        let numbers = [
            "",
            " ",
            "0",
            "-1",
            "+1",
            "1.5",
            "1e3",
            "1 000",
            "4s",
            "86400001",
            "９",
            "0x10",
            "inf",
            "99999999999999999999999",
        ];
        for header in [BudgetHeader::RequestTimeout, BudgetHeader::Connect, BudgetHeader::Envoy] {
            for value in numbers {
                check(header, value, None);
            }
        }
        check(BudgetHeader::Connect, "00000001500", None);
        for value in
            ["", "m", "0m", "-1m", "1", "1s", "1ms", "123456789m", "1 m", "1.5S", "１m", "m1", "秒"]
        {
            check(BudgetHeader::Grpc, value, None);
        }
    }

    #[test]
    fn the_body_takes_one_to_a_day() {
        assert_eq!(budget_from_ms(1), Ok(Duration::from_millis(1)));
        assert_eq!(budget_from_ms(86_400_000), Ok(LONGEST_BUDGET));
        assert_eq!(budget_from_ms(0), Err(BudgetError::Body));
        assert_eq!(budget_from_ms(86_400_001), Err(BudgetError::Body));
    }

    proptest! {
        #[test]
        fn no_header_value_panics_or_reads_as_longer_than_a_day(value in ".{0,12}") {
            for header in BudgetHeader::ALL {
                if let Ok(budget) = budget_from_header(header, &value) {
                    prop_assert!(budget > Duration::ZERO && budget <= LONGEST_BUDGET);
                }
            }
        }

        #[test]
        fn the_least_source_counts_and_the_cap_holds(budgets in prop::collection::vec(1_u64..100_000, 0..6), most in 1_u64..100_000) {
            let most = Duration::from_millis(most);
            let sources = budgets.iter().fold(BudgetSources::default(), |all, ms| all.and(Duration::from_millis(*ms)));
            let least = budgets.iter().min().map(|ms| Duration::from_millis(*ms));
            prop_assert_eq!(sources.requested(), least);
            prop_assert_eq!(sources.capped(most), least.unwrap_or(most).min(most));
        }
    }
}
