//! [`Seldom`]: what is said once a minute, however often there is reason to.

use std::time::Duration;

use tokio::time::Instant;

const EVERY: Duration = Duration::from_secs(60);

/// When the next complaint of a kind is due; the first is at once.
#[derive(Debug, Default)]
pub(crate) struct Seldom(Option<Instant>);

impl Seldom {
    /// Whether it is due now; then not again for a minute.
    pub(crate) fn is_due(&mut self) -> bool {
        self.is_due_at(Instant::now())
    }

    fn is_due_at(&mut self, now: Instant) -> bool {
        let is_due = self.0.is_none_or(|next| next <= now);
        if is_due {
            self.0 = Some(now + EVERY);
        }
        is_due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_due_at_once_and_then_every_minute() {
        let (mut seldom, start) = (Seldom::default(), Instant::now());
        let due =
            [0, 1, 59, 60, 119, 120].map(|s| seldom.is_due_at(start + Duration::from_secs(s)));
        assert_eq!(due, [true, false, false, true, false, true]);
    }
}
