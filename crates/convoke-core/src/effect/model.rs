//! The `model` effect: calls of models.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::{NumberedEffect, Past, shortened};
use crate::budget::{
    ASSUMED_OUTPUT_TOKENS, Charge, ReplyProgress, Reservation, ReservationRequest, broken_off, completed,
    tokens_asked,
};
use crate::event::{EventKind, ModelCall, ModelCallEnd};
use crate::intercept::{EffectRequest, Labels};
use crate::journal::{Attachments, Blob, FailedCall, RecordedCall, StoredContent, replies};
use crate::message::{Message, Money, Part, Usage};
use crate::model::{
    CallContext, Model, ModelError, ModelErrorKind, ModelReply, ModelRequest, Price, Reality, ReplyBuilder,
    ReplyDelta, StoredRequest,
};
use crate::{Digest, EffectKind, Error, RecordedError, Scope, Timestamp};

/// How many characters of the last message an entry keeps, for people who compare requests.
const KEPT_OF_MESSAGE: usize = 160;

/// The audience of a reply while it comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Visibility {
    /// Whoever listens to the run.
    #[default]
    Streamed,
    /// Nobody: it is part of the machinery (a classification, a verdict).
    Hidden,
}

impl Scope {
    /// Asks a model. **Durable**: the reply is journaled and given again on resume, so no call is paid for twice.
    ///
    /// The reply may have been cut off at its token limit; [`ModelReply::whole`] refuses that.
    ///
    /// # Errors
    /// [`Error::Model`], [`Error::Budget`], [`Error::TimedOut`], [`Error::Denied`] by an interceptor, and stops.
    pub async fn model(
        &self,
        model: &Arc<dyn Model>,
        request: ModelRequest,
        visibility: Visibility,
    ) -> Result<ModelReply, Error> {
        self.model_with_partial(model, request, visibility, &mut None).await
    }

