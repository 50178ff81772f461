//! Checks that supervision by a person is not delegated to a model.

use super::Checker;
use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::model::{Agentfile, Supervision};
use crate::agentfile::syntax::Statement;

impl Checker<'_> {
    pub(super) fn supervision(&mut self, file: &Agentfile) {
        if file.supervision == Supervision::Human {
            let agents = file.agents.iter().map(|agent| agent.supervision).zip(self.names.agents.clone());
            let goals = file.goals.iter().map(|goal| goal.supervision).zip(self.names.goals.clone());
            let steps = file.steps.iter().map(|step| step.supervision).zip(self.names.steps.clone());
            let kinds = agents
                .map(|found| ("agent", found))
                .chain(goals.map(|found| ("goal", found)))
                .chain(steps.map(|found| ("step", found)))
                .collect::<Vec<_>>();
            for (kind, (supervision, (name, statement))) in kinds {
                if supervision == Supervision::Off {
                    self.unsupervised(kind, name, place(statement));
                }
            }
            return;
        }
        for (step, (_, statement)) in file.steps.iter().zip(self.names.steps.clone()) {
            if step.supervision != Supervision::Human {
                continue;
            }
            for goal in &step.goals {
                let (name, inner) = self.names.goals[goal.0];
                if file.goal(*goal).supervision == Supervision::Off {
                    self.no_effect("goal", name, place(inner), place(statement));
                }
            }
        }
        for (goal, (_, statement)) in file.goals.iter().zip(self.names.goals.clone()) {
            if goal.supervision != Supervision::Human {
                continue;
            }
            for agent in &goal.agents {
                let (name, inner) = self.names.agents[agent.0];
                if file.agent(*agent).supervision == Supervision::Off {
                    self.no_effect("agent", name, place(inner), place(statement));
                }
            }
        }
    }

    fn unsupervised(&mut self, kind: &str, name: &str, span: Span) {
        self.diagnostics.error(|| {
            Diagnostic::new(
                Code::Contradiction,
                span,
                format!("the {kind} `{name}` cannot be unsupervised: the whole file is `SUPERVISED HUMAN`"),
            )
            .label("nobody would watch")
            .note("what a person is to watch over is never left unwatched")
            .help("leave `UNSUPERVISED` out, or say `SUPERVISED HUMAN` only where a person is needed")
        });
    }

    fn no_effect(&mut self, kind: &str, name: &str, span: Span, outer: Span) {
        self.diagnostics.warning(|| {
            Diagnostic::new(
                Code::NoEffect,
                span,
                format!("a person watches over the {kind} `{name}` all the same"),
            )
            .label("changes nothing there")
            .related(outer, "a person watches over all of this")
            .help("leave `UNSUPERVISED` out")
        });
    }
}

fn place(statement: &Statement) -> Span {
    statement.clauses.supervise.as_ref().map_or(statement.keyword, |supervise| supervise.span)
}
