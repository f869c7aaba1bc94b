//! Steps, sizes and depths of one rendering, counted against the limits.

use crate::chat::error::beyond;
use crate::chat::limits;
use crate::chat::value::Value;
use crate::error::Result;

/// Counters of one rendering; every charge may end it.
#[derive(Default)]
pub struct Budget {
    steps: u64,
    output: u64,
    macros: usize,
    live: usize,
}

impl Budget {
    /// Steps so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// Use steps up.
    pub fn charge(&mut self, steps: u64) -> Result<()> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > limits::STEPS {
            return beyond("steps", self.steps, limits::STEPS);
        }
        Ok(())
    }

    /// Before a text of so many characters is built.
    pub fn text(&mut self, characters: u64) -> Result<()> {
        if characters > limits::TEXT_CHARACTERS {
            return beyond("characters of one text", characters, limits::TEXT_CHARACTERS);
        }
        let each = limits::CHARACTERS_A_STEP;
        self.charge((characters + each - 1) / each)
    }

    /// Before all parts of a value are visited; shared parts count each time, as they print.
    pub fn weigh(&mut self, value: &Value) -> Result<()> {
        match value {
            Value::Text(text) => self.text(text.len() as u64),
            Value::Dict(dict) => {
                self.charge(1 + dict.len() as u64)?;
                for (key, held) in dict.rows() {
                    self.weigh(key)?;
                    self.weigh(held)?;
                }
                Ok(())
            }
            Value::List(list) | Value::Tuple(list) => {
                self.charge(1 + list.len() as u64)?;
                list.items().iter().try_for_each(|held| self.weigh(held))
            }
            Value::View(kind, dict) => {
                self.charge(1 + dict.len() as u64)?;
                for at in 0..dict.len() {
                    self.weigh(&kind.item(dict, at))?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// After a piece of output.
    pub fn written(&mut self, octets: u64) -> Result<()> {
        self.output += octets;
        if self.output > limits::OUTPUT_BYTES {
            return beyond("bytes of output", self.output, limits::OUTPUT_BYTES);
        }
        Ok(())
    }

    /// One more node under evaluation.
    pub fn enter(&mut self) -> Result<()> {
        // Counted first, so that `leave` is right whatever happens here.
        self.live += 1;
        self.charge(1)?;
        if self.live > limits::LIVE_DEPTH {
            return beyond("depth of evaluation", self.live, limits::LIVE_DEPTH);
        }
        Ok(())
    }

    /// One node less.
    pub fn leave(&mut self) {
        self.live -= 1;
    }

    /// One more macro under evaluation.
    pub fn call(&mut self) -> Result<()> {
        self.macros += 1;
        if self.macros > limits::MACRO_DEPTH {
            return beyond("depth of macro calls", self.macros, limits::MACRO_DEPTH);
        }
        Ok(())
    }

    /// One macro less.
    pub fn returned(&mut self) {
        self.macros -= 1;
    }

    /// The result of arithmetic; None where it is beyond every integer here.
    pub fn integer(&self, value: Option<i128>) -> Result<i128> {
        match value {
            Some(value) if value.unsigned_abs() <= limits::INTEGER as u128 => Ok(value),
            _ => beyond("size of an integer", "more", limits::INTEGER),
        }
    }
}
