//! The progress of an agent: its conversation, turns and usage so far.

use convoke_core::{Message, ModelReply, ToolCall, ToolResult, Transcript, Usage};

use super::limits::Limit;
use super::repeats::Repeats;
use super::{AgentResult, AgentStop};

/// What the turns of one run of an agent work on.
pub(super) struct AgentProgress {
    pub(super) transcript: Transcript,
    pub(super) reply: Option<ModelReply>,
    /// Turns begun; one that ends without a reply counts here only.
    begun: u32,
    turns: u32,
    usage: Usage,
    pending: Vec<ToolCall>,
    pub(super) stop: Option<AgentStop>,
    pub(super) repeats: Repeats,
    /// A limit that was reached: the next turn is the last.
    pub(super) limit: Option<Limit>,
    /// The limit that made this turn the last.
    pub(super) last: Option<AgentStop>,
    /// How many turns there are since the limit was raised.
    pub(super) raised_turns: Option<u32>,
    /// The calls of this turn that time ran out on.
    pub(super) unfinished: Vec<usize>,
    /// Whether a call was not made because there were none left.
    pub(super) lacked_calls: bool,
}

impl AgentProgress {
    pub(super) fn new(transcript: Transcript, repeat_limit: Option<u32>) -> Self {
        Self {
            transcript,
            reply: None,
            begun: 0,
            turns: 0,
            usage: Usage::default(),
            pending: Vec::new(),
            stop: None,
            repeats: Repeats::new(repeat_limit),
            limit: None,
            last: None,
            raised_turns: None,
            unfinished: Vec::new(),
            lacked_calls: false,
        }
    }

    /// The number of the turn that begins, from 1.
    pub(super) fn begin_turn(&mut self) -> u32 {
        self.begun += 1;
        self.begun
    }

    /// Takes the model's reply to a conversation.
    pub(super) fn record_reply(&mut self, conversation: Transcript, reply: ModelReply) {
        self.transcript = conversation;
        self.transcript.push(reply.message.clone());
        self.turns += 1;
        self.usage += reply.usage;
        self.reply = Some(reply);
    }

    /// Takes the results of the reply's calls.
    pub(super) fn answer(&mut self, results: Vec<ToolResult>) {
        if !results.is_empty() {
            self.transcript.push(Message::tool_results(results));
        }
    }

    pub(super) fn stop(&mut self, stop: AgentStop) {
        self.stop = Some(stop);
    }

    /// Stops, and leaves these calls to whoever gets the result.
    pub(super) fn hand_over(&mut self, stop: AgentStop, pending: Vec<ToolCall>) {
        self.stop = Some(stop);
        self.pending = pending;
    }

    pub(super) fn result(self, stop: AgentStop) -> AgentResult {
        AgentResult {
            reply: self.reply,
            transcript: self.transcript,
            turns: self.turns,
            stop,
            limit: self.last,
            usage: self.usage,
            pending_calls: self.pending,
        }
    }
}
