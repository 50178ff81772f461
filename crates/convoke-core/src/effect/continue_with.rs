//! The `continue_with` effect: the next generation of a run, with another state and without the past.

use serde::Serialize;

use crate::{ComposingScope, Divergence, EffectKind, Error, Scope};

impl Scope {
    /// Ends this generation of the run and lets it continue with another state, as if it had begun with that: the same run, under the
    /// same id, from its first step. **Durable**: from then on a resumed run reads nothing of what was before, so that a
    /// conversation without end costs what its last generation costs. Nothing is lost: the record has all of it.
    ///
    /// What holds for the run as a whole goes on: its limits and what was used of them, its time, its mail, what was approved for all
    /// of it. So does the time of the steps that this is said in, if it is limited: a step that a run continues out of has what is left
    /// of its limit when it is first run again. What steps have beside that and their state does not, budgets of their own included.
    ///
    /// The state is that of the whole workflow. Everything the run does must have ended, so a branch of a fan-out and a tool
    /// cannot do this.
    ///
    /// ```
    /// # use convoke_core::{Error, Scope};
    /// async fn talk(scope: &Scope, said: &mut Vec<String>) -> Result<(), Error> {
    ///     for _ in 0..50 {
    ///         said.push(scope.receive::<String>("words").await?.payload);
    ///     }
    ///     scope.continue_with(said)
    /// }
    /// ```
    ///
    /// # Errors
    /// Always: [`Error::Continues`], which is to be given back as it is; or why it cannot continue here.
    pub fn continue_with<S: Serialize + ?Sized>(&self, state: &S) -> Result<(), Error> {
        self.check()?;
        if self.node.is_part {
            return Err(Error::Refused(
                format!(
                    "`{}` is a branch or a call of a tool, and only the whole run can continue with another state: let the \
                     branch or the tool end, and continue in a step after it",
                    self.path()
                )
                .into(),
            ));
        }
        if let Some(recorded) = self.next_recorded() {
            return Err(Error::Diverged(Box::new(Divergence {
                path: self.path().clone(),
                ordinal: recorded.ordinal,
                effect: EffectKind::Continue,
                recorded: recorded.effect.to_string(),
                asked: "to continue with the next generation; what already went on is to be asked for first \
                        (`Scope::has_recorded_next`)"
                    .to_owned(),
            })));
        }
        self.node.run.continue_after(self.node.times_used());
        Err(Error::Continues(serde_json::to_vec(&crate::json::to_value(state)?)?.into()))
    }

    /// Returns how often the run has continued with another state.
    #[must_use]
    pub fn generation(&self) -> u32 {
        self.node.run.generation
    }

    fn next_recorded(&self) -> Option<&crate::Entry> {
        let next = self.node.next_ordinal.load(std::sync::atomic::Ordering::Relaxed);
        self.journal()?.index.get(self.path(), next)?.first()
    }
}

impl ComposingScope<'_> {
    /// Returns whether the journal knows what this scope does next. A step that learns to continue while runs of it are under way asks here
    /// first: those that went on at this place must do so again.
    #[must_use]
    pub fn has_recorded_next(&self) -> bool {
        self.next_recorded().is_some()
    }
}