    /// Asks a model as [`model`](Self::model) does. If this is stopped while the reply comes, what was said so far is in `partial`
    /// then; when the run goes on, the model is asked anew.
    ///
    /// # Errors
    /// As [`model`](Self::model).
    pub async fn model_with_partial(
        &self,
        model: &Arc<dyn Model>,
        mut request: ModelRequest,
        visibility: Visibility,
        partial: &mut Option<Message>,
    ) -> Result<ModelReply, Error> {
        request.params = request.params.overridden_by(&self.node.settings.params);
        let effect = self.number(EffectKind::Model, request.digest());
        let message_id = format!("msg-{}", &effect.key().as_str()[..12]);
        let refused = self.count_superseded_calls(&effect, model.highest_price());
        match effect.recorded::<RecordedCall>(|| describe(model.name(), &request))? {
            Past::Finished((call, entry)) => {
                self.count_model_call(&call, model.highest_price());
                let (was_made, usage) = (call.was_made(), call.usage());
                effect.reach(entry);
                if was_made && self.has_listeners() {
                    // Whoever only reads may have another model, or none.
                    let asked = effect.asked_model();
                    let name = asked.as_deref().unwrap_or_else(|| model.name());
                    self.emit_as(call_started(&message_id, name, &request, visibility), true).await;
                }
                let outcome = call.into_result();
                if let Ok(reply) = &outcome {
                    self.note_reply(reply);
                    if visibility == Visibility::Streamed {
                        self.emit_reply(&message_id, reply).await;
                    }
                }
                if was_made {
                    self.end_call(&message_id, Some(usage), &outcome, true).await;
                }
                return outcome;
            }
            Past::InDoubt | Past::Unknown => {}
        }
        self.must_be_allowed(&**model)?;
        if request.messages.is_damaged() {
            let words =
                "what was said before cannot be read: the state of this run was changed outside of it";
            return Err(Error::Refused(words.into()));
        }
        let (stored, content) = stored_form(model.name(), &request);
        let attached = || Attachments { content: Some(&content), ..Attachments::default() };
        if let Err(stop) = self.check() {
            return effect.give_up(stored, stop, attached());
        }
        let about = EffectRequest::Model { model: model.name(), request: &request };
        if let Some(reason) = effect.denied(&about).await? {
            return effect.finish(Some(stored), Err(Error::Denied(reason.into())), attached());
        }
        let reservation = match self.reserve(&**model, &mut request).await {
            Ok(reservation) => reservation,
            Err(error) => return effect.give_up(stored, error, attached()),
        };
        effect.settle().await?;
        self.begin_call(&message_id, model.name(), &request, visibility).await;
        let asked = tokens_asked(&request);
        // What goes out is what the run knows, unless interceptors give the model something else.
        let (outward, known) = match &self.around {
            Some(_) => (self.outward_request(&**model, &request).into_owned(), Some(request)),
            None => (request, None),
        };
        let is_held = self.around.as_ref().is_some_and(|around| around.holds_replies());
        let while_it_comes = if is_held { Visibility::Hidden } else { visibility };
        // Outside the stream, so that it is known however the stream ends.
        let mut progress = ReplyProgress::new(asked);
        let said = known.as_ref().unwrap_or(&outward).messages.iter();
        let taken = said.flat_map(|message| message.tool_calls()).map(|call| call.id.clone());
        let mut builder = ReplyBuilder::new(model.name(), &*message_id).avoiding(taken.collect());
        let stream = async {
            // Whoever honours keys would give the reply again that was of no use.
            let call = CallContext { key: effect.key().after_refused(refused) };
            let requests = (outward, known.as_ref());
            let so_far = (&mut builder, &mut progress);
            self.stream(&**model, requests, call, &message_id, while_it_comes, so_far).await
        };
        let outcome = tokio::select! {
            biased;
            outcome = AssertUnwindSafe(stream).catch_unwind() => match outcome {
                Ok(outcome) => outcome.map_err(Error::from),
                Err(panic) => Err(Error::panicked(self.path(), &*panic)),
            },
            stop = self.out_of_time() => Err(stop),
        };
        let usage = match &outcome {
            Ok(reply) => Some(completed(&progress, reply, model.price())),
            Err(_) => broken_off(&progress, model.price()),
        };
        if let Some(reservation) = reservation {
            reservation.settle(charged(usage.unwrap_or_default(), model.highest_price()));
        }
        let (outcome, labels) = match &known {
            Some(request) => {
                effect.judged(&EffectRequest::Model { model: model.name(), request }, outcome).await
            }
            None => (outcome, Labels::new()),
        };
        let call = match ended(outcome, usage) {
            Ok(call) => call,
            Err(stop) => {
                self.node.run.count_model_call(usage.unwrap_or_default(), false);
                // What nobody is shown before it was judged is shown to nobody in part either.
                *partial = if is_held { None } else { builder.so_far() };
                if matches!(stop.root(), Error::Cancelled(_)) {
                    let error = ModelError::new(ModelErrorKind::Interrupted, stop.to_string());
                    let call: RecordedCall =
                        RecordedCall::Err(FailedCall::new(RecordedError::Model(error), usage));
                    effect.keep_interrupted(stored, &call, attached())?;
                }
                let stopped = Err(stop);
                self.end_call(&message_id, usage, &stopped, false).await;
                return stopped;
            }
        };
        self.node.run.count_model_call(call.usage(), call.is_priced());
        effect.keep(Some(stored), &call, Attachments { labels, ..attached() })?;
        let outcome = call.into_result();
        // What was told in passing has its moments in the account of the run, where it is told in one piece.
        self.node.skip(1);
        // Whoever hears that the message is complete may rely on its being on its way to the journal.
        if let Ok(reply) = &outcome {
            self.note_reply(reply);
            if visibility == Visibility::Streamed && self.has_listeners() {
                if is_held {
                    for kind in events_of_reply(&message_id, reply) {
                        self.emit_in_passing(kind).await;
                    }
                }
                self.node.skip(events_of_reply(&message_id, reply).count() as u64);
                self.end_message(&message_id, reply, false).await;
            }
        }
        self.end_call(&message_id, usage, &outcome, false).await;
        outcome
    }

