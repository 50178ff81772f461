//! Checks that every value is available when it is used.
//!
//! The steps are gone through in the order they are run. Of every variable it is known whether it has a value by then: in
//! any case, or under the conditions of the goals that make it.

use std::collections::HashSet;

use super::names::Names;
use super::{Use, Uses};
use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::agentfile::model::{Agentfile, Condition, GoalId, StepKind, Type, VariableId};
use crate::coverage::{Coverage, Facts};

/// Everything that agents, goals and steps refer to.
pub(super) struct AllUses {
    pub(super) agents: Vec<Uses>,
    pub(super) goals: Vec<Uses>,
    pub(super) steps: Vec<Uses>,
}

/// Conditions that all hold.
type Guards<'f> = Vec<&'f Condition>;

/// What is known of a variable.
#[derive(Debug, Clone, Default)]
struct Value<'f> {
    /// It has a value in any case.
    always: bool,
    /// It has one if all of one of these hold.
    under: Vec<Guards<'f>>,
}

/// What the file says of its variables.
struct FileFacts<'f> {
    file: &'f Agentfile,
    /// Which variables get a value more than once.
    changing: Vec<bool>,
}

impl<'f> FileFacts<'f> {
    fn new(file: &'f Agentfile) -> Self {
        let mut runs = vec![0_usize; file.goals.len()];
        for goal in file.steps.iter().flat_map(|step| &step.goals) {
            runs[goal.0] += 1;
        }
        let changing = file.variables.iter().map(|variable| {
            let times: usize = variable.goals.iter().map(|goal| runs[goal.0]).sum();
            times + usize::from(variable.input) > 1
        });
        Self { file, changing: changing.collect() }
    }
}

impl Facts<VariableId> for FileFacts<'_> {
    fn ty(&self, variable: &VariableId) -> Option<&Type> {
        Some(&self.file.variable(*variable).ty)
    }

    fn changes(&self, variable: &VariableId) -> bool {
        self.changing[variable.0]
    }
}

struct Flow<'f> {
    file: &'f Agentfile,
    names: &'f Names<'f>,
    values: Vec<Value<'f>>,
    cover: Coverage<FileFacts<'f>>,
    /// What has been reported.
    reported: HashSet<(VariableId, Span)>,
    diagnostics: &'f mut Diagnostics,
}

pub(super) fn check(file: &Agentfile, names: &Names<'_>, uses: AllUses, diagnostics: &mut Diagnostics) {
    let values =
        file.variables.iter().map(|variable| Value { always: variable.input, under: Vec::new() }).collect();
    let cover = Coverage::new(FileFacts::new(file));
    let mut flow = Flow { file, names, values, cover, reported: HashSet::new(), diagnostics };
    flow.steps(uses);
}

impl<'f> Flow<'f> {
    fn steps(&mut self, mut uses: AllUses) {
        for (index, step) in self.file.steps.iter().enumerate() {
            let step_uses = std::mem::take(&mut uses.steps[index]);
            let mut guards = Guards::new();
            if let Some(condition) = &step.when {
                self.condition(condition, &step_uses.tests, &mut guards);
            }
            for wanted in &step_uses.values {
                self.wanted(*wanted, &guards);
            }
            let mut made: Vec<(GoalId, Guards<'f>)> = Vec::new();
            for id in &step.goals {
                let goal = self.file.goal(*id);
                let mut guards = guards.clone();
                if let Some(condition) = &goal.when {
                    self.condition(condition, &uses.goals[id.0].tests, &mut guards);
                }
                self.all(&mut uses.goals[id.0].values, &guards);
                for agent in &goal.agents {
                    self.all(&mut uses.agents[agent.0].values, &guards);
                }
                if step.kind == StepKind::Parallel {
                    made.push((*id, guards));
                } else {
                    self.make(*id, guards);
                }
            }
            for (goal, guards) in made {
                self.make(goal, guards);
            }
        }
    }

    /// Checks what a text refers to, and forgets what will be there from now on in any case.
    fn all(&mut self, uses: &mut Vec<Use>, guards: &[&'f Condition]) {
        uses.retain(|wanted| {
            self.wanted(*wanted, guards);
            !self.values[wanted.variable.0].always
        });
    }

    /// Checks a condition, each test of which may rely on what holds before it, and makes it hold from here on.
    fn condition(&mut self, condition: &'f Condition, places: &[Span], guards: &mut Guards<'f>) {
        let outer = guards.len();
        let mut places = places.iter();
        condition.each_test(&mut |test, before| {
            let Some(span) = places.next() else { return };
            guards.extend(before);
            self.wanted(Use { variable: test.variable, span: *span }, guards);
            guards.truncate(outer);
        });
        guards.push(condition);
    }

    fn wanted(&mut self, wanted: Use, guards: &[&'f Condition]) {
        let value = &self.values[wanted.variable.0];
        if !value.always && !self.cover.is_sure(&value.under, guards) {
            self.report(wanted);
        }
    }

    /// A goal is run, if its conditions hold.
    fn make(&mut self, goal: GoalId, guards: Guards<'f>) {
        let names: Vec<VariableId> = self.made_by(goal);
        for variable in names {
            let value = &mut self.values[variable.0];
            if guards.is_empty() {
                value.always = true;
                value.under.clear();
            } else if !value.always {
                value.under.push(guards.clone());
            }
        }
    }

    fn made_by(&self, id: GoalId) -> Vec<VariableId> {
        let goal = self.file.goal(id);
        let outputs = goal.outputs.iter().map(|output| output.name.as_str());
        outputs.chain([goal.name.as_str()]).filter_map(|name| self.names.variable(name)).collect()
    }

    fn report(&mut self, wanted: Use) {
        if !self.reported.insert((wanted.variable, wanted.span)) {
            return;
        }
        let sometimes = !self.values[wanted.variable.0].under.is_empty();
        let (file, defined) = (self.file, self.names.defined[wanted.variable.0]);
        self.diagnostics.error(|| {
            let variable = file.variable(wanted.variable);
            let name = &variable.name;
            let maker = variable.goals.first().map_or("", |goal| file.goal(*goal).name.as_str());
            let run =
                file.steps.iter().flat_map(|step| &step.goals).any(|goal| variable.goals.contains(goal));
            let message = if sometimes {
                format!("`${name}` may have no value here")
            } else {
                format!("`${name}` has no value yet here")
            };
            let diagnostic = Diagnostic::new(Code::UsedTooEarly, wanted.span, message).label("used here");
            if sometimes {
                diagnostic
                    .related(defined, format!("made by the goal `{maker}`, which a condition may skip"))
                    .help("give this goal the same condition, or a goal for the other cases the same output")
            } else if run {
                diagnostic
                    .related(
                        defined,
                        format!("made by the goal `{maker}`, which is run later or at the same time"),
                    )
                    .help(format!(
                        "run `{maker}` before: put it further left in its `RUN`, or into an earlier one"
                    ))
            } else {
                diagnostic
                    .related(defined, format!("made by the goal `{maker}`, which nothing runs"))
                    .help(format!("add `{maker}` to a `RUN`, before the goal that needs it"))
            }
        });
    }
}
