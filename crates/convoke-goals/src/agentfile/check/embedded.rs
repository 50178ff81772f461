//! Checks goals that are workflows of other kinds: `GOAL triage FROM support.pack.json`.

use convoke_text::nearest;

use super::{Checker, Use};
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::load::{BesideLoader, NestingError};
use crate::agentfile::model::Text;
use crate::agentfile::syntax::Statement;
use crate::agentfile::{Source, Span, Template};
use crate::embedded::EmbeddedWorkflow;

/// What a goal is, and what it refers to.
pub(super) struct GoalSource {
    pub(super) text: Text,
    pub(super) uses: Vec<Use>,
    pub(super) embedded: Option<EmbeddedWorkflow>,
}

impl GoalSource {
    /// Of a goal whose file could not be used.
    pub(super) fn without_text(target: &str) -> Self {
        (Text { template: Template::default(), path: Some(target.to_owned()) }, Vec::new()).into()
    }
}

impl From<(Text, Vec<Use>)> for GoalSource {
    fn from((text, uses): (Text, Vec<Use>)) -> Self {
        Self { text, uses, embedded: None }
    }
}

impl Checker<'_> {
    /// Whether a file is of a kind that somebody else knows.
    pub(super) fn is_of_other_kind(&self, path: &str, text: &str) -> bool {
        self.nesting.reader.recognizes(path, text)
    }

    /// The workflow in a file of another kind; `None` if it is no such file.
    pub(super) fn embedded(
        &mut self,
        target: &str,
        path: &str,
        text: &str,
        from: Span,
        goal: &str,
    ) -> Option<GoalSource> {
        if !self.is_of_other_kind(path, text) {
            return None;
        }
        let files = match BesideLoader::new(self.nesting.loader, path) {
            Ok(files) => files.packed(self.nesting.packed),
            Err(circle @ NestingError::Circle { .. }) => {
                self.circle(from, circle.to_string(), &[]);
                return Some(GoalSource::without_text(target));
            }
            Err(deep) => {
                self.cannot(from, deep.to_string(), "let fewer files stand in each other");
                return Some(GoalSource::without_text(target));
            }
        };
        let (workflow, inner) = self.nesting.reader.read(&Source::new(path, text), &files);
        let Some(workflow) = workflow else {
            self.nested_errors(target, text, from, inner);
            return Some(GoalSource::without_text(target));
        };
        let (template, uses) = self.given(&workflow, target, from, goal);
        let text = Text { template, path: Some(target.to_owned()) };
        Some(GoalSource { text, uses, embedded: Some(workflow) })
    }

    /// What a workflow is given, as the text of its goal: the values that have the names of its inputs.
    fn given(
        &mut self,
        workflow: &EmbeddedWorkflow,
        target: &str,
        from: Span,
        goal: &str,
    ) -> (Template, Vec<Use>) {
        let (mut template, mut uses) = (Template::default(), Vec::new());
        template.push_text(&format!("{} {}", workflow.kind(), workflow.name()));
        let own = self.names.goal(goal);
        for input in workflow.inputs() {
            let name = &input.name;
            // What the goal itself makes is not there yet.
            let made_before = |variable: &crate::agentfile::model::VariableId| {
                let variable = &self.names.variables[variable.0];
                variable.input || variable.goals.iter().any(|maker| Some(*maker) != own)
            };
            match self.names.variable(name).filter(made_before) {
                Some(variable) => {
                    template.push_text(&format!("\n{name}: "));
                    template.push_variable(variable);
                    self.used[variable.0] = true;
                    uses.push(Use { variable, span: from });
                }
                None if input.default.is_none() => self.diagnostics.error(|| {
                    let message = format!("`{target}` needs `{name}`, which nothing defines");
                    Diagnostic::new(Code::UndefinedVariable, from, message)
                        .label("is given values by their names")
                        .help(format!(
                            "define it with `INPUT {name}`, or let an earlier goal give it: `-> {name}`"
                        ))
                }),
                None => {}
            }
        }
        (template, uses)
    }

    /// Checks what else a goal says that is a workflow of another kind.
    pub(super) fn fits_embedded(&mut self, goal: &str, statement: &Statement, workflow: &EmbeddedWorkflow) {
        let (clauses, kind) = (&statement.clauses, workflow.kind());
        let mut contradicts = |span: Span, what: String, help: &str| {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::Contradiction, span, what).label("does not go with it").help(help)
            });
        };
        if let Some(within) = &clauses.within {
            let what = format!("`{goal}` is a {kind}, which is not improved on");
            contradicts(within.span, what, "write `GOAL`, without `WITHIN`");
        }
        if let Some(using) = &clauses.using {
            let what = format!("`{goal}` is a {kind}, which works by itself");
            contradicts(using.span, what, "leave `USING` out, or make the agents a goal of their own");
        }
        let known = workflow.outputs();
        for output in clauses.outputs.iter().flat_map(|outputs| &outputs.value) {
            let name = &output.name.value;
            if known.iter().any(|known| known == name) {
                continue;
            }
            self.diagnostics.error(|| {
                let message = format!("the {kind} `{}` gives no `{name}`", workflow.name());
                let diagnostic = Diagnostic::new(Code::Contradiction, output.name.span, message)
                    .label("not one of its values");
                let diagnostic =
                    diagnostic.suggest(nearest(name, known.iter().map(String::as_str)), str::to_owned);
                match known.as_slice() {
                    [] => diagnostic
                        .help("it gives nothing but its answer, which is the value of the goal's name"),
                    known => diagnostic.help(format!("it gives {}", known.join(", "))),
                }
            });
        }
    }
}
