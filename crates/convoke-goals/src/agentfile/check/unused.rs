//! Warnings about definitions that are not used.

use super::Checker;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::model::Agentfile;

impl Checker<'_> {
    pub(super) fn unused(&mut self, file: &Agentfile) {
        let mut run = vec![false; file.goals.len()];
        for goal in file.steps.iter().flat_map(|step| &step.goals) {
            run[goal.0] = true;
        }
        let mut used = vec![false; file.agents.len()];
        for agent in file.goals.iter().flat_map(|goal| &goal.agents) {
            used[agent.0] = true;
        }
        let goals = std::mem::take(&mut self.names.goals);
        for ((name, statement), run) in goals.iter().zip(run) {
            if !run {
                let span = statement.name_span();
                self.diagnostics.warning(|| {
                    Diagnostic::new(Code::UnusedGoal, span, format!("nothing runs the goal `{name}`"))
                        .label("not named by any `RUN`")
                        .help(format!("add it to a step, for instance `RUN main USING {name}`, or delete it"))
                });
            }
        }
        let agents = std::mem::take(&mut self.names.agents);
        for ((name, statement), used) in agents.iter().zip(used) {
            if !used {
                let span = statement.name_span();
                self.diagnostics.warning(|| {
                    Diagnostic::new(Code::UnusedAgent, span, format!("no goal uses the agent `{name}`"))
                        .label("not named by any goal")
                        .help(format!("add `USING {name}` to a goal, or delete it"))
                });
            }
        }
        for (index, variable) in file.variables.iter().enumerate() {
            if variable.input && !self.used[index] {
                let name = &variable.name;
                let span = self.names.defined[index];
                self.diagnostics.warning(|| {
                    Diagnostic::new(Code::UnusedInput, span, format!("nothing uses the input `{name}`"))
                        .label("not used by any text")
                        .help(format!("write `${name}` where it is needed, or delete it"))
                });
            }
        }
    }
}
