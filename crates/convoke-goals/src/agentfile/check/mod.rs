//! The checker: turns a syntax tree into a checked file.
//!
//! In this order: names are collected, what `FROM` names is loaded, texts and conditions are resolved against the names,
//! and then the steps are gone through as they would be run, to see that every value is there when it is used.

mod condition;
mod embedded;
mod flow;
mod goals;
mod load;
mod names;
mod settings;
mod supervision;
mod text;
mod unused;

use std::cell::Cell;

use super::diagnostic::{Code, Diagnostic, Diagnostics};
use super::load::Loader;
use super::model::{Agentfile, Input, SecurityMode, Supervision};
use super::syntax::{File, Spanned, StatementKind, Supervise};
use super::{Span, model};
use load::Nesting;
use names::Names;

use crate::embedded::{NoOtherKinds, WorkflowReader};

/// Checks a tree. There is an [`Agentfile`] exactly if `diagnostics` has no error then, those of before included.
pub fn check(tree: &File, loader: &dyn Loader, diagnostics: &mut Diagnostics) -> Option<Agentfile> {
    check_with(tree, loader, &NoOtherKinds, diagnostics)
}

/// Checks a tree in which goals may be workflows of other kinds, which `reader` knows.
pub fn check_with(
    tree: &File,
    loader: &dyn Loader,
    reader: &dyn WorkflowReader,
    diagnostics: &mut Diagnostics,
) -> Option<Agentfile> {
    let loaded = Cell::new(0);
    check_nested(tree, &Nesting::outermost(loader, reader, &loaded), diagnostics)
}

fn check_nested(tree: &File, nesting: &Nesting<'_>, diagnostics: &mut Diagnostics) -> Option<Agentfile> {
    let names = Names::collect(tree, diagnostics);
    let mut checker = Checker { names, nesting, diagnostics, used: Vec::new() };
    checker.used = vec![false; checker.names.variables.len()];
    let file = checker.file(tree);
    (diagnostics.errors() == 0).then_some(file)
}

struct Checker<'c> {
    names: Names<'c>,
    nesting: &'c Nesting<'c>,
    diagnostics: &'c mut Diagnostics,
    /// Which variables anything refers to.
    used: Vec<bool>,
}

/// A variable that something refers to, and where.
#[derive(Debug, Clone, Copy)]
struct Use {
    variable: model::VariableId,
    span: Span,
}

/// Everything that one goal, agent or step refers to.
#[derive(Debug, Default)]
struct Uses {
    /// In its text, and in `WITHIN`; each variable once.
    values: Vec<Use>,
    /// Where the tests of its condition are, in order.
    tests: Vec<Span>,
}

