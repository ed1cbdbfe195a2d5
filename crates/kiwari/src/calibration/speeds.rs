//! [`ByHour`]: how fast the models that write were at each hour of the day.

use std::time::Duration;

use ledger::calibration::{HOURS, Speed, speed_at};
use pipeline::Models;
use pipeline::policy::{self, Measured};

/// The models that write, by name, and how fast each is expected to be where it was not measured.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    pub(super) primary: Option<(String, policy::Speed)>,
    pub(super) lighter: Option<(String, policy::Speed)>,
}

/// What was measured of them at each hour of the UTC day.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ByHour([Measured; HOURS as usize]);

impl Expected {
    /// As configured.
    pub(super) fn of(models: Option<&Models>) -> Self {
        let Some(models) = models else { return Self::default() };
        let name = |model: &dyn domain::Generator| model.model().to_owned();
        let lighter = models.lighter.as_deref().zip(models.writers.lighter);
        Self {
            primary: Some((name(&*models.primary), models.writers.primary)),
            lighter: lighter.map(|(lighter, speed)| (name(lighter), speed)),
        }
    }

    /// What `speeds` say of them.
    pub(super) fn measured(&self, speeds: &[Speed]) -> ByHour {
        let mut hours = 0..HOURS;
        ByHour([(); HOURS as usize].map(|()| {
            let hour = hours.next().unwrap_or_default();
            let of = |known: &Option<(String, policy::Speed)>| {
                let (name, expected) = known.as_ref()?;
                Some(speed(&speed_at(speeds, name, hour)?, *expected))
            };
            Measured { primary: of(&self.primary), lighter: of(&self.lighter) }
        }))
    }
}

impl ByHour {
    /// What was measured of `hour`; nothing of one that no day has.
    pub(super) fn at(&self, hour: u8) -> Measured {
        self.0.get(usize::from(hour)).copied().unwrap_or_default()
    }
}

/// What was not measured is as it was expected: the pace of a model that wrote no text long enough to tell one, and a
/// first token that is known to take a while and not how long, unless that is longer already.
fn speed(measured: &Speed, expected: policy::Speed) -> policy::Speed {
    let first_token = Duration::try_from_secs_f64(measured.first_token_ms / 1000.0);
    let first_token = first_token.unwrap_or(expected.first_token);
    let least = if measured.is_lower_bound { expected.first_token } else { Duration::ZERO };
    policy::Speed {
        first_token: first_token.max(least),
        tokens_per_second: measured.tokens_per_second.unwrap_or(expected.tokens_per_second),
    }
}
