//! The tree of spans of one run.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

use convoke_core::{Event, Path, RunEnd, RunStatus, Timestamp};
use opentelemetry::KeyValue;
use opentelemetry::trace::{Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};

use super::ExportTarget;
use super::open::{Interruption, OpenSpan, SpanEnd, SpanSubject, time};
use crate::attribute;
use crate::{TraceParent, convention};

/// How much of an error's text is sent.
const LONGEST_ERROR: usize = 1_024;

/// The trace of a run, and whether it is sent.
pub(super) struct Identity {
    trace_id: [u8; 16],
    parent: Option<[u8; 8]>,
    state: TraceState,
    is_sent: bool,
    /// What the ids of spans are made from: different for each number that goes in.
    seed: u64,
}

impl Identity {
    pub(super) fn new(
        parent: Option<TraceParent>,
        is_sent: impl Fn(Option<&TraceParent>, &[u8; 16]) -> bool,
    ) -> Self {
        let mut random = [0_u8; 24];
        // Without randomness ids are made from the clock: worse, but no reason to fail a run.
        if getrandom::fill(&mut random).is_err() {
            random[..8].copy_from_slice(&Timestamp::now().as_micros().to_be_bytes());
        }
        let [seed @ .., _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _] = random;
        let mut trace_id: [u8; 16] = std::array::from_fn(|index| random[8 + index]);
        // All zeros would not be an id.
        trace_id[0] |= 1;
        let trace_id = parent.as_ref().map_or(trace_id, |parent| parent.trace_id);
        let is_sent = is_sent(parent.as_ref(), &trace_id);
        let span = parent.as_ref().map(|parent| parent.span_id);
        // What is no list of pairs is left out, as the standard wants it.
        let state = parent.and_then(|parent| parent.state.parse().ok()).unwrap_or_default();
        Self { trace_id, parent: span, state, is_sent, seed: u64::from_be_bytes(seed) }
    }

    /// An id that no other span of the run has: every step below can be undone, so different numbers stay different.
    fn span_id(&mut self) -> [u8; 8] {
        self.seed = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.seed;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        mixed.max(1).to_be_bytes()
    }
}

pub(super) struct RunTrace {
    run: String,
    workflow: String,
    resumed: bool,
    identity: Identity,
    /// Whether anything was done so far, rather than told from a journal.
    has_worked: bool,
    root: OpenSpan,
    /// What is open, by place: everything below a path lies together.
    open: BTreeMap<String, Vec<OpenSpan>>,
}