    /// Reports that a call begins, in passing: the journal knows of it when it is over, and so does the account of the run.
    async fn begin_call(&self, id: &str, model: &str, request: &ModelRequest, visibility: Visibility) {
        if self.has_listeners() {
            self.emit_in_passing(call_started(id, model, request, visibility)).await;
        }
    }

    async fn end_call(
        &self,
        id: &str,
        usage: Option<Usage>,
        outcome: &Result<ModelReply, Error>,
        replayed: bool,
    ) {
        if self.has_listeners() {
            let end = match outcome {
                Ok(reply) => ModelCallEnd::Replied {
                    model: reply.model.clone(),
                    finish: reply.finish,
                    request_id: reply.request_id.clone(),
                    message: Some(Arc::new(reply.message.clone())),
                },
                Err(error) => ModelCallEnd::Failed { error: error.to_string(), kind: error.kind() },
            };
            let kind = EventKind::ModelCallEnded { id: id.to_owned(), usage, end };
            self.emit_as(kind, replayed).await;
        }
    }

    fn note_reply(&self, reply: &ModelReply) {
        if let Some(journal) = self.journal() {
            journal.note_reply(&reply.message);
        }
    }

    async fn stream(
        &self,
        model: &dyn Model,
        (request, known): (ModelRequest, Option<&ModelRequest>),
        call: CallContext,
        message_id: &str,
        visibility: Visibility,
        (builder, so_far): (&mut ReplyBuilder, &mut ReplyProgress),
    ) -> Result<ModelReply, ModelError> {
        let streamed = visibility == Visibility::Streamed && self.has_listeners();
        let mut pieces = model.reply(request, call);
        if let (Some(around), Some(known)) = (&self.around, known) {
            pieces = around.reply(known, pieces);
        }
        let mut begun = false;
        while let Some(piece) = pieces.next().await {
            let delta = piece?;
            so_far.note(&delta);
            if streamed && matches!(delta, ReplyDelta::Restarted { .. }) {
                self.end_calls(builder).await;
            }
            builder.add(&delta);
            if !streamed {
                continue;
            }
            if let Some(kind) = event_of(&delta, message_id, builder) {
                if !begun {
                    begun = true;
                    self.begin_message(message_id, builder.model()).await;
                }
                self.emit_in_passing(kind).await;
            }
        }
        let reply = std::mem::replace(builder, ReplyBuilder::new("", "")).finish()?;
        if streamed && !begun {
            self.begin_message(message_id, &reply.model).await;
        }
        Ok(reply)
    }

    /// Calls of a reply that begins anew will never be made.
    async fn end_calls(&self, builder: &ReplyBuilder) {
        for id in builder.call_ids() {
            self.emit_in_passing(EventKind::ToolCallEnded { id: id.to_owned() }).await;
        }
    }

    async fn begin_message(&self, id: &str, model: &str) {
        let kind = EventKind::MessageStarted { id: id.to_owned(), model: model.to_owned() };
        self.emit_in_passing(kind).await;
    }

    async fn end_message(&self, id: &str, reply: &ModelReply, replayed: bool) {
        let kind = EventKind::MessageEnded {
            id: id.to_owned(),
            finish: Some(reply.finish),
            usage: reply.usage,
            text: reply.text(),
        };
        self.emit_as(kind, replayed).await;
    }

    /// Tells a reply from the journal: the same events, with each text in one piece.
    async fn emit_reply(&self, id: &str, reply: &ModelReply) {
        if self.has_listeners() {
            for kind in events_of_reply(id, reply) {
                self.emit_as(kind, true).await;
            }
            self.end_message(id, reply, true).await;
        }
    }

    fn must_be_allowed(&self, model: &dyn Model) -> Result<(), Error> {
        if model.reality() == Reality::Live && self.node.run.services.forbid_live_models {
            return Err(Error::from(ModelError::new(
                ModelErrorKind::Forbidden,
                format!(
                    "`{}` is a real model, and real models are forbidden here (CONVOKE_FORBID_LIVE_MODELS or \
                     `RuntimeBuilder::forbid_live_models`); use a scripted model, or lift the ban",
                    model.name()
                ),
            )));
        }
        Ok(())
    }

