//! The `receive` effect: mail from outside.

use std::time::Duration;

use futures_util::StreamExt;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{AwaitedCalls, NumberedEffect, Past};
use crate::event::EventKind;
use crate::intercept::{EffectRequest, Labels};
use crate::journal::{Attachments, RunJournal};
use crate::run::{EarlierOutcome, WaitCondition};
use crate::store::{Mail, must_be_channel};
use crate::{ComposingScope, Error, Path, Phase, RecordedError, Scope, Timestamp};

/// Mail that a run has taken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ReceivedMail<T = Value> {
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

/// Says whether mail is what is waited for, and otherwise what the wait fails by.
pub(super) type Accept<'a> = dyn Fn(&ReceivedMail) -> Result<(), Error> + Sync + 'a;

impl Scope {
    /// Takes the next thing the run was [sent](crate::Store::post) on a channel, and waits for it if there is none yet. **Durable**:
    /// everything that is sent is taken once, in the order it came, and a resumed run takes what the first one took.
    ///
    /// If nothing comes for as long as the runtime has [patience](crate::RuntimeBuilder::patience), the run is suspended: it can
    /// go on as soon as something is sent. Within a step that has a time limit of its own it waits until that is reached. Once a
    /// [`Responder`](crate::Responder) has said that nobody is there, nothing that has not come yet is waited for.
    ///
    /// Another attempt at the same, under a `Retry`, is given what the first one took. What is not a `T` fails the step; a run that is
    /// resumed after that goes on with what was sent next.
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
    /// If what was sent is not a `T`, [`Error::Suspended`] while there is nothing, other stops, and [`Error::Denied`] by an
    /// interceptor.
    pub async fn receive<T: DeserializeOwned>(&self, channel: &str) -> Result<ReceivedMail<T>, Error> {
        self.receive_expected(channel, Value::Null).await
    }

    /// The same, and says to whoever looks at the waiting run what is expected. The journal keeps that, and nothing depends on it: the
    /// wait is known by its channel alone.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub async fn receive_expected<T: DeserializeOwned>(
        &self,
        channel: &str,
        expected: Value,
    ) -> Result<ReceivedMail<T>, Error> {
        let accept = |mail: &ReceivedMail| match T::deserialize(&mail.payload) {
            Ok(_) => Ok(()),
            Err(error) => Err(unexpected(channel, mail.number, &mail.sender, &error)),
        };
        let wait = self.composing().await_calls(channel, &[]);
        let ReceivedMail { payload, sender, at, number } = self.receive_as(wait, expected, &accept).await?;
        match T::deserialize(payload) {
            Ok(payload) => Ok(ReceivedMail { payload, sender, at, number }),
            // It was something else that was expected when it was taken.
            Err(error) => Err(unexpected(channel, number, &sender, &error)),
        }
    }

    /// Takes what is waited for; what `accept` does not take fails the wait.
    pub(super) async fn receive_as(
        &self,
        wait: AwaitedCalls<'_>,
        expected: Value,
        accept: &Accept<'_>,
    ) -> Result<ReceivedMail, Error> {
        let AwaitedCalls { effect, channel, charged } = wait;
        let past = effect.past::<ReceivedMail>(|| channel.to_owned())?;
        let replayed = matches!(past, Past::Finished(_));
        let received = match past {
            Past::Finished(received) => received?,
            unfinished => {
                must_be_channel(channel)?;
                let Some(journal) = self.journal() else {
                    let words = "a run is sent things through a store: give the runtime one with `Runtime::builder().store(…)`";
                    return Err(Error::Refused(words.into()));
                };
                let request = |calls| {
                    let keyed_as = effect.keyed_as.clone();
                    let wait =
                        StoredReceive { keyed_as, expected, calls, ..StoredReceive::for_mail_on(channel) };
                    serde_json::to_vec(&wait)
                };
                match (charged, unfinished) {
                    (Err(exhausted), _) => {
                        let refused = Err(Error::Budget(Box::new(exhausted)));
                        return effect.finish(Some(request(None)?.into()), refused, Attachments::default());
                    }
                    (Ok(calls), Past::Unknown) => {
                        let request = Some(request(calls)?.into());
                        effect.append(Phase::Started, request, None, Attachments::default());
                    }
                    (Ok(_), _) => {}
                }
                let denied = effect.denied(&EffectRequest::Receive { channel }).await?;
                match (denied, effect.earlier()) {
                    (Some(reason), _) => {
                        effect.finish(None, Err(Error::Denied(reason.into())), Attachments::default())?
                    }
                    (None, EarlierOutcome::Done(received)) => {
                        effect.finish(None, Ok(serde_json::from_slice(&received)?), Attachments::default())?
                    }
                    (None, _) => self.await_mail(journal, &effect, channel, accept).await?,
                }
            }
        };
        effect.keep_for_later(EarlierOutcome::Done(serde_json::to_vec(&received)?.into()));
        if self.has_listeners() {
            let ReceivedMail { payload, sender, .. } = received.clone();
            self.emit_as(EventKind::MailReceived { channel: channel.to_owned(), sender, payload }, replayed)
                .await;
        }
        Ok(received)
    }

    async fn await_mail(
        &self,
        journal: &RunJournal,
        effect: &NumberedEffect<'_>,
        channel: &str,
        accept: &Accept<'_>,
    ) -> Result<ReceivedMail, Error> {
        let store = journal.store();
        let mut watch = store.watch(Some(self.run_id()));
        let patience = self.patience();
        let impatient = tokio::time::sleep(patience.min(LONGEST_WAIT));
        tokio::pin!(impatient);
        let left = async {
            match self.node.run.services.responder.as_deref() {
                Some(responder) => responder.left().await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(left);
        let _pause = self.pause();
        loop {
            let seen = journal.mailbox.seen(channel);
            let next = store.mail(self.run_id(), channel, seen, 1).await?.pop();
            if let Some(mail) = next {
                let judged = judge(effect, channel, &mail).await;
                if let (Err(stop), _) = &judged
                    && RecordedError::of(stop).is_none()
                {
                    return Err(stop.clone());
                }
                // Somebody else in this run may have been faster; nothing comes between taking it and writing that down.
                if journal.mailbox.take(channel, mail.number) {
                    return take(effect, channel, mail.number, judged, accept);
                }
            }
            if journal.mailbox.seen(channel) != seen {
                continue;
            }
            if patience.is_zero() {
                return Err(self.suspend(WaitCondition::mail(effect.path, channel)));
            }
            tokio::select! {
                biased;
                _ = watch.next() => {}
                stop = self.out_of_time() => return effect.finish(None, Err(stop), Attachments::default()),
                () = &mut impatient => return Err(self.suspend(WaitCondition::mail(effect.path, channel))),
                () = self.node.run.left_alone.cancelled() => return Err(self.suspend(WaitCondition::mail(effect.path, channel))),
                () = &mut left => self.node.run.left_alone.cancel(),
            }
        }
    }
}

/// How much mail is looked at in one go.
const PAGE: usize = 16;

impl ComposingScope<'_> {
    /// Returns the numbers of what the run was sent on a channel and has not taken yet, in the order it came. Another moment may give
    /// others: what follows from them is a [`decision`](Self::decision).
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn untaken_mail(&self, channel: &str) -> Result<Vec<u64>, Error> {
        let mut numbers = Vec::new();
        let Some(journal) = self.journal().filter(|journal| journal.is_live()) else { return Ok(numbers) };
        let mut last = journal.mailbox.seen(channel);
        loop {
            let page = journal.store().mail(self.run_id(), channel, last, PAGE).await?;
            let Some(newest) = page.last() else { return Ok(numbers) };
            last = newest.number;
            numbers.extend(page.iter().map(|mail| mail.number));
        }
    }
}

