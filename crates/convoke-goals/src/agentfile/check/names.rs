//! The symbol table of a file: the names of inputs, agents, goals and outputs.

use std::collections::HashMap;

use convoke_text::nearest;

use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic, Diagnostics};
use crate::agentfile::model::{AgentId, GoalId, LONGEST_NAME, Type, Variable, VariableId};
use crate::agentfile::syntax::{File, Spanned, Statement, StatementKind};
use crate::agentfile::template::is_value_name;

/// The names of a file. Of two things of the same kind with the same name only the first counts.
pub(super) struct Names<'t> {
    pub(super) inputs: Vec<(&'t str, &'t Statement)>,
    pub(super) agents: Vec<(&'t str, &'t Statement)>,
    pub(super) goals: Vec<(&'t str, &'t Statement)>,
    pub(super) steps: Vec<(&'t str, &'t Statement)>,
    pub(super) variables: Vec<Variable>,
    agent_ids: HashMap<&'t str, AgentId>,
    goal_ids: HashMap<&'t str, GoalId>,
    variable_ids: HashMap<String, VariableId>,
    /// Where each variable is first defined.
    pub(super) defined: Vec<Span>,
    /// Outputs of agents, which are no variables: who has them.
    agent_outputs: HashMap<&'t str, &'t str>,
}

impl<'t> Names<'t> {
    pub(super) fn collect(tree: &'t File, diagnostics: &mut Diagnostics) -> Self {
        let mut names = Self {
            inputs: Vec::new(),
            agents: Vec::new(),
            goals: Vec::new(),
            steps: Vec::new(),
            variables: Vec::new(),
            agent_ids: HashMap::new(),
            goal_ids: HashMap::new(),
            variable_ids: HashMap::new(),
            defined: Vec::new(),
            agent_outputs: HashMap::new(),
        };
        let mut seen: HashMap<(&str, &str), Span> = HashMap::new();
        for statement in &tree.statements {
            unfit(statement, diagnostics);
            let Some(name) = &statement.name else { continue };
            let (kind, list) = match statement.kind {
                StatementKind::Input => ("input", &mut names.inputs),
                StatementKind::Agent => ("agent", &mut names.agents),
                StatementKind::Goal | StatementKind::Converge => ("goal", &mut names.goals),
                StatementKind::Loop if statement.clauses.body.is_some() => ("goal", &mut names.goals),
                StatementKind::Run | StatementKind::Loop => ("step", &mut names.steps),
                _ => continue,
            };
            match seen.get(&(kind, name.value.as_str())) {
                None => {
                    seen.insert((kind, &name.value), name.span);
                    list.push((&name.value, statement));
                }
                Some(before) => duplicate(kind, name, *before, diagnostics),
            }
        }
        for (index, (name, _)) in names.agents.iter().enumerate() {
            names.agent_ids.insert(name, AgentId(index));
        }
        for (index, (name, _)) in names.goals.iter().enumerate() {
            names.goal_ids.insert(name, GoalId(index));
        }
        for (name, statement) in &names.agents {
            for output in statement.clauses.outputs.iter().flat_map(|outputs| &outputs.value) {
                names.agent_outputs.entry(&output.name.value).or_insert(name);
            }
        }
        names.variables(diagnostics);
        names
    }

    /// Inputs, results of goals, and their outputs.
    fn variables(&mut self, diagnostics: &mut Diagnostics) {
        for (name, statement) in self.inputs.clone() {
            let clauses = &statement.clauses;
            let ty = clauses.ty.as_ref().map(|ty| ty.value.clone()).unwrap_or_default();
            let span = statement.name_span();
            self.define(name, ty, span, None, diagnostics);
            if let (Some(_), Some(variable)) = (&clauses.secret, self.variables.last_mut()) {
                variable.secret = true;
            }
        }
        for (index, (name, statement)) in self.goals.clone().into_iter().enumerate() {
            let goal = GoalId(index);
            let outputs = statement.clauses.outputs.as_ref().map_or(&[][..], |outputs| &outputs.value);
            if !outputs.iter().any(|output| output.name.value == *name) {
                let span = statement.name_span();
                self.define(name, Type::String, span, Some(goal), diagnostics);
            }
            for output in outputs {
                let ty = output.ty.as_ref().map(|ty| ty.value.clone()).unwrap_or_default();
                self.define(&output.name.value, ty, output.name.span, Some(goal), diagnostics);
            }
        }
    }

