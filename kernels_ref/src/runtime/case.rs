//! What to run, and whether the model can be asked it.

use crate::config::Config;
use crate::error::{ensure, Code, Error, Result};
use crate::ops::attention::NO_WINDOW;

/// `flags` of a case: put it behind what the cache holds.
pub const APPEND: u32 = 1;
/// `flags` of a case: final norm and logits of the last token only.
pub const LAST_LOGITS: u32 = 2;

/// sin and cos are pinned below this position.
const POSITIONS: u32 = 1 << 20;

/// What to run. Absent positions count on from the cache; an absent mask shows every key.
pub struct Case<'a> {
    /// Token ids.
    pub tokens: &'a [u32],
    /// Positions, one a token.
    pub positions: Option<&'a [u32]>,
    /// 1 where queries may see this token's key, else 0; one a token.
    pub mask: Option<&'a [u8]>,
    /// `APPEND`, `LAST_LOGITS`.
    pub flags: u32,
}

impl Case<'_> {
    /// The position of token `t` behind `past` others.
    pub fn position(&self, past: usize, t: usize) -> u32 {
        self.positions.map_or((past + t) as u32, |positions| positions[t])
    }

    /// Refuse what the model cannot be asked; `shown` are the keys of the cache.
    pub fn check(&self, config: &Config, shown: &[bool]) -> Result<()> {
        let (past, tokens) = (shown.len(), self.tokens.len());
        ensure(tokens > 0, || Error::new(Code::EmptyCase, "tokens", "the case has none"))?;
        ensure(self.flags & !(APPEND | LAST_LOGITS) == 0, || {
            Error::new(Code::Argument, "flags", format!("{} has unknown bits", self.flags))
        })?;
        ensure(tokens <= config.max_positions.saturating_sub(past), || {
            let most = config.max_positions;
            let detail = format!("{} and {} tokens, at most {}", past, tokens, most);
            Error::new(Code::Context, "tokens", detail)
        })?;
        if let Some(i) = self.tokens.iter().position(|&token| token as usize >= config.vocab) {
            let detail = format!("{} in a vocabulary of {}", self.tokens[i], config.vocab);
            return Err(Error::new(Code::TokenRange, format!("tokens[{}]", i), detail));
        }
        self.check_positions(config, past)?;
        self.check_mask(config, shown)
    }

    fn check_positions(&self, config: &Config, past: usize) -> Result<()> {
        let positions = self.positions.unwrap_or(&[]);
        let last = (past + self.tokens.len() - 1).min(u32::MAX as usize) as u32;
        let limit = config.max_positions.min(POSITIONS as usize) as u32;
        match positions.iter().chain(Some(&last)).find(|&&position| position >= limit) {
            None => Ok(()),
            Some(far) => {
                let detail = format!("{}, the model has {} positions", far, limit);
                Err(Error::new(Code::PositionRange, "positions", detail))
            }
        }
    }

    /// Every query must see a key, its window's in sliding layers.
    fn check_mask(&self, config: &Config, shown: &[bool]) -> Result<()> {
        let mask = self.mask.unwrap_or(&[]);
        if let Some(i) = mask.iter().position(|&shown| shown > 1) {
            return Err(Error::new(Code::Argument, format!("mask[{}]", i), "is neither 0 nor 1"));
        }
        let window = config.window.unwrap_or(NO_WINDOW);
        let mut newest = shown.iter().rposition(|&shown| shown);
        for t in 0..self.tokens.len() {
            let own = shown.len() + t;
            if self.mask.map_or(true, |mask| mask[t] == 1) {
                newest = Some(own);
            }
            ensure(newest.map_or(false, |key| own - key < window), || {
                Error::new(Code::NoVisibleKey, format!("mask[{}]", t), "the query sees no key")
            })?;
        }
        Ok(())
    }
}
