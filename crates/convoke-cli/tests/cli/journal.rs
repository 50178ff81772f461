//! Journals made by hand, with fixed times.

use std::collections::HashSet;
use std::time::Duration;

use bytes::Bytes;
use convoke_core::ask::PendingQuestion;
use convoke_core::store::{Batch, ForkPoint, NewRun, RunChange, Totals, WaitConditions};
use convoke_core::{
    Answer, Blob, Digest, EffectKind, Entry, IdempotencyKey, Message, Path, Phase, Question, RunId,
    RunStatus, Timestamp, ToolCall, Usage,
};
use serde_json::{Value, json};

/// 2026-01-05, 09:00 UTC: when every hand-made run begins.
pub(crate) const BEGINNING: Timestamp = Timestamp::from_micros(1_767_603_600_000_000);

/// A run made by hand.
pub(crate) struct Run {
    pub(crate) id: RunId,
    pub(crate) workflow: String,
    pub(crate) version: u32,
    pub(crate) input: Value,
    pub(crate) created: Timestamp,
    pub(crate) updated: Timestamp,
    pub(crate) forked_from: Option<ForkPoint>,
    pub(crate) holder: Option<&'static str>,
    pub(crate) outline: Option<Value>,
    /// How long every model call from now on takes; nobody writes it down if there is none.
    pub(crate) latency: Option<Duration>,
    past: Batch,
    kept: HashSet<Digest>,
    change: Option<RunChange>,
    totals: Totals,
    clock: Timestamp,
}

impl Run {
    pub(crate) fn new(id: &str, workflow: &str) -> Self {
        Self {
            id: id.parse().unwrap(),
            workflow: workflow.to_owned(),
            version: 1,
            input: json!({}),
            created: BEGINNING,
            updated: BEGINNING,
            forked_from: None,
            holder: None,
            outline: None,
            latency: None,
            past: Batch::default(),
            kept: HashSet::new(),
            change: None,
            totals: Totals::default(),
            clock: BEGINNING,
        }
    }

    /// Lets time pass before the next entry.
    pub(crate) fn after(mut self, millis: u64) -> Self {
        self.clock = self.clock + Duration::from_millis(millis);
        self.updated = self.clock;
        self
    }

    pub(crate) fn entry(
        mut self,
        (path, ordinal): (&str, u32),
        effect: EffectKind,
        phase: Phase,
        request: Option<Value>,
        outcome: Option<Value>,
    ) -> Self {
        let bytes = |json: Value| Bytes::from(json.to_string());
        self.past.entries.push(Entry {
            seq: self.past.entries.len() as u64 + 1,
            path: Path::from(path),
            ordinal,
            effect,
            phase,
            digest: Digest::default(),
            at: self.clock,
            request: request.map(bytes),
            outcome: outcome.map(bytes),
            labels: convoke_core::Labels::new(),
        });
        self
    }

    /// A model call that gave this.
    pub(crate) fn model(mut self, at: (&str, u32), prompt: &[Message], reply: Reply) -> Self {
        let messages = self.keep(prompt);
        self.totals.model_calls += 1;
        self.totals.usage += reply.usage;
        let outcome = json!({
            "message": reply.message, "finish": reply.finish, "usage": reply.usage, "model": "scripted",
        });
        let request = self.request(messages);
        self.entry(at, EffectKind::Model, Phase::Finished, Some(request), Some(json!({"ok": outcome})))
    }

    /// A model call that failed.
    pub(crate) fn model_failure(mut self, at: (&str, u32), prompt: &[Message], error: Value) -> Self {
        let messages = self.keep(prompt);
        self.totals.model_calls += 1;
        let request = self.request(messages);
        self.entry(at, EffectKind::Model, Phase::Finished, Some(request), Some(json!({"err": error})))
    }

    fn request(&self, messages: Digest) -> Value {
        match self.latency {
            None => json!({"model": "scripted", "messages": messages}),
            Some(took) => json!({"model": "scripted", "messages": messages, "began": self.clock - took}),
        }
    }

    /// What the workflow is made of.
    pub(crate) fn made_of(mut self, outline: Value) -> Self {
        self.outline = Some(outline);
        self
    }

    /// Lets every model call from now on take this long.
    pub(crate) fn taking(mut self, millis: u64) -> Self {
        self.latency = Some(Duration::from_millis(millis));
        self
    }

    pub(crate) fn begin_tool(mut self, at: (&str, u32), tool: &str, arguments: Value) -> Self {
        self.totals.tool_calls += 1;
        let request = json!({"tool": tool, "arguments": arguments});
        self.entry(at, EffectKind::Tool, Phase::Started, Some(request), None)
    }

    pub(crate) fn end_tool(self, at: (&str, u32), content: &str) -> Self {
        self.entry(at, EffectKind::Tool, Phase::Finished, None, Some(json!({"ok": {"content": content}})))
    }