    fn define(
        &mut self,
        name: &str,
        ty: Type,
        span: Span,
        goal: Option<GoalId>,
        diagnostics: &mut Diagnostics,
    ) {
        let Some(&id) = self.variable_ids.get(name) else {
            self.variable_ids.insert(name.to_owned(), VariableId(self.variables.len()));
            let goals = goal.into_iter().collect();
            self.variables.push(Variable {
                name: name.to_owned(),
                ty,
                secret: false,
                input: goal.is_none(),
                goals,
            });
            self.defined.push(span);
            return;
        };
        let before = self.defined[id.0];
        let variable = &mut self.variables[id.0];
        if variable.secret {
            diagnostics.error(|| {
                Diagnostic::new(
                    Code::SecretShown,
                    span,
                    format!("`{name}` is a secret and gets another value here"),
                )
                .label("texts would show this one")
                .related(before, "the secret")
                .help("give it another name")
            });
        } else if variable.ty != ty {
            let old = variable.ty.clone();
            diagnostics.error(|| {
                Diagnostic::new(Code::ConflictingTypes, span, format!("`{name}` has two types"))
                    .label(format!("`{ty}` here"))
                    .related(before, format!("`{old}` here"))
                    .help("give it the same type in both places, or another name in one")
            });
        } else if self.exclusive(goal, &self.variables[id.0]) {
            // Goals with conditions may be alternatives.
        } else {
            diagnostics.warning(|| {
                Diagnostic::new(Code::ShadowedVariable, span, format!("`${name}` gets a second value here"))
                    .label("from here on it is this")
                    .related(before, "until then it is this")
                    .help("use another name if both are needed")
            });
        }
        self.variables[id.0].goals.extend(goal);
    }

    /// Whether a goal and all others that give a variable its value have conditions.
    fn exclusive(&self, goal: Option<GoalId>, variable: &Variable) -> bool {
        let conditional = |goal: &GoalId| self.goals[goal.0].1.clauses.when.is_some();
        !variable.input
            && goal.is_some_and(|goal| conditional(&goal))
            && variable.goals.iter().take(64).all(conditional)
    }

    pub(super) fn agent(&self, name: &str) -> Option<AgentId> {
        self.agent_ids.get(name).copied()
    }

    pub(super) fn goal(&self, name: &str) -> Option<GoalId> {
        self.goal_ids.get(name).copied()
    }

    pub(super) fn variable(&self, name: &str) -> Option<VariableId> {
        self.variable_ids.get(name).copied()
    }

    /// Explains why a name is no variable. `span` has the dollar and everything else that belongs to it.
    pub(super) fn no_variable(&self, name: &str, span: Span, closed: bool) -> Diagnostic {
        let written = |name: &str| if closed { format!("${{{name}}}") } else { format!("${name}") };
        let why = |message: String| Diagnostic::new(Code::NotAVariable, span, message).label("not a value");
        if let Some(agent) = self.agent_outputs.get(name) {
            return why(format!(
                "`{name}` is an output of the agent `{agent}`, which other goals do not see"
            ))
            .note("what agents give goes to the goal that uses them")
            .help(format!("give the goal an output: `-> {name}`"));
        }
        if self.agent(name).is_some() {
            return why(format!("`{name}` is an agent, not a value"))
                .help("name a goal that uses the agent, or one of its outputs");
        }
        if self.steps.iter().any(|(step, _)| *step == name) {
            return why(format!("`{name}` is a step, not a value")).help("name one of the goals of the step");
        }
        let names = self.variable_ids.keys().map(String::as_str);
        // Sorted, so that of two names that are equally near it is always the same one that is suggested.
        let mut names: Vec<&str> = names.collect();
        names.sort_unstable();
        let meant = nearest(name, names);
        let diagnostic =
            Diagnostic::new(Code::UndefinedVariable, span, format!("nothing defines `{}`", written(name)))
                .label("not an input, a goal or an output of a goal")
                .suggest(meant, written);
        if meant.is_some() {
            diagnostic
        } else {
            diagnostic.help(format!(
                "define it with `INPUT {name}`, or write `${}` if a dollar is meant",
                written(name)
            ))
        }
    }
}

/// Reports names that are written as names are and cannot be used.
fn unfit(statement: &Statement, diagnostics: &mut Diagnostics) {
    let is_input = statement.kind == StatementKind::Input;
    let outputs = statement.clauses.outputs.iter().flat_map(|outputs| &outputs.value);
    let values = statement.name.iter().filter(|_| is_input).chain(outputs.map(|output| &output.name));
    for value in values.filter(|value| !is_value_name(&value.value)) {
        diagnostics.error(|| {
            let message = format!("`{}` cannot be the name of a value", value.value);
            Diagnostic::new(Code::BadName, value.span, message)
                .label("ends with `-`")
                .note("in a text the `-` would not be a part of it")
                .replace("write", value.span, value.value.trim_end_matches('-'))
        });
    }
    if let Some(name) = statement.name.as_ref().filter(|name| !is_input && name.value.len() > LONGEST_NAME) {
        diagnostics.error(|| {
            let message = format!("this name has {} characters", name.value.len());
            Diagnostic::new(Code::BadName, name.span, message)
                .label(format!("{LONGEST_NAME} are the most"))
                .help("give it a shorter name, and say the rest in its text")
        });
    }
}

fn duplicate(kind: &str, name: &Spanned<String>, before: Span, diagnostics: &mut Diagnostics) {
    diagnostics.error(|| {
        Diagnostic::new(
            Code::DuplicateName,
            name.span,
            format!("there are two {kind}s with the name `{}`", name.value),
        )
        .label("here again")
        .related(before, "first here")
        .replace("give one of them another name", name.span, format!("{}-2", name.value))
    });
}
