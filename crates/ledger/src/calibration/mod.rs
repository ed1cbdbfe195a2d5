//! Tomorrow's shares from yesterday's latencies.
//!
//! [`history`] reads a window of the log, [`Survival`] estimates percentiles where calls were cut before they
//! ended, [`fitted`] makes minimums that fit a budget of them, [`speeds`] says how fast models write, and
//! [`apply`] and [`newest`] keep what came of it. What the policy makes of other shares is replayed
//! elsewhere: nothing here knows how answers are made.

mod history;
mod minimums;
mod speeds;
mod stored;
mod survival;

pub use history::{Ended, History, Observed, PastCall, PastRequest, Window, apps, history};
pub use minimums::{Evidence, Standing, fitted};
pub use speeds::{FEWEST_CALLS, HOURS, Speed, WrongSpeed, hour_of, speed_at, speeds};
pub use stored::{Applied, CalibratedMinimums, New, Values, apply, newest};
pub use survival::{Estimate, Sample, Survival};

use thiserror::Error;

use crate::{LedgerError, PgError};

/// A log that a calibration cannot be read from or written to.
#[derive(Debug, Error)]
pub enum CalibrationError {
    #[error("the calibration cannot use Postgres")]
    Postgres(#[from] PgError),
    #[error("the calibration cannot use the latency log")]
    Sqlite(#[from] LedgerError),
}