    pub(crate) fn end_tool_badly(self, at: (&str, u32), content: &str) -> Self {
        let outcome = json!({"ok": {"content": content, "is_error": true}});
        self.entry(at, EffectKind::Tool, Phase::Finished, None, Some(outcome))
    }

    /// A question that waits.
    pub(crate) fn ask(mut self, at: (&str, u32), question: Question) -> Self {
        let request = serde_json::to_value(&question).unwrap();
        self.past.opened.push(PendingQuestion {
            run: self.id.clone(),
            id: IdempotencyKey::derive(&self.id, &Path::from(at.0), at.1),
            path: Path::from(at.0),
            asked: self.clock,
            question,
        });
        self.entry(at, EffectKind::Ask, Phase::Started, Some(request), None)
    }

    /// Nobody wants it answered any more.
    pub(crate) fn withdrawn(mut self) -> Self {
        self.past.opened.clear();
        self
    }

    /// The answer to it.
    pub(crate) fn answered(mut self, at: (&str, u32), answer: Answer) -> Self {
        let id = IdempotencyKey::derive(&self.id, &Path::from(at.0), at.1);
        self.past.opened.retain(|pending| pending.id != id);
        let answer = Answer { at: self.clock, ..answer };
        self.entry(at, EffectKind::Ask, Phase::Finished, None, Some(json!({"ok": answer})))
    }

    /// How it ended.
    pub(crate) fn ends(mut self, status: RunStatus, outcome: Value) -> Self {
        let outcome = Some(Bytes::from(outcome.to_string()));
        self.change = Some(RunChange {
            worked: Duration::ZERO,
            status,
            outcome,
            totals: self.totals,
            waits: Default::default(),
        });
        self
    }

    /// What it waits for beside answers, now that it is suspended.
    pub(crate) fn waits(mut self, waits: WaitConditions) -> Self {
        self.change.iter_mut().for_each(|change| change.waits = waits.clone());
        self
    }

    pub(crate) fn completes(self, state: Value) -> Self {
        self.ends(RunStatus::Completed, json!({"state": state}))
    }

    pub(crate) fn suspends(self) -> Self {
        self.ends(RunStatus::Suspended, json!({"error": "waiting for answers"}))
    }

    pub(crate) fn into_parts(self) -> (NewRun, Option<RunChange>) {
        let new = NewRun {
            id: self.id,
            workflow: self.workflow,
            version: self.version,
            input: self.input.to_string().into(),
            outline: self.outline.map(|outline| outline.to_string().into()),
            launch: Default::default(),
            seed: 7,
            forked_from: self.forked_from,
            past: self.past,
        };
        (new, self.change)
    }

    /// Stores a conversation as the kernel does: each message under the digest of everything up to it.
    fn keep(&mut self, messages: &[Message]) -> Digest {
        let mut before = Digest::default();
        for message in messages {
            let json = serde_json::to_vec(message).unwrap();
            let own = Digest::of_parts(&[&json]);
            let digest = Digest::of_parts(&[before.as_bytes(), own.as_bytes()]);
            let content: Vec<u8> = before.as_bytes().iter().chain(&json).copied().collect();
            if self.kept.insert(digest) {
                self.past.blobs.push(Blob { digest, content: content.into() });
            }
            before = digest;
        }
        assert_eq!(before, convoke_core::Transcript::from(messages.to_vec()).digest());
        before
    }
}

/// What a model says.
pub(crate) struct Reply {
    pub(crate) message: Message,
    finish: &'static str,
    usage: Usage,
}

impl Reply {
    pub(crate) fn text(text: &str) -> Self {
        Self { message: Message::assistant(text), finish: "stop", usage: Usage::default() }
    }

    pub(crate) fn calls(calls: impl IntoIterator<Item = ToolCall>) -> Self {
        let parts = calls.into_iter().map(convoke_core::Part::ToolCall).collect();
        let message = Message { role: convoke_core::Role::Assistant, parts };
        Self { message, finish: "tool_calls", usage: Usage::default() }
    }

    /// The same after thinking this.
    pub(crate) fn thinking(mut self, text: &str) -> Self {
        let thought = serde_json::from_value(json!({"type": "reasoning", "text": text})).unwrap();
        self.message.parts.insert(0, thought);
        self
    }

    pub(crate) fn used(mut self, input: u64, output: u64) -> Self {
        self.usage = Usage { cost: self.usage.cost, ..Usage::tokens(input, output) };
        self
    }

    pub(crate) fn cost(mut self, micros: u64) -> Self {
        self.usage.cost = Some(convoke_core::Money::from_micros(micros));
        self
    }
}

pub(crate) fn call(id: &str, name: &str, arguments: Value) -> ToolCall {
    ToolCall { id: id.to_owned(), name: name.to_owned(), arguments }
}
