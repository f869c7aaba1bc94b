//! Memory of searches, and the steps that they may take.

use super::matching::Waiting;
use crate::error::{ensure, Code, Error, Result};

/// Steps of one search over a text: so many, and so many for each of its bytes.
const STEPS: u64 = 4_096;
const STEPS_A_BYTE: u64 = 256;

/// The steps that are left to a search over one text (docs/formats/tok2.md, section 4).
pub struct Budget(u64);

impl Budget {
    /// Of a search over this text.
    pub fn of(text: &[u8]) -> Budget {
        Budget(STEPS + STEPS_A_BYTE * text.len() as u64)
    }
}

/// Memory of searches, kept between them, and whether one of them had too few steps.
#[derive(Default)]
pub struct Scratch {
    pub(super) waiting: Vec<Waiting>,
    left: u64,
    spent: bool,
}

impl Scratch {
    /// Refuse if a search had too few steps since the last time; the next one may search again.
    pub fn checked(&mut self) -> Result<()> {
        self.waiting.clear();
        ensure(!std::mem::take(&mut self.spent), || {
            let detail = format!("more than {} steps and {} for each byte", STEPS, STEPS_A_BYTE);
            Error::new(Code::PatternSteps, "pattern", detail)
        })
    }

    /// Whether a search had too few steps: nothing is found any more.
    #[inline]
    pub fn is_spent(&self) -> bool {
        self.spent
    }

    /// A part of a search, at the cost of its steps.
    #[inline]
    pub(super) fn within<T>(
        &mut self,
        budget: &mut Budget,
        part: impl FnOnce(&mut Scratch) -> Option<T>,
    ) -> Option<T> {
        if self.spent {
            return None;
        }
        self.left = budget.0;
        let found = part(self);
        budget.0 = self.left;
        found.filter(|_| !self.spent)
    }

    /// So many steps more, if they are left.
    #[inline]
    pub(super) fn count(&mut self, steps: u64) -> Option<()> {
        let left = self.left.checked_sub(steps);
        self.left = left.unwrap_or(0);
        self.spent |= left.is_none();
        left.map(|_| ())
    }
}
