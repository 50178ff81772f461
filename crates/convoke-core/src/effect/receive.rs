//! Mail.

use std::time::Duration;

use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Numbered, Past};
use crate::event::EventKind;
use crate::journal::{Attached, RunJournal};
use crate::run::Awaited;
use crate::store::must_be_channel;
use crate::{Digest, EffectKind, Error, Phase, Scope, Timestamp};

/// Something a run was sent, and has taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Received<T = Value> {
    /// What it says.
    pub payload: T,
    /// Who sent it; empty if nobody said.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub sender: String,
    /// When it was sent.
    pub at: Timestamp,
    /// Its number in the store.
    pub number: u64,
}

impl Scope {
    /// Takes the next thing the run was [sent](crate::Store::post) on a channel, and waits for it if there is none yet. **Durable**:
    /// everything that is sent is taken once, in the order it came, and a resumed run takes what the first one took.
    ///
    /// If nothing comes for as long as the runtime has [patience](crate::RuntimeBuilder::patience), the run is suspended: it can
    /// go on as soon as something is sent.
    ///
    /// ```
    /// # use convoke_core::{Error, Scope};
    /// # async fn step(scope: &Scope) -> Result<(), Error> {
    /// let order = scope.receive::<serde_json::Value>("orders").await?;
    /// println!("{} wants {}", order.sender, order.payload);
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// If what was sent is not a `T`, [`Error::Suspended`] while there is nothing, and other stops.
    pub async fn receive<T: DeserializeOwned>(&self, channel: &str) -> Result<Received<T>, Error> {
        let effect = self.number(EffectKind::Receive, Digest::of_parts(&[channel.as_bytes()]));
        let past = effect.past::<Received>(|| channel.to_owned())?;
        let replayed = matches!(past, Past::Finished(_));
        let received = match past {
            Past::Finished(received) => received?,
            unfinished => {
                must_be_channel(channel)?;
                let Some(journal) = self.journal() else {
                    let words = "a run is sent things through a store: give the runtime one with `Runtime::builder().store(…)`";
                    return Err(Error::Refused(words.into()));
                };
                if matches!(unfinished, Past::Unknown) {
                    let request = serde_json::to_vec(channel)?;
                    effect.append(Phase::Started, Some(request.into()), None, Attached::default());
                }
                self.await_mail(journal, &effect, channel).await?
            }
        };
        if self.is_heard() {
            let Received { payload, sender, .. } = received.clone();
            self.emit_as(EventKind::MailReceived { channel: channel.to_owned(), sender, payload }, replayed)
                .await;
        }
        let Received { payload, sender, at, number } = received;
        let payload = serde_json::from_value(payload).map_err(|error| {
            let by = if sender.is_empty() { String::new() } else { format!(" by {sender}") };
            Error::permanent(format!(
                "mail {number} on `{channel}`{by} is not what is expected there: {error}"
            ))
        })?;
        Ok(Received { payload, sender, at, number })
    }

    async fn await_mail(
        &self,
        journal: &RunJournal,
        effect: &Numbered<'_>,
        channel: &str,
    ) -> Result<Received, Error> {
        let store = journal.store();
        let mut watch = store.watch(Some(self.run_id()));
        let patience = self.node.run.services.patience;
        let impatient = tokio::time::sleep(patience.min(LONGEST_WAIT));
        tokio::pin!(impatient);
        let _pause = self.pause();
        loop {
            let seen = journal.mailbox.seen(channel);
            let next = store.mail(self.run_id(), channel, seen, 1).await?.pop();
            // Somebody else in this run may have been faster; nothing comes between taking it and writing that down.
            if let Some(mail) = next.filter(|mail| journal.mailbox.take(channel, mail.number)) {
                let payload = mail.read().unwrap_or(Value::Null);
                let received = Received { payload, sender: mail.sender, at: mail.at, number: mail.number };
                return effect.finish(None, Ok(received), Attached::default());
            }
            if journal.mailbox.seen(channel) != seen {
                continue;
            }
            if patience.is_zero() {
                return Err(self.suspend(Awaited::mail(effect.path, channel, seen)));
            }
            tokio::select! {
                biased;
                _ = watch.next() => {}
                stop = self.out_of_time() => return effect.finish(None, Err(stop), Attached::default()),
                () = &mut impatient => {
                    return Err(self.suspend(Awaited::mail(effect.path, channel, seen)));
                }
            }
        }
    }
}

/// What is longer than this is for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(100 * 365 * 86_400);
