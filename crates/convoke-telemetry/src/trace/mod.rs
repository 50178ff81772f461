//! Makes spans out of the events of runs.
//!
//! A run is a trace of its own, or part of the caller's. Its spans mirror its tree: each is a child of the nearest one
//! above its path. Nothing here waits or fails; a finished span is handed on at once and forgotten.

mod agents;
mod calls;
mod content;
mod custom;
mod open;
mod run;
mod steps;
mod tools;

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use convoke_core::{Event, EventKind, RunId};
use opentelemetry::InstrumentationScope;

use crate::error_text::without_quotes;
use crate::export::{Counts, SpanQueue};
use crate::metrics::Metrics;
use crate::{TelemetryConfig, TraceParent};
use run::{Identity, RunTrace};

/// How many callers' spans may be known before their runs begin.
const MOST_PARENTS: usize = 4_096;

/// How many ended runs are remembered, so that going on with them refers to them.
const MOST_PAST: usize = 1_024;

/// The destination of finished spans and measurements, and what may be in them.
pub(crate) struct ExportTarget {
    /// If spans are exported at all.
    pub(crate) spans: Option<SpanQueue>,
    pub(crate) metrics: Option<Metrics>,
    pub(crate) counts: Arc<Counts>,
    /// Who makes the spans.
    pub(crate) scope: InstrumentationScope,
    /// How many bytes of content an attribute may have, if content is recorded.
    pub(crate) content: Option<usize>,
}

impl ExportTarget {
    /// What may be sent of an error: if content is not recorded, nothing in which somebody is quoted.
    fn error<'a>(&self, error: &'a str) -> &'a str {
        if self.content.is_some() { error } else { without_quotes(error) }
    }
}

/// Follows runs.
pub(crate) struct Tracer {
    target: ExportTarget,
    sample_ratio: f64,
    follow_parent: bool,
    parent: Option<TraceParent>,
    runs: Mutex<HashMap<RunId, Arc<Mutex<RunTrace>>>>,
    parents: Mutex<HashMap<RunId, TraceParent>>,
    past: Mutex<VecDeque<(RunId, TraceParent)>>,
}

impl Tracer {
    pub(crate) fn new(config: &TelemetryConfig, target: ExportTarget) -> Self {
        Self {
            target,
            sample_ratio: config.sample_ratio,
            follow_parent: config.follow_parent,
            parent: config.parent.clone(),
            runs: Mutex::default(),
            parents: Mutex::default(),
            past: Mutex::default(),
        }
    }

    pub(crate) fn target(&self) -> &ExportTarget {
        &self.target
    }

    /// Makes the next start of a run part of the caller's trace.
    pub(crate) fn continues(&self, run: &RunId, parent: TraceParent) {
        let mut parents = locked(&self.parents);
        if parents.len() < MOST_PARENTS || parents.contains_key(run) {
            parents.insert(run.clone(), parent);
        }
    }

    /// The span of a run under way.
    pub(crate) fn span_of(&self, run: &RunId) -> Option<TraceParent> {
        let trace = self.trace(run)?;
        let context = locked(&trace).context();
        Some(context)
    }

    pub(crate) fn observe(&self, event: &Event) {
        match &event.kind {
            // The most frequent ones, and of no interest here.
            EventKind::MessageDelta { .. }
            | EventKind::ReasoningDelta { .. }
            | EventKind::StateSnapshot { .. }
            | EventKind::StateDelta { .. } => {}
            EventKind::ToolCallArguments { .. } if self.target.content.is_none() => {}
            // That a completed run is told again is no work.
            EventKind::RunStarted { .. } | EventKind::RunEnded(_) if event.replayed => {}
            EventKind::RunStarted { workflow, resumed } => self.begin(event, workflow, *resumed),
            EventKind::RunEnded(end) => {
                let trace = locked(&self.runs).remove(&event.run);
                match trace {
                    Some(trace) => {
                        let mut trace = locked(&trace);
                        trace.end(event.at, end, &self.target);
                        self.remember(&event.run, trace.context());
                    }
                    // It was refused: there is nothing to show but that.
                    None => {
                        if let Some(metrics) = &self.target.metrics {
                            metrics.run_ended(None, end, None);
                        }
                    }
                }
            }
            _ => {
                if let Some(trace) = self.trace(&event.run) {
                    locked(&trace).observe(event, &self.target);
                }
            }
        }
    }

    fn begin(&self, event: &Event, workflow: &str, resumed: bool) {
        let own = locked(&self.parents).remove(&event.run);
        let identity = Identity::new(own.or_else(|| self.parent.clone()), |parent, trace_id| match parent {
            Some(parent) if self.follow_parent => parent.is_sampled(),
            _ => is_within_share(trace_id, self.sample_ratio),
        });
        let link = resumed.then(|| self.recall(&event.run)).flatten();
        let trace = RunTrace::begin(event, workflow, resumed, identity, link);
        locked(&self.runs).insert(event.run.clone(), Arc::new(Mutex::new(trace)));
    }

    fn trace(&self, run: &RunId) -> Option<Arc<Mutex<RunTrace>>> {
        locked(&self.runs).get(run).cloned()
    }

    fn remember(&self, run: &RunId, span: TraceParent) {
        let mut past = locked(&self.past);
        if past.len() >= MOST_PAST {
            past.pop_front();
        }
        past.push_back((run.clone(), span));
    }

    fn recall(&self, run: &RunId) -> Option<TraceParent> {
        let past = locked(&self.past);
        past.iter().rev().find(|(known, _)| known == run).map(|(_, span)| span.clone())
    }
}

/// Whether a trace is among the share that is sent: by its id, so that everybody decides alike.
fn is_within_share(trace_id: &[u8; 16], ratio: f64) -> bool {
    let [.., a, b, c, d, e, f, g, h] = *trace_id;
    let place = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
    ratio >= 1.0 || (place as f64) < ratio * (1_u64 << 63) as f64
}

/// What is in here is never left half changed.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::is_within_share;

    #[test]
    fn the_share_is_decided_by_the_trace_alone() {
        let low = [0; 16];
        let high = [0xff; 16];
        assert!(is_within_share(&low, 0.01) && !is_within_share(&low, 0.0));
        assert!(is_within_share(&high, 1.0) && !is_within_share(&high, 0.99));
    }
}
