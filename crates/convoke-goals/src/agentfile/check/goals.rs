//! Checks agents, goals and steps.

use std::collections::HashMap;

use convoke_text::nearest;

use super::embedded::GoalSource;
use super::{Checker, Use, Uses};
use crate::agentfile::Span;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::model::{
    Agent, AgentId, Goal, GoalId, Output, Persona, Step, StepKind, Supervision, Text, Type, Within,
};
use crate::agentfile::syntax::{self, Body, Spanned, Statement, StatementKind, Supervise};

impl<'c> Checker<'c> {
    pub(super) fn agents(&mut self) -> (Vec<Agent>, Vec<Uses>) {
        self.names.agents.clone().into_iter().map(|(name, statement)| self.agent(name, statement)).unzip()
    }

    fn agent(&mut self, name: &str, statement: &Statement) -> (Agent, Uses) {
        let clauses = &statement.clauses;
        let (persona, values) = match &clauses.body {
            Some(Spanned { value: Body::From(target), span }) => self.agent_source(target, *span),
            Some(Spanned { value: Body::Text(quoted), span }) => {
                self.not_empty(&quoted.value, *span, || {
                    let help = "say who it is, for instance `\"You are a rigorous critic.\"`";
                    (format!("the agent `{name}` has an empty text"), help)
                });
                let (text, uses) = self.quoted(quoted);
                (Persona::Prompt(text), uses)
            }
            None => (Persona::Prompt(Text { template: Default::default(), path: None }), Vec::new()),
        };
        if let (Some(requires), Some(model)) = (&clauses.requires, &clauses.model) {
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::Contradiction,
                    model.span,
                    format!("the agent `{name}` chooses its model twice"),
                )
                .label("a model here")
                .related(requires.span, "a profile of models here")
                .help("keep `REQUIRES` or `MODEL`")
            });
        }
        let agent = Agent {
            name: name.to_owned(),
            persona,
            outputs: outputs(statement),
            requires: clauses.requires.as_ref().map(|requires| requires.value.clone()),
            supervision: supervision(statement),
            overrides: super::settings::overrides(clauses),
        };
        (agent, Uses { values, tests: Vec::new() })
    }

    pub(super) fn goals(&mut self) -> (Vec<Goal>, Vec<Uses>) {
        self.names.goals.clone().into_iter().map(|(name, statement)| self.goal(name, statement)).unzip()
    }

    fn goal(&mut self, name: &str, statement: &Statement) -> (Goal, Uses) {
        let clauses = &statement.clauses;
        let GoalSource { text, uses: mut values, embedded } = match &clauses.body {
            Some(Spanned { value: Body::From(target), span }) => self.goal_file(name, target, *span),
            Some(Spanned { value: Body::Text(quoted), span }) => {
                self.not_empty(&quoted.value, *span, || {
                    let help = "say what is to be achieved, for instance `\"Summarize $report\"`";
                    (format!("the goal `{name}` has an empty text"), help)
                });
                self.quoted(quoted).into()
            }
            None => (Text { template: Default::default(), path: None }, Vec::new()).into(),
        };
        if let Some(embedded) = &embedded {
            self.fits_embedded(name, statement, embedded);
        }
        let converge = clauses.within.as_ref().and_then(|within| self.within(within, &mut values));
        let (when, tests) = self.condition(clauses.when.as_ref());
        let goal = Goal {
            name: name.to_owned(),
            text,
            embedded,
            outputs: outputs(statement),
            agents: self.used_agents(name, statement),
            converge,
            when,
            supervision: supervision(statement),
            overrides: super::settings::overrides(clauses),
        };
        (goal, Uses { values, tests })
    }

    /// The agents a goal names, each once.
    fn used_agents(&mut self, goal: &str, statement: &Statement) -> Vec<AgentId> {
        let mut agents: Vec<AgentId> = Vec::new();
        let mut seen: HashMap<AgentId, Span> = HashMap::new();
        for name in statement.clauses.using.iter().flat_map(|using| &using.value) {
            let Some(agent) = self.names.agent(&name.value) else {
                self.undefined_agent(name);
                continue;
            };
            match seen.get(&agent).copied() {
                None => {
                    seen.insert(agent, name.span);
                    agents.push(agent);
                }
                Some(before) => self.diagnostics.warning(|| {
                    Diagnostic::new(
                        Code::RepeatedAgent,
                        name.span,
                        format!("the goal `{goal}` names the agent `{}` twice", name.value),
                    )
                    .label("counts once")
                    .related(before, "first here")
                    .help("name it once; two agents with the same text need two names")
                }),
            }
        }
        agents
    }

    fn undefined_agent(&mut self, name: &Spanned<String>) {
        let names = &self.names;
        self.diagnostics.error(|| {
            let known = names.agents.iter().map(|(name, _)| *name);
            let diagnostic = Diagnostic::new(
                Code::UndefinedAgent,
                name.span,
                format!("there is no agent `{}`", name.value),
            )
            .label("not defined");
            match nearest(&name.value, known) {
                Some(meant) => diagnostic.suggest(Some(meant), str::to_owned),
                None if names.goal(&name.value).is_some() => diagnostic
                    .note(format!("`{}` is a goal; after a goal's `USING` come agents", name.value))
                    .help("goals are put one after the other by `RUN main USING goal, goal`"),
                None => diagnostic.help(format!("define it: `AGENT {} \"Who it is.\"`", name.value)),
            }
        });
    }

    pub(super) fn steps(&mut self) -> (Vec<Step>, Vec<Uses>) {
        self.names.steps.clone().into_iter().map(|(name, statement)| self.step(name, statement)).unzip()
    }

    fn step(&mut self, name: &str, statement: &Statement) -> (Step, Uses) {
        let clauses = &statement.clauses;
        let mut goals: Vec<GoalId> = Vec::new();
        for goal in clauses.using.iter().flat_map(|using| &using.value) {
            match self.names.goal(&goal.value) {
                Some(goal) => goals.push(goal),
                None => self.undefined_goal(goal),
            }
        }
        let mut values = Vec::new();
        let kind = match (&clauses.within, &clauses.parallel) {
            (Some(within), _) => self.within(within, &mut values).map_or(StepKind::Sequence, StepKind::Loop),
            (None, Some(parallel)) => {
                self.parallel(parallel, &goals, statement);
                StepKind::Parallel
            }
            (None, None) => StepKind::Sequence,
        };
        // A loop has neither a text nor outputs.
        if let (StatementKind::Loop, Some(outputs)) = (statement.kind, &clauses.outputs) {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::MisplacedClause, outputs.span, "a `LOOP` over goals takes no `->`")
                    .label("does not belong here")
                    .help("outputs belong to the goals")
            });
        }
        let (when, tests) = self.condition(clauses.when.as_ref());
        let step = Step {
            name: name.to_owned(),
            kind,
            goals,
            when,
            supervision: supervision(statement),
            overrides: super::settings::overrides(clauses),
        };
        (step, Uses { values, tests })
    }

    fn undefined_goal(&mut self, name: &Spanned<String>) {
        let names = &self.names;
        self.diagnostics.error(|| {
            let known = names.goals.iter().map(|(name, _)| *name);
            let diagnostic =
                Diagnostic::new(Code::UndefinedGoal, name.span, format!("there is no goal `{}`", name.value))
                    .label("not defined");
            match nearest(&name.value, known) {
                Some(meant) => diagnostic.suggest(Some(meant), str::to_owned),
                None if names.agent(&name.value).is_some() => diagnostic
                    .note(format!("`{}` is an agent; a step runs goals", name.value))
                    .help(format!("define a goal that uses it: `GOAL my-goal \"...\" USING {}`", name.value)),
                None => {
                    diagnostic.help(format!("define it: `GOAL {} \"What is to be achieved\"`", name.value))
                }
            }
        });
    }

    fn parallel(&mut self, parallel: &Spanned<()>, goals: &[GoalId], statement: &Statement) {
        if goals.len() == 1 && statement.clauses.using.as_ref().is_some_and(|using| using.value.len() == 1) {
            self.diagnostics.warning(|| {
                Diagnostic::new(
                    Code::NoEffect,
                    parallel.span,
                    "one goal alone is not run in parallel to anything",
                )
                .label("changes nothing")
                .help("leave it out, or name more goals")
            });
        }
        let mut seen = std::collections::HashSet::new();
        if let Some(again) = goals.iter().find(|goal| !seen.insert(**goal)) {
            let name = self.names.goals[again.0].0;
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::Contradiction,
                    parallel.span,
                    format!("the goal `{name}` cannot be run in parallel to itself"),
                )
                .label("in parallel")
                .help("name it once")
            });
        }
        self.parallel_outputs(parallel, goals);
    }

    /// Of goals that are run at the same time, nobody could say whose value counts.
    fn parallel_outputs(&mut self, parallel: &Spanned<()>, goals: &[GoalId]) {
        let conditional = |goal: &GoalId| self.names.goals[goal.0].1.clauses.when.is_some();
        for variable in &self.names.variables {
            let makers: Vec<&GoalId> = variable.goals.iter().filter(|goal| goals.contains(goal)).collect();
            // Goals with conditions may be alternatives.
            let [first, .., last] = makers.as_slice() else { continue };
            if makers.iter().copied().all(conditional) {
                continue;
            }
            let (one, other) = (self.names.goals[first.0].0, self.names.goals[last.0].0);
            let name = &variable.name;
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::Contradiction,
                    parallel.span,
                    format!("the goals `{one}` and `{other}` both make `${name}`, at the same time"),
                )
                .label("in parallel")
                .help("give one of the outputs another name, or run the goals one after the other")
            });
        }
    }

    /// How often at most, and what that refers to.
    fn within(&mut self, within: &Spanned<syntax::Within>, uses: &mut Vec<Use>) -> Option<Within> {
        let Spanned { value: name, span } = match &within.value {
            syntax::Within::Times(times) => return Some(Within::Times(*times)),
            syntax::Within::Variable(variable) => variable,
        };
        let span = *span;
        let variable = self.looked_up(name, span)?;
        uses.push(Use { variable, span });
        let (ty, secret) = (&self.names.variables[variable.0].ty, self.names.variables[variable.0].secret);
        let input =
            self.names.inputs.iter().find(|(input, _)| input == name).map(|(_, statement)| *statement);
        let default = input.and_then(|statement| statement.clauses.default.as_ref());
        if secret {
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::SecretShown,
                    span,
                    format!("`${name}` is a secret and cannot be a limit"),
                )
                .label("everybody sees how often something is done")
                .help("write a number, or use another input")
            });
        } else if !matches!(ty, Type::Int | Type::String) {
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::BadValue,
                    span,
                    format!("`${name}` is `{ty}`, and `WITHIN` needs a whole number"),
                )
                .label("cannot be a number of times")
                .help("write a number, or use an input of the type `int`")
            });
        } else if let Some(default) = default
            && !default.value.value.trim().parse::<u32>().is_ok_and(|times| times > 0)
        {
            let is_whole = default.value.value.trim().bytes().all(|byte| byte.is_ascii_digit());
            self.diagnostics.error(|| {
                Diagnostic::new(
                    Code::BadValue,
                    default.value.span,
                    format!("`{}` cannot be a number of times", default.value.value),
                )
                .label(match is_whole {
                    true => "must be above 0 and less than 4,294,967,296",
                    false => "must be a whole number above 0",
                })
                .related(span, "used as a limit here")
                .replace("write for instance", default.value.span, "5")
            });
        }
        Some(Within::Variable(variable))
    }
}

fn outputs(statement: &Statement) -> Vec<Output> {
    let fields = statement.clauses.outputs.iter().flat_map(|outputs| &outputs.value);
    fields
        .map(|field| Output {
            name: field.name.value.clone(),
            ty: field.ty.as_ref().map(|ty| ty.value.clone()).unwrap_or_default(),
        })
        .collect()
}

fn supervision(statement: &Statement) -> Supervision {
    match statement.clauses.supervise.as_ref().map(|supervise| supervise.value) {
        None => Supervision::Inherit,
        Some(Supervise::Nobody) => Supervision::Off,
        Some(Supervise::Model) => Supervision::Llm,
        Some(Supervise::Human) => Supervision::Human,
    }
}