impl RunTrace {
    pub(super) fn begin(
        event: &Event,
        workflow: &str,
        resumed: bool,
        mut identity: Identity,
        link: Option<TraceParent>,
    ) -> Self {
        let run = event.run.as_str().to_owned();
        let attributes = vec![
            attribute::text(convention::OPERATION, "invoke_workflow"),
            attribute::text(convention::WORKFLOW, workflow),
            attribute::text(convention::CONVERSATION, &run),
            attribute::text(convention::RUN, &run),
            attribute::flag(convention::RESUMED, resumed),
        ];
        let links = link.map(|earlier| {
            let (trace, span) = (TraceId::from_bytes(earlier.trace_id), SpanId::from_bytes(earlier.span_id));
            let context = SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE);
            Link::new(context, Vec::new(), 0)
        });
        let root = OpenSpan {
            parent: identity.parent.unwrap_or_default(),
            links: links.into_iter().collect(),
            is_live: true,
            ..OpenSpan::new(
                identity.span_id(),
                format!("invoke_workflow {workflow}"),
                event.at,
                SpanSubject::Run,
                attributes,
            )
        };
        Self {
            run,
            workflow: workflow.to_owned(),
            resumed,
            identity,
            has_worked: false,
            root,
            open: BTreeMap::new(),
        }
    }

    /// The run's own span.
    pub(super) fn context(&self) -> TraceParent {
        TraceParent {
            trace_id: self.identity.trace_id,
            span_id: self.root.id,
            sampled: self.identity.is_sent,
            state: self.identity.state.header(),
        }
    }

    /// The run is over: ends what is still open, and the run's own span.
    pub(super) fn end(&mut self, at: Timestamp, end: &RunEnd, target: &ExportTarget) {
        let cut = if end.status == RunStatus::Suspended {
            Interruption::Suspended
        } else {
            Interruption::ParentEnded
        };
        self.end_all_below("", at, cut, target);
        self.root.attributes.push(attribute::text(convention::RUN_STATUS, end.status.name()));
        let usage = &end.totals.usage;
        self.root.attributes.push(attribute::integer(convention::INPUT_TOKENS, usage.input_tokens));
        self.root.attributes.push(attribute::integer(convention::OUTPUT_TOKENS, usage.output_tokens));
        if let Some(cost) = end.totals.whole_cost() {
            self.root.attributes.push(attribute::number(convention::COST, crate::metrics::dollars(cost)));
        }
        let ending = match end.status {
            RunStatus::Completed | RunStatus::Suspended => SpanEnd::Normal,
            status => SpanEnd::failed(status.name(), target.error(end.error.as_deref().unwrap_or_default())),
        };
        let over = OpenSpan::new(self.root.id, String::new(), at, SpanSubject::Run, Vec::new());
        let root = std::mem::replace(&mut self.root, over);
        if let Some(metrics) = &target.metrics {
            metrics.run_ended(Some(&self.workflow), end, Some(at.since(root.start)));
        }
        self.send(root, at, ending, target);
    }

    /// Opens a span at a path, below whatever is the nearest above it.
    pub(super) fn open(
        &mut self,
        path: &str,
        at: Timestamp,
        name: String,
        kind: SpanKind,
        subject: SpanSubject,
        mut attributes: Vec<KeyValue>,
    ) -> &mut OpenSpan {
        let parent = self.nearest(path);
        let (parent, agent) = (parent.id, parent.agent.clone());
        attributes.push(attribute::text(convention::WORKFLOW, &self.workflow));
        attributes.push(attribute::text(convention::RUN, &self.run));
        attributes.push(attribute::text(convention::PATH, path));
        let span = OpenSpan {
            parent,
            kind,
            agent,
            follows_work: self.has_worked,
            ..OpenSpan::new(self.identity.span_id(), name, at, subject, attributes)
        };
        let spans = self.open.entry(path.to_owned()).or_default();
        spans.push(span);
        let last = spans.len() - 1;
        &mut spans[last]
    }

    /// The nearest span at or above a path that can have children.
    pub(super) fn nearest(&mut self, path: &str) -> &mut OpenSpan {
        let found = ancestry(path)
            .find(|path| self.open.get(*path).is_some_and(|spans| spans.iter().any(OpenSpan::is_parent)));
        let span = found
            .and_then(|path| self.open.get_mut(path))
            .and_then(|spans| spans.iter_mut().rev().find(|span| span.is_parent()));
        span.unwrap_or(&mut self.root)
    }

    /// Notes that something was done at a path, or told from a journal.
    pub(super) fn note_work(&mut self, path: &str, replayed: bool) {
        self.has_worked |= !replayed;
        for path in ancestry(path) {
            for span in self.open.get_mut(path).into_iter().flatten() {
                span.is_live |= !replayed;
                span.has_past |= replayed;
            }
        }
    }

    /// Takes an open span out.
    pub(super) fn close(&mut self, path: &str, is_it: impl Fn(&OpenSpan) -> bool) -> Option<OpenSpan> {
        let spans = self.open.get_mut(path)?;
        let span = spans.remove(spans.iter().rposition(is_it)?);
        if spans.is_empty() {
            self.open.remove(path);
        }
        Some(span)
    }

    /// An open span.
    pub(super) fn find(&mut self, path: &str, is_it: impl Fn(&OpenSpan) -> bool) -> Option<&mut OpenSpan> {
        self.open.get_mut(path)?.iter_mut().rev().find(|span| is_it(span))
    }

    /// Ends what is open at or below a path, innermost first: nobody will end it any more.
    pub(super) fn end_all_below(
        &mut self,
        path: &str,
        at: Timestamp,
        cut: Interruption,
        target: &ExportTarget,
    ) {
        // What follows a path on the way down is a slash, and `0` is the character after that.
        let (first, last) = (format!("{path}/"), format!("{path}0"));
        let range = if path.is_empty() {
            (Bound::Unbounded, Bound::Unbounded)
        } else {
            (Bound::Included(first), Bound::Excluded(last))
        };
        let below: Vec<String> =
            self.open.range::<String, _>(range).rev().map(|(path, _)| path.clone()).collect();
        for path in below.iter().map(String::as_str).chain([path]) {
            for span in self.open.remove(path).into_iter().flatten().rev() {
                self.end_unheard(span, at, cut, target);
            }
        }
    }

    /// Hands a finished span on, unless the trace is not sent or the span only repeats the past.
    pub(super) fn send(&self, span: OpenSpan, at: Timestamp, ending: SpanEnd, target: &ExportTarget) {
        if !self.identity.is_sent || self.only_repeats(&span, &ending) {
            return;
        }
        let Some(spans) = &target.spans else { return };
        let mut attributes = span.attributes;
        attributes.extend(span.agent.as_deref().map(|agent| attribute::text(convention::AGENT, agent)));
        let status = match ending {
            SpanEnd::Normal => Status::Unset,
            SpanEnd::Failed { kind, message } => {
                attributes.push(attribute::text(convention::ERROR_TYPE, kind));
                Status::error(attribute::cut(&message, LONGEST_ERROR))
            }
        };
        let is_root = matches!(span.subject, SpanSubject::Run);
        let parent = if is_root { self.identity.parent } else { Some(span.parent) };
        let (mut events, mut links) = (SpanEvents::default(), SpanLinks::default());
        (events.events, events.dropped_count) = (span.events, span.events_dropped);
        links.links = span.links;
        let start_time = time(span.start);
        spans.take(SpanData {
            span_context: SpanContext::new(
                TraceId::from_bytes(self.identity.trace_id),
                SpanId::from_bytes(span.id),
                TraceFlags::SAMPLED,
                false,
                self.identity.state.clone(),
            ),
            parent_span_id: parent.map_or(SpanId::INVALID, SpanId::from_bytes),
            parent_span_is_remote: is_root && parent.is_some(),
            span_kind: span.kind,
            name: span.name.into(),
            start_time,
            // Clocks may be set back.
            end_time: time(at).max(start_time),
            attributes,
            dropped_attributes_count: 0,
            events,
            links,
            status,
            instrumentation_scope: target.scope.clone(),
        });
    }

    /// Whether a step of a run that goes on did nothing but what the journal has: that is part of an earlier trace.
    pub(super) fn only_repeats(&self, span: &OpenSpan, ending: &SpanEnd) -> bool {
        let is_step = matches!(span.subject, SpanSubject::Step { .. } | SpanSubject::Agent);
        let is_past = span.has_past || (self.resumed && !span.follows_work);
        is_step && !span.is_live && is_past && matches!(ending, SpanEnd::Normal)
    }
}

/// A path, and all above it, innermost first. Not the run itself.
fn ancestry(path: &str) -> impl Iterator<Item = &str> {
    let whole = (!path.is_empty()).then_some(path);
    std::iter::successors(whole, |path| path.rfind('/').map(|end| &path[..end]))
}

/// The step's own name in its path, as it was given.
pub(super) fn name_in(path: &str) -> String {
    Path::from(path).last().map(|last| last.name()).unwrap_or_default()
}

/// An agent's name, shared by all spans below it.
pub(super) fn shared(name: &str) -> Option<Arc<str>> {
    (!name.is_empty()).then(|| name.into())
}
