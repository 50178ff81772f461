//! A model of a provider.

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use convoke_core::{
    CallContext, Category, Model, ModelError, ModelErrorKind, ModelRequest, Money, Price, Reality,
    ReplyDelta, ReplyStream, Usage,
};
use futures_util::{StreamExt, TryStreamExt, stream};
use http::header::CONTENT_TYPE;
use tokio::time::{Instant, timeout, timeout_at};

use super::reply_size::{self, ReplySize};
use super::structured::{another_key, in_words, is_refusal, names_shape};
use super::unframed::Unframed;
use super::{
    Decoder, Exchange, Provider, ProviderSettings, StructuredOutput, WireRequest, failure, usage_asked,
};
use crate::gate::Admission;
use crate::http::{Body, Frames, Framing};

/// How long to wait for the end of a body whose reply is whole.
const FAREWELL: Duration = Duration::from_millis(100);

/// How long to wait for what follows an answer that is complete: what was used, and the protocol's own end.
const CLOSING: Duration = Duration::from_secs(5);

/// No reply takes more tokens, in or out.
const MOST_TOKENS: u64 = 1_000_000_000;

/// No reply costs more.
const MOST_MONEY: Money = Money::from_dollars(100_000);

/// A model that a provider runs.
///
/// Tries each request once; [`Retrying`](crate::resilience::Retrying) tries again.
pub struct ProviderModel {
    exchange: Exchange,
}

impl ProviderModel {
    /// The model that this provider calls `model`.
    ///
    /// # Errors
    /// [`InvalidRequest`](convoke_core::ModelErrorKind::InvalidRequest) if there is no address,
    /// [`Authentication`](convoke_core::ModelErrorKind::Authentication) if a key is needed and missing.
    pub fn new(model: &str, settings: ProviderSettings) -> Result<Self, ModelError> {
        Ok(Self { exchange: Exchange::new(model, settings)? })
    }

    /// Sends a request and waits until the reply begins. A server that refuses the schema of an answer is asked once more,
    /// in words.
    async fn open(&self, request: ModelRequest, call: CallContext) -> Result<Incoming, ModelError> {
        let Exchange { settings, model, .. } = &self.exchange;
        if request.output.is_none() {
            return self.send(request, &call, StructuredOutput::JsonSchema).await;
        }
        let how = settings.structured_output_of(model);
        if how != StructuredOutput::JsonSchema || !settings.may_ask_in_words() {
            let opened = self.begin(request, &call, how).await;
            return opened.map_err(|error| self.with_way_out(error, how));
        }
        let refusal = match self.begin(request.clone(), &call, how).await {
            Err(error) if is_refusal(&error) => error,
            opened => return opened,
        };
        match self.send(request, &call, StructuredOutput::Words).await {
            Ok(incoming) => {
                settings.remember_refusal(model);
                Ok(incoming)
            }
            Err(error) if error.category() == Category::Transient => Err(error),
            // Both were refused. Asking with the schema again comes to the same, whatever its status says otherwise.
            Err(error) if names_shape(&refusal.message) && refusal.category() == Category::Transient => {
                let message = format!("{}; asked in words instead: {}", refusal.message, error.message);
                Err(self.with_way_out(ModelError { message, ..error }, how))
            }
            // It was not the schema then.
            Err(_) => Err(self.with_way_out(refusal, how)),
        }
    }

    /// Sends a request and waits for the first sign of a reply: some servers accept what they refuse in the first line of it.
    async fn begin(
        &self,
        request: ModelRequest,
        call: &CallContext,
        how: StructuredOutput,
    ) -> Result<Incoming, ModelError> {
        let mut incoming = self.send(request, call, how).await?;
        let mut first = Vec::new();
        loop {
            match self.next(&mut incoming).await {
                // What was used may stand beside an error.
                Ok(Some(used @ ReplyDelta::Usage(_))) => first.push(used),
                Ok(piece) => {
                    first.extend(piece);
                    break;
                }
                Err(error) if names_shape(&error.message) => return Err(error),
                Err(error) => {
                    incoming.failed = Some(error);
                    break;
                }
            }
        }
        first.into_iter().rev().for_each(|piece| incoming.pieces.push_front(piece));
        Ok(incoming)
    }

