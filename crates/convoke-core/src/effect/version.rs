//! Version marks for changes inside a step.

use std::ops::RangeInclusive;

use crate::{Entry, Error, Scope};

/// What the names of places begin with where it is kept which version a run has.
const MARK: &str = "version of ";

impl Scope {
    /// Returns which way of doing something a run goes: a step whose code has changed asks here, and does what the version says. A run that
    /// comes by for the first time goes the newest way; one whose journal already has something of this scope goes the oldest; and
    /// each stays with what it chose. **Durable.**
    ///
    /// ```
    /// # use convoke_core::{Error, Scope};
    /// # async fn step(scope: &Scope) -> Result<(), Error> {
    /// if scope.version("two letters", 1..=2)? >= 2 {
    ///     // what was added later
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// [`Error::Refused`] if the run goes a way that this code does not know any more, and stops.
    pub fn version(&self, change: &str, known: RangeInclusive<u32>) -> Result<u32, Error> {
        // In a place of its own: a mark that is added must not shift the numbers of what follows.
        let place = self.child(&format!("{MARK}{change}"));
        let mut decision = place.composing().decision::<u32>("version")?;
        let version = match decision.made() {
            Some(version) => version,
            None => decision.make(if self.has_any_past() { *known.start() } else { *known.end() })?,
        };
        if known.contains(&version) {
            return Ok(version);
        }
        Err(Error::Refused(
            format!(
                "at `{}` this run uses version {version} of \u{201c}{change}\u{201d}, and this code knows {} to {}",
                self.path(),
                known.start(),
                known.end()
            )
            .into(),
        ))
    }

    /// Whether the journal has anything at or below this scope. Marks alone are nothing: a run may have ended between two of them.
    fn has_any_past(&self) -> bool {
        self.journal().is_some_and(|journal| {
            let (index, own) = (&journal.index, self.path());
            let is_mark =
                |entry: &Entry| entry.path.last().is_some_and(|place| place.written().starts_with(MARK));
            let mut slots = index.slots_at(own).chain(index.slots_below(own));
            slots.any(|slot| slot.first().is_some_and(|entry| !is_mark(entry)))
        })
    }
}
