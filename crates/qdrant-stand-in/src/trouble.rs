//! [`Trouble`]: how calls go wrong, and [`Troubles`], which of them do.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tonic::Code;

/// What becomes of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is done and answered, this much later.
    Slow(Duration),
    /// It is neither done nor answered.
    Stall,
    /// It is done, and not answered.
    LoseReply,
    /// It is not done, and answered with this code.
    Refuse(Code),
}

/// Which calls are in trouble.
#[derive(Debug, Default)]
pub(crate) struct Troubles(Mutex<Plan>);

#[derive(Clone, Copy, Debug, Default)]
struct Plan {
    /// Calls that are still fine.
    spared: u64,
    /// What becomes of those after.
    then: Option<Trouble>,
}

impl Troubles {
    /// The next `spared` calls are fine, all after them are not.
    pub(crate) fn set(&self, spared: u64, then: Option<Trouble>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Plan { spared, then };
    }

    /// Of the call that comes in now.
    pub(crate) fn next(&self) -> Option<Trouble> {
        let mut plan = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match plan.spared.checked_sub(1) {
            Some(left) => {
                plan.spared = left;
                None
            }
            None => plan.then,
        }
    }
}