    /// Counts what a call used before it was made anew: it was paid for. Gives the number of replies the run could not use.
    fn count_superseded_calls(&self, effect: &NumberedEffect<'_>, price: Option<Price>) -> u32 {
        let Some(journal) = self.journal() else { return 0 };
        let mut refused = 0;
        for entry in journal.index.superseded_calls(effect.path, effect.ordinal) {
            match serde_json::from_slice(entry.outcome.as_deref().unwrap_or_default()) {
                Ok(call) => {
                    refused += u32::from(matches!(call, RecordedCall::Ok(_)));
                    self.count_model_call(&call, price);
                }
                Err(_) => {
                    refused += 1;
                    self.charge_model_call(Usage::default(), false, None);
                }
            }
        }
        refused
    }

    /// Counts a call that the journal has, of a model at this price at most.
    pub(super) fn count_model_call(&self, call: &RecordedCall, price: Option<Price>) {
        if call.was_made() {
            self.charge_model_call(call.usage(), call.is_priced(), price);
        }
    }

    pub(super) fn charge_model_call(&self, usage: Usage, is_priced: bool, price: Option<Price>) {
        self.node.run.count_model_call(usage, is_priced);
        if let Some(budget) = &self.node.budget {
            let cost = charged(usage, price).cost.unwrap_or(Money::ZERO);
            budget.charge(&Charge::model(usage.total_tokens(), cost));
        }
    }

    /// Reserves what the call may use, and keeps its answer within what is left. Waits while others have set aside what
    /// they may not use; that is no time of a tool's. An answer whose length nobody limits may be longer than what is
    /// reserved for it while there is room for that: cut short it would be of no use to anybody.
    async fn reserve(
        &self,
        model: &dyn Model,
        request: &mut ModelRequest,
    ) -> Result<Option<Reservation>, Error> {
        let Some(budget) = &self.node.budget else { return Ok(None) };
        let wanted = ReservationRequest {
            input: tokens_asked(request),
            output: request.params.max_tokens.map_or(ASSUMED_OUTPUT_TOKENS, u64::from),
            price: model.highest_price(),
        };
        let _pause = self.pause();
        let reservation = tokio::select! {
            biased;
            reserved = budget.reserve(&wanted) => {
                reserved.map_err(|exhausted| Error::Budget(Box::new(exhausted)))?
            }
            stop = self.out_of_time() => return Err(stop),
        };
        if reservation.output < wanted.output {
            request.params.max_tokens = Some(u32::try_from(reservation.output).unwrap_or(u32::MAX));
        }
        Ok(Some(reservation))
    }
}

/// What budgets are charged for: a limit on money holds also where the cost can only be estimated.
fn charged(usage: Usage, highest: Option<Price>) -> Usage {
    let estimate = highest.filter(|_| usage.is_estimated).map(|price| price.of(&usage));
    Usage { cost: usage.cost.or(estimate), ..usage }
}

/// A call as the journal keeps it.
///
/// # Errors
/// Stops, which are no outcome.
fn ended(outcome: Result<ModelReply, Error>, usage: Option<Usage>) -> Result<RecordedCall, Error> {
    match outcome {
        Ok(reply) => Ok(RecordedCall::Ok(ModelReply { usage: usage.unwrap_or_default(), ..reply })),
        Err(error) => match RecordedError::of(&error) {
            Some(error) => Ok(RecordedCall::Err(FailedCall::new(error, usage))),
            None => Err(error),
        },
    }
}

/// The event for a piece of a reply, if it has one.
fn event_of(delta: &ReplyDelta, message_id: &str, builder: &ReplyBuilder) -> Option<EventKind> {
    let id = || message_id.to_owned();
    Some(match delta {
        ReplyDelta::Text(text) if !text.is_empty() => {
            EventKind::MessageDelta { id: id(), text: text.clone() }
        }
        ReplyDelta::Reasoning(text) if !text.is_empty() => {
            EventKind::ReasoningDelta { id: id(), text: text.clone() }
        }
        ReplyDelta::ToolCallStarted { index, name, .. } => EventKind::ToolCallStarted {
            id: builder.call_id(*index).to_owned(),
            tool: name.clone(),
            message: Some(id()),
        },
        ReplyDelta::ToolCallArguments { index, delta } => {
            EventKind::ToolCallArguments { id: builder.call_id(*index).to_owned(), delta: delta.clone() }
        }
        ReplyDelta::Restarted { model, reason } => {
            EventKind::MessageRestarted { id: id(), model: model.clone(), reason: reason.clone() }
        }
        _ => return None,
    })
}

