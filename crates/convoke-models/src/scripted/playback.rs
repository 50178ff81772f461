//! Streams a scripted reply in its pieces.

use std::time::Duration;
use std::vec;

use convoke_core::{FinishReason, ModelError, ModelRequest, ReplyDelta, ReplyStream, Usage};
use futures_util::{future, stream};

use super::fault::{Fault, FaultKind};
use super::reply::argument_text;
use super::{Reply, usage};

/// The stream of this reply to this request.
pub(super) fn play(reply: Reply, request: &ModelRequest) -> ReplyStream<'static> {
    let mut pieces = pieces(&reply, request);
    let ending = match reply.fault {
        None => Ending::Usage(reply.usage.unwrap_or_else(|| usage::count(request, &reply)), finish(&reply)),
        Some(Fault { after, kind }) => {
            pieces.truncate(after);
            match kind {
                FaultKind::Cut => Ending::Silence,
                FaultKind::Fail(error) => Ending::Failure(error),
                FaultKind::Hang => Ending::Hang,
            }
        }
    };
    let playback = Playback {
        pieces: pieces.into_iter(),
        ending,
        wait: reply.delay.unwrap_or_default(),
        wait_between: reply.delay_per_chunk.unwrap_or_default(),
    };
    Box::pin(stream::unfold(playback, Playback::next))
}

/// What is still to come.
struct Playback {
    pieces: vec::IntoIter<ReplyDelta>,
    ending: Ending,
    wait: Duration,
    wait_between: Duration,
}

/// What comes after the last piece.
enum Ending {
    Usage(Usage, FinishReason),
    Finished(FinishReason),
    Failure(ModelError),
    Hang,
    Silence,
}

impl Playback {
    async fn next(mut self) -> Option<(Result<ReplyDelta, ModelError>, Self)> {
        let piece = self.pieces.next();
        let wait = std::mem::take(&mut self.wait);
        // Without a delay there is no need of a timer, nor of a runtime that has one.
        if !wait.is_zero() {
            tokio::time::sleep(wait).await;
        }
        if let Some(piece) = piece {
            if self.pieces.len() > 0 {
                self.wait = self.wait_between;
            }
            return Some((Ok(piece), self));
        }
        match std::mem::replace(&mut self.ending, Ending::Silence) {
            Ending::Usage(usage, reason) => {
                self.ending = Ending::Finished(reason);
                Some((Ok(ReplyDelta::Usage(usage)), self))
            }
            Ending::Finished(reason) => Some((Ok(ReplyDelta::Finished { reason, request_id: None }), self)),
            Ending::Failure(error) => Some((Err(error), self)),
            Ending::Hang => future::pending().await,
            Ending::Silence => None,
        }
    }
}

/// Reasoning, then text, then the calls: the order in which models write.
fn pieces(reply: &Reply, request: &ModelRequest) -> Vec<ReplyDelta> {
    let chunks = reply.chunks.unwrap_or_default();
    let split = |text: &Option<String>| chunks.split(text.as_deref().unwrap_or_default());
    let mut pieces: Vec<ReplyDelta> =
        split(&reply.reasoning).into_iter().map(ReplyDelta::Reasoning).collect();
    pieces.extend(reply.signature.clone().map(ReplyDelta::ReasoningSignature));
    pieces.extend(split(&reply.text).into_iter().map(ReplyDelta::Text));
    for (index, call) in reply.calls.iter().enumerate() {
        let id = call.id.clone().unwrap_or_else(|| call_id(request, index));
        pieces.push(ReplyDelta::ToolCallStarted { index, id, name: call.name.clone() });
        let arguments = chunks.split_arguments(&argument_text(&call.arguments));
        pieces.extend(arguments.into_iter().map(|delta| ReplyDelta::ToolCallArguments { index, delta }));
    }
    pieces
}

/// An id that is unique in a growing conversation and does not depend on what else the model is asked meanwhile.
fn call_id(request: &ModelRequest, index: usize) -> String {
    format!("call-{}-{}", request.messages.len() + 1, index + 1)
}

fn finish(reply: &Reply) -> FinishReason {
    let usual = if reply.calls.is_empty() { FinishReason::Stop } else { FinishReason::ToolCalls };
    reply.finish.unwrap_or(usual)
}
