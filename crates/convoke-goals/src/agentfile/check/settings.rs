//! Checks settings of statements and of the whole file.

use super::Checker;
use crate::agentfile::diagnostic::{Code, Diagnostic};
use crate::agentfile::model::{Overrides, Retry, Tools};
use crate::agentfile::syntax::{self, Clauses, File, StatementKind};

/// The overrides among the clauses of a statement.
pub(super) fn overrides(clauses: &Clauses) -> Overrides {
    Overrides {
        model: clauses.model.as_ref().map(|model| model.value.clone()),
        tools: clauses.tools.as_ref().map(|tools| match &tools.value {
            syntax::Tools::None => Tools::None,
            syntax::Tools::Named(names) => {
                Tools::Named(names.iter().map(|name| name.value.clone()).collect())
            }
        }),
        timeout: clauses.timeout.as_ref().map(|timeout| timeout.value),
        retry: clauses
            .retry
            .as_ref()
            .map(|retry| Retry { times: retry.value.times, after: retry.value.after }),
        budget: clauses.budget.as_ref().map(|budget| budget.value.limits.clone()),
        memory: clauses.memory.as_ref().map(|memory| memory.value.clone()),
    }
}

impl Checker<'_> {
    /// What holds for the whole file.
    pub(super) fn whole_overrides(&mut self, tree: &File) -> Overrides {
        let mut all = Clauses::default();
        for statement in tree.statements.iter().filter(|statement| statement.kind == StatementKind::Setting) {
            if let Some(before) = all.merge(statement.clauses.clone(), statement.span) {
                self.diagnostics.error(|| {
                    Diagnostic::new(Code::RepeatedClause, statement.span, "the file says this twice")
                        .label("here again")
                        .related(before, "first here")
                        .help("keep one of them")
                });
            }
        }
        overrides(&all)
    }
}
