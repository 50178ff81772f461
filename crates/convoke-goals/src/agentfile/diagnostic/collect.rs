//! The list of diagnostics of one file.

use super::{Diagnostic, Severity};

/// The number of diagnostics that are kept; of the others only their number is.
pub const KEPT: usize = 50;

/// The diagnostics of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diagnostics {
    kept: Vec<Diagnostic>,
    errors: usize,
    warnings: usize,
}

impl Diagnostics {
    /// Adds one. Called with a closure because explaining takes time, and nobody reads the thousandth.
    pub fn add(&mut self, severity: Severity, explain: impl FnOnce() -> Diagnostic) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
        }
        if self.kept.len() < KEPT {
            let diagnostic = explain();
            debug_assert_eq!(diagnostic.severity(), severity);
            self.kept.push(diagnostic);
        } else if severity == Severity::Error
            && let Some(place) = self.kept.iter().rposition(|kept| kept.severity() == Severity::Warning)
        {
            // An error is worth more than a warning.
            self.kept.remove(place);
            self.kept.push(explain());
        }
    }

    /// Adds an error.
    pub fn error(&mut self, explain: impl FnOnce() -> Diagnostic) {
        self.add(Severity::Error, explain);
    }

    /// Adds a warning.
    pub fn warning(&mut self, explain: impl FnOnce() -> Diagnostic) {
        self.add(Severity::Warning, explain);
    }

    /// Those that were kept.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.kept.iter()
    }

    /// Returns how many errors there are, kept or not.
    #[must_use]
    pub fn errors(&self) -> usize {
        self.errors
    }

    /// Returns how many warnings there are, kept or not.
    #[must_use]
    pub fn warnings(&self) -> usize {
        self.warnings
    }

    /// Returns how many were not kept.
    #[must_use]
    pub fn more(&self) -> usize {
        self.errors + self.warnings - self.kept.len()
    }

    /// Returns whether there is nothing to say.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.errors + self.warnings == 0
    }

    /// Puts errors before warnings, and both in the order of their places.
    pub fn sort(&mut self) {
        self.kept.sort_by_key(|diagnostic| (diagnostic.severity(), diagnostic.span.start));
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}
