//! Spans of agents: those that are steps, and those that work within a step or a tool of another kind.

use convoke_core::Timestamp;
use opentelemetry::trace::SpanKind;

use super::ExportTarget;
use super::open::{OpenSpan, SpanEnd, SpanSubject};
use super::run::{RunTrace, shared};
use crate::{attribute, convention};

impl RunTrace {
    /// An agent begins: the step's own, or one that works within another step or a tool and has no step of its own.
    pub(super) fn agent_started(&mut self, path: &str, at: Timestamp, name: &str) {
        if let Some(step) =
            self.find(path, |span| matches!(&span.subject, SpanSubject::Step { kind } if **kind == *"agent"))
        {
            step.name = agent_title(name);
            step.agent = shared(name);
            return;
        }
        let attributes = vec![attribute::text(convention::OPERATION, "invoke_agent")];
        let span = self.open(path, at, agent_title(name), SpanKind::Internal, SpanSubject::Agent, attributes);
        span.agent = shared(name);
    }

    /// It says why it stopped.
    pub(super) fn agent_ended(
        &mut self,
        path: &str,
        at: Timestamp,
        value: &serde_json::Value,
        target: &ExportTarget,
    ) {
        let told = [("convoke.agent.stop", "stop"), ("convoke.agent.turns", "turns")];
        let told = told.into_iter().filter_map(|(key, field)| Some(attribute::json(key, value.get(field)?)));
        let told: Vec<_> = told.collect();
        match self.close(path, |span| matches!(span.subject, SpanSubject::Agent)) {
            Some(mut agent) => {
                agent.attributes.extend(told);
                self.end_agent(agent, at, SpanEnd::Normal, target);
            }
            None => {
                if let Some(step) = self.find(path, OpenSpan::is_agent) {
                    step.attributes.extend(told);
                }
            }
        }
    }

    pub(super) fn end_agent(
        &mut self,
        agent: OpenSpan,
        at: Timestamp,
        ending: SpanEnd,
        target: &ExportTarget,
    ) {
        if let (Some(metrics), Some(name)) = (&target.metrics, &agent.agent)
            && !self.only_repeats(&agent, &ending)
        {
            metrics.agent_invoked(name, ending.error(), at.since(agent.start));
        }
        self.send(agent, at, ending, target);
    }
}

pub(super) fn agent_title(name: &str) -> String {
    if name.is_empty() { "invoke_agent".to_owned() } else { format!("invoke_agent {name}") }
}
