//! The `ask` effect: questions to people.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::StreamExt;

use super::Past;
use crate::ask::{Answer, AnswerTerms, PendingQuestion, Question};
use crate::event::EventKind;
use crate::intercept::EffectRequest;
use crate::journal::{Attachments, RecordedOutcome};
use crate::run::{WaitCondition, suspension};
use crate::{ComposingScope, Digest, EffectKind, Entry, Error, Phase, Scope, Timestamp};

/// How often a responder may answer with something that does not count before it counts as not being there itself.
const PATIENCE: u32 = 3;

impl Scope {
    /// Asks a person. **Durable**: the question is on record before anybody sees it, and the answer when it is given.
    ///
    /// If the runtime has a [`Responder`](crate::Responder), the run waits for it. Otherwise the run is suspended: the question stays open
    /// in the store, anybody may answer it there, and resuming the run goes on with the answer.
    ///
    /// # Errors
    /// [`Error::Suspended`] while there is no answer, other stops, and [`Error::Denied`] by an interceptor.
    pub async fn ask(&self, question: Question) -> Result<Answer, Error> {
        let digest = Digest::of_json(&serde_json::to_value(&question)?);
        let Some(screened) = self.screened_question(&question) else {
            return self.ask_about(digest, question).await;
        };
        // A run may have asked when nobody changed what is heard of it. It is still the same question.
        let digest = match self.next_digest() == Some(digest) {
            true => digest,
            false => Digest::of_json(&serde_json::to_value(&screened)?),
        };
        let options = screened.clone();
        let answer = self.ask_about(digest, screened).await?;
        Ok(options.meant(answer, &question))
    }

