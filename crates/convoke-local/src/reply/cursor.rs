//! A cursor over text that may not be complete yet.

/// The reason why a text is not what was expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Miss {
    /// It may become so: it ends too early.
    Unfinished,
    /// It will never be.
    Different,
}

/// A place in a text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { rest: text }
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// Skips white space.
    pub(super) fn space(&mut self) -> &mut Self {
        self.rest = self.rest.trim_start();
        self
    }

    /// Reads just this.
    pub(super) fn literal(&mut self, expected: &str) -> Result<&mut Self, Miss> {
        if let Some(rest) = self.rest.strip_prefix(expected) {
            self.rest = rest;
            Ok(self)
        } else if expected.starts_with(self.rest) {
            Err(Miss::Unfinished)
        } else {
            Err(Miss::Different)
        }
    }

    /// Reads this if it is there.
    pub(super) fn optional(&mut self, expected: &str) -> Result<&mut Self, Miss> {
        match self.literal(expected) {
            Err(Miss::Unfinished) => Err(Miss::Unfinished),
            _ => Ok(self),
        }
    }

    /// Reads one of these and says which.
    pub(super) fn one_of(&mut self, expected: &[String]) -> Result<usize, Miss> {
        let mut miss = Miss::Different;
        for (index, text) in expected.iter().enumerate() {
            match self.literal(text) {
                Ok(_) => return Ok(index),
                Err(Miss::Unfinished) => miss = Miss::Unfinished,
                Err(Miss::Different) => {}
            }
        }
        Err(miss)
    }
}