impl Checker<'_> {
    fn file(mut self, tree: &File) -> Agentfile {
        self.required(tree);
        let (agents, agent_uses) = self.agents();
        let (goals, goal_uses) = self.goals();
        let (steps, step_uses) = self.steps();
        let file = Agentfile {
            name: self.name(tree),
            supervision: self.whole_supervision(tree),
            security: self.security(tree),
            overrides: self.whole_overrides(tree),
            inputs: self.inputs(),
            agents,
            goals,
            steps,
            variables: std::mem::take(&mut self.names.variables),
        };
        self.supervision(&file);
        let uses = flow::AllUses { agents: agent_uses, goals: goal_uses, steps: step_uses };
        flow::check(&file, &self.names, uses, self.diagnostics);
        // What seems unused may only be misspelt elsewhere.
        if self.diagnostics.errors() == 0 {
            self.unused(&file);
        }
        file
    }

    /// What every file needs.
    fn required(&mut self, tree: &File) {
        let has =
            |kinds: &[StatementKind]| tree.statements.iter().any(|statement| kinds.contains(&statement.kind));
        let start = Span::at(tree.statements.first().map_or(0, |first| first.span.start));
        let end = Span::at(tree.statements.last().map_or(0, |last| last.span.end));
        if !has(&[StatementKind::Name]) {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::NoName, start, "the file has no `NAME`")
                    .label("`NAME` is missing")
                    .note("runs are listed by the name of their workflow")
                    .help("write for instance `NAME daily-plan` in the first line")
            });
        }
        let loops = tree
            .statements
            .iter()
            .any(|statement| statement.kind == StatementKind::Loop && statement.clauses.body.is_none());
        // A text without an end may have taken it.
        let swallowed = self.diagnostics.iter().any(|found| found.code == Code::OpenString);
        if !has(&[StatementKind::Run]) && !loops && !swallowed {
            let goals: Vec<&str> = self.names.goals.iter().map(|(name, _)| *name).collect();
            let example = if goals.is_empty() { "first-goal".to_owned() } else { goals.join(", ") };
            self.diagnostics.error(|| {
                Diagnostic::new(Code::NoRun, end, "the file has no `RUN`")
                    .label("`RUN` is missing")
                    .note(
                        "without it nothing is done: `RUN` says which goals are pursued, and in which order",
                    )
                    .help(format!("write `RUN main USING {example}` in the last line"))
            });
        }
    }

    fn name(&mut self, tree: &File) -> String {
        let mut names = tree
            .statements
            .iter()
            .filter(|statement| statement.kind == StatementKind::Name)
            .filter_map(|statement| statement.name.as_ref());
        let Some(first) = names.next() else { return String::new() };
        for again in names {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::DuplicateName, again.span, "the file has two names")
                    .label("here again")
                    .related(first.span, "first here")
                    .help("keep one `NAME`")
            });
        }
        first.value.clone()
    }

    fn whole_supervision(&self, tree: &File) -> Supervision {
        let said = tree
            .statements
            .iter()
            .filter(|statement| statement.kind == StatementKind::Supervised)
            .filter_map(|statement| statement.clauses.supervise.as_ref());
        said.fold(Supervision::Off, |whole, said| match said.value {
            Supervise::Human => Supervision::Human,
            _ if whole == Supervision::Human => whole,
            _ => Supervision::Llm,
        })
    }

    fn security(&mut self, tree: &File) -> Option<SecurityMode> {
        let mut modes = tree.statements.iter().filter_map(|statement| statement.clauses.security.as_ref());
        let first: &Spanned<SecurityMode> = modes.next()?;
        for again in modes.filter(|again| again.value != first.value) {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::Contradiction, again.span, "the file has two different security modes")
                    .label(format!("`{}` here", again.value.name()))
                    .related(first.span, format!("`{}` here", first.value.name()))
                    .help("keep one `SECURITY`")
            });
        }
        Some(first.value.clone())
    }

    fn inputs(&mut self) -> Vec<Input> {
        let statements = std::mem::take(&mut self.names.inputs);
        let inputs = statements
            .iter()
            .map(|(name, statement)| {
                let clauses = &statement.clauses;
                let ty = clauses.ty.as_ref().map(|ty| ty.value.clone()).unwrap_or_default();
                let default = clauses.default.as_ref().and_then(|default| {
                    let (text, span) = (&default.value.value, default.value.span);
                    ty.read(text).map_err(|why| self.bad_value(name, text, span, &ty, &why)).ok()
                });
                self.secret(statement, &ty);
                Input { name: (*name).to_owned(), ty, default, secret: clauses.secret.is_some() }
            })
            .collect();
        self.names.inputs = statements;
        inputs
    }

    fn bad_value(&mut self, name: &str, text: &str, span: Span, ty: &model::Type, why: &str) {
        self.diagnostics.error(|| {
            Diagnostic::new(Code::BadValue, span, format!("`{name}` cannot be `{text}`"))
                .label(why.to_owned())
                .suggest(ty.nearest(text), model::written)
                .help(format!("the type of `{name}` is `{ty}`"))
        });
    }

    fn secret(&mut self, statement: &super::syntax::Statement, ty: &model::Type) {
        let Some(secret) = &statement.clauses.secret else { return };
        if let Some(default) = &statement.clauses.default {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::SecretShown, default.span, "a secret cannot have a default")
                    .label("everybody who reads this file sees it")
                    .related(secret.span, "says that nobody may see it")
                    .help("give it when the file is run")
            });
        }
        if *ty != model::Type::String {
            self.diagnostics.error(|| {
                Diagnostic::new(Code::Contradiction, secret.span, format!("a secret is a text, not `{ty}`"))
                    .label("has another type")
                    .help("leave its type out")
            });
        }
    }
}