    /// The error of a server that takes no shape in this way: which setting says how it is asked.
    fn with_way_out(&self, mut error: ModelError, how: StructuredOutput) -> ModelError {
        let settings = &self.exchange.settings;
        let other = match how {
            StructuredOutput::JsonSchema => "`json_object` or `words`",
            StructuredOutput::JsonObject => "`words`",
            StructuredOutput::Words => return error,
        };
        if settings.provider == Provider::OpenAiCompatible && names_shape(&error.message) {
            let service = &settings.service;
            error.message.push_str(&format!(
                "; how it is asked for a shape is said by `services.{service}.structured_output`, which can be {other}"
            ));
        }
        error
    }

    async fn send(
        &self,
        request: ModelRequest,
        call: &CallContext,
        how: StructuredOutput,
    ) -> Result<Incoming, ModelError> {
        let exchange = &self.exchange;
        let request = if how == StructuredOutput::Words { in_words(request) } else { request };
        let tokens = expected_tokens(&request);
        let mut wire = self.written(&request, call, how)?;
        let server = &exchange.settings.base_url;
        if usage_asked::was_refused(server) {
            usage_asked::leave_out(&mut wire);
        }
        let asks_usage = usage_asked::is_in(&wire);
        let decoder = exchange.protocol.decoder(&request);
        let size = ReplySize::limited_to(exchange.settings.max_reply_bytes, request.params.max_tokens);
        let opened = match exchange.send(wire, tokens).await {
            Err(error) if asks_usage && usage_asked::refuses(&error) => {
                let mut wire = self.written(&request, call, how)?;
                usage_asked::leave_out(&mut wire);
                let opened = exchange.send(wire, tokens).await?;
                usage_asked::remember(server);
                opened
            }
            opened => opened?,
        };
        let kind = opened.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let framing = framing(exchange.protocol.framing(), kind);
        Ok(Incoming {
            request_id: failure::request_id(&opened.headers),
            frames: Frames::new(framing),
            unframed: Unframed::new(framing, kind),
            decoder,
            body: opened.body,
            pieces: VecDeque::new(),
            failed: None,
            awaiting_first: Some(opened.deadline),
            waited: None,
            held_back: 0,
            closes_at: None,
            size,
            over: false,
            finished: false,
            _admission: opened.admission,
        })
    }

    /// The request as the provider reads it.
    fn written(
        &self,
        request: &ModelRequest,
        call: &CallContext,
        how: StructuredOutput,
    ) -> Result<WireRequest, ModelError> {
        let Exchange { protocol, model, settings, .. } = &self.exchange;
        let mut wire = protocol.write(model, request, call, settings)?;
        if how == StructuredOutput::Words {
            another_key(&mut wire.headers, "in words");
        }
        Ok(wire)
    }

    /// The next piece of a reply.
    async fn next(&self, incoming: &mut Incoming) -> Result<Option<ReplyDelta>, ModelError> {
        loop {
            if let Some(mut piece) = incoming.pieces.pop_front() {
                match &mut piece {
                    ReplyDelta::Finished { request_id, .. } => {
                        let id = incoming.request_id.take().or(request_id.take());
                        *request_id = id.map(|id| self.exchange.hidden(&id));
                        incoming.finished = true;
                    }
                    ReplyDelta::Usage(usage) => {
                        *usage = credible(*usage);
                        // Counts that are missing or make no sense are read as zero; no reply uses nothing.
                        if usage.total_tokens() == 0 && is_nothing(usage.cost) {
                            continue;
                        }
                    }
                    _ => {}
                }
                return Ok(Some(piece));
            }
            if incoming.finished {
                incoming.see_off().await;
                return Ok(None);
            }
            if let Some(error) = incoming.failed.take() {
                let id = error.request_id.or(incoming.request_id.take());
                return Err(ModelError { request_id: id.map(|id| self.exchange.hidden(&id)), ..error });
            }
            if incoming.over {
                return Ok(None);
            }
            // What came before an error counts all the same: what was used, above all.
            let read = self.read(incoming).await;
            let weighed = incoming.weigh().map_err(|error| self.exchange.named(error));
            incoming.failed = read.and(weighed).err();
        }
    }