impl NumberedEffect<'_> {
    /// The model that was asked, as far as the journal knows.
    fn asked_model(&self) -> Option<String> {
        let slot = self.scope.journal()?.index.get(self.path, self.ordinal)?;
        let request = slot.first()?.request.as_deref()?;
        serde_json::from_slice::<StoredRequest>(request).ok().map(|request| request.model)
    }
}

fn call_started(id: &str, model: &str, request: &ModelRequest, visibility: Visibility) -> EventKind {
    EventKind::ModelCallStarted(ModelCall {
        id: id.to_owned(),
        model: model.to_owned(),
        visibility,
        params: request.params.clone(),
        has_schema: request.output.is_some(),
        messages: request.messages.clone(),
    })
}

/// A message as it is told from the journal, but for its end: each text in one piece.
fn events_of_reply<'a>(id: &'a str, reply: &'a ModelReply) -> impl Iterator<Item = EventKind> + 'a {
    let own = move || id.to_owned();
    let started = EventKind::MessageStarted { id: own(), model: reply.model.clone() };
    let parts = reply.message.parts.iter().flat_map(move |part| {
        let (first, second) = match part {
            Part::Text { text } => (Some(EventKind::MessageDelta { id: own(), text: text.clone() }), None),
            Part::Reasoning { text, .. } if !text.is_empty() => {
                (Some(EventKind::ReasoningDelta { id: own(), text: text.clone() }), None)
            }
            Part::ToolCall(call) => {
                let (id, tool, message) = (call.id.clone(), call.name.clone(), Some(own()));
                let arguments =
                    EventKind::ToolCallArguments { id: id.clone(), delta: call.arguments.to_string() };
                (Some(EventKind::ToolCallStarted { id, tool, message }), Some(arguments))
            }
            _ => (None, None),
        };
        first.into_iter().chain(second)
    });
    std::iter::once(started).chain(parts)
}

/// What the journal keeps of a request, and the content it refers to.
fn stored_form(model: &str, request: &ModelRequest) -> (Bytes, impl Fn(&StoredContent) -> Vec<Blob> + use<>) {
    let options = request.options().map(|options| {
        let digest = Digest::of_json(&options);
        Blob { digest, content: options.to_string().into() }
    });
    let stored = StoredRequest {
        model: model.to_owned(),
        messages: request.messages.digest(),
        options: options.as_ref().map(|blob| blob.digest),
        last_message: last_text(request).chars().take(KEPT_OF_MESSAGE).collect(),
        began: Some(Timestamp::now()),
    };
    // Three plain fields always serialise.
    let json = serde_json::to_vec(&stored).unwrap_or_default();
    let messages = request.messages.clone();
    let content = move |kept: &StoredContent| {
        let mut blobs: Vec<Blob> = messages.unsaved(|digest| !kept.stored.contains(digest)).collect();
        for blob in &mut blobs {
            if let Some(short) = replies::shortened(&blob.content, |reply| kept.replies.contains(reply)) {
                blob.content = short;
            }
        }
        blobs.extend(options.iter().filter(|blob| !kept.stored.contains(&blob.digest)).cloned());
        blobs
    };
    (json.into(), content)
}

fn last_text(request: &ModelRequest) -> String {
    request.messages.last().map_or_else(String::new, |message| message.text())
}

fn describe(model: &str, request: &ModelRequest) -> String {
    let last = last_text(request);
    let described = json!({
        "model": model,
        "messages": request.messages.digest(),
        "last message": shortened(&last),
        "options": request.options(),
    });
    described.to_string()
}
