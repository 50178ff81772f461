//! A span that has not ended.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use convoke_core::Timestamp;
use opentelemetry::KeyValue;
use opentelemetry::trace::{Event, Link, SpanKind};

/// How many events a span may have; the rest is counted.
const MOST_EVENTS: usize = 128;

/// The subject of a span: what it stands for.
pub(super) enum SpanSubject {
    Run,
    Step {
        kind: Box<str>,
    },
    /// An agent that has no step of its own.
    Agent,
    Tool {
        call: Box<str>,
        tool: Box<str>,
        over: Option<Timestamp>,
    },
    Model {
        call: Box<str>,
        provider: Box<str>,
        model: Box<str>,
    },
    Question {
        id: Box<str>,
    },
}

pub(super) struct OpenSpan {
    pub(super) id: [u8; 8],
    pub(super) parent: [u8; 8],
    pub(super) name: String,
    pub(super) kind: SpanKind,
    pub(super) start: Timestamp,
    pub(super) attributes: Vec<KeyValue>,
    pub(super) events: Vec<Event>,
    pub(super) events_dropped: u32,
    pub(super) links: Vec<Link>,
    pub(super) agent: Option<Arc<str>>,
    pub(super) subject: SpanSubject,
    /// Tool calls that a model wants made here, by their id: the tool, and the arguments if content is recorded. Ids are
    /// unique in a conversation only, so they are kept where the conversation is.
    pub(super) calls: HashMap<String, (String, String)>,
    /// Whether something was done in it just now, rather than told from a journal.
    pub(super) is_live: bool,
    /// Whether something in it was told from a journal.
    pub(super) has_past: bool,
    /// Whether something had been done in the run before this began.
    pub(super) follows_work: bool,
}

impl OpenSpan {
    pub(super) fn new(
        id: [u8; 8],
        name: String,
        start: Timestamp,
        subject: SpanSubject,
        attributes: Vec<KeyValue>,
    ) -> Self {
        Self {
            id,
            parent: [0; 8],
            name,
            kind: SpanKind::Internal,
            start,
            attributes,
            events: Vec::new(),
            events_dropped: 0,
            links: Vec::new(),
            agent: None,
            subject,
            calls: HashMap::new(),
            is_live: false,
            has_past: false,
            follows_work: false,
        }
    }

    /// Whether others can be children of this.
    pub(super) fn is_parent(&self) -> bool {
        matches!(
            self.subject,
            SpanSubject::Run | SpanSubject::Step { .. } | SpanSubject::Agent | SpanSubject::Tool { .. }
        )
    }

    pub(super) fn is_agent(&self) -> bool {
        match &self.subject {
            SpanSubject::Step { kind } => **kind == *"agent",
            subject => matches!(subject, SpanSubject::Agent),
        }
    }

    pub(super) fn add_event(&mut self, at: Timestamp, name: &str, attributes: Vec<KeyValue>) {
        if self.events.len() >= MOST_EVENTS {
            self.events_dropped += 1;
            return;
        }
        self.events.push(Event::new(name.to_owned(), time(at), attributes, 0));
    }
}

/// The end of a span.
pub(super) enum SpanEnd {
    /// It ended well, or in a way that is no error.
    Normal,
    /// It failed: the kind of failure, and its message.
    Failed { kind: Cow<'static, str>, message: String },
}

impl SpanEnd {
    /// The kind of failure.
    pub(super) fn error(&self) -> Option<&str> {
        match self {
            Self::Normal => None,
            Self::Failed { kind, .. } => Some(kind),
        }
    }

    pub(super) fn failed(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self::Failed { kind: kind.into(), message: message.into() }
    }
}

/// The reason why a span is closed without an event of its own.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Interruption {
    /// What is around it has ended.
    ParentEnded,
    /// What is around it waits for an answer, and goes on later.
    Suspended,
}

pub(super) fn time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_micros(u64::try_from(at.as_micros()).unwrap_or(0))
}
