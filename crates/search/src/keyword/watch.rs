//! [`Watch`]: how a search notices that nobody waits for it any more.

use deadline::CancelFlag;

/// Steps between two looks at the flag: tens of microseconds of work, where a step is a posting or a term.
const STEPS_BETWEEN_LOOKS: usize = 4096;

/// Nobody waits for the result any more, or the index cannot be read.
#[derive(Debug)]
pub(super) enum Stopped {
    Cancelled,
    Failed(tantivy::TantivyError),
}

impl<E: Into<tantivy::TantivyError>> From<E> for Stopped {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

/// Looks at the cancel flag of one search, not so often that looking would cost anything.
pub(super) struct Watch<'a> {
    cancel: &'a CancelFlag,
    steps_until_look: usize,
}

impl<'a> Watch<'a> {
    pub(super) fn over(cancel: &'a CancelFlag) -> Self {
        Self { cancel, steps_until_look: STEPS_BETWEEN_LOOKS }
    }

    /// Counts one small step of work, and looks every few thousand of them.
    pub(super) fn step(&mut self) -> Result<(), Stopped> {
        self.steps_until_look -= 1;
        if 0 < self.steps_until_look {
            return Ok(());
        }
        self.steps_until_look = STEPS_BETWEEN_LOOKS;
        self.look()
    }

    /// Looks now; before work of a size that is not known.
    pub(super) fn look(&self) -> Result<(), Stopped> {
        if self.cancel.is_raised() { Err(Stopped::Cancelled) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_raised_flag_is_noticed_within_so_many_steps() {
        let flag = CancelFlag::default();
        let mut watch = Watch::over(&flag);
        assert!((0..3 * STEPS_BETWEEN_LOOKS).all(|_| watch.step().is_ok()));
        flag.raise();
        assert!(matches!(watch.look(), Err(Stopped::Cancelled)));
        let unnoticed = (0..2 * STEPS_BETWEEN_LOOKS).take_while(|_| watch.step().is_ok()).count();
        assert!(unnoticed < STEPS_BETWEEN_LOOKS, "{unnoticed} steps");
    }
}
