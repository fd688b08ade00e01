//! Where the texts of a run come from: a run holds numbers only.

use crate::store::{OutcomeLine, Texts};

/// The line of one outcome, by the offset that its `TrialRecord` carries.
pub trait TextSource {
    /// `None` where it cannot be read any more: the case is then shown without texts.
    fn outcome(&self, offset: u64) -> Option<OutcomeLine>;
}

impl TextSource for Texts {
    fn outcome(&self, offset: u64) -> Option<OutcomeLine> {
        Texts::outcome(self, offset).ok()
    }
}