    /// Reads more of a reply's body.
    async fn read(&self, incoming: &mut Incoming) -> Result<(), ModelError> {
        let named = |error| self.exchange.named(error);
        let Some(bytes) = self.bytes(incoming).await? else {
            incoming.over = true;
            return incoming.end().map_err(named);
        };
        incoming.size.receive(bytes.len());
        incoming.frames.push(&bytes).map_err(|error| named(error.into()))?;
        incoming.unframed.push(&bytes);
        while let Some(frame) = incoming.frames.next() {
            incoming.unframed.forget();
            if incoming.awaiting_first.is_some() {
                incoming.waited = Some(Duration::ZERO);
            }
            incoming.decoder.frame(&frame, &mut incoming.pieces).map_err(named)?;
        }
        if incoming.closes_at.is_none() && incoming.decoder.is_complete() {
            incoming.closes_at = Some(Instant::now() + CLOSING);
        }
        Ok(())
    }

    /// The next bytes of a body, or its end. What follows an answer that is complete may be missing.
    async fn bytes(&self, incoming: &mut Incoming) -> Result<Option<Bytes>, ModelError> {
        let asked = Instant::now();
        let bytes = self.exchange.bytes(&mut incoming.body, incoming.awaiting_first, incoming.waited);
        let bytes = match incoming.closes_at {
            Some(end) => Ok(timeout_at(end, bytes).await.ok().and_then(Result::ok).flatten()),
            None => bytes.await,
        };
        // Not by the clock: whoever reads the pieces may take a while between them.
        incoming.waited = incoming.waited.map(|waited| waited + asked.elapsed());
        bytes
    }
}

/// What can be true of what a server says was used. Who is charged for more than that by mistake has no budget left.
fn credible(usage: Usage) -> Usage {
    let count = |count: u64| if count > MOST_TOKENS { 0 } else { count };
    let input = count(usage.input_tokens);
    let cached = usage.cached_input_tokens.min(input);
    Usage {
        input_tokens: input,
        output_tokens: count(usage.output_tokens),
        cached_input_tokens: cached,
        cache_write_tokens: usage.cache_write_tokens.min(input - cached),
        reasoning_tokens: count(usage.reasoning_tokens),
        cost: usage.cost.filter(|cost| *cost <= MOST_MONEY),
        ..usage
    }
}

fn is_nothing(cost: Option<Money>) -> bool {
    cost.is_none_or(|cost| cost == Money::ZERO)
}

/// Servers that do not stream answer with one JSON document.
fn framing(usual: Framing, kind: &str) -> Framing {
    let is_document = kind.starts_with("application/json") && usual == Framing::Events;
    if is_document { Framing::Whole } else { usual }
}

impl Model for ProviderModel {
    fn name(&self) -> &str {
        &self.exchange.name
    }

    fn reply<'a>(&'a self, request: ModelRequest, call: CallContext) -> ReplyStream<'a> {
        let opened = stream::once(self.open(request, call));
        let pieces = opened.map_ok(move |incoming| {
            stream::try_unfold(incoming, move |mut incoming| async move {
                Ok(self.next(&mut incoming).await?.map(|piece| (piece, incoming)))
            })
        });
        Box::pin(pieces.try_flatten())
    }

    fn reality(&self) -> Reality {
        self.exchange.settings.transport.reality()
    }

    fn price(&self) -> Option<Price> {
        self.exchange.settings.price
    }
}