    /// Asks a person something that has a name in this scope. Asked again under it, in whatever words and whatever else was asked
    /// before, it is the same question, and its answer holds: for calls of tools that were interrupted, and are made again.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub async fn ask_named(&self, name: &str, question: Question) -> Result<Answer, Error> {
        let (digest, place) = (Digest::of_parts(&[name.as_bytes()]), self.child(name));
        match self.screened_question(&question) {
            None => place.ask_about(digest, question).await,
            Some(screened) => {
                let options = screened.clone();
                let answer = place.ask_about(digest, screened).await?;
                Ok(options.meant(answer, &question))
            }
        }
    }

    /// Returns whether somebody is there to answer: without a [`Responder`](crate::Responder), asking suspends the run. Whoever has begun
    /// something that would be lost then finds out before asking.
    #[must_use]
    pub fn is_attended(&self) -> bool {
        self.node.run.services.responder.is_some()
    }

    /// Asks about something that is known by a digest. Should the words be others when the run goes on, it is still the
    /// same question, and what was answered holds.
    pub(crate) async fn ask_about(&self, digest: Digest, question: Question) -> Result<Answer, Error> {
        let effect = self.number(EffectKind::Ask, digest);
        let slot = self.journal().and_then(|journal| journal.index.get(effect.path, effect.ordinal));
        let begun = slot.and_then(|slot| slot.started);
        let question = self.on_terms(question, begun);
        let json = serde_json::to_value(&question)?;
        let past = effect.recorded::<RecordedOutcome<Answer>>(|| json.to_string());
        let replayed = !matches!(past, Ok(Past::InDoubt | Past::Unknown));
        let asked = begun.map_or_else(Timestamp::now, |begun| begun.at);
        let id = effect.key();
        let request = EffectRequest::Ask { question: &question };
        if !replayed && let Some(reason) = effect.denied(&request).await? {
            let is_new = matches!(past, Ok(Past::Unknown));
            let attached = Attachments { closed: (!is_new).then_some(id), ..Attachments::default() };
            let json = is_new.then(|| json.to_string().into());
            return effect.finish(json, Err(Error::Denied(reason.into())), attached);
        }
        // What interceptors asked came before it.
        begun.into_iter().for_each(|begun| effect.reach(begun.seq));
        let pending = PendingQuestion {
            run: self.run_id().clone(),
            id,
            path: effect.path.clone(),
            asked,
            question: question.clone(),
        };
        let past = match past {
            // As far as the run has come, it waits for an answer.
            Err(stop @ Error::NotRecorded { .. }) if begun.is_some() => {
                self.emit_question(&pending, replayed).await;
                return Err(stop);
            }
            past => past?,
        };
        let shown =
            PendingQuestion { question: self.outward_question(&question).into_owned(), ..pending.clone() };
        match past {
            Past::Unknown => {
                let attached = Attachments { opened: Some(shown.clone()), ..Attachments::default() };
                let begun = effect.append(Phase::Started, Some(json.to_string().into()), None, attached);
                begun.into_iter().for_each(|begun| effect.reach(begun));
                effect.settle().await?;
            }
            // It may have been withdrawn when the run failed, and is wanted again now that the run goes on.
            Past::InDoubt => self.journal().into_iter().for_each(|journal| journal.open_question(&shown)),
            Past::Finished(_) => {}
        }
        self.emit_question(&pending, replayed).await;
        let answer = match past {
            Past::Finished((answer, entry)) => {
                effect.reach(entry);
                answer.into_result()?
            }
            _ => {
                self.node.run.waiting.asks(effect.path, &pending.id);
                let answer = self.await_answer(&shown, &pending).await;
                let answer = answer.map(|answer| shown.question.meant(answer, &question));
                let (answer, labels) = effect.judged(&request, answer).await;
                let closed = Some(pending.id.clone());
                let answer =
                    effect.finish(None, answer, Attachments { closed, labels, ..Attachments::default() })?;
                self.node.run.waiting.has_answer(&pending.id);
                // Within a call whoever asked may act on it at once.
                effect.settle().await?;
                answer
            }
        };
        if self.has_listeners() {
            let kind = EventKind::QuestionAnswered { id: pending.id, answer: answer.clone() };
            self.emit_as(kind, replayed).await;
        }
        Ok(answer)
    }

    /// The question with what the runtime says about who answers, and until when, where it does not say so itself. One that was
    /// asked before stays as it was asked.
    fn on_terms(&self, mut question: Question, begun: Option<&Entry>) -> Question {
        let is_turn = std::mem::take(&mut question.is_turn);
        let terms = match begun {
            Some(begun) => begun.request.as_deref().and_then(|json| serde_json::from_slice(json).ok()),
            None if is_turn => None,
            None => Some(self.node.run.services.answers.clone()),
        };
        let AnswerTerms { audience, expiry } = terms.unwrap_or_default();
        if question.audience.is_empty() {
            question.audience = audience;
        }
        question.expiry = question.expiry.or(expiry);
        question
    }

    async fn emit_question(&self, pending: &PendingQuestion, replayed: bool) {
        if self.has_listeners() {
            let kind =
                EventKind::QuestionAsked { id: pending.id.clone(), question: pending.question.clone() };
            self.emit_as(kind, replayed).await;
        }
    }

    /// Waits for the answer to a question as people see it. The run knows it as the other one.
    async fn await_answer(
        &self,
        pending: &PendingQuestion,
        known: &PendingQuestion,
    ) -> Result<Answer, Error> {
        let mut given: Vec<Answer> = Vec::new();
        let mut patience = PATIENCE;
        let mut shown = pending.clone();
        loop {
            let answers = self.answers(pending, &given).await?;
            if let Some(verdict) = pending.settled(&answers, Timestamp::now()) {
                return Ok(verdict);
            }
            let answer = match self.respond(&shown, &given).await? {
                Response::Given(answer) => answer,
                Response::DecidedElsewhere => continue,
                Response::NobodyThere => return Err(self.suspend(WaitCondition::answer(known))),
            };
            match pending.objection_to(&answer, &answers) {
                None => given.push(answer),
                // Whoever answers like this again and again is not there.
                Some(_) if patience == 1 => return Err(self.suspend(WaitCondition::answer(known))),
                Some(objection) => {
                    patience -= 1;
                    shown = pending.noting(&objection);
                }
            }
        }
    }

    async fn respond(&self, shown: &PendingQuestion, given: &[Answer]) -> Result<Response, Error> {
        let Some(responder) = self.node.run.services.responder.as_deref() else {
            return Ok(Response::NobodyThere);
        };
        // One that has its answers ready must not keep others, or whoever wants to end this, from their turn.
        tokio::task::yield_now().await;
        self.check()?;
        let _pause = self.pause();
        let response = responder.respond(shown);
        tokio::pin!(response);
        let mut elsewhere = match self.journal() {
            Some(journal) => journal.store().watch(Some(self.run_id())),
            None => Box::pin(futures_util::stream::pending()),
        };
        // Whoever is being asked must not be interrupted only because we look elsewhere too.
        loop {
            let answers = self.answers(shown, given).await?;
            if shown.settled(&answers, Timestamp::now()).is_some() {
                return Ok(Response::DecidedElsewhere);
            }
            tokio::select! {
                biased;
                response = &mut response => {
                    if response.is_none() {
                        self.node.run.left_alone.cancel();
                    }
                    return Ok(response.map_or(Response::NobodyThere, Response::Given));
                }
                stop = self.out_of_time() => return Err(stop),
                _ = elsewhere.next() => {}
                () = expiry(shown) => {}
            }
        }
    }

    /// The answers given here and through the store.
    async fn answers(&self, pending: &PendingQuestion, given: &[Answer]) -> Result<Vec<Answer>, Error> {
        let mut answers = match self.journal() {
            Some(journal) => journal.store().answers(self.run_id(), &pending.id).await?,
            None => Vec::new(),
        };
        answers.extend_from_slice(given);
        Ok(answers)
    }

    /// Lets the run be suspended: it waits for something that nobody is here to wait for.
    pub(super) fn suspend(&self, awaited: WaitCondition) -> Error {
        for node in self.node.ancestry() {
            node.suspended.store(true, Ordering::Relaxed);
        }
        let suspension = suspension(std::iter::once(&awaited));
        self.node.run.waiting.add(awaited);
        Error::Suspended(Box::new(suspension))
    }
}

impl ComposingScope<'_> {
    /// Returns whether the first question of this scope has an answer in the store, whether or not it was asked again since the run goes
    /// on. Another moment may give another answer: what follows from it is a [`decision`](Self::decision).
    ///
    /// # Errors
    /// Failures of the store.
    pub async fn is_answered(&self) -> Result<bool, Error> {
        let Some(journal) = self.journal().filter(|journal| journal.is_live()) else { return Ok(false) };
        let first = self.key_of(self.path(), 0);
        Ok(!journal.store().answers(self.run_id(), &first).await?.is_empty())
    }
}

/// Waits until a question changes by itself.
async fn expiry(pending: &PendingQuestion) {
    match pending.next_change(Timestamp::now()) {
        Some(at) => tokio::time::sleep(at.since(Timestamp::now()).max(Duration::from_millis(1))).await,
        None => std::future::pending().await,
    }
}

/// What came of asking the responder.
enum Response {
    Given(Answer),
    /// Others have answered meanwhile, through the store, or time has.
    DecidedElsewhere,
    NobodyThere,
}