/// Takes mail down as taken. What is not what is expected is taken too, and is what the effect failed by: a run that is resumed
/// goes on with the next.
fn take(
    effect: &NumberedEffect<'_>,
    channel: &str,
    number: u64,
    (judged, labels): (Result<ReceivedMail, Error>, Labels),
    accept: &Accept<'_>,
) -> Result<ReceivedMail, Error> {
    let expected = judged.and_then(|received| accept(&received).map(|()| received));
    let attached = Attachments { labels, ..Attachments::default() };
    let refused = match &expected {
        Ok(_) => None,
        Err(_) => {
            let refused = StoredReceive { refused: Some(number), ..StoredReceive::for_mail_on(channel) };
            Some(serde_json::to_vec(&refused)?.into())
        }
    };
    effect.finish(refused, expected, attached)
}

/// What interceptors make of mail, and know of it.
async fn judge(
    effect: &NumberedEffect<'_>,
    channel: &str,
    mail: &Mail,
) -> (Result<ReceivedMail, Error>, Labels) {
    let (sender, at, number) = (mail.sender.clone(), mail.at, mail.number);
    let received = match mail.read::<Value>() {
        Ok(payload) => Ok(ReceivedMail { payload, sender, at, number }),
        Err(error) => Err(unexpected(channel, number, &sender, &error)),
    };
    effect.judged(&EffectRequest::Receive { channel }, received).await
}

fn unexpected(channel: &str, number: u64, sender: &str, error: &serde_json::Error) -> Error {
    let by = if sender.is_empty() { String::new() } else { format!(" by {sender}") };
    Error::permanent(format!("mail {number} on `{channel}`{by} is not what is expected there: {error}"))
}

/// What the journal keeps of a wait for mail.
#[derive(Serialize, Deserialize)]
pub(crate) struct StoredReceive {
    pub(crate) channel: String,
    /// The number of mail that was not what was expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) refused: Option<u64>,
    /// The first attempt at the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    keyed_as: Option<Path>,
    /// What is waited for, for whoever looks; null if nobody said.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    expected: Value,
    /// The tools whose calls, made elsewhere, were counted when this wait began. Not there where none are waited for, nor in journals of
    /// earlier builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) calls: Option<Vec<String>>,
}

impl StoredReceive {
    fn for_mail_on(channel: &str) -> Self {
        Self {
            channel: channel.to_owned(),
            refused: None,
            keyed_as: None,
            expected: Value::Null,
            calls: None,
        }
    }
}

/// What is longer than this is for ever.
const LONGEST_WAIT: Duration = Duration::from_secs(100 * 365 * 86_400);