impl std::fmt::Debug for ProviderModel {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("ProviderModel").field("name", &self.exchange.name).finish_non_exhaustive()
    }
}

/// A reply on its way.
struct Incoming {
    request_id: Option<String>,
    frames: Frames,
    unframed: Unframed,
    decoder: Box<dyn Decoder>,
    body: Body,
    pieces: VecDeque<ReplyDelta>,
    /// What went wrong after the pieces.
    failed: Option<ModelError>,
    /// Until when the first sign of an answer must have come.
    awaiting_first: Option<Instant>,
    /// How long was waited since the last sign of it, or before the first since anything came; `None` before that.
    waited: Option<Duration>,
    /// How much of it the decoder had held back by then.
    held_back: usize,
    /// Until when what follows a complete answer is waited for.
    closes_at: Option<Instant>,
    size: ReplySize,
    /// Whether the body has ended.
    over: bool,
    /// Whether the reply is whole.
    finished: bool,
    /// Held until the reply is whole or dropped.
    _admission: Admission,
}

impl Incoming {
    /// Counts what has just been read. Only more of the answer is a sign of it: pieces with nothing in them show that somebody
    /// is there, but neither make more time nor are without limit.
    fn weigh(&mut self) -> Result<(), ModelError> {
        let given_out: usize = self.pieces.iter().map(reply_size::length).sum();
        let held_back = self.decoder.held_back();
        let more = given_out + held_back.saturating_sub(self.held_back);
        self.held_back = held_back;
        if more > 0 {
            self.awaiting_first = None;
            self.waited = Some(Duration::ZERO);
        }
        self.size.add(more)?;
        let size = &mut self.size;
        let beyond = self.pieces.iter().try_for_each(|piece| size.add_piece(piece));
        let is_whole = matches!(self.pieces.back(), Some(ReplyDelta::Finished { .. }));
        if self.size.has_too_many_calls() {
            use ReplyDelta as Piece;
            // Nobody makes calls of a reply that failed.
            self.pieces
                .retain(|piece| matches!(piece, Piece::Text(_) | Piece::Reasoning(_) | Piece::Usage(_)));
            beyond
        } else if is_whole {
            // It was paid for, and there is nothing to stop any more.
            Ok(())
        } else {
            beyond
        }
    }

    /// The body has ended.
    fn end(&mut self) -> Result<(), ModelError> {
        let frame = self.frames.last();
        let document = self.unframed.end(frame.as_ref())?;
        let is_cut = document.is_none() && frame.as_ref().is_some_and(|frame| self.frames.cuts_off(frame));
        if let Some(frame) = document.as_ref().or(frame.as_ref()) {
            self.decoder.frame(frame, &mut self.pieces).map_err(|error| match error.kind {
                // Half an event is a reply that was cut off, as half a list of events is.
                ModelErrorKind::Malformed if is_cut => ModelError::new(
                    ModelErrorKind::Interrupted,
                    "the reply was cut off within one of its pieces",
                ),
                _ => error,
            })?;
        }
        self.decoder.end(&mut self.pieces)?;
        let is_finished = matches!(self.pieces.back(), Some(ReplyDelta::Finished { .. }));
        if is_finished { Ok(()) } else { self.unframed.unanswered() }
    }

    /// Reads what follows a whole reply: a connection whose body was read to its end serves the next request too. Some
    /// servers never end it; and a break after the end breaks nothing.
    async fn see_off(&mut self) {
        if !self.over {
            let rest = async { while let Some(Ok(_)) = self.body.next().await {} };
            let _ = timeout(FAREWELL, rest).await;
            self.over = true;
        }
    }
}

/// Roughly what a request will use; only for the gate.
fn expected_tokens(request: &ModelRequest) -> u64 {
    request.messages.encoded_len() as u64 / 4 + u64::from(request.params.max_tokens.unwrap_or(1_024))
}
