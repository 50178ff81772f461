//! The clock and randomness as effects: `now`, `sleep`, `random`.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::Past;
use crate::journal::Attachments;
use crate::run::{USUAL_PATIENCE, WaitCondition};
use crate::{ComposingScope, Digest, EffectKind, Error, Path, Scope, Timestamp};

impl Scope {
    /// Returns the time. **Durable**: a resumed run sees the time the first one saw.
    ///
    /// # Errors
    /// Only stops: a failing store, a diverging replay.
    pub async fn now(&self) -> Result<Timestamp, Error> {
        let effect = self.number(EffectKind::Now, Digest::default());
        match effect.past::<Timestamp>(String::new)? {
            Past::Finished(time) => time,
            // Nothing in the world changes by looking at the clock: no need to wait until it is written down.
            _ => effect.finish(None, Ok(Timestamp::now()), Attachments::default()),
        }
    }

    /// A random number, different for every place in every run, and the same again when the run is resumed.
    ///
    /// It follows from the run's seed and the place alone, so the journal need not keep it.
    #[must_use]
    pub fn random(&self) -> u64 {
        let ordinal = self.node.next_ordinal.fetch_add(1, Ordering::Relaxed);
        random_at(self.node.run.seed(), self.path(), ordinal)
    }

    /// Waits. **Durable**: a resumed run waits only for what is left, and not at all for a wait that was over.
    ///
    /// A wait that is longer than the runtime has [patience](crate::RuntimeBuilder::patience) suspends a run that has a store:
    /// the store knows when it goes on, and no process is needed until then. Within a step that has a time limit of its own it never
    /// does: that clock would stand still.
    ///
    /// # Errors
    /// [`Error::Suspended`] if the wait is long, other stops, and [`Error::TimedOut`] if this scope's time is up first.
    pub async fn sleep(&self, duration: Duration) -> Result<(), Error> {
        let patience = if self.node.run.services.waits_out_time { Duration::MAX } else { self.patience() };
        self.sleep_or_suspend(duration, patience).await
    }

    async fn sleep_or_suspend(&self, duration: Duration, patience: Duration) -> Result<(), Error> {
        let digest = Digest::of_parts(&[&duration.as_micros().to_le_bytes()]);
        let effect = self.number(EffectKind::Sleep, digest);
        let until = match effect.past::<()>(|| format!("{duration:?}"))? {
            Past::Finished(outcome) => return outcome,
            Past::InDoubt => self.started_at(&effect).map_or_else(Timestamp::now, |began| began + duration),
            Past::Unknown => {
                let request = serde_json::to_vec(&duration)?;
                effect.append(crate::Phase::Started, Some(request.into()), None, Attachments::default());
                Timestamp::now() + duration
            }
        };
        let left = until.since(Timestamp::now());
        if left > patience && self.journal().is_some() {
            return Err(self.suspend(WaitCondition::time(effect.path, until)));
        }
        let outcome = tokio::select! {
            biased;
            () = tokio::time::sleep(left.min(duration)) => Ok(()),
            stop = self.out_of_time() => Err(stop),
        };
        effect.finish(None, outcome, Attachments::default())
    }

    /// How long to wait here before the run is suspended. The clock of a limit would stand still while it is.
    pub(super) fn patience(&self) -> Duration {
        if self.node.is_timed() { Duration::MAX } else { self.node.run.services.patience }
    }

    fn started_at(&self, effect: &super::NumberedEffect<'_>) -> Option<Timestamp> {
        let slot = self.journal()?.index.get(effect.path, effect.ordinal)?;
        slot.started.map(|entry| entry.at)
    }
}

impl ComposingScope<'_> {
    /// Waits because another side wants to be left alone for so long, which may be days: as [`sleep`](Scope::sleep), but a run with a
    /// store is suspended if that is more than the usual [patience](crate::RuntimeBuilder::patience), however patient this runtime is.
    ///
    /// # Errors
    /// As [`sleep`](Scope::sleep).
    pub async fn sleep_as_asked(&self, duration: Duration) -> Result<(), Error> {
        let patience = self.patience();
        // Where nothing can be suspended, a limit on time ends it.
        let patience = if self.node.is_timed() { patience } else { patience.min(USUAL_PATIENCE) };
        self.sleep_or_suspend(duration, patience).await
    }
}

fn random_at(seed: u64, path: &Path, ordinal: u32) -> u64 {
    let digest = Digest::of_parts(&[&seed.to_le_bytes(), path.as_str().as_bytes(), &ordinal.to_le_bytes()]);
    digest.as_bytes().first_chunk().map_or(0, |first| u64::from_be_bytes(*first))
}
